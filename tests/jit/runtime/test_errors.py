"""What a failing script says, calls between scripts, and forks: the same with every executor, and
as PyTorch says it.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import internals
from internals import jit
from internals.jit.ir.parser import parse_ir
from internals.jit.runtime.compile import compile_graph
from internals.jit.runtime.emit_python import emit
from internals.jit.runtime.graph_executor import GraphExecutor
from internals.jit.runtime.interpreter import Interpreter
from internals.jit.runtime.program import run_code
from tests.answers import answer


def scripted() -> tuple[Any, Any]:
    @jit.script
    def g(x, y):  # type: ignore[no-untyped-def]
        z = x + y
        return z

    @jit.script
    def f(x, y):  # type: ignore[no-untyped-def]
        w = x * 2
        return g(w, y)

    return f, g


@pytest.mark.parametrize("name", ["emitted", "interpreter"])
@pytest.mark.parametrize("optimize", [True, False])
def test_an_error_in_a_called_function_shows_both_places(name: str, optimize: bool) -> None:
    f, _ = scripted()
    with (
        jit.executor(name),
        jit.optimized_execution(optimize),
        pytest.raises(RuntimeError) as raised,
    ):
        f(internals.ones(2), internals.ones(3))
    lines = str(raised.value).splitlines()
    assert lines[:2] == [
        "The following operation failed in the TorchScript interpreter.",
        "Traceback of TorchScript (most recent call last):",
    ]
    heads = [line.rpartition(", ")[2] for line in lines if line.startswith('  File "')]
    assert heads == ["in f", "in g"]
    marked = [
        lines[i - 1][line.index("~") : line.rindex("~") + 1]
        for i, line in enumerate(lines)
        if "<--- HERE" in line
    ]
    assert marked == ["g", "x + y"]
    assert lines[-1] == (
        "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at "
        "non-singleton dimension 0"
    )


def test_a_call_that_is_not_inlined_shows_both_places_as_well() -> None:
    f, _ = scripted()
    args = internals.ones(2), internals.ones(3)
    code = compile_graph(f.graph, "f")
    assert "CALL" in [i.op for i in code.instructions]
    texts = []
    for run in (
        lambda: Interpreter(code, *args).run(),
        lambda: run_code(code, args),
        lambda: emit(f.graph, "f")(*args),
    ):
        with pytest.raises(RuntimeError) as raised:
            run()
        texts.append(str(raised.value))
    assert texts[0] == texts[1] == texts[2] and texts[0].count("<--- HERE") == 2
    good = internals.ones(2), internals.ones(2)
    results = Interpreter(code, *good).run(), run_code(code, good), emit(f.graph, "f")(*good)
    assert [r.tolist() for r in results] == [[3.0, 3.0]] * 3


PROGRAMS = {
    "raise": (
        "def f(x, n: int):\n    if n > 0:\n        raise ValueError('bad n')\n    return x\n",
        (2,),
    ),
    "assert": ("def f(x, n: int):\n    assert n < 0, 'n must be small'\n    return x\n", (2,)),
    "list": ("def f(x, n: int):\n    l = [1, 2]\n    return l[n]\n", (5,)),
    "division": ("def f(x, n: int):\n    return 1 // n\n", (0,)),
    "item": ("def f(x, n: int):\n    return int(x)\n", (0,)),
    "loop": (
        "def f(x, n: int):\n    while True:\n        n = n + 1\n        if n > 3:\n            "
        "raise IndexError('idx')\n"
        "    return n\n",
        (0,),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_error_texts_are_those_of_pytorch(name: str, tmp_path: Any) -> None:
    source, rest = PROGRAMS[name]
    path = tmp_path / "program.py"
    path.write_text(source)

    def raised(library: Any) -> tuple[str, str]:
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(source, str(path), "exec"), namespace)
        f = library.jit.script(namespace["f"])
        with pytest.raises(Exception) as error:
            f(library.ones(2), *rest)
        return type(error.value).__name__, str(error.value).replace(str(path), "program.py")

    assert raised(internals) == answer(raised, about=source, family="jit")


def test_an_error_in_python_code_a_script_calls() -> None:
    graph = parse_ir("graph(%x : Tensor):\n  %y : Tensor = ^g()(%x)\n  return (%y)\n")

    def g(x: Any) -> Any:
        raise KeyError("from python")

    next(graph.nodes()).pyobj = g
    with pytest.raises(RuntimeError) as raised:
        GraphExecutor(graph, "f")(internals.ones(1))
    assert "RuntimeError: KeyError: 'from python'\n\nAt:\n" in str(
        raised.value
    ) and "): g\n" in str(raised.value)


def test_forks_run_and_join() -> None:
    future = jit.fork(lambda a, b: a + b, 1, b=2)
    assert jit.wait(future) == 3 and future.done() and future.value() == 3

    def fail() -> None:
        raise ValueError("in the fork")

    with pytest.raises(ValueError, match="in the fork"):
        jit.wait(jit.fork(fail))
    with internals.no_grad():
        assert jit.wait(jit.fork(internals.is_grad_enabled)) is False
    assert jit.wait(jit.fork(internals.is_grad_enabled)) is True


FORK = """graph(%x : Tensor):
  %f : Future(Tensor) = prim::fork_0(%x)
  %y : Tensor = aten::relu(%x)
  %z : Tensor = aten::wait(%f)
  %1 : int = prim::Constant[value=1]()
  %r : Tensor = aten::add(%y, %z, %1)
  return (%r)
with prim::fork_0 = graph(%x : Tensor):
  %y : Tensor = aten::neg(%x)
  return (%y)
"""


@pytest.mark.parametrize("name", ["emitted", "interpreter"])
def test_a_fork_in_a_graph(name: str) -> None:
    with jit.executor(name):
        assert GraphExecutor(parse_ir(FORK), "f")(internals.tensor([1.0, -2.0])).tolist() == [
            0.0,
            2.0,
        ]


def test_a_question_about_a_constant_is_asked_without_a_warning() -> None:
    graph = parse_ir(
        "graph():\n  %1 : int = prim::Constant[value=1]()\n  %none : NoneType = prim::Constant()\n"
        "  %b : bool = aten::__is__(%1, %none)\n  %c : bool = aten::__isnot__(%none, %none)\n  "
        "return (%b, %c)\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert emit(graph, "f")() == (False, False)


@pytest.mark.parametrize("name", ["emitted", "interpreter"])
def test_a_failure_inside_no_grad_leaves_the_mode_as_it_was(name: str) -> None:
    @jit.script
    def f(x, y):  # type: ignore[no-untyped-def]
        with internals.no_grad():
            z = x.mm(y)
        return z

    x = internals.ones(2, 2, requires_grad=True)
    with jit.executor(name):
        assert not f(x, x).requires_grad and internals.is_grad_enabled()
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            f(x, internals.ones(3, 3))
        assert internals.is_grad_enabled()
        with internals.no_grad():
            with pytest.raises(RuntimeError, match="cannot be multiplied"):
                f(x, internals.ones(3, 3))
            assert not internals.is_grad_enabled()
