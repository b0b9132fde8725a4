"""Parts of the writer of random graphs: what it knows of a value (`Var`), how it names things, its
statements on tensors.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]
FEATURES = frozenset(
    {
        "views",
        "writes",
        "lists",
        "tuples",
        "branches",
        "loops",
        "numbers",
        "casts",
        "optionals",
        "factories",
    }
)
DTYPE_NAMES = {"float": "Float", "float64": "Double", "int": "Long", "bool": "Bool"}


@dataclass(frozen=True)
class Var:
    """A value of the program. For tensors and lists of tensors: dtype, shape, and whether writing
    to it is defined.
    """

    name: str
    kind: str  # "tensor" "int" "float" "bool" "int[]" "Tensor[]" "Tensor?" "tuple"
    dtype: str = ""
    shape: Shape = ()
    writable: bool = True
    length: int | None = None  # of a list, while nobody has appended to it
    parts: tuple[Var, ...] = ()  # of a tuple

    @property
    def likeness(self) -> tuple[Any, ...]:
        """Equal for values that may stand for each other."""
        return self.kind, self.dtype, self.shape, tuple(p.likeness for p in self.parts)

    def type(self, typed: bool = False) -> str:
        if self.kind == "tuple":
            return f"({', '.join(p.type() for p in self.parts)})"
        if self.kind != "tensor" or not typed:
            return "Tensor" if self.kind == "tensor" else self.kind
        sizes = ", ".join(map(str, self.shape))
        return f"{DTYPE_NAMES[self.dtype]}({sizes}{', ' if sizes else ''}device=cpu)"


INPUTS = (
    Var("x", "tensor", "float", (2, 3)),
    Var("y", "tensor", "float", (2, 3)),
    Var("w", "tensor", "float", (3,)),
    Var("m", "tensor", "float", (2, 2)),
    Var("n", "int"),
    Var("f", "float"),
    Var("b", "bool"),
)

UNARY = ("relu", "tanh", "sigmoid", "neg", "abs", "sin", "cos", "exp2", "clone_")
WRITES = ("relu_", "zero_", "neg_", "tanh_", "sigmoid_", "abs_", "sin_")


@dataclass
class Lines:
    """The text written so far, and the values that can be used at this place."""

    stream: random.Random
    features: frozenset[str]
    typed: bool
    lines: list[str] = field(default_factory=list)
    scope: list[Var] = field(default_factory=list)
    indent: str = "  "
    depth: int = 0
    count: int = 0

    def any(self, kind: str, dtype: str = "float") -> Var:
        found = [v for v in self.scope if v.kind == kind and (kind != "tensor" or v.dtype == dtype)]
        return found[max(self.stream.randrange(len(found)), self.stream.randrange(len(found)))]

    def maybe(self, kind: str) -> Var | None:
        return self.any(kind) if any(v.kind == kind for v in self.scope) else None

    def like(self, v: Var) -> Var:
        return self.stream.choice([u for u in self.scope if u.likeness == v.likeness])

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def emit(self, expression: str, kind: str, **known: Any) -> Var:
        v = Var(self.fresh(), kind, **known)
        self.lines.append(f"{self.indent}%{v.name} : {v.type(self.typed)} = {expression}")
        self.scope.append(v)
        return v

    def constant(self, value: Any) -> str:
        """A new constant; its text as an argument."""
        name = self.fresh()
        kind = "NoneType" if value is None else type(value).__name__
        shown = {bool: lambda v: int(v), int: str, float: repr, type(None): lambda v: ""}[
            type(value)
        ](value)
        if kind == "float" and value == int(value):
            shown = f"{int(value)}."
        self.lines.append(
            f"{self.indent}%{name} : {kind} = "
            f"prim::Constant{f'[value={shown}]' if value is not None else ''}()"
        )
        return f"%{name}"

    def number(self, *values: Any) -> str:
        return self.constant(self.stream.choice(values))

    def tensor(
        self, expression: str, shape: Shape, dtype: str = "float", writable: bool = True
    ) -> Var:
        return self.emit(expression, "tensor", dtype=dtype, shape=shape, writable=writable)


class TensorStatements(Lines):
    """Operators on tensors: new ones, views, writes."""

    def unary(self) -> Var:
        a = self.any("tensor")
        op = self.stream.choice(UNARY)
        if op == "clone_":
            return self.tensor(f"aten::clone(%{a.name}, {self.constant(None)})", a.shape)
        if op == "exp2":
            return self.tensor(
                f"aten::exp(%{self.tensor(f'aten::sigmoid(%{a.name})', a.shape).name})", a.shape
            )
        return self.tensor(f"aten::{op}(%{a.name})", a.shape)

    def binary(self) -> Var:
        a = self.any("tensor")
        b = self.stream.choice([v for v in self.scope if v.kind == "tensor" and v.shape == a.shape])
        op = self.stream.choice(["add", "sub", "mul", "maximum", "gt", "type_as"])
        if op == "gt":
            return self.tensor(f"aten::gt(%{a.name}, %{b.name})", a.shape, "bool")
        if op == "type_as":
            return self.tensor(f"aten::type_as(%{b.name}, %{a.name})", a.shape, writable=b.writable)
        if op == "sub" and b.dtype == "bool":
            op = "add"
        last = f", {self.number(1, 1, 2)}" if op in ("add", "sub") else ""
        return self.tensor(f"aten::{op}(%{a.name}, %{b.name}{last})", a.shape)

    def with_number(self) -> Var:
        a = self.stream.choice([v for v in self.scope if v.kind == "tensor"])
        op = self.stream.choice(["add", "sub", "mul", "div"])
        if a.dtype == "bool" and op == "sub":
            op = "mul"
        number = self.number(0, 0, 2) if op in ("add", "sub") else self.number(1, 1, 2)
        last = f", {self.number(1, 1, 2)}" if op in ("add", "sub") else ""
        dtype = "float" if op == "div" or a.dtype == "float" else "int"
        return self.tensor(f"aten::{op}(%{a.name}, {number}{last})", a.shape, dtype)

    def again(self) -> Var | None:
        """A statement that was there already."""
        last = [v for v in self.scope if v.kind == "tensor" and not any(v is i for i in INPUTS)]
        v = self.stream.choice(last) if last else None
        line = next(
            (
                t
                for t in reversed(self.lines)
                if v and t.lstrip().startswith(f"%{v.name} : ") and " = aten::" in t
            ),
            None,
        )
        if v is None or line is None or "_(" in line:
            return None
        return self.emit(
            line.split(" = ", 1)[1], "tensor", dtype=v.dtype, shape=v.shape, writable=v.writable
        )

    def factory(self) -> Var:
        sizes = self.stream.choice([(2, 3), (3,), (2, 2)])
        values = [self.constant(n) for n in sizes]
        listed = self.emit(f"prim::ListConstruct({', '.join(values)})", "int[]", length=len(sizes))
        none = self.constant(None)
        op = self.stream.choice(["zeros", "ones"])
        return self.tensor(f"aten::{op}(%{listed.name}, {', '.join([none] * 4)})", sizes)

    def view(self) -> Var:
        a = self.stream.choice([v for v in self.scope if v.kind == "tensor"])
        forms = [self._expanded]
        if len(a.shape) == 2:
            forms += [self._transposed, self._sliced] + [self._row] * (a.shape[0] > 0)
        if a.shape:
            forms += [self._sliced, self._alias]
        return self.stream.choice(forms)(a)

    def _transposed(self, a: Var) -> Var:
        return self.tensor(f"aten::t(%{a.name})", a.shape[::-1], a.dtype, a.writable)

    def _row(self, a: Var) -> Var:
        return self.tensor(
            f"aten::select(%{a.name}, {self.constant(0)}, {self.number(0, -1)})",
            a.shape[1:],
            a.dtype,
            a.writable,
        )

    def _sliced(self, a: Var) -> Var:
        begin = self.constant(self.stream.choice([0, 1]))
        text = (
            f"aten::slice(%{a.name}, {self.constant(0)}, {begin}, {self.constant(9)}, "
            f"{self.constant(1)})"
        )
        n = a.shape[0] - int(self._value(begin))
        return self.tensor(text, (max(n, 0), *a.shape[1:]), a.dtype, a.writable)

    def _alias(self, a: Var) -> Var:
        return self.tensor(f"aten::alias(%{a.name})", a.shape, a.dtype, a.writable)

    def _expanded(self, a: Var) -> Var:
        if len(a.shape) > 2:
            return self._alias(a)
        sizes = (*a.shape,) if self.stream.random() < 0.5 else (2, *a.shape)
        if len(sizes) > 2:
            sizes = a.shape
        values = [self.constant(n) for n in sizes]
        listed = self.emit(f"prim::ListConstruct({', '.join(values)})", "int[]", length=len(sizes))
        writable = a.writable and sizes == a.shape
        return self.tensor(
            f"aten::expand(%{a.name}, %{listed.name}, {self.constant(False)})",
            sizes,
            a.dtype,
            writable,
        )

    def _value(self, text: str) -> str:
        line = next(t for t in self.lines if t.lstrip().startswith(f"{text} : "))
        return line.split("[value=")[1].split("]")[0]

    def transposed_twice(self) -> Var:
        a = self.any("tensor")
        if len(a.shape) != 2:
            return self.unary()
        return self._transposed(self._transposed(a))

    def write(self) -> Var | None:
        found = [v for v in self.scope if v.kind == "tensor" and v.writable and v.dtype == "float"]
        if not found:
            return None
        a = self.stream.choice(found)
        choice = self.stream.randrange(4)
        if choice == 0:
            return self.tensor(f"aten::{self.stream.choice(WRITES)}(%{a.name})", a.shape)
        if choice == 1:
            op = self.stream.choice(["add_", "sub_"])
            return self.tensor(
                f"aten::{op}(%{a.name}, {self.number(1, 0, 2)}, {self.constant(1)})", a.shape
            )
        if choice == 2:
            return self.tensor(f"aten::mul_(%{a.name}, {self.number(0.5, 1.0, -1.0)})", a.shape)
        other = self.tensor(f"aten::tanh(%{self.like(a).name})", a.shape)
        op, last = self.stream.choice(
            [
                ("add_", f", {self.constant(1)}"),
                ("mul_", ""),
                ("copy_", f", {self.constant(False)}"),
            ]
        )
        return self.tensor(f"aten::{op}(%{a.name}, %{other.name}{last})", a.shape)
