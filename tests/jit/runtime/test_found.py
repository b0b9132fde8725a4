"""What stressing the runtime found: Python code in scripts, interruptions, big and deep graphs,
several threads.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import internals
from internals import jit
from internals.jit.runtime.graph_executor import GraphExecutor
from internals.jit.runtime.int_overflow import UncheckedInts
from tests.jit.passes.pass_support import seeds
from tests.jit.programs.graphs import program

calls: list[str] = []


@jit.ignore
def note(what: str) -> None:
    calls.append(what)


@jit.ignore
def next_number(k: int) -> int:
    calls.append("next_number")
    return k + 1


@pytest.fixture(autouse=True)
def _no_calls() -> Iterator[None]:
    calls.clear()
    yield
    internals.set_grad_enabled(True)


# Python code may do anything: it is neither computed beforehand nor left out


@pytest.mark.parametrize("executor", ["emitted", "interpreter"])
def test_python_code_with_constant_arguments_runs_in_every_call_and_not_before(
    executor: str,
) -> None:
    @jit.script
    def f(x):  # type: ignore[no-untyped-def]
        note("first")
        n = next_number(3)
        note("second")
        return x + n

    assert calls == []
    assert [n.kind() for n in f.graph.nodes() if n.kind().startswith("^")] == [
        "^note",
        "^next_number",
        "^note",
    ]
    with jit.executor(executor):
        for _ in range(2):
            calls.clear()
            assert f(internals.ones(1)).item() == 5.0
            assert calls == ["first", "next_number", "second"]


def test_equal_calls_of_python_code_are_two_calls() -> None:
    @jit.script
    def f(x):  # type: ignore[no-untyped-def]
        return x + next_number(3) + next_number(3)

    assert f(internals.ones(1)).item() == 9.0
    assert calls == ["next_number", "next_number"]


# Interrupted


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
@pytest.mark.parametrize("executor", ["emitted", "interpreter"])
def test_a_script_interrupted_inside_no_grad_leaves_the_grad_mode_as_it_was(executor: str) -> None:
    @jit.script
    def f(x, n: int):  # type: ignore[no-untyped-def]
        with internals.no_grad():
            for _ in range(n):
                x = x + 1
        return x

    f(internals.ones(1), 1)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), jit.executor(executor):
            # again, if the first one comes up where it is ignored
            signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)
            try:
                f(internals.ones(1), 10**12)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert internals.is_grad_enabled()
    assert f(internals.ones(1), 2).item() == 3.0


# Several threads


@pytest.mark.parametrize("seed", seeds(10, 150))
def test_one_executor_in_several_threads_at_once(seed: int) -> None:
    p = program(seed)
    want = outcome(GraphExecutor(p.graph(), "f"), p, "interpreter", False)
    shared, found = GraphExecutor(p.graph(), "f"), []
    begin = threading.Barrier(6)

    def work(number: int) -> None:
        begin.wait()
        for turn in range(2):
            found.append(
                outcome(
                    shared,
                    p,
                    ("emitted", "interpreter")[(number + turn) % 2],
                    bool(turn or number % 2),
                )
            )

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [want] * 12


def outcome(executor: GraphExecutor, p: Any, name: str, optimize: bool) -> str:
    try:
        with jit.executor(name), jit.optimized_execution(optimize):
            return str(executor(*p.arguments()))
    except RuntimeError as error:
        return str(error).splitlines()[-1]


def test_threads_that_come_first_make_one_plan() -> None:
    @jit.script
    def f(x, n: int):  # type: ignore[no-untyped-def]
        y = x
        for i in range(n):
            y = y.sin() if i % 2 == 0 else y + x
        return y

    results: list[Any] = []
    begin = threading.Barrier(8)

    def work() -> None:
        begin.wait()
        results.append(f(internals.ones(3), 7).tolist())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [results[0]] * 8
    assert len(f.executor.plans) == 1


# Deep


@pytest.mark.parametrize("executor", ["emitted", "interpreter"])
def test_more_loops_inside_each_other_than_python_has_room_for(executor: str) -> None:
    depth = 40
    lines = ["graph(%n : int, %k0 : int):\n  %one : int = prim::Constant[value=1]()\n"]
    lines.append("  %true : bool = prim::Constant[value=1]()\n")
    for d in range(depth):
        lines.append(
            f"  %r{d} : int = prim::Loop(%n, %true, %k{d})\n    block0(%i{d} : int, %k{d + 1} : "
            "int):\n"
        )
    lines.append(f"  %s{depth} : int = aten::add(%k{depth}, %one)\n  -> (%true, %s{depth})\n")
    lines += [f"  -> (%true, %r{d})\n" for d in range(depth - 1, 0, -1)]
    lines.append("  return (%r0)\n")
    run = GraphExecutor(jit.parse_ir("".join(lines)), "deep")
    with jit.executor(executor):
        assert [run(1, 5), run(0, 5)] == [6, 5]


# Large: what is done for one node must not look at all the others


def test_a_merge_of_two_values_is_told_to_the_analysis_of_memory() -> None:
    text = """graph(%x : Float(2, device=cpu)):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %a : Float(2, device=cpu) = aten::mul(%x, %x)
  %b : Float(2, device=cpu) = aten::add(%a, %zero, %one)
  %c : Float(2, device=cpu) = aten::add(%a, %zero, %one)
  return (%b, %c)
