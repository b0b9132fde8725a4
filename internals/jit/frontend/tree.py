"""The tree of a function: one class for each kind of node, with its range in the source
(`torch/csrc/jit/frontend/tree_views.h`).

`build_tree.py` builds it from Python's `ast`, and the compiler walks it. It is smaller than
Python's own tree: a chain of comparisons is an `and` of `BinOp`s, an f-string is a call of
`str.format`, `a not in b` is `not (a in b)`, and syntax that TorchScript does not support has no
node. Annotations are still expressions here; the compiler finds their types.

A node's first field is its `range`. On construction it is widened to cover the node's children: the
range of a `BinOp` starts as that of its left operand, and still an error about `a + b` underlines
all of it.

`str(tree)` has one line per node: the name of the part it is in its parent, the kind of node, and
its text. `tree.sexpr()` is the text that PyTorch prints for the same tree
(`print(torch.jit.frontend.get_jit_def(fn, name))`), on one line.

How the real one differs: one class `Compound` (kind, range, children) holds every node, and the
classes below are views of it, created on demand and checked by kind; a list or an option is a node,
too, where this library has tuples and None. There is no outline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from internals.core.source_range import SourceRange


@dataclass(frozen=True, eq=False)
class Tree:
    """The base of all nodes. Nodes are compared by identity: the same text in two places gives two
    different nodes.
    """

    range: SourceRange

    def __post_init__(self) -> None:
        start, end = self.range.start, self.range.end
        for child in self.children():
            # a child may be in another text: the types of a type comment are
            if child.range.source is self.range.source:
                start, end = min(start, child.range.start), max(end, child.range.end)
        if (start, end) != (self.range.start, self.range.end):
            # the class is frozen: it refuses an ordinary assignment
            object.__setattr__(self, "range", SourceRange(self.range.source, start, end))

    def parts(self) -> Iterator[tuple[str, Any]]:
        """The names and values of the node's fields, except `range`."""
        for name in _part_names(type(self)):
            yield name, getattr(self, name)

    def children(self) -> Iterator[Tree]:
        """The nodes directly below this one."""
        for _, value in self.parts():
            if isinstance(value, Tree):
                yield value
            elif isinstance(value, tuple):
                yield from value

    def walk(self) -> Iterator[Tree]:
        """This node and all below it, parents first."""
        yield self
        for child in self.children():
            yield from child.walk()

    def sexpr(self) -> str:
        """The tree as PyTorch prints it, `(assign (list (variable (ident a))) ...)`, on one
        line.
        """
        return " ".join(_words(self).split())

    def __str__(self) -> str:
        return _outline(self)


def _part_names(kind: type[Tree]) -> tuple[str, ...]:
    """The names of the fields of a class of nodes, except `range`. Cached, as `fields` is slow."""
    if kind not in _PART_NAMES:
        _PART_NAMES[kind] = tuple(each.name for each in fields(kind) if each.name != "range")
    return _PART_NAMES[kind]


_PART_NAMES: dict[type[Tree], tuple[str, ...]] = {}


@dataclass(frozen=True, eq=False)
class Ident(Tree):
    """A name with its range."""

    name: str


class Expr(Tree):
    """The base of all expressions: nodes that have a value."""


class Stmt(Tree):
    """The base of all statements."""


# Definitions


@dataclass(frozen=True, eq=False)
class Param(Tree):
    """`name: type`. A tree built from Python has None for `default`: the values are taken from the
    function object.
    """

    name: Ident
    type: Expr | None = None
    default: Expr | None = None
    kwarg_only: bool = False


@dataclass(frozen=True, eq=False)
class Decl(Tree):
    """A signature: `(params) -> return_type`."""

    params: tuple[Param, ...]
    return_type: Expr | None = None


@dataclass(frozen=True, eq=False)
class Def(Stmt):
    """`def name(params) -> return_type: body`."""

    name: Ident
    decl: Decl
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class Property(Tree):
    """A property of a class: its getter, and its setter or None."""

    name: Ident
    getter: Def
    setter: Def | None = None


@dataclass(frozen=True, eq=False)
class ClassDef(Tree):
    """A class: its methods, its properties and the assignments in its body."""

    name: Ident
    body: tuple[Def, ...]
    properties: tuple[Property, ...] = ()
    assigns: tuple[Stmt, ...] = ()


# Statements


