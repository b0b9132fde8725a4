"""Every symbolic gradient against numbers: once for the gradient, once more for the gradient of the
gradient.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
import internals as torch
from internals import jit
from internals._generated.op_facts import DERIVATIVES, POINTWISE
from internals.autograd.gradcheck import gradcheck, gradgradcheck
from internals.jit.ir import Graph, TensorType
from internals.jit.ir.parser import parse_ir
from internals.jit.operators.registry import find_operator
from internals.jit.passes import run_pass
from internals.jit.passes.autodiff_subgraphs import GROUP, pack_gradient
from internals.jit.passes.differentiate import differentiate
from internals.jit.passes.subgraph_utils import create_singleton, merge_into, subgraph_of
from internals.jit.passes.symbolic_gradients import (
    CONDITIONS,
    EXCEPTIONS,
    is_differentiable,
    lines_of,
)
from internals.jit.runtime.graph_executor import ExecutionPlan

# What follows the operator's tensors: the constants of a call, by overload. The tensors' sizes and
# range come first.
PLAIN, POSITIVE, INSIDE, BETWEEN_STEPS = (-2.0, 2.0), (0.3, 2.0), (-0.8, 0.8), (0.1, 0.4)
ONE: Any = ((3, 4),)
TWO: Any = ((3, 4), (3, 4))
BROADCAST: Any = ((3, 4), (4,))
CASES: dict[str, tuple[Any, tuple[float, float], tuple[Any, ...]]] = {
    "aten::acosh": (ONE, (1.5, 3.0), ()),
    "aten::special_ndtri": (ONE, (0.3, 0.7), ()),
    "aten::clamp.Tensor": (((3, 4), (3, 4), (3, 4)), PLAIN, ()),
    "aten::add.Tensor": (BROADCAST, PLAIN, (2,)),
    "aten::add.Scalar": (ONE, PLAIN, (1.5, 1)),
    "aten::sub.Tensor": (((4,), (3, 4)), PLAIN, (3,)),
    "aten::sub.Scalar": (ONE, PLAIN, (1.5, 1)),
    "aten::mul.Tensor": (((3, 1), (1, 4)), PLAIN, ()),
    "aten::mul.Scalar": (ONE, PLAIN, (2.5,)),
    "aten::div.Tensor": (BROADCAST, POSITIVE, ()),
    "aten::div.Scalar": (ONE, PLAIN, (2.5,)),
    "aten::fmod.Scalar": (ONE, BETWEEN_STEPS, (0.7,)),
    "aten::remainder.Scalar": (ONE, BETWEEN_STEPS, (0.7,)),
    "aten::max.other": (BROADCAST, PLAIN, ()),
    "aten::min.other": (BROADCAST, PLAIN, ()),
    "aten::clamp": (ONE, PLAIN, (-1.0, 1.0)),
    "aten::log_softmax.int": (ONE, PLAIN, (1, None)),
    "aten::softmax.int": (ONE, PLAIN, (-1, None)),
    "aten::pow.Tensor_Scalar": (ONE, POSITIVE, (3,)),
    "aten::mm": (((2, 3), (3, 4)), PLAIN, ()),
    "aten::bmm": (((2, 2, 3), (2, 3, 4)), PLAIN, ()),
    "aten::addmm": (((4,), (2, 3), (3, 4)), PLAIN, (0.5, 2.0)),
    "aten::type_as": (TWO, PLAIN, ()),
    "aten::unsqueeze": (ONE, PLAIN, (1,)),
    "aten::view": (ONE, PLAIN, ([4, 3],)),
    "aten::reshape": (ONE, PLAIN, ([2, 6],)),
    "aten::expand": (((3, 1),), PLAIN, ([2, 3, 4], False)),
    "prim::AutogradAdd": (TWO, PLAIN, ()),
    "aten::maximum": (BROADCAST, PLAIN, ()),
    "aten::minimum": (BROADCAST, PLAIN, ()),
    "aten::rsub.Tensor": (BROADCAST, PLAIN, (2.0,)),
    "aten::rsub.Scalar": (ONE, PLAIN, (2.5, 2.0)),
    "aten::true_divide.Tensor": (BROADCAST, POSITIVE, ()),
    "aten::addcmul": (((3, 4), (4,), (3, 1)), PLAIN, (2.0,)),
    "aten::addcdiv": (((3, 4), (4,), (3, 1)), POSITIVE, (2.0,)),
    "aten::lerp.Tensor": (((3, 4), (4,), (3, 1)), PLAIN, ()),
    "aten::clamp_min": (ONE, PLAIN, (-0.5,)),
    "aten::clamp_max": (ONE, PLAIN, (0.5,)),
    "aten::to.dtype": (ONE, PLAIN, (7, False, False, None)),
    "aten::gelu": (ONE, PLAIN, ("tanh",)),
    "aten::hardtanh": (ONE, PLAIN, (-1.0, 1.0)),
    "aten::leaky_relu": (ONE, BETWEEN_STEPS, (0.1,)),
    "aten::elu": (ONE, BETWEEN_STEPS, (1.5, 2.0, 0.5)),
    "aten::softplus": (ONE, PLAIN, (2.0, 20.0)),
    "aten::threshold": (ONE, BETWEEN_STEPS, (0.5, 3.0)),
    "aten::avg_pool2d": (((1, 2, 4, 4),), PLAIN, ([2, 2], [2, 2], [0, 0], False, True, None)),
}
POSITIVE_ONLY = {
    f"aten::{name}"
    for name in "log log1p log2 log10 rsqrt sqrt reciprocal digamma lgamma special_entr".split()
}
INSIDE_ONLY = {"aten::asin", "aten::acos", "aten::tan", "aten::atanh", "aten::erfinv"}
STEPS = {f"aten::{n}" for n in ("frac", "ceil", "floor", "round", "trunc", "sign")}


def takes_one(key: str) -> bool:
    """Whether a call of it needs but one tensor, and there is a gradient."""
    if not lines_of(key) or key.partition(".")[0].endswith("_"):
        return False
    needed = [a for a in find_operator(f"aten::{key}").schema.arguments if not a.has_default]
    return len(needed) == 1 and isinstance(needed[0].type, TensorType) and key not in WITHOUT_LINES


# Their lines look at tensors, or give one of several results.
WITHOUT_LINES = set(
    "mish sgn angle logit frexp.Tensor log_sigmoid_forward special_i1 special_i1e".split()
)
OF_ONE = {
    f"aten::{key}" for key in (*DERIVATIVES, *EXCEPTIONS) if key in POINTWISE and takes_one(key)
}
COMPARISONS = {
    f"aten::{n}.{o}" for n in ("lt", "le", "gt", "ge", "eq", "ne") for o in ("Tensor", "Scalar")
}


def case(key: str) -> tuple[Any, tuple[float, float], tuple[Any, ...]]:
    if key in CASES:
        return CASES[key]
    chosen = (
        POSITIVE
        if key in POSITIVE_ONLY
        else INSIDE
        if key in INSIDE_ONLY
        else BETWEEN_STEPS
        if key in STEPS
        else PLAIN
    )
    schema = find_operator(key).schema
    return ONE, chosen, tuple(a.default_value for a in schema.arguments[1:])


def make(sizes: Any, low: float, high: float, dtype: Any = internals.float64) -> Any:
    t = internals.rand(*sizes, dtype=dtype) * (high - low) + low
    return t.requires_grad_()


def call_graph(kind: str, inputs: list[Any], constants: tuple[Any, ...]) -> Graph:
    """The graph of one call."""
    graph = Graph()
    values = []
    for t in inputs:
        v = graph.addInput()
        v.inferTypeFrom(t)
        values.append(v)
    values += [graph.insertConstant(c) for c in constants]
    graph.registerOutput(graph.insert(kind, values).setType(TensorType.get()))
    return graph


def differentiated(graph: Graph) -> Any:
    """The graph as a function whose operators are one differentiable group."""
    graph = graph.copy()
    node = next(n for n in graph.nodes() if n.kind() != "prim::Constant")
    group = create_singleton(node, GROUP)
    gradient = differentiate(subgraph_of(group))
    pack_gradient(gradient, group)
    graph.lint()
    gradient.f.lint()
    gradient.df.lint()
    return ExecutionPlan(graph, "f", None).function


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("key", sorted(OF_ONE | set(CASES)))
def test_formula(key: str) -> None:
    internals.manual_seed(0)
    sizes, (low, high), constants = case(key)
    inputs = [make(s, low, high) for s in sizes]
    f = differentiated(call_graph(key.partition(".")[0], inputs, constants))
    assert f(*inputs).grad_fn.name() == "DifferentiableGraphBackward"
    assert gradcheck(f, inputs)
    if key not in STEPS | {"aten::avg_pool2d"}:
        assert gradgradcheck(f, inputs)


@pytest.mark.parametrize("key", sorted(COMPARISONS))
def test_comparisons_have_no_gradient(key: str) -> None:
    kind, _, overload = key.partition(".")
    x, y = make((3,), *PLAIN), make((3,), *PLAIN)
    graph = call_graph(
        kind, [x, y] if overload == "Tensor" else [x], () if overload == "Tensor" else (0.5,)
    )
    assert not differentiated(graph)(*([x, y] if overload == "Tensor" else [x])).requires_grad


def test_where() -> None:
    internals.manual_seed(0)
    condition = internals.tensor([[True], [False], [True]])
    x, y = make((3, 4), *PLAIN), make((4,), *PLAIN)
    f = differentiated(call_graph("aten::where", [condition, x, y], ()))
    assert gradcheck(lambda a, b: f(condition, a, b), [x, y])
    assert gradgradcheck(lambda a, b: f(condition, a, b), [x, y])


def test_choices_with_a_number() -> None:
    internals.manual_seed(0)
    condition = internals.tensor([[True], [False], [True]])
    x, s = make((4,), *PLAIN), 0.5
    for kind, order in (
        ("aten::where", "cxs"),
        ("aten::where", "csx"),
        ("aten::masked_fill", "xcs"),
    ):
        graph = Graph()
        values = {"c": graph.addInput(), "x": graph.addInput(), "s": graph.insertConstant(s)}
        values["c"].inferTypeFrom(condition)
        values["x"].inferTypeFrom(x)
        graph.registerOutput(
            graph.insert(kind, [values[name] for name in order]).setType(TensorType.get())
        )
        f = differentiated(graph)
        assert gradcheck(lambda a: f(condition, a), [x])  # noqa: B023
        assert gradgradcheck(lambda a: f(condition, a), [x])  # noqa: B023


def test_sum_to_size() -> None:
    x = make((2, 3, 4), *PLAIN)
    graph = parse_ir(
        "graph(%x : Double(2, 3, 4, device=cpu), %s : int[]):\n  %y : Tensor = prim::SumToSize(%x, "
        "%s)\n  return (%y)"
    )
    f = differentiated(graph)
    for size in ([2, 3, 4], [1, 3, 1], [3, 1], [4], []):
        assert f(x, size).shape == internals.Size(size)
        assert gradcheck(lambda t, size=size: f(t, size), [x])
        assert gradgradcheck(lambda t, size=size: f(t, size), [x])


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1, 2)])
def test_chunk_with_pieces_nobody_uses(used: tuple[int, ...]) -> None:
    x = make((2, 5), *PLAIN)
    graph = parse_ir(
        "graph(%x : Tensor):\n  %a : Tensor, %b : Tensor, %c : Tensor = "
        "prim::ConstantChunk[chunks=3, dim=1](%x)\n"
        "  return (%a, %b, %c)"
    )
    f = differentiated(graph)
    assert gradcheck(lambda t: [f(t)[i] for i in used], [x])
    assert gradgradcheck(lambda t: [f(t)[i] for i in used], [x])


def test_max_pool() -> None:
    internals.manual_seed(0)
    x = make((1, 2, 4, 4), *PLAIN)
    graph = parse_ir(
        """graph(%x : Tensor):
  %two : int[] = prim::Constant[value=[2, 2]]()
  %none : int[] = prim::Constant[value=[0, 0]]()
  %one : int[] = prim::Constant[value=[1, 1]]()
  %no : bool = prim::Constant[value=0]()
  %y : Tensor, %i : Tensor = aten::max_pool2d_with_indices(%x, %two, %two, %none, %one, %no)
  return (%y, %i)"""
    )
    f = differentiated(graph)
    assert gradcheck(lambda t: f(t)[0], [x])
    assert not f(x)[1].requires_grad


def test_ties_of_max_are_shared_as_in_autograd() -> None:
    """1.0.1 gave nothing to either side."""
    x, y = internals.ones(3, requires_grad=True), internals.ones(3, requires_grad=True)
    f = differentiated(call_graph("aten::max", [x, y], ()))
    f(x, y).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(("low", "high"), [(-1.0, None), (None, 1.0), (None, 1), (-1, 1)])
def test_clamp_at_its_bounds(low: Any, high: Any) -> None:
    x = internals.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    differentiated(call_graph("aten::clamp", [x], (low, high)))(x).sum().backward()
    expected = internals.tensor(x.tolist(), requires_grad=True)
    expected.clamp(low, high).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_conditions_hold_a_formula_back() -> None:
    assert all(lines_of(key) for key in CONDITIONS)
    graph = parse_ir(
        "graph(%x : Tensor, %s : int[]):\n  %y : Tensor = aten::view(%x, %s)\n  return (%y)"
    )
    assert not is_differentiable(next(graph.nodes()))
    node = next(graph.nodes())
    with pytest.raises(
        RuntimeError,
        match="differentiation of aten::view is not supported, or it is missing necessary type",
    ):
        from internals.jit.passes.symbolic_gradients import gradient_of

        gradient_of(node, [graph.inputs()[0]])


def test_backward_twice_is_an_error_of_autograds() -> None:
    x = make((3,), *PLAIN)
    y = differentiated(call_graph("aten::exp", [x], ()))(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_a_capture_that_was_written_to_is_noticed() -> None:
    x = make((3,), *PLAIN)
    w = x * 1
    y = differentiated(call_graph("aten::sin", [w], ()))(w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_inputs_are_detached_and_nothing_is_recorded_without_grad_mode() -> None:
    x = make((3,), *PLAIN)
    f = differentiated(call_graph("aten::exp", [x], ()))
    with internals.no_grad():
        assert not f(x).requires_grad
    assert not f(x.detach()).requires_grad
    assert f(x).grad_fn.next_functions[0][0].name() == "AccumulateGrad"


def test_writing_to_what_a_group_returns() -> None:
    """A view of what exists only inside the group can be written to like any tensor; one of an
    input cannot.
    """
    x = make((2, 3), *PLAIN)
    same = x.detach().requires_grad_()
    inner = parse_ir(
        "graph(%x : Tensor):\n  %a : Tensor = aten::sin(%x)\n  %b : Tensor = aten::t(%a)\n  return "
        "(%b)"
    )
    graph = inner.copy()
    group = create_singleton(list(graph.nodes())[-1], GROUP)
    merge_into(list(graph.nodes())[0], group)
    pack_gradient(differentiate(subgraph_of(group)), group)
    y = ExecutionPlan(graph, "f", None).function(x)
    y.mul_(2)[0].add_(x[:, 0])
    (y * y).sum().backward()
    z = same.sin().t()
    z.mul_(2)[0].add_(same[:, 0])
    (z * z).sum().backward()
    assert internals.allclose(x.grad, same.grad)
    view = differentiated(call_graph("aten::t", [x], ()))(x)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        view.mul_(2)


def test_a_view_that_a_group_returns_has_the_version_of_what_backward_needs() -> None:
    x = make((2, 3), *PLAIN)
    inner = parse_ir(
        "graph(%x : Tensor):\n  %a : Tensor = aten::sigmoid(%x)\n  %b : Tensor = aten::t(%a)\n  "
        "return (%b)"
    )
    group = create_singleton(list(inner.nodes())[-1], GROUP)
    merge_into(list(inner.nodes())[0], group)
    pack_gradient(differentiate(subgraph_of(group)), group)
    y = ExecutionPlan(inner, "f", None).function(x)
    with internals.no_grad():
        y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_node_that_finds_no_company_stays_as_it_is() -> None:
    graph = parse_ir("graph(%x : Tensor):\n  %1 : Tensor = aten::tanh(%x)\n  return (%1)\n")
    record = run_pass("create_autodiff_subgraphs", graph, verify=True)
    assert not record.changed and record.before == record.after


def test_a_view_of_what_backward_needs_cannot_be_changed_unnoticed() -> None:
    @jit.script
    def f(x):  # type: ignore[no-untyped-def]
        h = torch.sigmoid(x * 2)
        return h.view([-1])

    x = internals.ones(2, 3, requires_grad=True)
    for _ in range(3):
        y = f(x)
        with internals.no_grad():
            y.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
