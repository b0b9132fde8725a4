"""A source and its trees: which node of a tree stands for which characters.

Both trees are kept alike: Python's own, and the one that TorchScript's frontend makes of it.
`innermost` finds the node that a range of the compiler means: the smallest that contains it.
`owners` gives every character to the innermost node around it, which is how a source is divided
into the parts that can be pointed at.

How the real one differs: PyTorch keeps ranges and forgets the trees.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from viz.rooms.ast import fact_of

BODIES = ("body", "orelse", "handlers", "finalbody")


@dataclass
class TreeNode:
    """`start` and `end` are characters of the source. `inside`: it is in the body of its parent,
    not in its first line.
    """

    label: str
    start: int
    end: int
    parent: int | None = None
    depth: int = 0
    statement: bool = False
    inside: bool = False
    kind: str = ""
    children: list[int] = field(default_factory=list)


@dataclass
class SourceText:
    """A text with its trees. `title` says what it is; `first_line` is the number of its first line
    in `filename`.
    """

    number: int
    title: str
    text: str
    filename: str = ""
    first_line: int = 1
    tree: list[TreeNode] = field(default_factory=list)
    typed: list[TreeNode] = field(default_factory=list)
    problem: str = ""
    typed_problem: str = ""
    definition: ast.AST | None = None

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines with the place of their first character."""
        start = 0
        for line in self.text.rstrip("\n").split("\n"):
            yield start, line
            start += len(line) + 1

    def has_line(self, filename: str, line: int) -> bool:
        return filename == self.filename and 0 <= line - self.first_line <= self.text.rstrip(
            "\n"
        ).count("\n")


def python_tree(text: str) -> tuple[list[TreeNode], ast.AST]:
    """Python's tree of a text that may be indented. Raises what parsing raises."""
    from internals.jit.frontend.source import SourceContext, parse_module

    plain = dedent(text)
    indent = len(text.split("\n", 1)[0]) - len(plain.split("\n", 1)[0])
    module = parse_module(plain)
    context = SourceContext(text, None, 1, indent)
    nodes: list[TreeNode] = []
    root = module.body[0] if len(module.body) == 1 else module

    def place(node: Any) -> tuple[int, int]:
        start = context.range_at(node.lineno, node.col_offset, 0).start
        return start, context.range_at(node.end_lineno, node.end_col_offset, 0).start

    waiting: list[tuple[ast.AST, str, int | None]] = [(root, "", None)]
    while waiting:
        node, part, parent = waiting.pop()
        facts = [
            f
            for name, value in ast.iter_fields(node)
            if name not in ("ctx", "kind") and (f := fact_of(name, value))
        ]
        known = hasattr(node, "end_lineno") or isinstance(node, ast.Module)
        start, end = (
            place(node) if hasattr(node, "end_lineno") else (0, len(text)) if known else (-1, -1)
        )
        label = " ".join(
            [f"{part}: {type(node).__name__}" if part else type(node).__name__, *facts]
        )
        statement, in_body = isinstance(node, ast.stmt), part.split("[")[0] in BODIES
        kind = type(node).__name__
        number = _add(nodes, TreeNode(label, start, end, parent, 0, statement, in_body, kind))
        below = []
        for name, value in ast.iter_fields(node):
            for i, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.AST) and child._fields and name != "type_ignores":
                    below.append(
                        (child, f"{name}[{i}]" if isinstance(value, list) else name, number)
                    )
        waiting += reversed(below)
    return _without_nowhere(nodes), root


