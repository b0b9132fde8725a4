"""Python emitted from graphs: what it looks like, that it does what the interpreter does, and what
it keeps in memory.
"""

from __future__ import annotations

import sys
import traceback
import weakref
from typing import Any

import pytest

import internals
from internals.core.hot import hot
from internals.jit.ir import Graph, IntType
from internals.jit.ir.parser import parse_ir
from internals.jit.runtime.compile import compile_graph
from internals.jit.runtime.emit_python import EmittedFunction, TooDeep, emit
from internals.jit.runtime.graph_executor import GraphExecutor
from internals.jit.runtime.interpreter import Interpreter
from internals.jit.runtime.program import run_code
from tests.jit.passes.pass_support import seeds
from tests.jit.programs.graphs import assert_same_observation, observe, program
from tests.jit.runtime.test_interpreter import LOOP


def emitted(text: str, name: str = "f") -> EmittedFunction:
    return emit(parse_ir(text), name)


def loop(body: str, carried: str, start: str, out: str, limit: str = "%n") -> str:
    """A graph `(x, n) -> carried` with one loop; `body` ends in the block's outputs."""
    return (
        "graph(%x : Tensor, %n : int):\n  %true : bool = prim::Constant[value=1]()\n"
        "  %1 : int = prim::Constant[value=1]()\n  %0 : int = prim::Constant[value=0]()\n"
        f"  {out} = prim::Loop({limit}, %true, {start})\n    block0(%i : int, {carried}):\n{body}  "
        "return (%out)\n"
    )


# What it looks like


def test_a_loop_with_a_branch_reads_like_python() -> None:
    assert emitted(LOOP).source == (
        "def f(x, n):\n    y = x\n    for i in range(n):\n        if (i % 2) == 0:\n            y "
        "= y + x\n        else:\n"
        "            y = y * 2\n    return y\n"
    )


def test_one_line_for_each_node_and_del_with_the_last_use() -> None:
    text = (
        "graph(%x : Tensor, %w : Tensor):\n  %a : Tensor = aten::mm(%x, %w)\n  %b : Tensor = "
        "aten::relu(%a)\n"
        "  %l : Tensor[] = prim::ListConstruct(%b, %w)\n  %0 : int = prim::Constant[value=0]()\n"
        "  %c : Tensor = aten::cat(%l, %0)\n  return (%c)\n"
    )
    f = emitted(text)
    assert f.source == (
        "def f(x, w):\n    a = aten_mm(x, w)\n    b = aten_relu(a); del a\n    l = [b, w]; del b\n"
        "    c = aten_cat(l, 0); del l\n    return c\n"
    )
    assert [f.node_at(line).kind() for line in range(2, 6)] == [  # type: ignore[union-attr]
        "aten::mm", "aten::relu", "prim::ListConstruct", "aten::cat",
    ]  # fmt: skip
    assert f.node_at(1) is None
    x = internals.ones(2, 2)
    assert f(x, x).tolist() == [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]


def test_a_while_loop() -> None:
    text = """graph(%n : int):
  %big : int = prim::Constant[value=9223372036854775807]()
  %0 : int = prim::Constant[value=0]()
  %2 : int = prim::Constant[value=2]()
  %go : bool = aten::lt(%0, %n)
  %k : int = prim::Loop(%big, %go, %0)
    block0(%i : int, %k.1 : int):
      %k.2 : int = aten::add(%k.1, %2)
      %more : bool = aten::lt(%k.2, %n)
      -> (%more, %k.2)
  return (%k)
"""
    f = emitted(text)
    assert "while go_on:" in f.source and "range" not in f.source
    assert [f(n) for n in (-1, 0, 1, 5)] == [0, 0, 2, 6]


def test_values_that_change_places() -> None:
    text = loop(
        "      %s : int = aten::add(%a, %b)\n      -> (%true, %b, %s)\n",
        "%a : int, %b : int",
        "%0, %1",
        "%out : int, %r : int",
    )
    f = emitted(text)
    assert [f(internals.ones(1), n) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]


