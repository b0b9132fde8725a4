"""`viz.ast`: what Python reads in a source, and, with `typed=True`, what the JIT's frontend makes
of it.

The source stands beside its tree. A line that begins a statement has its number in a blue badge,
and the box of that statement has the same number; every other box says line and column of the text
it stands for. As text the tree is astpretty's, with the lines' numbers in the margin.

How the real one differs: PyTorch draws nothing; `print(torch.jit.frontend.get_jit_def(f, "f"))`
prints the second tree as nested parentheses.
"""

from __future__ import annotations

import ast as python_ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.scene import Picture
from viz.text import plural

BOXES_AT_MOST = 60
# Fields that only some versions of Python have, or that say nothing in programs of today.
SILENT = re.compile(r",?\s*\b(kind=None|type_comment=None|type_params=\[\]|type_ignores=\[\])")


@dataclass
class AstNode:
    """A node: `part` is what it is to its parent ("left", "body[0]"), `facts` its own values
    ("op=Add", "id='x'").

    `line` and `column` (from 1 and 0) are None where Python keeps no place. `hides` counts the
    nodes folded into this box.
    """

    kind: str
    part: str = ""
    facts: list[str] = field(default_factory=list)
    line: int | None = None
    column: int | None = None
    source: str = ""
    parent: int | None = None
    statement: bool = False
    hides: int = 0


@dataclass
class Ast(Picture):
    """The scene. `lines` are those of the source, numbered from 1; `total` counts all nodes;
    `pretty` is the tree as text.
    """

    name: str
    lines: list[str] = field(default_factory=list)
    nodes: list[AstNode] = field(default_factory=list)
    total: int = 0
    pretty: str = ""
    # of `pretty`: line of the text → line of the source
    margin: dict[int, int] = field(default_factory=dict)
    typed: bool = False

    def heading(self) -> str:
        return f"{'typed tree' if self.typed else 'syntax tree'} of {self.name}"

    def summary(self) -> str:
        hidden = sum(node.hides for node in self.nodes)
        return plural(self.total, "node") + (f"; {hidden} folded into grey boxes" if hidden else "")

    def statements(self) -> dict[int, AstNode]:
        """By line of the source, the first statement that begins there."""
        first: dict[int, AstNode] = {}
        for node in self.nodes:
            if node.statement and node.line is not None:
                first.setdefault(node.line, node)
        return first

    def text(self) -> str:
        width = len(str(len(self.lines)))
        source = [f"{n:>{width}}  {line}".rstrip() for n, line in enumerate(self.lines, 1)]
        tree = [
            f"{self.margin.get(n, ''):>{width}}  {line}" if self.margin else line
            for n, line in enumerate(self.pretty.split("\n"))
        ]
        return "\n".join([f"{self.heading()}: {self.summary()}", *source, "", *tree])

    def canvas(self) -> Canvas:
        from viz.rooms.ast_canvas import ast_canvas

        return ast_canvas(self)

    def title(self) -> str:
        return f"viz.ast: {self.name}"


def ast(source: Any, *, typed: bool = False, limit: int = BOXES_AT_MOST) -> Ast:
    """The syntax tree of a function, a piece of source, or a node of Python's `ast`.

    A source of one statement shows that statement, a longer one a Module. `typed=True` shows the
    tree of the JIT's frontend, which knows less of Python and more of places; it wants a function.
    Of a tree with more than `limit` nodes the deepest are folded.

    Raises TypeError for what has no source, SyntaxError for what is no Python, and with `typed`
    what the frontend raises.

    >>> viz.ast("print(1 + 2)")                     # doctest: +SKIP
    >>> viz.ast(my_function, typed=True)            # doctest: +SKIP
    """
    source = getattr(source, "python_function", None) or source  # a scripted function
    scene = typed_scene(source) if typed else python_scene(source)
    scene.nodes = folded(scene.nodes, limit)
    return scene


def python_scene(source: Any) -> Ast:
    import astpretty

    text, name, root = read(source)
    scene = Ast(name, text.split("\n") if text else [], typed=False)
    scene.nodes = list(python_nodes(root, text))
    scene.total = len(scene.nodes)
    scene.pretty = SILENT.sub("", astpretty.pformat(root, show_offsets=False))
    if len(scene.lines) > 1:
        scene.margin = statement_margin(scene.pretty, root)
    return scene


def read(source: Any) -> tuple[str, str, python_ast.AST]:
    """The text, the name and the root of a source. The text of a bare node is not known."""
    if isinstance(source, python_ast.AST):
        root = (
            source.body[0]
            if isinstance(source, python_ast.Module) and len(source.body) == 1
            else source
        )
        return "", getattr(root, "name", type(root).__name__), root
    if isinstance(source, str):
        text = textwrap.dedent(source).strip("\n")
        name = text if "\n" not in text and len(text) <= 40 else "a source"
    else:
        text, name = source_text(source), getattr(source, "__name__", type(source).__name__)
    module = python_ast.parse(text)
    root = module.body[0] if len(module.body) == 1 else module
    return text, getattr(root, "name", name), root


def source_text(thing: Any) -> str:
    """The source of a function or class, at the left margin. Raises TypeError when there is none to
    be had.
    """
    from internals.jit.frontend.source import align

    try:
        lines, _ = inspect.getsourcelines(thing)
    except (OSError, TypeError):
        raise TypeError(
            f"no source for {type(thing).__name__} {getattr(thing, '__name__', '')!r}: viz.ast "
            "takes a function that was written in a file or a notebook, a string, or a node of "
            "Python's ast"
        ) from None
    return textwrap.dedent("".join(align(lines))).rstrip("\n")


