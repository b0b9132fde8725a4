"""The profiler: what is recorded, how it nests, and how its times add up."""

from __future__ import annotations

import dis
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals import nn, profiler
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import OperatorHandle
from internals.core.tensor_impl import TensorImpl
from internals.profiler import profile, record_function
from internals.profiler.recorder import Recorder, is_leaf
from tests.aten.op_arguments import arguments
from tests.aten.test_op_fuzz import NOT_CALLED, OPS, build, by_function
from tests.profiler.support import assert_nothing_left, mlp, recorded, tree
from tests.support import examples, outcome


def test_operators_lie_in_the_operators_that_call_them() -> None:
    x, w, b = internals.ones(3, 4), internals.ones(2, 4), internals.ones(2)
    prof = recorded(lambda: nn.functional.linear(x, w, b) + 1)
    assert tree(prof.events().roots()) == [
        ("aten::linear", ["aten::t", "aten::addmm"]),
        "aten::add",
    ]
    addmm = prof.events()[2]
    assert addmm.cpu_parent.name == "aten::linear" and addmm.cpu_parent.cpu_children[1] is addmm
    assert [e.id for e in prof.events()] == [1, 2, 3, 4]
    assert_nothing_left()


def test_arithmetic_that_takes_short_cuts_is_recorded_too() -> None:
    a, g = internals.ones(4), internals.ones(4, requires_grad=True)

    def program() -> None:
        a + a
        g * g - 2.0
        a[1:]

    assert [e.name for e in recorded(program).events()] == [
        "aten::add",
        "aten::mul",
        "aten::sub",
        "aten::slice",
    ]


@pytest.mark.parametrize(
    "options", [{}, {"profile_memory": True}, {"record_shapes": True, "with_stack": True}]
)
def test_results_are_those_without_a_profiler(options: dict[str, Any]) -> None:
    internals.manual_seed(3)
    model, x = mlp(), internals.randn(5, 4)

    def step() -> list[Any]:
        model.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        return [loss.tolist(), *(p.grad.tolist() for p in model.parameters())]

    expected = step()
    with profile(**options) as prof:
        assert step() == expected
    assert len(prof.events()) > 20


def test_an_event_lies_in_its_parents_time_and_self_times_add_up() -> None:
    model, x = mlp(), internals.randn(5, 4)
    prof = recorded(lambda: model(x).sum().backward(), with_modules=True)
    events = prof.events()
    for e in events:
        assert 0 <= e.time_range.start <= e.time_range.end
        assert e.self_cpu_time_total >= 0
        if e.cpu_parent is not None:
            assert e.cpu_parent.time_range.start <= e.time_range.start
            assert e.time_range.end <= e.cpu_parent.time_range.end
    for before, after in zip(events, events[1:]):
        assert before.time_range.start <= after.time_range.start
    outermost = sum(e.cpu_time_total for e in events.roots())
    assert events.self_cpu_time_total == pytest.approx(outermost)
    averages = prof.key_averages()
    assert sum(a.self_cpu_time_total for a in averages) == pytest.approx(outermost)
    assert sum(a.count for a in averages) == len(events)
    total = prof.key_averages().total_average()
    assert total.key == "Total" and total.count == len(events)
    assert total.self_cpu_time_total == pytest.approx(outermost)


def test_nodes_of_the_graph_are_ranges_tied_to_the_forward_call() -> None:
    x = internals.randn(3, 4, requires_grad=True)
    prof = recorded(lambda: (x @ x.t()).sum().backward())
    events = {e.name: e for e in prof.events()}
    node = events["MmBackward0"]
    assert node.cpu_parent.name == "autograd::engine::evaluate_function: MmBackward0"
    assert node.scope == profiler.Scope.BACKWARD_FUNCTION
    assert {child.name for child in node.cpu_children} == {"aten::t", "aten::mm"}
    forward = [
        e for e in prof.events() if e.name == "aten::mm" and e.cpu_parent.name == "aten::matmul"
    ]
    assert [e.sequence_nr for e in forward] == [node.sequence_nr]
    assert "torch::autograd::AccumulateGrad" in events
    assert_nothing_left()


def test_the_gradient_is_kept_without_a_copy_as_without_a_profiler() -> None:
    x = internals.randn(3, requires_grad=True)
    prof = recorded(lambda: x.exp().sum().backward(), profile_memory=True)
    accumulate = next(e for e in prof.events() if e.name == "torch::autograd::AccumulateGrad")
    assert not accumulate.cpu_children and accumulate.bytes_allocated == 0


def test_modules_and_optimizers_are_ranges() -> None:
    model, x = mlp(), internals.randn(2, 4)
    optimizer = internals.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        model(x).sum().backward()
        optimizer.step()

    names = [e.name for e in recorded(step, with_modules=True).events()]
    assert [n for n in names if n.startswith("nn.Module")] == [
        "nn.Module: Sequential_0", "nn.Module: Linear_0", "nn.Module: ReLU_0",
        "nn.Module: Linear_1",
    ]  # fmt: skip
    assert names.count("Optimizer.step#SGD.step") == 1
    assert not [e.name for e in recorded(step).events() if e.name.startswith("nn.Module")]
    assert_nothing_left()