@pytest.mark.parametrize("name", ["lambda", "x.1", "range", "wrap", "f", "über", "aten_mul", "1st"])
def test_odd_names(name: str) -> None:
    g = Graph()
    v = g.addInput().setDebugName(name)
    w = g.insert("aten::mul", [v, v]).setDebugName("None")
    g.registerOutput(g.insert("aten::relu", [g.insert("aten::neg", [w])]))
    assert emit(g, "f")(internals.tensor([-2.0])).tolist() == [0.0]
    assert emit(g, "if")(internals.tensor([-2.0])).tolist() == [0.0]


@pytest.mark.parametrize(
    "value", [float("inf"), float("nan"), -0.0, -1, True, None, "a'\n\\b", 1 + 2j, [1, 2], (1, "x")]
)
def test_constants(value: Any) -> None:
    g = Graph()
    g.registerOutput(g.insertConstant(value))
    result = emit(g)()
    assert repr(result) == repr(value) and type(result) is type(value)


# That it does what the interpreter does


@pytest.mark.parametrize("seed", seeds(120, 2000))
def test_random_programs(seed: int) -> None:
    p = program(seed)
    expected = observe(p.graph(), p)
    assert_same_observation(observe(p.graph(), p, lambda g, args: emit(g, "f")(*args)), expected)


@pytest.mark.parametrize("depth", [15, 30, 120])
def test_loops_inside_loops(depth: int) -> None:
    """Python has room for twenty; beyond, the executor takes the interpreter."""
    g = Graph()
    v = g.addInput("n").setType(IntType.get())
    true = g.insertConstant(True)
    block, outer = g.block(), v
    for _ in range(depth):
        node = g.create("prim::Loop", [v, true, outer])
        node.output().setType(IntType.get())
        block.appendNode(node)
        if block is g.block():
            g.registerOutput(node.output())
        else:
            block.registerOutput(true)
            block.registerOutput(node.output())
        block = node.addBlock()
        block.addInput().setType(IntType.get())
        outer = block.addInput().setType(IntType.get())
    with g.insert_point_guard(block):
        inside = g.insert("aten::add", [outer, 1])
    block.registerOutput(true)
    block.registerOutput(inside)
    if depth > 20:
        with pytest.raises(TooDeep):
            emit(g, "f")
    else:
        assert emit(g, "f")(1) == 2
    executor = GraphExecutor(g, "f")
    assert executor(1) == 2 and executor(0) == 0


def test_a_long_graph() -> None:
    g = Graph()
    v = x = g.addInput("x")
    for _ in range(3000):
        v = g.insert("aten::add", [v, x, 1])
    g.registerOutput(v)
    assert emit(g, "f")(internals.ones(2)).tolist() == [3001.0, 3001.0]


def test_a_long_sum_of_ints() -> None:
    g = Graph()
    v = g.addInput("n").setType(IntType.get())
    for _ in range(3000):
        v = g.insert("aten::add", [v, 1])
    g.registerOutput(v)
    assert emit(g, "f")(5) == 3005
    assert emit(g, "f")(2**63 - 1000) == 2**63 - 1000 + 3000 - 2**64


OVERFLOW = [
    "      %s : int = aten::add(%a, %n)\n      -> (%true, %s)\n",
    (
        "      %s : int = aten::mul(%a, %n)\n      %t : int = aten::add(%s, %1)\n"
        "      -> (%true, %t)\n"
    ),
    (
        "      %s : int = aten::add(%a, %a)\n      %t : int = aten::add(%s, %1)\n"
        "      -> (%true, %t)\n"
    ),
    (
        "      %s : int = aten::mul(%i, %i)\n      %t : int = aten::sub(%a, %s)\n"
        "      -> (%true, %t)\n"
    ),
]