def python_nodes(root: python_ast.AST, text: str) -> Iterator[AstNode]:
    """All nodes but operators and contexts, which are written into the node that has them, parents
    first.
    """
    numbers = 0

    def visit(node: python_ast.AST, part: str, parent: int | None) -> Iterator[AstNode]:
        nonlocal numbers
        number, numbers = numbers, numbers + 1
        children = [
            (name, value)
            for name, value in python_ast.iter_fields(node)
            if name not in ("ctx", "kind", "type_ignores")
        ]
        place = (getattr(node, "lineno", None), getattr(node, "col_offset", None))
        found = (python_ast.get_source_segment(text, node) if text and place[0] else None) or ""
        facts = [fact for name, value in children if (fact := fact_of(name, value))]
        yield AstNode(
            type(node).__name__,
            part,
            facts,
            *place,
            found,
            parent,
            isinstance(node, python_ast.stmt),
        )
        for name, value in children:
            below = value if isinstance(value, list) else [value]
            for i, child in enumerate(below):
                if isinstance(child, python_ast.AST) and child._fields:
                    yield from visit(
                        child, f"{name}[{i}]" if isinstance(value, list) else name, number
                    )

    return visit(root, "", None)


def fact_of(name: str, value: Any) -> str:
    """A field that is no node: a name, a number, an operator, several of these."""
    if isinstance(value, python_ast.AST):
        return "" if value._fields else f"{name}={type(value).__name__}"
    if isinstance(value, list):
        items = [type(v).__name__ if isinstance(v, python_ast.AST) else repr(v) for v in value]
        plain = value and not any(isinstance(v, python_ast.AST) and v._fields for v in value)
        return f"{name}={', '.join(items)}" if plain else ""
    return "" if value is None and name != "value" else f"{name}={value!r}"


def statement_margin(pretty: str, root: python_ast.AST) -> dict[int, int]:
    """Where in astpretty's text a statement begins: the line it has in the source."""
    statements = (node for node in depth_first(root) if isinstance(node, python_ast.stmt))
    margin = {}
    for n, line in enumerate(pretty.split("\n")):
        begins = re.match(r"\s*(?:\w+=)?(\w+)\(", line)
        if begins and issubclass(getattr(python_ast, begins.group(1), int), python_ast.stmt):
            margin[n] = next(statements).lineno
    return margin


def depth_first(node: python_ast.AST) -> Iterator[python_ast.AST]:
    yield node
    for child in python_ast.iter_child_nodes(node):
        yield from depth_first(child)


def typed_scene(fn: Any) -> Ast:
    from internals.jit.frontend import tree
    from internals.jit.frontend.build_tree import tree_of

    if not callable(fn):
        raise TypeError(
            f"typed=True shows what the JIT makes of a function, not of a {type(fn).__name__}"
        )
    root = tree_of(fn, fn.__name__)
    source = root.range.source
    scene = Ast(fn.__name__, textwrap.dedent(source.text).rstrip("\n").split("\n"), typed=True)
    indent = len(source.text) - len(source.text.lstrip(" "))
    nodes: list[tuple[Any, str, int | None]] = [(root, "", None)]
    while nodes:
        node, part, parent = nodes.pop()
        start = node.range.start
        column = start - source.start_of_line(start) - indent
        line = source.line_of(start) + 1
        known = node.range.source is source  # a type comment is a text of its own
        own = [f"{name}={getattr(value, 'name', value)!r}" for name, value in node.parts()
               if isinstance(value, (str, bool, tree.Ident)) and value is not False]  # fmt: skip
        scene.nodes.append(
            AstNode(
                type(node).__name__,
                part,
                own,
                line if known else None,
                column if known else None,
                node.range.text(),
                parent,
                isinstance(node, tree.Stmt),
            )
        )
        number, below = len(scene.nodes) - 1, []
        for name, value in node.parts():
            for i, child in enumerate(value if isinstance(value, tuple) else [value]):
                if isinstance(child, tree.Tree) and not isinstance(child, tree.Ident):
                    below.append(
                        (child, f"{name}[{i}]" if isinstance(value, tuple) else name, number)
                    )
        nodes += reversed(below)
    scene.total = len(scene.nodes)
    scene.pretty = str(root)
    outline = list(scene.nodes)  # the outline has a line for every node, in the same order
    scene.margin = {
        n: node.line for n, node in enumerate(outline) if node.statement and node.line is not None
    }
    return scene


def folded(nodes: list[AstNode], limit: int) -> list[AstNode]:
    """The nodes nearest to the root, at most `limit` of them; what they hide is counted in grey
    boxes below them.
    """
    if len(nodes) <= limit:
        return nodes
    children: dict[int | None, list[int]] = {}
    for n, node in enumerate(nodes):
        children.setdefault(node.parent, []).append(n)
    kept: list[int] = []
    queue = list(children[None])
    while queue and len(kept) < limit:
        kept.append(queue[0])
        queue = queue[1:] + children.get(queue[0], [])
    place = {n: i for i, n in enumerate(sorted(kept))}
    result = [nodes[n] for n in sorted(kept)]
    for node in result:
        node.parent = place[node.parent] if node.parent is not None else None
    for n in sorted(kept):
        gone = [c for c in children.get(n, []) if c not in place]
        if gone:
            hidden = sum(_size(c, children) for c in gone)
            result.append(
                AstNode("…", facts=[plural(hidden, "node")], parent=place[n], hides=hidden)
            )
    return result


def _size(n: int, children: dict[int | None, list[int]]) -> int:
    return 1 + sum(_size(c, children) for c in children.get(n, []))
