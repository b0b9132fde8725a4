"""The executor: plans and what they are specialised for, phases, switches, gradients, errors."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import internals
from internals import jit
from internals.jit.ir import Graph
from internals.jit.ir.parser import parse_ir
from internals.jit.passes import POST_PASSES, clear_post_pass, graph_pass, register_post_pass
from internals.jit.runtime.argument_spec import argument_spec, key_maker
from internals.jit.runtime.graph_executor import GraphExecutor
from tests.jit.passes.pass_support import own_passes, seeds
from tests.jit.programs.graphs import assert_same_observation, observe, program
from tests.jit.runtime.test_interpreter import LOOP

ADD = """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %z : Tensor = aten::add(%x, %y, %1)
  return (%z)
"""


def executor(text: str = ADD) -> GraphExecutor:
    return GraphExecutor(parse_ir(text), "f")


# Plans


def test_a_plan_serves_all_sizes_of_a_rank() -> None:
    ex = executor()
    ex(internals.ones(2), internals.ones(2))
    ex(internals.ones(3), internals.ones(1))
    assert len(ex.plans) == 1
    (plan,) = ex.plans.values()
    assert [v.type().repr_str() for v in plan.graph.inputs()] == [
        "Float(*, requires_grad=0, device=cpu)"
    ] * 2
    assert ex.graph_for(internals.ones(7), internals.ones(7)) is plan.graph


@pytest.mark.parametrize(
    "other",
    [
        lambda: internals.ones(2, 2),
        lambda: internals.ones(2, dtype=internals.float64),
        lambda: internals.ones(2, requires_grad=True),
    ],
    ids=["rank", "dtype", "requires_grad"],
)
def test_another_kind_of_tensor_has_another_plan(other: Any) -> None:
    ex = executor()
    ex(internals.ones(2), internals.ones(2))
    ex(other(), internals.ones(2))
    assert len(ex.plans) == 2


def test_requiring_grad_does_not_count_when_nothing_is_recorded() -> None:
    ex = executor()
    x, w = internals.ones(2), internals.ones(2, requires_grad=True)
    ex(x, x)
    with internals.no_grad():
        assert not ex(x, w).requires_grad
    assert len(ex.plans) == 1
    assert ex(x, w).requires_grad and len(ex.plans) == 2
    with internals.no_grad():
        assert not ex(x, w).requires_grad


def test_numbers_do_not_specialise() -> None:
    ex = executor(LOOP)
    assert [ex(internals.ones(1), n).item() for n in range(4)] == [1.0, 2.0, 4.0, 5.0]
    assert len(ex.plans) == 1


OPTIONAL = """graph(%x : Tensor?, %pair : (Tensor, int)):
  %none : NoneType = prim::Constant()
  %is : bool = aten::__is__(%x, %none)
  %t : Tensor, %n : int = prim::TupleUnpack(%pair)
  %r : Tensor = prim::If(%is)
    block0():
      -> (%t)
    block1():
      %y : Tensor = prim::unchecked_cast(%x)
      %z : Tensor = aten::mul(%y, %t)
      -> (%z)
  return (%r)