@pytest.mark.parametrize("body", OVERFLOW)
@pytest.mark.parametrize("n", [0, 1, 70, 300])
def test_ints_wrap_around_as_in_the_interpreter(body: str, n: int) -> None:
    """Some sums are let grow for as long as a loop runs; at its end nobody can tell."""
    text = loop(body, "%a : int", "%0", "%out : int")
    args = internals.ones(1), n
    code = compile_graph(parse_ir(text))
    assert emitted(text)(*args) == Interpreter(code, *args).run() == run_code(code, args)


def test_a_sum_that_leaves_the_64_bits_comes_back() -> None:
    text = loop(
        "      %s : int = aten::add(%a, %big)\n      -> (%true, %s)\n",
        "%a : int",
        "%0",
        "%out : int",
    )
    text = text.replace(
        "  %out", "  %big : int = prim::Constant[value=9223372036854775807]()\n  %out", 1
    )
    assert emitted(text)(internals.ones(1), 2) == -2
    assert run_code(compile_graph(parse_ir(text)), (internals.ones(1), 2)) == -2


# Memory


def test_a_tensor_is_freed_after_its_last_use() -> None:
    graph = parse_ir(
        "graph(%x : Tensor):\n  %a : Tensor = aten::exp(%x)\n  %b : Tensor = ^look()(%a)\n"
        "  %c : Tensor = ^again()(%b)\n  return (%c)\n"
    )
    seen: list[Any] = []

    def look(a: Any) -> Any:
        seen.append(weakref.ref(a))
        return internals.ones(3)

    def again(b: Any) -> Any:
        assert seen[0]() is None
        return b

    for node, function in zip(
        [n for n in graph.nodes() if n.kind().startswith("^")], (look, again)
    ):
        node.pyobj = function
    emit(graph, "f")(internals.ones(3))
    assert len(seen) == 1


def test_a_loop_keeps_one_tensor_not_all() -> None:
    f, x = emitted(LOOP), internals.ones(1 << 12)
    f(x, 2)
    before = internals.cpu.memory_stats()["allocated_bytes.all.current"]
    internals.cpu.reset_peak_memory_stats()
    result = f(x, 50)
    assert internals.cpu.memory_stats()["allocated_bytes.all.peak"] - before <= 2 * (1 << 14)
    del result


ADD = (
    "graph(%x : Tensor, %y : Tensor):\n  %two : int = prim::Constant[value=2]()\n{}  return (%r)\n"
)


def test_a_sum_is_written_over_what_nobody_needs() -> None:
    chain = (
        "  %a : Tensor = aten::mul(%x, %two)\n  %1 : int = prim::Constant[value=1]()\n  %r : "
        "Tensor = aten::add(%a, %y, %1)\n"
    )
    f = emitted(ADD.format(chain))
    assert "add_over(a, y)" in f.source
    empty = internals.cpu.memory_stats()["allocated_bytes.all.current"]
    x = internals.ones(4)
    one_tensor = internals.cpu.memory_stats()["allocated_bytes.all.current"] - empty
    f(x, x)
    before = internals.cpu.memory_stats()["allocated_bytes.all.current"]
    internals.cpu.reset_peak_memory_stats()
    r = f(x, x)
    peak = internals.cpu.memory_stats()["allocated_bytes.all.peak"]
    assert r.tolist() == [3.0] * 4 and x.tolist() == [1.0] * 4
    assert peak - before == one_tensor


SHARED = {
    "an element of a list": "  %l : Tensor[] = prim::ListConstruct(%a)\n{add}"
    "  %r : (Tensor, Tensor[]) = prim::TupleConstruct(%s, %l)\n",
    "seen through a view": (
        "  %v : Tensor = aten::t(%a)\n{add}  %r : (Tensor, Tensor) = prim::TupleConstruct(%s, %v)\n"
    ),
    "used twice": (
        "{add}  %s2 : Tensor = aten::mul(%a, %two)\n  %r : (Tensor, Tensor) = "
        "prim::TupleConstruct(%s, %s2)\n"
    ),
    "detached": (
        "  %v : Tensor = aten::detach(%a)\n{add}  %r : (Tensor, Tensor) = prim::TupleConstruct(%s, "
        "%v)\n"
    ),
}


