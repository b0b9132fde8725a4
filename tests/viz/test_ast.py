"""`viz.ast`: the tree that Python read, beside the source it read."""

from __future__ import annotations

import ast
import functools
from typing import Any

import pytest

import viz
from tests.jit.sources import define
from tests.viz.support import assert_good, same_in_two_processes

TALK = """
Expr(
    value=Call(
        func=Name(id='print', ctx=Load()),
        args=[
            BinOp(
                left=Constant(value=1),
                op=Add(),
                right=Constant(value=2),
            ),
        ],
        keywords=[],
    ),
)
"""

FUNCTION = """
def my_function(x):
    if x.mean() > 1.0:
        r = 1
    else:
        r = x
    return r
"""


def test_the_talks_example() -> None:
    picture = viz.ast("print(1 + 2)")
    assert picture.pretty == TALK.strip("\n")
    assert picture.text().startswith(
        "syntax tree of print(1 + 2): 6 nodes\n1  print(1 + 2)\n\nExpr(\n"
    )
    assert [(n.kind, n.part, n.parent) for n in picture.nodes] == [
        ("Expr", "", None),
        ("Call", "value", 0),
        ("Name", "func", 1),
        ("BinOp", "args[0]", 1),
        ("Constant", "left", 3),
        ("Constant", "right", 3),
    ]
    assert picture.nodes[3].facts == ["op=Add"] and picture.nodes[3].source == "1 + 2"
    assert_good(picture)


def test_a_function_a_string_and_a_node_are_the_same_tree() -> None:
    pictures = [viz.ast(define(FUNCTION)), viz.ast(FUNCTION), viz.ast(ast.parse(FUNCTION))]
    assert len({picture.pretty for picture in pictures}) == 1
    assert [p.name for p in pictures] == ["my_function"] * 3
    assert pictures[0].text() == pictures[1].text() and pictures[2].lines == []
    for picture in pictures:
        assert_good(picture)


def test_lines_and_nodes_are_paired() -> None:
    picture = viz.ast(FUNCTION)
    kinds = {line: node.kind for line, node in picture.statements().items()}
    assert kinds == {1: "FunctionDef", 2: "If", 3: "Assign", 5: "Assign", 6: "Return"}
    text = picture.text().split("\n")
    assert "1  FunctionDef(" in text and "2          If(" in text and "6          Return(" in text
    compare = next(n for n in picture.nodes if n.kind == "Compare")
    assert (compare.line, compare.column, compare.source) == (2, 7, "x.mean() > 1.0")
    assert "2:7" in picture.svg()


def test_the_typed_tree_is_that_of_the_frontend() -> None:
    picture = viz.ast(define(FUNCTION), typed=True)
    assert picture.text().startswith(
        "typed tree of my_function: 17 nodes\n1  def my_function(x):\n"
    )
    assert "2    body[0]: If\n       cond: BinOp >\n" in picture.text()
    places = [(n.kind, n.line, n.column) for n in picture.nodes]
    assert ("BinOp", 2, 7) in places and ("Const", 2, 18) in places and ("Return", 6, 4) in places
    assert [n.parent for n in picture.nodes[:4]] == [None, 0, 1, 0]
    assert_good(picture)


def test_the_typed_tree_of_a_method() -> None:
    cls = define("class C:\n    def f(self, x):\n        return x.t()\n")
    picture = viz.ast(cls.f, typed=True)
    assert picture.lines == ["def f(self, x):", "    return x.t()"]
    assert [(n.kind, n.line, n.column) for n in picture.nodes if n.kind == "Select"] == [
        ("Select", 2, 11)
    ]


@pytest.mark.sampled(1 / 4)
def test_big_trees_are_folded_and_say_so() -> None:
    source = "def f(x):\n" + "\n".join(f"    y{i} = x + {i} * (x - {i})" for i in range(30))
    everything, some = viz.ast(source, limit=10_000), viz.ast(source, limit=40)
    assert everything.total == some.total == len(everything.nodes)
    shown = [n for n in some.nodes if not n.hides]
    assert len(shown) == 40 and sum(n.hides for n in some.nodes) == some.total - 40
    assert f"{some.total - 40} folded into grey boxes" in some.text()
    assert all(n.parent is None or n.parent < len(some.nodes) for n in some.nodes)
    assert_good(some)


def test_several_statements_are_a_module() -> None:
    picture = viz.ast("x = 1\ny = [x, 'a', None, *x]\n")
    assert picture.nodes[0].kind == "Module" and picture.name == "a source"
    assert [n.facts for n in picture.nodes if n.kind == "Constant"] == [
        ["value=1"],
        ["value='a'"],
        ["value=None"],
    ]
    assert_good(picture)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x if y else lambda *a, b=1, **k: {**a, b: (yield)}",
        "async def f(): await g()\n",
        "é = '変数'",
    ],
)
def test_odd_sources(text: str) -> None:
    assert_good(viz.ast(text))


@pytest.mark.parametrize("thing", [3, len, functools.partial(print), None])
def test_what_has_no_source(thing: Any) -> None:
    with pytest.raises(
        TypeError,
        match="no source for .*: viz.ast takes a function that was written in a file or a notebook",
    ):
        viz.ast(thing)


def test_no_python_and_no_function() -> None:
    with pytest.raises(SyntaxError):
        viz.ast("def f(:")
    with pytest.raises(
        TypeError, match="typed=True shows what the JIT makes of a function, not of a str"
    ):
        viz.ast("print(1)", typed=True)


def test_what_the_frontend_refuses_can_still_be_seen() -> None:
    from internals.jit.frontend.errors import UnsupportedNodeError

    fn = define("def f(x):\n    return {x}\n")
    assert any(n.kind == "Set" for n in viz.ast(fn).nodes)
    with pytest.raises(UnsupportedNodeError):
        viz.ast(fn, typed=True)


def test_the_same_in_every_process() -> None:
    assert "svg" in same_in_two_processes(
        f"import viz; p = viz.ast({FUNCTION!r}); print(p.svg()); print(p)"
    )


def test_saved(tmp_path: Any) -> None:
    for suffix in (".svg", ".html", ".txt"):
        assert viz.ast("print(1 + 2)").save(tmp_path / f"tree{suffix}").stat().st_size > 100