def typed_tree(text: str, name: str) -> list[TreeNode]:
    """TorchScript's tree of a text that is one function. Raises what the frontend raises."""
    from internals.jit.frontend import tree
    from internals.jit.frontend.build_tree import tree_of
    from internals.jit.frontend.source import parse_text

    root = tree_of(parse_text(text, None, 1, name), name)
    nodes: list[TreeNode] = []
    waiting: list[tuple[Any, str, int | None]] = [(root, "", None)]
    while waiting:
        node, part, parent = waiting.pop()
        facts = [f"{key}={getattr(value, 'name', value)!r}" for key, value in node.parts()
                 if isinstance(value, (str, bool, tree.Ident)) and value is not False]  # fmt: skip
        where = (
            node.range if node.range.source is root.range.source else root.range
        )  # a type comment is a text of its own
        kind = type(node).__name__
        label = " ".join([f"{part}: {kind}" if part else kind, *facts])
        number = _add(
            nodes,
            TreeNode(
                label, where.start, where.end, parent, 0, isinstance(node, tree.Stmt), False, kind
            ),
        )
        below = []
        for key, value in node.parts():
            for i, child in enumerate(value if isinstance(value, tuple) else [value]):
                if isinstance(child, tree.Tree) and not isinstance(child, tree.Ident):
                    below.append(
                        (child, f"{key}[{i}]" if isinstance(value, tuple) else key, number)
                    )
        waiting += reversed(below)
    return nodes


def innermost(nodes: list[TreeNode], start: int, end: int) -> int | None:
    """The smallest node around these characters; None if there is none.

    Of a call without arguments the compiler's range ends with what is called: it means the call.
    The parts of an f-string all have its own place, up to Python 3.11: it is the string that is
    meant.
    """
    found = 0 if nodes and nodes[0].start <= start and end <= nodes[0].end else None
    inside = found
    while inside is not None:
        found = inside
        outer = nodes[found]
        children = [c for c in outer.children if nodes[c].start <= start and end <= nodes[c].end]
        if outer.kind == "JoinedStr":
            children = [
                c for c in children if (nodes[c].start, nodes[c].end) != (outer.start, outer.end)
            ]
        inside = next(iter(children), None)
    if found is not None and nodes[found].label.startswith(("func: ", "callee: ")):
        return nodes[found].parent
    return found


def statement_at(source: SourceText, line: int) -> int | None:
    """The innermost statement that stands on a line of the file, which is all that a trace
    knows.
    """
    best: int | None = None
    for i, node in enumerate(source.tree):
        first = source.first_line + source.text.count("\n", 0, node.start)
        last = first + source.text.count("\n", node.start, node.end)
        if node.statement and first <= line <= last:
            if (
                best is None
                or node.end - node.start <= source.tree[best].end - source.tree[best].start
            ):
                best = i
    return best


def function_around(filename: str, line: int) -> tuple[str, int] | None:
    """The text and the first line of the innermost function of a file that a line is in; None if
    there is none to be had.
    """
    lines = linecache.getlines(filename)
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    best: ast.FunctionDef | None = None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            best = node if best is None or node.lineno >= best.lineno else best
    return (
        None if best is None else ("".join(lines[best.lineno - 1 : best.end_lineno]), best.lineno)
    )


def owners(source: SourceText) -> list[int]:
    """For every character the innermost node around it, -1 where there is none."""
    found = [-1] * len(source.text)
    for i, node in enumerate(source.tree):  # parents come before their children
        found[node.start : node.end] = [i] * (node.end - node.start)
    return found


def below(nodes: list[TreeNode], i: int, body: bool = True) -> Iterator[int]:
    """A node and all below it; without `body`, only what belongs to its first line."""
    waiting = [i]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += [c for c in nodes[found].children if body or not nodes[c].inside]


def _add(nodes: list[TreeNode], node: TreeNode) -> int:
    nodes.append(node)
    if node.parent is not None:
        node.depth = nodes[node.parent].depth + 1
        nodes[node.parent].children.append(len(nodes) - 1)
    return len(nodes) - 1


def _without_nowhere(nodes: list[TreeNode]) -> list[TreeNode]:
    """Python gives some nodes no place: they go as far as what is below them, and those without
    anything below are left out.
    """
    for node in reversed(nodes):
        if node.start < 0 and node.children:
            inside = [nodes[c] for c in node.children if nodes[c].start >= 0]
            if inside:
                node.start, node.end = min(n.start for n in inside), max(n.end for n in inside)
    kept = [i for i, node in enumerate(nodes) if node.start >= 0]
    number = {old: new for new, old in enumerate(kept)}
    for node in nodes:
        node.parent = number.get(node.parent) if node.parent is not None else None
        node.children = [number[c] for c in node.children if c in number]
    return [nodes[i] for i in kept]