@pytest.mark.parametrize("case", SHARED)
def test_but_not_over_what_somebody_has(case: str) -> None:
    add = "  %1 : int = prim::Constant[value=1]()\n  %s : Tensor = aten::add(%a, %y, %1)\n"
    text = ADD.format("  %a : Tensor = aten::mul(%x, %two)\n" + SHARED[case].format(add=add))
    expected = {"used twice": 4.0}.get(case, 2.0)
    x = internals.ones(2, 2)
    for run in (emitted(text), lambda *args: run_code(compile_graph(parse_ir(text)), args)):
        first, second = run(x, x)
        second = second[0] if isinstance(second, list) else second
        assert first.tolist() == [[3.0, 3.0]] * 2 and second.tolist() == [[expected] * 2] * 2


def test_nor_over_arguments_nor_over_numpy_s_memory() -> None:
    import numpy as np

    from internals.jit.runtime.reuse import INTO_FIRST

    f = emitted(
        "graph(%x : Tensor, %y : Tensor):\n  %r : Tensor = aten::mul(%x, %y)\n  return (%r)\n"
    )
    x = internals.full((2,), 3.0)
    assert f(x, internals.full((2,), 2.0)).tolist() == [6.0, 6.0] and x.tolist() == [3.0, 3.0]
    memory, two = np.full(4, 3, np.float32), internals.full((4,), 2.0)
    assert (
        INTO_FIRST["*"](internals.from_numpy(memory), two).tolist() == [6.0] * 4
        and memory.tolist() == [3.0] * 4
    )
    with hot.paused():
        assert INTO_FIRST["*"](internals.full((4,), 3.0), two).tolist() == [6.0] * 4


def test_gradients_are_recorded_where_sums_could_be_reused() -> None:
    f = emitted(
        ADD.format("  %a : Tensor = aten::mul(%x, %two)\n  %r : Tensor = aten::mul(%a, %y)\n")
    )
    assert "mul_over" in f.source
    x = internals.ones(3, requires_grad=True)
    f(x, x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [4.0] * 3


# Errors


def test_an_error_names_the_node_and_the_traceback_shows_the_line() -> None:
    two_nodes = "  %a : Tensor = aten::relu(%x)\n  %b : Tensor = aten::mm(%a, %y)\n"
    f = emitted(f"graph(%x : Tensor, %y : Tensor):\n{two_nodes}  return (%b)\n")
    with pytest.raises(RuntimeError) as raised:
        f(internals.ones(2, 2), internals.ones(3, 3))
    assert type(raised.value) is RuntimeError
    assert str(raised.value).startswith(
        "The following operation failed in the TorchScript interpreter.\nTraceback of "
    )
    assert "mat1 and mat2 shapes cannot be multiplied" in str(raised.value)
    shown = "".join(traceback.format_exception(raised.value))
    assert "b = aten_mm(a, y)" in shown


def test_the_source_is_forgotten_with_the_function() -> None:
    import linecache

    f = emitted(LOOP)
    name = f.filename
    assert name in linecache.cache
    del f
    assert name not in linecache.cache


def test_reference_counts_are_what_reuse_takes_them_for() -> None:
    from internals.jit.runtime.reuse import ALONE, HELD_ALONE

    def count(a: object) -> int:
        return sys.getrefcount(a)

    thing = internals.ones(1)
    registers = [internals.ones(1)]
    counts = count(thing), count(registers[0])
    assert counts == (ALONE, ALONE)
    storage = thing._storage
    assert sys.getrefcount(storage) == HELD_ALONE
