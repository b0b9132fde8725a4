"""`viz.graph`: the scene is the graph."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import internals
import viz
import viz.layered
from internals import jit, nn
from internals.jit.ir import Graph, TensorType, parse_ir
from tests.viz.support import assert_good, same_in_two_processes
from viz.canvas import Rect
from viz.rooms.graph import IrPicture, all_nodes
from viz.rooms.ir_record import RETURN, IrBlock, IrNode

STRAIGHT = """
graph(%x : Tensor, %w : Tensor):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::mm(%x, %w)
  %z : Tensor = aten::relu(%y)
  %s : Tensor = aten::add(%z, %y, %one)
  return (%s)
"""
NESTED = """
graph(%x.1 : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %zero : int = prim::Constant[value=0]()
  %x : Tensor = prim::Loop(%n, %t, %x.1)
    block0(%i : int, %a : Tensor):
      %r : int = aten::remainder(%i, %two)
      %even : bool = aten::eq(%r, %zero)
      %b : Tensor = prim::If(%even)
        block0():
          %c : Tensor = aten::mul(%a, %two)
          -> (%c)
        block1():
          %d : Tensor = aten::mul(%a, %x.1)
          -> (%d)
      -> (%t, %b)
  return (%x)
"""
WRITES = """
graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %before : Tensor = aten::relu(%x)
  %row : Tensor = aten::select(%x, %zero, %zero)
  %same : Tensor = aten::neg_(%row)
  %after : Tensor = aten::relu(%x)
  return (%before, %after)
"""


def pairs(block: IrBlock) -> set[tuple[str, str, str]]:
    """Edges of values as (what makes it, what takes it, its name)."""
    ends = {RETURN: "return", **{-1 - i: f"%{name}" for i, (name, _) in enumerate(block.inputs)}}
    ends.update({i: n.title for i, n in enumerate(block.nodes)})
    return {(ends[e.tail], ends[e.head], e.name) for e in block.edges}


def find(picture: IrPicture, title: str) -> IrNode:
    (found,) = [n for n in all_nodes(picture.body) if n.title == title]
    return found


def shown(picture: IrPicture) -> list[str]:
    return [n.title for n in all_nodes(picture.body)]


def accounted_for(picture: IrPicture) -> bool:
    """Every node of the graph is a box, in a fold, or written into another box."""
    boxes = sum(n.hides or 1 for n in all_nodes(picture.body))
    return boxes + picture.folded_constants == picture.total


# The scene


def test_nodes_and_edges_are_those_of_the_graph() -> None:
    g = parse_ir(STRAIGHT)
    picture = viz.graph(g)
    assert shown(picture) == [n.kind() for n in g.nodes() if n.kind() != "prim::Constant"]
    assert pairs(picture.body) == {
        ("%x", "aten::mm", "x"),
        ("%w", "aten::mm", "w"),
        ("aten::mm", "aten::relu", "y"),
        ("aten::mm", "aten::add", "y"),
        ("aten::relu", "aten::add", "z"),
        ("aten::add", "return", "s"),
    }
    assert find(picture, "aten::add").args == "%z, %y, alpha=1"
    assert find(picture, "aten::add").results == [("s", "Tensor")]
    assert picture.body.outputs == ["%s"] and accounted_for(picture)
    assert (
        picture.summary()
        == "4 nodes, 1 of them constants and the like, written where they are used"
    )
    assert_good(picture)


def test_constants_with_boxes_of_their_own() -> None:
    picture = viz.graph(parse_ir(STRAIGHT), fold_constants=False)
    assert shown(picture)[0] == "prim::Constant[value=1]"
    assert ("prim::Constant[value=1]", "aten::add", "one") in pairs(picture.body)
    assert find(picture, "aten::add").args == "%z, %y, %one" and picture.folded_constants == 0
    assert picture.summary() == "4 nodes"
    assert_good(picture)


def test_types_stand_on_edges_and_inputs() -> None:
    g = Graph()
    x = g.addInput("x").setType(TensorType.create_from_tensor(internals.zeros(2, 3)))
    y = g.insert("aten::relu", [x])
    y.setType(x.type())
    g.registerOutput(y)
    picture = viz.graph(g)
    assert picture.body.inputs == [("x", "Float(2, 3)")]
    assert [e.type for e in picture.body.edges] == ["Float(2, 3)"] * 2
    assert "%1 : Float(2, 3)" in picture.svg()
    assert_good(picture)


def test_how_constants_are_written() -> None:
    g = Graph()
    x = g.addInput("x")
    for value in (2, 0.1, True, False, None, "sum", [1, 2], (1, 2.5), internals.tensor(3.0)):
        g.insertConstant(value)
    made = [n.output() for n in g.nodes()]
    g.registerOutput(g.insert("prim::TupleConstruct", [x, *made]))
    (node,) = viz.graph(g).body.nodes
    assert node.args == '%x, 2, 0.1, True, False, None, "sum", [1, 2], (1, 2.5), {3}'
    long = Graph()
    long.registerOutput(long.insertConstant("a" * 100))
    assert viz.graph(long).body.outputs == ['"' + "a" * 30 + "…"]
    assert_good(viz.graph(long))


def test_lists_of_constants_unless_somebody_changes_them() -> None:
    def pooled(x: internals.Tensor) -> internals.Tensor:
        return nn.functional.max_pool2d(x, [2, 2])

    traced = jit.trace(pooled, internals.ones(1, 1, 4, 4))
    picture = viz.graph(traced)
    assert shown(picture) == ["aten::max_pool2d"] and accounted_for(picture)
    assert "kernel_size=[2, 2], stride=[]" in find(picture, "aten::max_pool2d").args
    changed = parse_ir("""
graph():
  %one : int = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct(%one)
  %m : int[] = aten::append(%l, %one)
  %n : int = aten::len(%l)
  return (%n)
""")
    assert shown(viz.graph(changed)) == ["prim::ListConstruct", "aten::append", "aten::len"]


class Counting(nn.Module):
    n: int

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.n = 0

    def forward(self, x: internals.Tensor) -> internals.Tensor:
        self.n = self.n + 1
        return self.fc(x) * self.n


def test_modules_calls_and_attributes() -> None:
    scripted = jit.script(Counting())
    picture = viz.graph(scripted.graph)
    call = find(picture, 'prim::CallMethod[name="forward"]')
    assert call.args == "self.fc, %x.1" and call.role == "owner"
    setting = find(picture, 'prim::SetAttr[name="n"]')
    assert setting.role == "shared" and setting.writes == ["self.n"]
    # before and after it is set: not the same
    assert shown(picture).count('prim::GetAttr[name="n"]') == 2
    inlined = viz.graph(scripted)
    assert find(inlined, "aten::linear").args == "%x.1, weight=self.fc.weight, bias=self.fc.bias"
    assert inlined.heading() == "graph of Counting"
    for p in (picture, inlined):
        assert accounted_for(p)
        assert_good(p)


def test_blocks_stand_inside_their_nodes() -> None:
    picture = viz.graph(parse_ir(NESTED))
    loop = find(picture, "prim::Loop")
    assert loop.args == "%n, True, %x.1" and loop.role == "ready"
    (body,) = loop.blocks
    assert body.inputs == [("i", "int"), ("a", "Tensor")] and body.outputs == ["True", "%b"]
    assert [n.title for n in body.nodes] == ["aten::remainder", "aten::eq", "prim::If"]
    assert pairs(body) == {
        ("%i", "aten::remainder", "i"),
        ("aten::remainder", "aten::eq", "r"),
        ("aten::eq", "prim::If", "even"),
        ("%a", "prim::If", "a"),  # taken inside the arms
        ("prim::If", "return", "b"),
    }
    arms = body.nodes[2].blocks
    assert [b.name for b in arms] == ["block0", "block1"] and [b.outputs for b in arms] == [
        ["%c"],
        ["%d"],
    ]
    assert ("%x.1", "prim::Loop", "x.1") in pairs(picture.body) and accounted_for(picture)
    text = picture.text()
    assert (
        text.index("prim::Loop")
        < text.index("block0:")
        < text.index("prim::If")
        < text.index("block1:")
    )
    assert_good(picture)


def test_boxes_of_blocks_are_inside_the_box_of_the_node() -> None:
    canvas = viz.graph(parse_ir(NESTED)).canvas()
    frames = {t.text: t.box for t in canvas.texts()}
    rects = [m.box for m in canvas.marks if isinstance(m, Rect)]

    def around(text: str) -> list[Any]:
        b = frames[text]
        return [
            r
            for r in rects
            if r.x <= b.x and b.right <= r.right and r.y <= b.y and b.bottom <= r.bottom
        ]

    assert len(around("aten::eq")) == 3  # its own, the frame of the block, the Loop's
    assert set(map(id, around("block1"))) >= set(map(id, around("prim::If")))


def test_subgraphs() -> None:
    g = parse_ir("""
graph(%x : Tensor):
  %y : Tensor = prim::FusionGroup_0(%x)
  return (%y)
with prim::FusionGroup_0 = graph(%a : Tensor):
  %k : int = prim::Constant[value=3]()
  %b : Tensor = aten::mul(%a, %k)
  %c : Tensor = aten::tanh(%b)
  return (%c)
""")
    picture = viz.graph(g)
    group = find(picture, "prim::FusionGroup")
    (inner,) = group.blocks
    assert group.role == "copied" and inner.name == "Subgraph" and inner.inputs == [("a", "Tensor")]
    assert (
        [n.args for n in inner.nodes] == ["%a, other=3", "%b"]
        and picture.total == 4
        and accounted_for(picture)
    )
    assert_good(picture)


# Who writes


def test_a_node_that_writes_is_marked_and_comes_before_those_who_see_it() -> None:
    picture = viz.graph(parse_ir(WRITES))
    writer = find(picture, "aten::neg_")
    assert writer.role == "shared" and writer.writes == ["%row"]
    assert {n.role for n in all_nodes(picture.body) if n is not writer} == {"key"}
    order = [(e.tail, e.head) for e in picture.body.edges if not e.name]
    # the second relu, not the first
    assert [(picture.body.nodes[t].title, h) for t, h in order] == [("aten::neg_", 3)]
    assert "writes %row" in picture.text()
    assert "may read what was written" in picture.svg() and "stroke-dasharray" in picture.svg()
    assert_good(picture)


def test_a_write_that_only_the_caller_sees() -> None:
    g = parse_ir("""
graph(%x : Tensor):
  %y : Tensor = aten::relu_(%x)
  return (%x)
""")
    assert [(e.tail, e.head) for e in viz.graph(g).body.edges if not e.name] == [(0, RETURN)]
    through = parse_ir("""
graph(%x : Tensor):
  %y : Tensor = aten::relu_(%x)
  %z : Tensor = aten::neg(%y)
  return (%z)
""")
    assert all(e.name for e in viz.graph(through).body.edges)  # the value leads there
    assert "may read" not in viz.graph(through).svg()


# Big graphs


@pytest.fixture(scope="module")
def resnet() -> Any:
    model = internals.models.resnet18()
    return jit.trace(model.eval(), internals.zeros(1, 3, 32, 32), check_trace=False)


def test_a_model_is_folded_by_its_modules(resnet: Any) -> None:
    picture = viz.graph(resnet, limit=40)
    assert picture.total > 500 and picture.body.count() <= 40 and accounted_for(picture)
    folds = [n for n in picture.body.nodes if n.hides]
    assert [n.title for n in folds] == [f"layer{i}.{j}" for i in (1, 2, 3, 4) for j in (0, 1)]
    assert (
        folds[0].args == "_convolution, batch_norm, relu_…"
        and folds[0].scope == "__module.layer1/__module.layer1.0"
    )
    assert connected(picture.body)
    assert picture.canvas().sheet().w < 900  # a column, to be read from the top down
    assert_good(picture)


def test_a_model_whole(resnet: Any) -> None:
    picture = viz.graph(resnet, limit=500)
    assert not any(n.hides for n in picture.body.nodes) and accounted_for(picture)
    kinds = shown(picture)
    assert (
        kinds.count("aten::_convolution") == kinds.count("aten::batch_norm") == 20
        and kinds.count("aten::relu_") == 17
    )
    assert connected(picture.body)
    assert_good(picture)


def connected(block: IrBlock) -> bool:
    """Whether every box leads to what is returned."""
    reached, stack = set(), [RETURN]
    while stack:
        head = stack.pop()
        if head not in reached:
            reached.add(head)
            stack += [e.tail for e in block.edges if e.head == head]
    return set(range(len(block.nodes))) <= reached


def chain(length: int) -> Graph:
    g = Graph()
    x = g.addInput("x")
    for i in range(length):
        x = g.insert(("aten::relu", "aten::tanh", "aten::sin")[i % 3], [x])
    g.registerOutput(x)
    return g


@pytest.mark.parametrize("limit", [1, 2, 12, 60])
def test_a_graph_without_modules_is_folded_in_the_middle(limit: int) -> None:
    picture = viz.graph(chain(500), limit=limit)
    (fold,) = [n for n in picture.body.nodes if n.hides]
    assert (
        len(picture.body.nodes) <= max(limit, 2) + 1
        and accounted_for(picture)
        and connected(picture.body)
    )
    assert (
        f"{fold.hides} nodes folded" in picture.text() and f"{fold.hides} nodes:" in picture.svg()
    )
    assert_good(picture)


def test_a_graph_at_the_limit_is_shown_whole() -> None:
    assert len(shown(viz.graph(chain(60), limit=60))) == 60
    assert any(n.hides for n in all_nodes(viz.graph(chain(61), limit=60).body))


def test_long_blocks_are_folded_inside_their_nodes() -> None:
    g = Graph()
    x, c = g.addInput("x"), g.addInput("c")
    c.setType(internals.jit.ir.BoolType.get())
    choice = g.insertNode(g.create("prim::If", [c]))
    for kind in ("aten::relu", "aten::tanh"):
        arm = choice.addBlock()
        y = x
        with g.insert_point_guard(arm):
            for _ in range(100):
                y = g.insert(kind, [y])
        arm.registerOutput(y)
    g.registerOutput(choice.output())
    g.lint()
    picture = viz.graph(g, limit=20)
    assert picture.body.count() <= 24 and accounted_for(picture)
    assert all(sum(n.hides > 0 for n in b.nodes) == 1 for b in find(picture, "prim::If").blocks)
    assert_good(picture)


# What may be drawn


def test_what_has_no_graph_and_what_has() -> None:
    with pytest.raises(
        TypeError, match="a int has no graph: what jit.script and jit.trace return does"
    ):
        viz.graph(3)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        viz.graph(chain(2), limit=0)
    empty = Graph()
    assert viz.graph(empty).text() == "graph: 0 nodes\n    outputs  none"
    assert viz.graph(chain(2), name="mine").heading() == "graph of mine"
    broken = chain(2)
    list(broken.nodes())[1].removeInput(0)  # what fails the verifier can still be looked at
    for picture in (viz.graph(empty), viz.graph(broken)):
        assert_good(picture)


def test_files(tmp_path: Path) -> None:
    for suffix in (".svg", ".html", ".txt"):
        assert viz.graph(parse_ir(NESTED)).save(tmp_path / f"g{suffix}").stat().st_size > 0


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viz.layered, "renderer", lambda: None)
    ElementTree.fromstring(viz.graph(parse_ir(NESTED)).svg())


PROGRAM = f"""
import internals, viz
from internals.jit.ir import parse_ir
for text in ('''{NESTED}''', '''{WRITES}'''):
    g = parse_ir(text)
    print(viz.graph(g).html(), viz.graph(g, limit=2), viz.diff(g, g.copy()).html())
    node = next(n for n in g.nodes() if n.kind() != "prim::Constant")
    before = g.copy()
    node.setScope("somewhere")
    print(viz.diff(before, g).html())
"""


def test_the_same_picture_in_every_process() -> None:
    assert "prim::Loop" in same_in_two_processes(PROGRAM)
