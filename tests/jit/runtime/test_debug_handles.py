"""A node's handle: the same for its copies and for what passes put in its place, so that it can be
followed to what runs.
"""

from __future__ import annotations

from collections import Counter

import internals as torch
from internals import jit
from internals.jit.ir import Graph, all_nodes
from internals.jit.ir.printer import graph_lines
from internals.jit.passes import run_pass
from internals.jit.runtime.compile import compile_graph


def handles(graph: Graph, kind: str) -> list[int]:
    return [n.debug_handle for n in all_nodes(graph.block()) if n.kind() == kind]


def twice(x):  # type: ignore[no-untyped-def]
    return x * 2


def both(x, n: int):  # type: ignore[no-untyped-def]
    y = twice(x)
    for _ in range(n):
        y = y.tanh()
    return twice(y)


def test_new_nodes_have_new_handles() -> None:
    graph = Graph()
    x = graph.addInput("x")
    a, b = graph.insert("aten::relu", [x]).node(), graph.insert("aten::relu", [x]).node()
    assert a.debug_handle != b.debug_handle
    assert graph.createClone(a, lambda v: v).debug_handle == a.debug_handle
    assert graph.create("aten::tanh", [x]).copyMetadata(b).debug_handle == b.debug_handle


def test_copies_and_inlined_bodies_keep_them() -> None:
    graph = jit.script(both).graph
    assert handles(graph.copy(), "aten::tanh") == handles(graph, "aten::tanh")
    inlined = jit.script(both).inlined_graph
    assert handles(inlined, "aten::mul") == handles(jit.script(twice).graph, "aten::mul") * 2
    first, second = [n for n in all_nodes(inlined.block()) if n.kind() == "aten::mul"]
    assert first.callstack != second.callstack  # by which the two calls are told apart


def test_unrolled_copies_are_of_one_node() -> None:
    graph = jit.script(both).inlined_graph
    (tanh,) = handles(graph, "aten::tanh")
    run_pass("loop_unrolling", graph)
    assert Counter(handles(graph, "aten::tanh")) == {tanh: 9}


def test_the_executor_keeps_them_down_to_the_bytecode() -> None:
    scripted = jit.script(both)
    x = torch.ones(2)
    steps = scripted.executor.watched((x, 3))
    record, graph = next(steps)
    assert record is None
    written = {n.debug_handle for n in all_nodes(scripted.inlined_graph.block())}
    names = [r.name for r, same in steps if r is not None and same is graph]
    assert names == [r.name for r in scripted.phases(x, 3)]
    code = compile_graph(graph, "both")
    operators = [
        n
        for n in code.source
        if n.kind() in ("aten::mul", "aten::tanh") and n.sourceRange() is not None
    ]
    assert operators and {n.debug_handle for n in operators} <= written


def test_watching_leaves_the_plans_alone() -> None:
    scripted = jit.script(both)
    assert len(list(scripted.executor.watched(None))) > 1 and not scripted.executor.plans
    list(scripted.executor.watched((torch.ones(2), 3)))
    assert not scripted.executor.plans
    assert scripted(torch.ones(1), 0).tolist() == [4.0]


def test_lines_of_a_graph_know_their_node() -> None:
    graph = jit.script(both).graph
    lines = list(graph_lines(graph, False))
    assert "".join(f"{line.text}\n" for line in lines) == graph.str(False)
    for text, node in lines:
        if " = " in text:
            assert f"= {node.kind()}" in text
        else:
            assert node.kind() in ("prim::Param", "prim::Return")
