"""The writer behind `jit_graph_programs.program`: a method for each sort of statement, those on
tensors in `jit_program_parts`.

It keeps what is known of every value: the dtype and shape of a tensor, so that every line can run,
and whether writing to it is defined (not to an expanded tensor, where one number in memory stands
for several).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.jit.programs.parts import FEATURES, INPUTS, TensorStatements, Var

__all__ = ["FEATURES", "INPUTS", "Var", "Writer"]

CARRIED = ("tensor", "int", "bool")


class Writer(TensorStatements):
    """`program(size)` writes a whole program."""

    def program(self, size: int) -> str:
        self.scope = list(INPUTS)
        self.block(size)
        outputs = [self.any("tensor") for _ in range(self.stream.randint(1, 3))]
        outputs += [self.stream.choice(self.scope) for _ in range(self.stream.randint(0, 2))]
        parts = tuple(dict.fromkeys(v for v in outputs if v.kind != "tuple"))
        header = ",\n      ".join(f"%{v.name} : {v.type(self.typed)}" for v in INPUTS)
        names = ", ".join(f"%{v.name}" for v in parts)
        result = (
            self.emit(f"prim::TupleConstruct({names})", "tuple", parts=parts)
            if len(parts) > 1
            else parts[0]
        )
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
            "lists": [
                self.tensor_list,
                self.list_item,
                self.append,
                self.int_list,
                self.list_length,
                self.pieces,
            ],
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
        operands = (
            (b, f"%{a.name}")
            if op in ("add", "mul") and self.stream.random() < 0.3
            else (f"%{a.name}", b)
        )
        return self.emit(f"aten::{op}({', '.join(operands)})", "int")

    def float_arithmetic(self) -> Var:
        return self.emit(
            f"aten::{self.stream.choice(['add', 'mul'])}(%{self.any('float').name}, "
            f"{self.number(0.5, 1.0, 2.0)})",
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
        return self.emit(
            f"aten::{self.stream.choice(['__and__', '__or__'])}(%{a.name}, {other})", "bool"
        )

    def there_and_back(self) -> Var:
        """A number into a tensor and out again."""
        kind = self.stream.choice(["int", "float"])
        t = self.tensor(
            f"prim::NumToTensor(%{self.any(kind).name})", (), "int" if kind == "int" else "float64"
        )
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
            return self.tensor(
                f"aten::cat(%{v.name}, {self.constant(0)})", (v.shape[0] * v.length,)
            )
        return self.tensor(
            f"aten::__getitem__(%{v.name}, {self.number(0, 1, -1)})", v.shape, v.dtype, v.writable
        )

    def append(self) -> Var | None:
        v = self.maybe("Tensor[]")
        fitting = [
            t
            for t in self.scope
            if v and t.kind == "tensor" and (t.dtype, t.shape) == (v.dtype, v.shape)
        ]
        if v is None or not fitting or self.depth:
            return None
        t = self.stream.choice(fitting)
        fresh = self.emit(
            f"aten::append(%{v.name}, %{t.name})", "Tensor[]", dtype=v.dtype, shape=v.shape
        )
        known = replace(v, length=None, writable=v.writable and t.writable)
        self.scope = [
            replace(s, length=None, writable=False)
            if s.kind == "Tensor[]" and s.likeness == v.likeness
            else s
            for s in self.scope
        ]
        return known if fresh else None

    def int_list(self) -> Var:
        if self.stream.random() < 0.3:
            a = self.any("tensor")
            return self.emit(f"aten::size(%{a.name})", "int[]", length=len(a.shape))
        return self.emit(
            f"prim::ListConstruct(%{self.any('int').name}, {self.number(0, 3)})", "int[]", length=2
        )

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
        first, second = (
            Var(self.fresh(), "tensor", a.dtype, (1, *a.shape[1:]), writable=a.writable)
            for _ in range(2)
        )
        names = ", ".join(f"%{v.name} : {v.type(self.typed)}" for v in (first, second))
        self.lines.append(f"{self.indent}{names} = prim::ListUnpack(%{c.name})")
        self.scope += [first, second]
        return first

    def make_tuple(self) -> Var:
        parts = tuple(
            self.stream.choice([v for v in self.scope if v.kind != "tuple"]) for _ in range(2)
        )
        return self.emit(
            f"prim::TupleConstruct({', '.join(f'%{p.name}' for p in parts)})", "tuple", parts=parts
        )

    def take_from_tuple(self) -> Var | None:
        v = self.maybe("tuple")
        if v is None:
            return None
        if self.stream.random() < 0.5:
            i = self.stream.randrange(len(v.parts))
            part = v.parts[i]
            index = self.constant(i - len(v.parts) if self.stream.random() < 0.3 else i)
            return self._copy_of(part, f"prim::TupleIndex(%{v.name}, {index})")
        copies = [
            replace(p, name=self.fresh(), length=None, writable=self._still_writable(p))
            for p in v.parts
        ]
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
        """Statements of a block; what they define is not seen outside, but what they did to lists
        is remembered.
        """
        scope, indent = list(self.scope), self.indent
        self.lines.append(f"{indent}  {header}:")
        self.indent, self.depth = indent + "    ", self.depth + 1
        yield
        self.indent, self.depth = indent, self.depth - 1
        self.scope = scope

    def branch(self) -> None:
        condition = (
            self.constant(self.stream.random() < 0.5)
            if self.stream.random() < 0.2
            else f"%{self.any('bool').name}"
        )
        kept = [
            self.stream.choice([v for v in self.scope if v.kind in CARRIED])
            for _ in range(self.stream.randint(0, 2))
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
        trips = (
            self.number(0, 1, 2, 3) if self.stream.random() < 0.6 else f"%{self.small_int().name}"
        )
        condition = (
            self.constant(True) if self.stream.random() < 0.8 else f"%{self.any('bool').name}"
        )
        given = [
            self.stream.choice([v for v in self.scope if v.kind in CARRIED])
            for _ in range(self.stream.randint(0, 3))
        ]
        start = len(self.lines)
        self.lines.append("")
        carried = [replace(v, name=self.fresh(), writable=False, length=None) for v in given]
        counter = Var(self.fresh(), "int")
        inputs = ", ".join(f"%{v.name} : {v.type(self.typed)}" for v in (counter, *carried))
        with self.inside(f"block0({inputs})"):
            self.scope += [counter, *carried]
            self.block(self.stream.randint(1, 4))
            again = (
                self.constant(True) if self.stream.random() < 0.8 else f"%{self.any('bool').name}"
            )
            results = [self.bounded(self.like(v)) for v in carried]
            self.lines.append(
                f"{self.indent}-> ({', '.join([again, *(f'%{v.name}' for v in results)])})"
            )
        after = [replace(v, name=self.fresh(), writable=False) for v in carried]
        self.finish(
            start,
            f"prim::Loop({', '.join([trips, condition, *(f'%{v.name}' for v in given)])})",
            after,
        )

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
