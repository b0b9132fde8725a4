"""`viz.diff`: what is coloured is what changed."""

from __future__ import annotations

from pathlib import Path

import pytest

import viz
from internals.jit.ir import parse_ir
from internals.jit.passes.cse import cse
from tests.viz.support import assert_good
from viz.canvas import Rect
from viz.rooms.diff import Diff
from viz.rooms.diff_rows import DiffRow

STRAIGHT = """
graph(%x : Tensor, %w : Tensor):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::mm(%x, %w)
  %z : Tensor = aten::relu(%y)
  %s : Tensor = aten::add(%z, %y, %one)
  return (%s)
"""


def kinds(d: Diff) -> list[str]:
    return [r.kind for r in d.rows]


def marked(row: DiffRow) -> tuple[list[str], list[str]]:
    """The coloured words of both sides."""
    return [row.left[a:b] for a, b in row.marks[0]], [row.right[a:b] for a, b in row.marks[1]]


def test_lines_that_changed_stand_beside_each_other() -> None:
    after = STRAIGHT.replace("aten::add(%z, %y, %one)", "aten::add(%z, %z, %one)")
    d = viz.diff(STRAIGHT, after, context=1)
    assert kinds(d) == ["skipped", "equal", "changed", "equal"] and d.rows[0].count == 4
    assert marked(d.rows[2]) == (["%y"], ["%z"])
    assert d.changed and d.summary() == "1 line changed"
    assert d.text().splitlines()[3:5] == [
        "  -   %s : Tensor = aten::add(%z, %y, %one)",
        "  +   %s : Tensor = aten::add(%z, %z, %one)",
    ]
    assert_good(d)


def test_lines_that_came_and_went() -> None:
    d = viz.diff("a\nb\nc", "b\nc\nd")
    assert [(r.kind, r.left, r.right) for r in d.rows] == [
        ("removed", "a", ""),
        ("equal", "b", "b"),
        ("equal", "c", "c"),
        ("added", "", "d"),
    ]
    assert (
        marked(d.rows[0]) == (["a"], [])
        and marked(d.rows[1]) == ([], [])
        and marked(d.rows[3]) == ([], ["d"])
    )
    assert d.text() == "before -> after: 1 line removed, 1 line added\n  - a\n    b\n    c\n  + d"
    assert_good(d)


def test_nothing_changed() -> None:
    d = viz.diff(STRAIGHT, STRAIGHT)
    assert set(kinds(d)) == {"equal"} and not d.changed and d.summary() == "no difference"
    assert_good(d)
    assert_good(viz.diff("", ""))


def test_a_moved_line_shows_its_indentation() -> None:
    d = viz.diff("  %a : int = aten::len(%l)", "      %a : int = aten::len(%l)")
    assert kinds(d) == ["changed"] and marked(d.rows[0]) == (["  "], ["      "])
    moved = viz.diff("  %a : int = aten::len(%l)", "      %a : int = aten::len(%m)")
    assert marked(moved.rows[0]) == (["%l"], ["%m"])  # with something better to show, not the space


def test_a_copy_has_other_numbers_and_is_not_different() -> None:
    g = parse_ir(STRAIGHT)
    for v in [v for n in g.nodes() for v in n.outputs()]:
        v.setDebugName("")
    g.insertConstant(7)  # leaves a gap in the numbers
    list(g.nodes())[-1].destroy()
    before = g.copy()
    d = viz.diff(before, g)
    assert not d.changed and d.summary().startswith("no difference")
    first = next(g.nodes())
    first.output().replaceAllUsesWith(g.insert("prim::Constant", value=2))
    changed = viz.diff(before, g)
    assert changed.changed