def test_compiled_functions_and_groups_have_their_names() -> None:
    @internals.jit.script
    def chain(x, y):  # type: ignore[no-untyped-def]
        return x * y + x.sigmoid()

    x = internals.ones(4)
    chain(x, x)
    prof = recorded(lambda: chain(x, x))
    outer = prof.events()[0]
    assert outer.name == "chain" and outer.scope == profiler.Scope.TORCHSCRIPT_FUNCTION
    assert [e.name for e in outer.cpu_children] == ["prim::FusionGroup"]


def test_labels() -> None:
    @record_function("decorated")
    def twice(x: Any) -> Any:
        return x + x

    def program() -> None:
        with record_function("outer"), record_function("inner", "args"):
            twice(internals.ones(2))

    assert twice(internals.ones(1)).tolist() == [2.0]  # nobody records
    prof = recorded(program)
    labels = ("outer", [("inner", ["aten::ones", ("decorated", ["aten::add"])])])
    assert tree(prof.events().roots()) == [labels]
    assert [e.is_user_annotation for e in prof.events()] == [True, True, False, True, False]
    with pytest.raises(TypeError, match="argument 'name' must be str, not int"):
        record_function(3)  # type: ignore[arg-type]


def test_the_stack_says_where() -> None:
    def somewhere() -> Any:
        return internals.ones(2)

    prof = recorded(somewhere, with_stack=True)
    innermost = prof.events()[0].stack[0]
    assert innermost.endswith(": somewhere") and "test_profiler.py(" in innermost
    by_place = prof.key_averages(group_by_stack_n=1)
    assert [len(a.stack) for a in by_place] == [1] and "Source Location" in by_place.table()
    assert recorded(somewhere).events()[0].stack == []


def test_shapes_and_arguments() -> None:
    x = internals.ones(2, 3)
    prof = recorded(lambda: internals.cat([x, x], 0), record_shapes=True)
    (event,) = prof.events()
    assert event.input_shapes == [[[2, 3], [2, 3]], []] and event.input_dtypes == [
        "TensorList",
        "Scalar",
    ]
    assert event.concrete_inputs == ["", "0"]
    assert recorded(lambda: x + x).events()[0].input_shapes == []


@pytest.mark.parametrize("op", [op for op in OPS if is_leaf(op)], ids=lambda op: op.name)
def test_what_is_called_a_leaf_calls_no_operator(op: OperatorHandle) -> None:
    """Short cuts are open below a leaf: an operator that it called would not be recorded."""
    if op.name.removeprefix("aten::") in NOT_CALLED or op.schema.name in NOT_CALLED:
        # nobody makes arguments for it
        assert not mentions_operators(op.kernels[DispatchKey.CPU].function(), set())
        return
    stream = np.random.default_rng(7)
    for number in range(3):
        values = {name: build(v, internals) for name, v in arguments(op.schema, stream).items()}
        for t in values.values():
            if number and isinstance(t, TensorImpl) and t.dtype.is_floating_point:
                t.requires_grad_()
        recorder = Recorder(memory=True)  # which keeps the fast lane closed
        recorder.start()
        try:
            outcome(lambda: by_function(op, values))  # noqa: B023
        finally:
            recorder.stop()
        assert [span.name for span in recorder.spans] == [op.name.partition(".")[0]]


def mentions_operators(function: Any, seen: set[Any]) -> bool:
    """Whether the code of a function, or of those of our own that it calls by name, mentions
    `ops`.
    """
    code = getattr(function, "__code__", None)
    if code is None or code in seen or not function.__module__.startswith("internals."):
        return False
    seen.add(code)
    # not attributes of that name
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return "ops" in names or any(
        mentions_operators(function.__globals__.get(name), seen) for name in names
    )


PROGRAMS = st.recursive(
    st.sampled_from(["add", "linear", "fail"]),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=12,
)


@examples(40)
@given(PROGRAMS, st.booleans())
def test_any_nesting_is_recorded_as_it_was(program: Any, memory: bool) -> None:
    x = internals.ones(2, 2)

    def run(part: Any) -> Any:
        """Runs a part; returns what its tree must be."""
        if part == "add":
            x + x
            return "aten::add"
        if part == "linear":
            nn.functional.linear(x, x)
            return "aten::linear", ["aten::t", "aten::matmul"]
        if part == "fail":
            outcome(lambda: x.view(3))
            return "aten::view"
        with record_function("label"):
            below = [run(p) for p in part]
        return ("label", below) if below else "label"

    run("linear")
    prof = profile(profile_memory=memory)
    with prof:
        expected = run(program)
    (root,) = prof.events().roots()
    found = tree([root])[0]
    assert shallow(found) == shallow(expected)


def shallow(node: Any) -> Any:
    """Names of labels and of the operators that the program itself called."""
    if isinstance(node, tuple):
        name, below = node
        return name, [shallow(n) for n in below] if name == "label" else []
    return node, []