@dataclass(frozen=True, eq=False)
class If(Stmt):
    """`if cond: true_branch else: false_branch`. An `elif` is an `If` alone in `false_branch`."""

    cond: Expr
    true_branch: tuple[Stmt, ...]
    false_branch: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class For(Stmt):
    """`for targets in itrs: body`. Built from Python, both tuples have one element."""

    targets: tuple[Expr, ...]
    itrs: tuple[Expr, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class While(Stmt):
    """`while cond: body`."""

    cond: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class WithItem(Tree):
    """`target as var`."""

    target: Expr
    var: Expr | None = None


@dataclass(frozen=True, eq=False)
class With(Stmt):
    """`with targets: body`."""

    targets: tuple[WithItem, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class Assign(Stmt):
    """`lhs_list[0] = lhs_list[1] = ... = rhs`, or `lhs: type = rhs`. In the body of a class `rhs`
    may be None.
    """

    lhs_list: tuple[Expr, ...]
    rhs: Expr | None
    type: Expr | None = None

    @property
    def lhs(self) -> Expr:
        return self.lhs_list[0]


@dataclass(frozen=True, eq=False)
class AugAssign(Stmt):
    """`lhs op= rhs`; `op` is the operator without the equals sign."""

    lhs: Expr
    op: str
    rhs: Expr


@dataclass(frozen=True, eq=False)
class Return(Stmt):
    """`return expr`; a bare `return` returns a `NoneLiteral`."""

    expr: Expr


@dataclass(frozen=True, eq=False)
class ExprStmt(Stmt):
    """An expression as a statement, such as a call whose result is not used."""

    expr: Expr


@dataclass(frozen=True, eq=False)
class Raise(Stmt):
    """`raise expr`."""

    expr: Expr


@dataclass(frozen=True, eq=False)
class Assert(Stmt):
    """`assert test, msg`."""

    test: Expr
    msg: Expr | None = None


@dataclass(frozen=True, eq=False)
class Delete(Stmt):
    """`del targets[0], targets[1], ...`."""

    targets: tuple[Expr, ...]


class Pass(Stmt):
    pass


class Break(Stmt):
    pass


class Continue(Stmt):
    pass


# Expressions


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A name as an expression."""

    name: Ident


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A number, as text: complex if it ends in `j`, an int if it consists of digits (and a sign),
    else a float (`1.5`, `1e3`, `inf`, `nan`).
    """

    text: str

    @property
    def is_complex(self) -> bool:
        return self.text.endswith("j")

    @property
    def is_float(self) -> bool:
        return not self.is_complex and not self.text.lstrip("+-").isdigit()

    @property
    def value(self) -> int | float | complex:
        """The number that the text stands for."""
        return (
            complex(self.text)
            if self.is_complex
            else float(self.text)
            if self.is_float
            else int(self.text)
        )


@dataclass(frozen=True, eq=False)
class StringLiteral(Expr):
    """A string; `text` is its value, without quotes and escapes."""

    text: str


class TrueLiteral(Expr):
    pass


class FalseLiteral(Expr):
    pass


class NoneLiteral(Expr):
    pass


class Dots(Expr):
    """An ellipsis, `...`."""


@dataclass(frozen=True, eq=False)
class BinOp(Expr):
    """`lhs kind rhs`. `kind` is the operator as Python spells it: arithmetic, a comparison, `and`,
    `or`, `in`, `is` or `is not`.
    """

    kind: str
    lhs: Expr
    rhs: Expr


@dataclass(frozen=True, eq=False)
class UnaryOp(Expr):
    """`kind operand`, for `not`, `-` and `~`."""

    kind: str
    operand: Expr


@dataclass(frozen=True, eq=False)
class TernaryIf(Expr):
    """`true_expr if cond else false_expr`."""

    cond: Expr
    true_expr: Expr
    false_expr: Expr


@dataclass(frozen=True, eq=False)
class Starred(Expr):
    """`*expr`, in a call or on the left of an assignment."""

    expr: Expr


@dataclass(frozen=True, eq=False)
class Attribute(Tree):
    """A keyword argument: `name=value`."""

    name: Ident
    value: Expr


@dataclass(frozen=True, eq=False)
class Apply(Expr):
    """A call: `callee(*inputs, **attributes)`."""

    callee: Expr
    inputs: tuple[Expr, ...]
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """`value.selector`."""

    value: Expr
    selector: Ident


@dataclass(frozen=True, eq=False)
class SliceExpr(Expr):
    """`start:end:step`, inside a `Subscript`. Its range covers the value that is subscripted."""

    start: Expr | None = None
    end: Expr | None = None
    step: Expr | None = None


@dataclass(frozen=True, eq=False)
class Subscript(Expr):
    """`value[a, b, ...]`."""

    value: Expr
    subscript_exprs: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class ListLiteral(Expr):
    """`[a, b, ...]`."""

    inputs: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class TupleLiteral(Expr):
    """`(a, b, ...)`."""

    inputs: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class DictLiteral(Expr):
    """`{key: value, ...}`; the i-th key belongs to the i-th value."""

    key_inputs: tuple[Expr, ...]
    value_inputs: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class ListComp(Expr):
    """`[elt for target in iter]`; also a generator expression, which becomes a list."""

    elt: Expr
    target: Expr
    iter: Expr


@dataclass(frozen=True, eq=False)
class DictComp(Expr):
    """`{key: value for target in iter}`."""

    key: Expr
    value: Expr
    target: Expr
    iter: Expr


# Two ways to print a tree: the outline of `str`, and PyTorch's `sexpr`.

# PyTorch's names of kinds, where they are not the class's name in lower case (`kindToString` of
# lexer.h).
KINDS: dict[type[Tree], str] = {
    ExprStmt: "expression statement",
    AugAssign: "aug_assign",
    Delete: "del",
    Var: "variable",
    StringLiteral: "string_literal",
    TrueLiteral: "True",
    FalseLiteral: "False",
    NoneLiteral: "None",
    TernaryIf: "if",
    Select: ".",
    SliceExpr: "slice expr",
    ListLiteral: "list-literal",
    TupleLiteral: "tuple-literal",
    DictLiteral: "dict-literal",
    ListComp: "list comprehension",
    DictComp: "dict comprehension",
}
OPERATORS = {"**": "pow operator", "//": "floordiv", "==": "eq", "!=": "ne", "<=": "le", ">=": "ge"}


def _outline(node: Tree, indent: str = "", part: str = "") -> str:
    """One line per node, with children indented under their parent: the name of the part, the class
    of the node, and its texts.
    """
    texts = [_atom(name, value) for name, value in node.parts() if _is_atom(value)]
    head = f"{indent}{part}{type(node).__name__}"
    lines = [" ".join([head, *(text for text in texts if text)])]
    for name, value in node.parts():
        below = value if isinstance(value, tuple) else (value,)
        for i, child in enumerate(below):
            if isinstance(child, Tree) and not isinstance(child, Ident):
                index = f"[{i}]" if isinstance(value, tuple) else ""
                lines.append(_outline(child, indent + "  ", f"{name}{index}: "))
    return "\n".join(lines)


def _is_atom(value: object) -> bool:
    """Whether a field is printed on the line of its node."""
    return isinstance(value, str | bool | Ident)


def _atom(name: str, value: Any) -> str:
    """The text of such a field: a bool is its name if True, else nothing; literals have quotes."""
    if isinstance(value, Ident):
        return value.name
    if isinstance(value, bool):
        return name if value else ""
    return repr(value) if name == "text" else value


def _words(node: Tree) -> str:
    """A node as an S-expression: `(kind part part ...)`."""
    if isinstance(node, Ident):
        return f"(ident {node.name})"
    if isinstance(node, UnaryOp):
        return f"({'unary minus' if node.kind == '-' else node.kind} {_words(node.operand)})"
    if isinstance(node, BinOp):
        return f"({_operator(node.kind)} {_words(node.lhs)} {_words(node.rhs)})"
    if isinstance(node, AugAssign):
        return f"(aug_assign {_words(node.lhs)} ({_operator(node.op)}) {_words(node.rhs)})"
    kind = KINDS.get(type(node), type(node).__name__.lower())
    parts = [_part(type(node), name, value) for name, value in node.parts()]
    return f"({' '.join([kind, *parts])})"


def _part(kind: type[Tree], name: str, value: Any) -> str:
    """One field of a node of this kind as an S-expression."""
    if isinstance(value, tuple):
        return f"({' '.join(['list', *map(_words, value)])})"
    if isinstance(value, bool):
        return f"({value})"
    if isinstance(value, str):
        return value
    if name in OPTIONS.get(kind, ()):
        return "(option)" if value is None else f"(option {_words(value)})"
    return _words(value)


# The fields that PyTorch wraps in an option, because they may be missing.
OPTIONS: dict[type[Tree], tuple[str, ...]] = {
    Param: ("type", "default"),
    Decl: ("return_type",),
    Property: ("setter",),
    WithItem: ("var",),
    Assign: ("rhs", "type"),
    Assert: ("msg",),
    SliceExpr: ("start", "end", "step"),
}


def _operator(kind: str) -> str:
    return OPERATORS.get(kind, kind)