def test_what_a_pass_did() -> None:
    g = parse_ir("""
graph(%x : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : Tensor = aten::mul(%x, %1)
  %3 : Tensor = aten::mul(%x, %1)
  %4 : Tensor = aten::mul(%2, %3)
  return (%4)
""")
    before = g.copy()
    cse(g)
    d = viz.diff(before, g, names=("written", "cse"))
    assert [r.left.strip() for r in d.rows if r.kind == "removed"] == [
        "%3 : Tensor = aten::mul(%x, %1)"
    ]
    (row,) = [r for r in d.rows if r.kind == "changed"]
    assert marked(row) == (["%3"], ["%2"])
    assert d.text().startswith("written -> cse: 1 line removed, 1 line changed")
    assert_good(d)


def test_numbers_are_only_ignored_where_that_explains_more() -> None:
    a = "graph(%x):\n  %1 = aten::relu(%x)\n  %2 = aten::sin(%1)\n  return (%2)"
    shifted = a.replace("%2", "%7").replace("%1", "%4")
    d = viz.diff(a, shifted)
    assert not d.changed and d.renumbered
    assert d.summary() == "no difference; values have other numbers"
    swapped = a.replace("return (%2)", "return (%1)")  # another value, not another number
    assert kinds(viz.diff(a, swapped))[-1] == "changed" and not viz.diff(a, swapped).renumbered


def test_each_graph_of_a_text_has_numbers_of_its_own() -> None:
    g = parse_ir("""
graph(%x : Tensor):
  %1 : Tensor = prim::FusionGroup_0(%x)
  %2 : Tensor = prim::FusionGroup_1(%1)
  return (%2)
with prim::FusionGroup_0 = graph(%a : Tensor):
  %8 : Tensor = aten::relu(%a)
  return (%8)
with prim::FusionGroup_1 = graph(%a : Tensor):
  %9 : Tensor = aten::relu(%a)
  %8 : Tensor = aten::relu(%9)
  return (%8)
""")
    d = viz.diff(g, g.copy())
    assert not d.changed and d.renumbered
    assert_good(
        viz.diff(g, g.copy(), names=("a name longer than all of the lines put together", "b" * 60))
    )


def test_long_lines_are_broken_not_cut() -> None:
    words = ", ".join(f"%value.{i}" for i in range(40))
    d = viz.diff(
        f"  %a : Tensor[] = prim::ListConstruct({words})",
        f"  %a : Tensor[] = prim::ListConstruct({words}, %last)",
    )
    drawn = " ".join(t.text for t in d.canvas().texts())
    assert all(f"%value.{i}" in drawn for i in range(40)) and "…" not in drawn and "%last" in drawn
    assert_good(d)
    assert_good(viz.diff("x" * 300, "y" * 200))


def test_words_are_drawn_where_they_are_coloured() -> None:
    d = viz.diff("  %s = aten::add(%z, %y, %one)", "  %s = aten::add(%z, %z, %one)")
    canvas = d.canvas()
    coloured = [
        m.box
        for m in canvas.marks
        if isinstance(m, Rect) and m.fill == "warning-soft" and not m.stroke
    ]
    (box,) = coloured
    (word,) = [t for t in canvas.texts() if t.text == "%y"]
    assert box.x <= word.box.x and word.box.right <= box.right


def test_what_can_be_compared(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a int has no graph"):
        viz.diff(3, STRAIGHT)
    g = parse_ir(STRAIGHT)
    d = viz.diff(g, str(g).replace("relu", "tanh"))
    assert [row.left.strip() for row in d.rows if row.kind == "removed"] == [
        "%z : Tensor = aten::relu(%y)"
    ]
    assert [row.right.strip() for row in d.rows if row.kind == "added"] == [
        "%z : Tensor = aten::tanh(%y)"
    ]
    for suffix in (".svg", ".html", ".txt"):
        assert d.save(tmp_path / f"d{suffix}").stat().st_size > 0


def test_a_great_many_lines() -> None:
    """Every line is another one: no pairs are looked for."""
    d = viz.diff("\n".join(f"a{i}" for i in range(400)), "\n".join(f"b{i}" for i in range(400)))
    assert d.summary() == "400 lines removed, 400 lines added"