"""


def test_optional_tensors_and_tuples() -> None:
    ex = executor(OPTIONAL)
    two = internals.full((2,), 2.0)
    assert ex(None, (two, 1)).tolist() == [2.0, 2.0]
    assert ex(two, (two, 1)).tolist() == [4.0, 4.0]
    assert ex(None, (two.reshape(1, 2), 1)).tolist() == [[2.0, 2.0]]
    assert ex(two.double(), (two.reshape(1, 2), 5)).tolist() == [[4.0, 4.0]]


@pytest.mark.parametrize("text", [ADD, LOOP, OPTIONAL])
def test_equal_keys_mean_equal_specs(text: str) -> None:
    graph = parse_ir(text)
    key = key_maker(graph.inputs())
    tensors = [
        internals.ones(2),
        internals.ones(3),
        internals.ones(2, 2),
        internals.ones(2, requires_grad=True),
    ]
    tensors += [internals.ones(2, dtype=internals.int64), internals.ones(2, 2).t()]
    calls: list[Any] = [
        (a, (b, 1)) if text == OPTIONAL else (a, 3 if text == LOOP else b)
        for a in tensors
        for b in tensors
    ]
    specs: dict[Any, Any] = {}
    for args in calls:
        assert specs.setdefault(key(args), argument_spec(graph, args, True)) == argument_spec(
            graph, args, True
        )


def test_a_wrong_number_of_arguments() -> None:
    with pytest.raises(RuntimeError, match="expected 2 inputs, but got only 1"):
        executor()(internals.ones(1))
    with pytest.raises(RuntimeError, match="expected 2 inputs, but got 3"):
        executor()(*[internals.ones(1)] * 3)


def test_shapes_in_the_graph_do_not_decide() -> None:
    ex = executor(ADD.replace("%x : Tensor", "%x : Double(5, 5)"))
    assert ex(internals.ones(2), internals.ones(2)).dtype is internals.float32


# Phases


def test_phases_in_order() -> None:
    x = internals.ones(2)
    records = executor(LOOP).phases(x, 3)
    assert [r.name for r in records] == [
        "inline", "lower_simple_tuples",
        "specialize_undef", "lower_grad_of", "remove_expands", "canonicalize_ops", "dce",
        "constant_propagation", "propagate_input_shapes", "propagate_requires_grad",
        "dce", "cse", "constant_pooling", "peephole", "loop_unrolling", "cse", "batch_mm",
        "check_inplace",
        "graph_fuser", "dce",
    ]  # fmt: skip
    assert all(r.changed for r in records if r.before != r.after)
    assert all(a.after == b.before for a, b in zip(records, records[1:]))
    assert "loop_unrolling" in [r.name for r in records if r.changed]
    ex = executor(LOOP)
    assert [r.name for r in ex.phases(x, 3, hide_unchanged=True)] == [
        r.name for r in records if r.changed
    ]
    assert not ex.plans, "looking at the phases makes no plan"
    assert records[-1].after == str(ex.graph_for(x, 3))


def test_phases_for_gradients() -> None:
    names = [
        r.name for r in executor().phases(internals.ones(2, requires_grad=True), internals.ones(2))
    ]
    assert names[-4:] == [
        "create_autodiff_subgraphs",
        "differentiate_subgraphs",
        "inline_autodiff_subgraphs",
        "dce",
    ]
    with internals.no_grad():
        names = [
            r.name
            for r in executor().phases(internals.ones(2, requires_grad=True), internals.ones(2))
        ]
    assert names[-2:] == ["graph_fuser", "dce"]


def test_without_optimisation_there_is_one_plan() -> None:
    ex = executor(LOOP)
    with jit.optimized_execution(False):
        assert ex(internals.ones(1), 3).item() == 5.0
        assert ex(internals.ones(1, 1, dtype=internals.float64), 3).item() == 5.0
        names = [r.name for r in ex.phases(internals.ones(1), 3)]
    assert ex.plans == {} and ex.get_debug_state().fallback is not None
    assert "cse" not in names and "dce" in names
    assert len(ex.fallback.graph.findAllNodes("prim::Loop")) == 1
    ex(internals.ones(1), 3)
    assert len(ex.get_debug_state().execution_plans) == 1


def test_a_pass_of_the_users() -> None:
    with own_passes():

        @graph_pass("twice as much")
        def doubled(graph: Graph) -> bool:
            for node in graph.findAllNodes("aten::add"):
                with graph.insert_point_guard(node):
                    two = graph.insertConstant(2)
                node.replaceInput(2, two)
            return True

        register_post_pass("doubled")
        assert [p.name for p in POST_PASSES] == ["doubled"]
        assert executor()(internals.ones(1), internals.ones(1)).item() == 3.0
        clear_post_pass("doubled")
        assert executor()(internals.ones(1), internals.ones(1)).item() == 2.0


# Which executor


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("seed", seeds(40, 600))
def test_optimised_random_programs(seed: int) -> None:
    """Neither the passes nor the choice of the executor can be noticed."""
    p = program(seed)
    expected = observe(p.graph(), p)
    assert_same_observation(
        observe(p.graph(), p, lambda g, args: GraphExecutor(g, "f")(*args)), expected
    )
    with jit.executor("interpreter"):
        assert_same_observation(
            observe(p.graph(), p, lambda g, args: GraphExecutor(g, "f")(*args)), expected
        )


def test_the_switch_is_the_thread_s() -> None:
    ex = executor(LOOP)
    plan = ex.plan_for(internals.ones(1), 2)
    with jit.executor("interpreter"):
        ex(internals.ones(1), 2)
        assert plan._code is not None and plan._emitted is None
        other = threading.Thread(target=lambda: ex(internals.ones(1), 2))
        other.start()
        other.join()
        assert plan._emitted is not None
    with pytest.raises(ValueError, match="executor is one of emitted, interpreter, not 'c'"):
        with jit.executor("c"):
            pass


def test_threads_share_plans() -> None:
    ex = executor(LOOP)
    results: list[float] = []
    threads = [
        threading.Thread(target=lambda: results.append(ex(internals.ones(1), 20).item()))
        for _ in range(6)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(results)) == 1 and len(results) == 6 and len(ex.plans) == 1


# Gradients

CELL = """graph(%x : Tensor, %w : Tensor, %b : Tensor):
  %1 : int = prim::Constant[value=1]()
  %h : Tensor = aten::mm(%x, %w)
  %s : Tensor = aten::add(%h, %b, %1)
  %g : Tensor = aten::sigmoid(%s)
  %t : Tensor = aten::tanh(%s)
  %m : Tensor = aten::mul(%g, %t)
  %r : Tensor = aten::relu(%m)
  return (%r)
"""


def eager_cell(x: Any, w: Any, b: Any) -> Any:
    s = x.mm(w) + b
    return (s.sigmoid() * s.tanh()).relu()


def leaves() -> list[Any]:
    internals.manual_seed(0)
    return [
        internals.randn(*s, dtype=internals.float64, requires_grad=True)
        for s in ((3, 4), (4, 2), (2,))
    ]


@pytest.mark.parametrize("name", ["emitted", "interpreter"])
def test_gradients_are_those_of_eager_execution(name: str) -> None:
    ex = executor(CELL)
    ours, expected = leaves(), leaves()
    with jit.executor(name):
        result = ex(*ours)
    eager = eager_cell(*expected)
    assert internals.allclose(result, eager)
    assert [n.kind() for n in ex.graph_for(*ours).nodes()] == ["prim::DifferentiableGraph"]
    result.sum().backward()
    eager.sum().backward()
    for a, b in zip(ours, expected):
        assert internals.allclose(a.grad, b.grad)


def test_gradients_of_gradients() -> None:
    ex = executor(CELL)
    assert internals.autograd.gradgradcheck(lambda *args: ex(*args).sum(), leaves())


def test_only_some_inputs_require_grad() -> None:
    ex = executor(CELL)
    x, w, b = leaves()
    x = x.detach()
    ex(x, w, b).sum().backward()
    expected = leaves()
    eager_cell(*expected).sum().backward()
    assert (
        x.grad is None
        and internals.allclose(w.grad, expected[1].grad)
        and internals.allclose(b.grad, expected[2].grad)
    )
