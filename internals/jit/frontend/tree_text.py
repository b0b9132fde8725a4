"""Two ways to write a tree down: an outline for people, and PyTorch's own text for comparing.

The outline has one line per node: the part's name in its parent, the kind of node and its text. The other form is what
`print(torch.jit.frontend.get_jit_def(fn, name))` prints, on one line.

How the real one differs: `pretty_tree` in `torch/csrc/jit/frontend/tree.h` breaks the second form into lines of 40
characters; there is no outline.
"""

from __future__ import annotations

from typing import Any

from . import tree
from .tree import Tree

# Kinds whose text is not the class's name in lower case, as `kindToString` gives them (lexer.h).
KINDS: dict[type[Tree], str] = {
    tree.ExprStmt: "expression statement",
    tree.AugAssign: "aug_assign",
    tree.Delete: "del",
    tree.Var: "variable",
    tree.StringLiteral: "string_literal",
    tree.TrueLiteral: "True",
    tree.FalseLiteral: "False",
    tree.NoneLiteral: "None",
    tree.TernaryIf: "if",
    tree.Select: ".",
    tree.SliceExpr: "slice expr",
    tree.ListLiteral: "list-literal",
    tree.TupleLiteral: "tuple-literal",
    tree.DictLiteral: "dict-literal",
    tree.ListComp: "list comprehension",
    tree.DictComp: "dict comprehension",
}
OPERATORS = {"**": "pow operator", "//": "floordiv", "==": "eq", "!=": "ne", "<=": "le", ">=": "ge"}


def outline(node: Tree, indent: str = "", part: str = "") -> str:
    """One line per node, children indented under their parent, each with the name of the part it plays."""
    texts = [_atom(name, value) for name, value in node.parts() if _is_atom(value)]
    head = f"{indent}{part}{type(node).__name__}"
    lines = [" ".join([head, *(text for text in texts if text)])]
    for name, value in node.parts():
        below = value if isinstance(value, tuple) else (value,)
        for i, child in enumerate(below):
            if isinstance(child, Tree) and not isinstance(child, tree.Ident):
                index = f"[{i}]" if isinstance(value, tuple) else ""
                lines.append(outline(child, indent + "  ", f"{name}{index}: "))
    return "\n".join(lines)


def _is_atom(value: Any) -> bool:
    return isinstance(value, str | bool | tree.Ident)


def _atom(name: str, value: Any) -> str:
    if isinstance(value, tree.Ident):
        return value.name
    if isinstance(value, bool):
        return name if value else ""
    return repr(value) if name == "text" else value


def sexpr(node: Tree) -> str:
    """The tree in PyTorch's words, separated by single spaces."""
    return " ".join(_words(node).split())


def _words(node: Tree) -> str:
    if isinstance(node, tree.Ident):
        return f"(ident {node.name})"
    if isinstance(node, tree.UnaryOp):
        return f"({'unary minus' if node.kind == '-' else node.kind} {_words(node.operand)})"
    if isinstance(node, tree.BinOp):
        return f"({_operator(node.kind)} {_words(node.lhs)} {_words(node.rhs)})"
    if isinstance(node, tree.AugAssign):
        return f"(aug_assign {_words(node.lhs)} ({_operator(node.op)}) {_words(node.rhs)})"
    kind = KINDS.get(type(node), type(node).__name__.lower())
    parts = [_part(type(node), name, value) for name, value in node.parts()]
    return f"({' '.join([kind, *parts])})"


def _part(kind: type[Tree], name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return f"({' '.join(['list', *map(_words, value)])})"
    if isinstance(value, bool):
        return f"({value})"
    if isinstance(value, str):
        return value
    if name in OPTIONS.get(kind, ()):
        return "(option)" if value is None else f"(option {_words(value)})"
    return _words(value)


# The parts that PyTorch wraps in an option, because they may be missing.
OPTIONS: dict[type[Tree], tuple[str, ...]] = {
    tree.Param: ("type", "default"),
    tree.Decl: ("return_type",),
    tree.Property: ("setter",),
    tree.WithItem: ("var",),
    tree.Assign: ("rhs", "type"),
    tree.Assert: ("msg",),
    tree.SliceExpr: ("start", "end", "step"),
}


def _operator(kind: str) -> str:
    return OPERATORS.get(kind, kind)
