"""The writer behind `jit_graph_programs.program`: one method for each sort of statement.

It keeps what is known of every value (`Var`): the dtype and shape of a tensor, so that every line can run, and whether writing to
it is defined (not to an expanded tensor, where one number in memory stands for several).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

Shape = tuple[int, ...]
FEATURES = frozenset(
    {"views", "writes", "lists", "tuples", "branches", "loops", "numbers", "casts", "optionals", "factories"}
)
DTYPE_NAMES = {"float": "Float", "float64": "Double", "int": "Long", "bool": "Bool"}


@dataclass(frozen=True)
class Var:
    """A value of the program. For tensors and lists of tensors: dtype, shape, and whether writing to it is defined."""

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
class Writer:
    stream: random.Random
    features: frozenset[str]
    typed: bool
    lines: list[str] = field(default_factory=list)
    scope: list[Var] = field(default_factory=list)
    indent: str = "  "
    depth: int = 0
    count: int = 0

    def program(self, size: int) -> str:
        self.scope = list(INPUTS)
        self.block(size)
        outputs = [self.any("tensor") for _ in range(self.stream.randint(1, 3))]
        outputs += [self.stream.choice(self.scope) for _ in range(self.stream.randint(0, 2))]
        parts = tuple(dict.fromkeys(v for v in outputs if v.kind != "tuple"))
        header = ",\n      ".join(f"%{v.name} : {v.type(self.typed)}" for v in INPUTS)
        names = ", ".join(f"%{v.name}" for v in parts)
        result = self.emit(f"prim::TupleConstruct({names})", "tuple", parts=parts) if len(parts) > 1 else parts[0]
        return f"graph({header}):\n" + "\n".join(self.lines) + f"\n  return (%{result.name})\n"

    def block(self, size: int) -> None:
        statements = self.statements()
        for _ in range(size):
            self.stream.choice(statements)()

    def statements(self) -> list[Callable[[], object]]:
        often = [self.unary, self.binary, self.with_number, self.binary, self.again]
        table = {
            "views": [self.view, self.view, self.transposed_twice, self.view],
            "writes": [self.write, self.write, self.write],
            "lists": [self.tensor_list, self.list_item, self.append, self.int_list, self.list_length, self.pieces],
            "tuples": [self.make_tuple, self.take_from_tuple],
            "numbers": [
                self.int_arithmetic,
                self.comparison,
                self.logic,
                self.float_arithmetic,
                self.there_and_back,
                self.ask,
            ],
            "optionals": [self.optional, self.is_none],
            "factories": [self.factory],
        }
        if self.depth < 2:
            table |= {"branches": [self.branch, self.branch], "loops": [self.loop, self.loop]}
        return often + [s for name, group in table.items() if name in self.features for s in group]

    # Choosing and naming

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
        shown = {bool: lambda v: int(v), int: str, float: repr, type(None): lambda v: ""}[type(value)](value)
        if kind == "float" and value == int(value):
            shown = f"{int(value)}."
        self.lines.append(
            f"{self.indent}%{name} : {kind} = prim::Constant{f'[value={shown}]' if value is not None else ''}()"
        )
        return f"%{name}"

    def number(self, *values: Any) -> str:
        return self.constant(self.stream.choice(values))

    def tensor(self, expression: str, shape: Shape, dtype: str = "float", writable: bool = True) -> Var:
        return self.emit(expression, "tensor", dtype=dtype, shape=shape, writable=writable)

    # Tensors

    def unary(self) -> Var:
        a = self.any("tensor")
        op = self.stream.choice(UNARY)
        if op == "clone_":
            return self.tensor(f"aten::clone(%{a.name}, {self.constant(None)})", a.shape)
        if op == "exp2":
            return self.tensor(f"aten::exp(%{self.tensor(f'aten::sigmoid(%{a.name})', a.shape).name})", a.shape)
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
            (t for t in reversed(self.lines) if v and t.lstrip().startswith(f"%{v.name} : ") and " = aten::" in t), None
        )
        if v is None or line is None or "_(" in line:
            return None
        return self.emit(line.split(" = ", 1)[1], "tensor", dtype=v.dtype, shape=v.shape, writable=v.writable)

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
            f"aten::select(%{a.name}, {self.constant(0)}, {self.number(0, -1)})", a.shape[1:], a.dtype, a.writable
        )

    def _sliced(self, a: Var) -> Var:
        begin = self.constant(self.stream.choice([0, 1]))
        text = f"aten::slice(%{a.name}, {self.constant(0)}, {begin}, {self.constant(9)}, {self.constant(1)})"
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
        return self.tensor(f"aten::expand(%{a.name}, %{listed.name}, {self.constant(False)})", sizes, a.dtype, writable)

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
            return self.tensor(f"aten::{op}(%{a.name}, {self.number(1, 0, 2)}, {self.constant(1)})", a.shape)
        if choice == 2:
            return self.tensor(f"aten::mul_(%{a.name}, {self.number(0.5, 1.0, -1.0)})", a.shape)
        other = self.tensor(f"aten::tanh(%{self.like(a).name})", a.shape)
        op, last = self.stream.choice(
            [("add_", f", {self.constant(1)}"), ("mul_", ""), ("copy_", f", {self.constant(False)}")]
        )
        return self.tensor(f"aten::{op}(%{a.name}, %{other.name}{last})", a.shape)

    # Numbers

    def int_arithmetic(self) -> Var:
        a = self.any("int")
        op = self.stream.choice(["add", "sub", "mul", "floordiv", "add"])
        b = (
            f"%{self.any('int').name}"
            if self.stream.random() < 0.3 and op != "floordiv" and op != "mul"
            else self.number(0, 1, 1, 2, 3)
        )
        if op == "floordiv":
            b = self.number(1, 2)
        operands = (b, f"%{a.name}") if op in ("add", "mul") and self.stream.random() < 0.3 else (f"%{a.name}", b)
        return self.emit(f"aten::{op}({', '.join(operands)})", "int")

    def float_arithmetic(self) -> Var:
        return self.emit(
            f"aten::{self.stream.choice(['add', 'mul'])}(%{self.any('float').name}, {self.number(0.5, 1.0, 2.0)})",
            "float",
        )

    def comparison(self) -> Var:
        a, b = self.any("int"), self.any("int")
        op = self.stream.choice(["lt", "eq", "ne", "ge"])
        if self.stream.random() < 0.4:
            total = self.tensor(f"aten::sum(%{self.any('tensor').name}, {self.constant(None)})", ())
            positive = self.tensor(f"aten::gt(%{total.name}, {self.constant(0)})", (), "bool")
            return self.emit(f"aten::Bool(%{positive.name})", "bool")
        right = f"%{b.name}" if self.stream.random() < 0.5 else self.number(0, 1, 2)
        return self.emit(f"aten::{op}(%{a.name}, {right})", "bool")

    def logic(self) -> Var:
        a = self.any("bool")
        if self.stream.random() < 0.5:
            return self.emit(f"aten::__not__(%{a.name})", "bool")
        other = self.constant(self.stream.random() < 0.5)
        return self.emit(f"aten::{self.stream.choice(['__and__', '__or__'])}(%{a.name}, {other})", "bool")

    def there_and_back(self) -> Var:
        """A number into a tensor and out again."""
        kind = self.stream.choice(["int", "float"])
        t = self.tensor(f"prim::NumToTensor(%{self.any(kind).name})", (), "int" if kind == "int" else "float64")
        if "casts" in self.features and self.stream.random() < 0.5:
            kind = "int" if kind == "float" else "float"
        return self.emit(f"aten::{kind.capitalize()}(%{t.name})", kind)

    def ask(self) -> Var:
        """A question about a tensor."""
        a = self.any("tensor")
        if a.shape and self.stream.random() < 0.4:
            return self.emit(f"aten::size(%{a.name}, {self.number(0, -1)})", "int")
        if self.stream.random() < 0.5:
            return self.emit(f"aten::dim(%{a.name})", "int")
        if self.stream.random() < 0.5:
            return self.emit(f"prim::dtype(%{a.name})", "int")
        return self.emit(f"aten::is_floating_point(%{a.name})", "bool")

    # Lists, tuples, optionals

    def tensor_list(self) -> Var:
        a = self.any("tensor")
        b = self.like(a)
        writable = a.writable and b.writable
        return self.emit(
            f"prim::ListConstruct(%{a.name}, %{b.name})",
            "Tensor[]",
            dtype=a.dtype,
            shape=a.shape,
            writable=writable,
            length=2,
        )

    def list_item(self) -> Var | None:
        v = self.maybe("Tensor[]")
        if v is None:
            return None
        if self.stream.random() < 0.4 and len(v.shape) == 1 and v.length is not None:
            return self.tensor(f"aten::cat(%{v.name}, {self.constant(0)})", (v.shape[0] * v.length,))
        return self.tensor(f"aten::__getitem__(%{v.name}, {self.number(0, 1, -1)})", v.shape, v.dtype, v.writable)

    def append(self) -> Var | None:
        v = self.maybe("Tensor[]")
        fitting = [t for t in self.scope if v and t.kind == "tensor" and (t.dtype, t.shape) == (v.dtype, v.shape)]
        if v is None or not fitting or self.depth:
            return None
        t = self.stream.choice(fitting)
        fresh = self.emit(f"aten::append(%{v.name}, %{t.name})", "Tensor[]", dtype=v.dtype, shape=v.shape)
        known = replace(v, length=None, writable=v.writable and t.writable)
        self.scope = [
            replace(s, length=None, writable=False) if s.kind == "Tensor[]" and s.likeness == v.likeness else s
            for s in self.scope
        ]
        return known if fresh else None

    def int_list(self) -> Var:
        if self.stream.random() < 0.3:
            a = self.any("tensor")
            return self.emit(f"aten::size(%{a.name})", "int[]", length=len(a.shape))
        return self.emit(f"prim::ListConstruct(%{self.any('int').name}, {self.number(0, 3)})", "int[]", length=2)

    def list_length(self) -> Var | None:
        v = self.maybe("int[]") if self.stream.random() < 0.5 else self.maybe("Tensor[]")
        if v is None:
            return None
        if v.kind == "int[]" and v.length and self.stream.random() < 0.6:
            if self.stream.random() < 0.3:
                return self.emit(f"aten::add(%{v.name}, %{v.name})", "int[]", length=2 * v.length)
            return self.emit(f"aten::__getitem__(%{v.name}, {self.number(0, -1)})", "int")
        return self.emit(f"aten::len(%{v.name})", "int")

    def pieces(self) -> Var | None:
        a = self.any("tensor")
        if a.shape[:1] != (2,):
            return None
        c = self.emit(
            f"aten::chunk(%{a.name}, {self.constant(2)}, {self.constant(0)})",
            "Tensor[]",
            dtype=a.dtype,
            shape=(1, *a.shape[1:]),
            writable=False,
            length=2,
        )
        first, second = (Var(self.fresh(), "tensor", a.dtype, (1, *a.shape[1:]), writable=a.writable) for _ in range(2))
        names = ", ".join(f"%{v.name} : {v.type(self.typed)}" for v in (first, second))
        self.lines.append(f"{self.indent}{names} = prim::ListUnpack(%{c.name})")
        self.scope += [first, second]
        return first

    def make_tuple(self) -> Var:
        parts = tuple(self.stream.choice([v for v in self.scope if v.kind != "tuple"]) for _ in range(2))
        return self.emit(f"prim::TupleConstruct({', '.join(f'%{p.name}' for p in parts)})", "tuple", parts=parts)

    def take_from_tuple(self) -> Var | None:
        v = self.maybe("tuple")
        if v is None:
            return None
        if self.stream.random() < 0.5:
            i = self.stream.randrange(len(v.parts))
            part = v.parts[i]
            index = self.constant(i - len(v.parts) if self.stream.random() < 0.3 else i)
            return self._copy_of(part, f"prim::TupleIndex(%{v.name}, {index})")
        copies = [replace(p, name=self.fresh(), length=None, writable=self._still_writable(p)) for p in v.parts]
        names = ", ".join(f"%{c.name} : {c.type(self.typed)}" for c in copies)
        self.lines.append(f"{self.indent}{names} = prim::TupleUnpack(%{v.name})")
        self.scope += copies
        return copies[0]

    def _copy_of(self, part: Var, expression: str) -> Var:
        known = replace(part, name=self.fresh(), length=None, writable=self._still_writable(part))
        self.lines.append(f"{self.indent}%{known.name} : {known.type(self.typed)} = {expression}")
        self.scope.append(known)
        return known

    def _still_writable(self, v: Var) -> bool:
        return v.writable and v.kind == "tensor"

    def optional(self) -> Var:
        a, condition = self.any("tensor"), self.any("bool")
        v = Var(self.fresh(), "Tensor?", a.dtype, a.shape, a.writable)
        none = self.constant(None)
        self.lines += [
            f"{self.indent}%{v.name} : Tensor? = prim::If(%{condition.name})",
            f"{self.indent}  block0():",
            f"{self.indent}    -> (%{a.name})",
            f"{self.indent}  block1():",
            f"{self.indent}    -> ({none})",
        ]
        self.scope.append(v)
        return v

    def is_none(self) -> Var:
        v = self.maybe("Tensor?")
        asked = v if v is not None and self.stream.random() < 0.6 else self.any("tensor")
        op = self.stream.choice(["__is__", "__isnot__"])
        return self.emit(f"aten::{op}(%{asked.name}, {self.constant(None)})", "bool")

    # Control flow

    @contextmanager
    def inside(self, header: str) -> Iterator[None]:
        """Statements of a block; what they define is not seen outside, but what they did to lists is remembered."""
        scope, indent = list(self.scope), self.indent
        self.lines.append(f"{indent}  {header}:")
        self.indent, self.depth = indent + "    ", self.depth + 1
        yield
        self.indent, self.depth = indent, self.depth - 1
        self.scope = scope

    def branch(self) -> None:
        condition = (
            self.constant(self.stream.random() < 0.5) if self.stream.random() < 0.2 else f"%{self.any('bool').name}"
        )
        kept = [
            self.stream.choice([v for v in self.scope if v.kind in CARRIED]) for _ in range(self.stream.randint(0, 2))
        ]
        start = len(self.lines)
        self.lines.append("")
        arms = []
        for name in ("block0()", "block1()"):
            with self.inside(name):
                self.block(self.stream.randint(0, 3))
                arms.append([self.like(v) for v in kept])
                self.lines.append(f"{self.indent}-> ({', '.join(f'%{v.name}' for v in arms[-1])})")
        results = [self.merged(a, b) for a, b in zip(*arms)]
        self.finish(start, f"prim::If({condition})", results)

    def loop(self) -> None:
        trips = self.number(0, 1, 2, 3) if self.stream.random() < 0.6 else f"%{self.small_int().name}"
        condition = self.constant(True) if self.stream.random() < 0.8 else f"%{self.any('bool').name}"
        given = [
            self.stream.choice([v for v in self.scope if v.kind in CARRIED]) for _ in range(self.stream.randint(0, 3))
        ]
        start = len(self.lines)
        self.lines.append("")
        carried = [replace(v, name=self.fresh(), writable=False, length=None) for v in given]
        counter = Var(self.fresh(), "int")
        inputs = ", ".join(f"%{v.name} : {v.type(self.typed)}" for v in (counter, *carried))
        with self.inside(f"block0({inputs})"):
            self.scope += [counter, *carried]
            self.block(self.stream.randint(1, 4))
            again = self.constant(True) if self.stream.random() < 0.8 else f"%{self.any('bool').name}"
            results = [self.bounded(self.like(v)) for v in carried]
            self.lines.append(f"{self.indent}-> ({', '.join([again, *(f'%{v.name}' for v in results)])})")
        after = [replace(v, name=self.fresh(), writable=False) for v in carried]
        self.finish(start, f"prim::Loop({', '.join([trips, condition, *(f'%{v.name}' for v in given)])})", after)

    def finish(self, start: int, expression: str, results: list[Var]) -> None:
        names = ", ".join(f"%{v.name} : {v.type(self.typed)}" for v in results)
        self.lines[start] = f"{self.indent}{names}{' = ' if names else ''}{expression}"
        self.scope += results

    def merged(self, a: Var, b: Var) -> Var:
        return replace(a, name=self.fresh(), writable=a.writable and b.writable, length=None)

    def small_int(self) -> Var:
        return self.emit(f"aten::remainder(%{self.any('int').name}, {self.constant(4)})", "int")

    def bounded(self, v: Var) -> Var:
        """What goes round a loop must not grow without end."""
        if v.kind == "int":
            return self.emit(f"aten::remainder(%{v.name}, {self.constant(13)})", "int")
        return v


CARRIED = ("tensor", "int", "bool")
