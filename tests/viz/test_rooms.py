"""`viz.allocator`, `viz.dispatch`, `viz.big_picture`, `viz.Stepper` and `viz.Graph`."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import internals
import viz
import viz.dot
from tests.viz.support import assert_good, assert_no_overlap, same_in_two_processes
from viz.canvas import Canvas
from viz.rooms import allocator as allocator_room


def test_the_overlap_check_can_fail() -> None:
    crossed, covered = Canvas(), Canvas()
    covered.text(0, 10, "one text")
    covered.text(10, 12, "another")
    with pytest.raises(AssertionError, match="overlaps"):
        assert_no_overlap(covered)
    crossed.text(0, 10, "one text")
    crossed.line([(5, 0), (5, 20)])
    with pytest.raises(AssertionError, match="a line crosses"):
        assert_no_overlap(crossed)


# allocator


def test_the_allocator_shows_every_block() -> None:
    # of our own: what other tests drop may come back to the common one at any time
    mine = internals.cpu.CachingAllocator()
    with internals.cpu.use_cpu_allocator(mine):
        kept = [internals.empty(n) for n in (3, 3, 100, 5000, 7)]
    del kept[-1]
    picture = viz.allocator(mine)
    snapshot = mine.snapshot()
    assert sum(len(c.requested) + c.cached for c in picture.classes) == len(snapshot)
    assert sum(c.cached for c in picture.classes) == sum(b["state"] == "cached" for b in snapshot)
    assert [c.size for c in picture.classes] == sorted({b["size"] for b in snapshot})
    before = {c.size: c.cached for c in picture.classes}[64]
    del kept
    assert {c.size: c.cached for c in viz.allocator(mine).classes}[64] == before + 2
    assert_good(picture)


def test_an_allocator_of_your_own() -> None:
    mine = internals.cpu.CachingAllocator()
    with internals.cpu.use_cpu_allocator(mine), viz.allocator_timeline(mine) as timeline:
        kept = internals.empty(10)
        internals.empty(100)
    assert [(c.size, c.requested, c.cached) for c in viz.allocator(mine).classes] == [
        (64, [40], 0),
        (448, [], 1),
    ]
    assert [e.action for e in timeline.events] == ["alloc", "alloc", "cache_return"]
    with pytest.raises(ValueError, match="knows the allocators of 'cpu' and 'cuda'"):
        viz.allocator("meta")
    del kept


def test_many_blocks_are_summarised() -> None:
    snapshot = [{"address": i, "size": 64, "requested": 4, "state": "active"} for i in range(4000)]
    picture = allocator_room.scene(snapshot, {})
    assert_good(picture)
    assert (
        any("more" in text.text for text in picture.canvas().texts())
        and len(picture.svg()) < 30_000
    )


def test_the_timeline_shows_a_block_coming_back() -> None:
    internals.cpu.empty_cache()
    with viz.allocator_timeline() as timeline:
        a = internals.empty(70_000)
        del a
        b = internals.empty(70_000)
    first, second, third = (e for e in timeline.events if timeline.sizes[e.block] >= 280_000)
    assert [first.action, second.action, third.action] == ["alloc", "cache_return", "cache_hit"]
    assert first.block == second.block == third.block
    assert [e.states[e.block] for e in (first, second, third)] == ["active", "cached", "active"]
    assert b.numel() == 70_000
    assert_good(timeline)


@pytest.mark.sampled(1 / 4)
def test_blocks_from_before_the_recording() -> None:
    events = [
        {"action": "cache_hit", "address": 0x7F00, "size": 64},
        {"action": "alloc", "address": 0x8000, "size": 1 << 20},
        {"action": "segment_free", "address": 0x8000, "size": 1 << 20},
        {"action": "alloc", "address": 0x8000, "size": 128},
    ]
    timeline = allocator_room.timeline(events)
    assert timeline.sizes == [64, 1 << 20, 128]
    assert [e.states for e in timeline.events] == [
        ["active", "", ""], ["active", "active", ""], ["active", "", ""], ["active", "", "active"],
    ]  # fmt: skip
    assert_good(timeline)
    assert_good(allocator_room.timeline(events * 40))
    assert "nothing happened" in allocator_room.timeline([]).text()
    assert_good(allocator_room.timeline([]))


def test_other_devices_have_no_allocator_here() -> None:
    with pytest.raises(ValueError, match="not of 'meta'"):
        viz.allocator("meta")
    with pytest.raises(ValueError, match="not of 'meta'"), viz.allocator_timeline("meta"):
        pass


# dispatch


def test_dispatch_of_one_addition() -> None:
    a = internals.ones(2)
    picture = viz.dispatch(internals.add, a, a)
    (call,) = picture.calls
    assert call.op == "aten::add.Tensor" and picture.function == "add"
    assert (
        picture.state(call, "CPU") == "ran"
        and picture.state(call, "ADInplaceOrView") == "fell through"
    )
    assert picture.state(call, "PythonDispatcher") == "not in the key set"
    assert (
        picture.keys.index("AutogradCPU")
        < picture.keys.index("ADInplaceOrView")
        < picture.keys.index("CPU")
    )
    assert not set(picture.keys) & {"Undefined", "Autograd", "CompositeImplicitAutograd"}
    assert_good(picture)


def test_dispatch_shows_redispatch_and_composites() -> None:
    a = internals.ones(2, 3)
    picture = viz.dispatch(lambda: a.reshape(6))
    assert [call.op for call in picture.calls] == ["aten::reshape", "aten::view"]
    assert picture.calls[0].calls_others and not picture.calls[1].calls_others
    assert [step.kind != "fallthrough" for step in picture.calls[1].steps] == [
        True,
        True,
        False,
        True,
    ]
    assert "-> redispatches" in picture.text()
    assert_good(picture)


def test_dispatch_without_and_with_many_calls() -> None:
    assert viz.dispatch(abs, -1).text() == "abs: no operator was called"
    assert_good(viz.dispatch(abs, -1))
    a = internals.ones(2)
    many = viz.dispatch(lambda: [a + a for _ in range(30)])
    assert len(many.calls) == 30 and "(18 more calls hidden)" in many.text()
    assert_good(many)


def test_the_trace_is_not_left_on_when_the_function_fails() -> None:
    with pytest.raises(ZeroDivisionError):
        viz.dispatch(lambda: 1 // 0)
    a = internals.ones(2)
    assert len(viz.dispatch(lambda: a + a).calls) == 1


# big picture


def test_big_picture_of_a_view() -> None:
    a = internals.arange(6).view(2, 3)
    picture = viz.big_picture(a.t()[1:])
    entries = {part.name: {e.name: e.value for e in part.entries} for part in picture.parts}
    assert entries["Tensor"]["strides"] == "(1, 3)" and entries["Tensor"]["storage_offset"] == "1"
    assert entries["Storage"]["nbytes"] == "48" and entries["Storage"]["resizable"] == "True"
    assert entries["DataPtr"]["pointer"] == "S0+0x0"
    assert entries["Allocator"]["name"] == "CachingAllocator"
    assert picture.values == ["0", "1", "2", "3", "4", "5"]
    assert_good(picture)


def test_big_picture_of_borrowed_memory() -> None:
    n = np.ones(100)
    picture = viz.big_picture(internals.from_numpy(n))
    entries = {part.name: {e.name: e.value for e in part.entries} for part in picture.parts}
    assert entries["DataPtr"]["context"] == "&ndarray"
    assert entries["Storage"]["resizable"] == "False" and entries["Storage"]["allocator"] == "None"
    assert entries["Allocator"] == {"none": "memory is borrowed"}
    assert picture.hidden == 88
    assert_good(picture)


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 4, 5, 6, 7)])
def test_big_picture_of_any_shape(shape: tuple[int, ...]) -> None:
    assert_good(viz.big_picture(internals.zeros(shape, dtype=internals.complex64)))


def test_big_picture_of_something_else() -> None:
    with pytest.raises(TypeError, match="got ndarray"):
        viz.big_picture(np.ones(2))


# stepper


def test_stepper_holds_every_frame() -> None:
    a = internals.arange(6)
    stepper = viz.Stepper(
        [("before", viz.memory(a=a)), ("after <", viz.memory(a=a, b=a[1:])), ("text", "1 < 2")],
        "Do",
    )
    html = stepper.html()
    assert (
        html.count('type="checkbox"') == 2
        and html.count('type="reset"') == 1
        and "<script" not in html
    )
    assert not re.search(r'\sid="', html) and "onclick" not in html
    assert "after &lt;" in html and "1 &lt; 2" in html
    assert stepper.text().startswith("Do\n[1/3] before\n    S0") and "[3/3] text" in repr(stepper)
    assert_no_overlap(stepper.canvas())
    with pytest.raises(ValueError, match="at least one"):
        viz.Stepper([])


# graphs


def make_graph(nodes: int = 3) -> viz.Graph:
    graph = viz.Graph("a <graph>")
    for n in range(nodes):
        graph.node(
            f'aten::op{n} "x"',
            "view" if n % 2 else "storage",
            tip=f"tip {n}",
            lines=["float32 (2, 3)"],
        )
    for n in range(nodes - 1):
        graph.edge(n, n + 1, label="out", dashed=n == 0)
    return graph


def test_dot_has_counted_ids_and_text_in_labels() -> None:
    dot = make_graph().dot
    assert 'n0 [label="aten::op0 \\"x\\"\\nfloat32 (2, 3)"' in dot
    assert 'n0 -> n1 [label="out" style=dashed]' in dot
    assert dot == make_graph().dot
    assert (
        make_graph().text().splitlines()[1] == '    n0  aten::op0 "x" (float32 (2, 3)) -> n1 [out]'
    )


@pytest.mark.skipif(viz.dot.renderer() is None, reason="no Graphviz: neither graphviz-pure nor dot")
def test_the_drawn_graph_is_ours() -> None:
    svg = make_graph().svg()
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img" and root.get("aria-label") == "a <graph>"
    assert not any("id" in element.attrib for element in root.iter())
    assert "<!--" not in svg and "f-storage-soft" in svg and "s-view" in svg and "tip 1" in svg
    description = root.find("{*}desc")
    # for who cannot see it
    assert description is not None and description.text == make_graph().text()
    description.text = ""
    assert "n0" not in "".join(root.itertext())
    assert svg == make_graph().svg()
    assert 'fill="#ffffff"' not in make_graph().svg("dark")


@pytest.mark.skipif(viz.dot.renderer() is None, reason="no Graphviz: neither graphviz-pure nor dot")
def test_graphs_can_be_saved(tmp_path: Path) -> None:
    graph = make_graph()
    assert graph.save(tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
    assert graph.save(tmp_path / "g.dot").read_text() == graph.dot
    assert graph.save(tmp_path / "g.svg", theme="dark").read_text().startswith("<svg")
    with pytest.raises(ValueError, match=r"\.dot, \.gv, \.html"):
        graph.save(tmp_path / "g.pdf")


@pytest.mark.skipif(viz.dot.renderer() is None, reason="no Graphviz: neither graphviz-pure nor dot")
def test_what_graphviz_says_is_passed_on() -> None:
    with pytest.raises(RuntimeError, match="could not draw"):
        viz.dot.render("digraph {", "svg")


def test_without_graphviz_the_text_is_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viz.dot, "renderer", lambda: None)
    graph = make_graph()
    assert "digraph" in graph.svg() and "Graphviz is not installed" in graph.svg()
    assert_no_overlap(graph.canvas())
    with pytest.raises(RuntimeError, match="pip install graphviz-pure"):
        viz.dot.render(graph.dot, "svg")


def test_large_graphs_are_cut_and_say_so() -> None:
    dot = make_graph(100).dot
    assert "20 more nodes are hidden" in dot and "n80 " not in dot and "n79 " in dot


def test_wrong_edges_and_roles() -> None:
    graph = make_graph(1)
    with pytest.raises(IndexError, match="edge to node 1, but the graph has 1 nodes"):
        graph.edge(0, 1)
    with pytest.raises(KeyError):
        graph.node("x", "puce")


def test_same_bytes_in_every_process() -> None:
    program = """
import internals, viz
a = internals.arange(6).view(2, 3)
with viz.allocator_timeline() as timeline:
    b = a + a
    del b
    b = a * 2
graph = viz.Graph("g"); graph.edge(graph.node("x"), graph.node("y", "storage"))
stepper = viz.Stepper([("one", viz.big_picture(a)), ("two", viz.dispatch(lambda: a.reshape(6)))])
for p in (timeline, graph, stepper, viz.allocator()):
    print(p, p.html())
"""
    assert "aten::view" in same_in_two_processes(program)


def test_big_picture_of_a_tensor_without_memory() -> None:
    text = str(viz.big_picture(internals.empty(2, 3, device="meta")))
    assert (
        "no memory" in text and "no bytes" in text and "borrowed" not in text and "more" not in text
    )
