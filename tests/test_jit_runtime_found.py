"""What stressing the runtime found: Python code in scripts, interruptions, big and deep graphs, several threads."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import internals
from internals import jit
from internals.jit.runtime.graph_executor import GraphExecutor
from tests.jit_graph_programs import program
from tests.jit_pass_support import seeds

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
def test_python_code_with_constant_arguments_runs_in_every_call_and_not_before(executor: str) -> None:
    @jit.script
    def f(x):  # type: ignore[no-untyped-def]
        note("first")
        n = next_number(3)
        note("second")
        return x + n

    assert calls == []
    assert [n.kind() for n in f.graph.nodes() if n.kind().startswith("^")] == ["^note", "^next_number", "^note"]
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
            signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)  # again, if the first one comes up where it is ignored
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
            found.append(outcome(shared, p, ("emitted", "interpreter")[(number + turn) % 2], bool(turn or number % 2)))

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
        lines.append(f"  %r{d} : int = prim::Loop(%n, %true, %k{d})\n    block0(%i{d} : int, %k{d + 1} : int):\n")
    lines.append(f"  %s{depth} : int = aten::add(%k{depth}, %one)\n  -> (%true, %s{depth})\n")
    lines += [f"  -> (%true, %r{d})\n" for d in range(depth - 1, 0, -1)]
    lines.append("  return (%r0)\n")
    run = GraphExecutor(jit.parse_ir("".join(lines)), "deep")
    with jit.executor(executor):
        assert [run(1, 5), run(0, 5)] == [6, 5]