"""
    graph = jit.parse_ir(text)
    jit.run_pass("peephole", graph, verify=True)
    left = [n for n in graph.nodes() if n.kind() == "aten::add"]
    assert len(left) == 1, (
        "the first sum may become %a; then the caller has that, and must get another object for "
        "the second"
    )
    b, c = GraphExecutor(graph)(internals.ones(2))
    b.zero_()
    assert c.tolist() == [1.0, 1.0]


def test_positions_of_nodes_stay_right_while_nodes_come_and_go() -> None:
    graph = jit.parse_ir(
        "graph(%x : Tensor):\n  %a : Tensor = aten::exp(%x)\n  %z : Tensor = aten::sin(%a)\n  "
        "return (%z)\n"
    )
    first, last = graph.nodes()
    order = [first, last]
    for i in range(100):  # always at the same place: more often than numbers can be halved
        assert order[0].isBefore(order[1]) and order[-2].isBefore(order[-1])
        node = graph.create("aten::tanh", [first.output()])
        node.insertAfter(order[i % 2])
        order.insert(i % 2 + 1, node)
    for _ in range(20):
        order.pop(50).destroy()
    order[60].moveBefore(order[3])
    order.insert(3, order.pop(60))
    assert order == list(graph.nodes())
    assert all(a.isBefore(b) and b.isAfter(a) for a, b in zip(order, order[1:]))


def test_ints_are_compared_with_floats_as_floats() -> None:
    @jit.script
    def f(a: int, b: float):  # type: ignore[no-untyped-def]
        return a == b, a != b, a < b, b < a, a <= b, b >= a

    for executor in ("emitted", "interpreter"):
        with jit.executor(executor):
            assert f(2**53 + 1, 2.0**53) == (True, False, False, False, True, True)
            assert f(1, 1.5) == (False, True, True, False, True, True)


def chain(turns: int) -> GraphExecutor:
    lines = ["graph(%x0 : Tensor, %k : int):\n  %one : int = prim::Constant[value=1]()\n"]
    for i in range(turns):
        lines.append(
            f"  %y{i} : Tensor = aten::mul(%x{i}, %k)\n  %x{i + 1} : Tensor = aten::add(%y{i}, "
            "%x0, %one)\n"
        )
    return GraphExecutor(jit.parse_ir("".join([*lines, f"  return (%x{turns})\n"])), "long")


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", ["emitted", "interpreter"])
def test_a_graph_of_three_thousand_nodes_runs(name: str) -> None:
    with jit.executor(name):
        assert chain(1500)(internals.ones(2), 1).tolist() == [1501.0, 1501.0]


@pytest.mark.sampled(1 / 4)
def test_a_long_graph_has_a_gradient() -> None:
    x = internals.ones(2, requires_grad=True)
    chain(200)(x, 1).sum().backward()
    assert x.grad.tolist() == [201.0, 201.0]


def test_sums_on_both_ways_around_a_loop_are_wrapped_at_its_end() -> None:
    @jit.script
    def f(n: int, c: bool) -> tuple[int, int]:
        first = 0
        second = 0
        for _ in range(n):
            if c:
                first = first + n
                second = second - n
        return first, second

    (loop,) = f.graph.findAllNodes("prim::Loop")
    assert UncheckedInts(f.graph).wrap == set(loop.outputs()) and f(3, True) == (9, -9)
