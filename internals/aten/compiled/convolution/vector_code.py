"""A small language for loops over vectors of 16 numbers, on top of `llvmlite.ir`.

A compiler's auto-vectoriser rarely finds the shape that a convolution wants: two dozen sums held in registers while weights
stream past. So the inner loops are written with explicit vectors of 16 floats. What a CPU cannot hold in one register LLVM
splits: one register with AVX-512, two with AVX2, four with SSE or NEON.

`Code` is a function `void (i64 begin, i64 end, ptr slots)` being written. Values in it are static single assignments, and what
changes in a loop is carried from turn to turn, so `loop` is given the values at the start and returns those at the end:

    (total,) = code.loop(n, [zero], lambda i, carried: [code.add(carried[0], i)])

How the real one differs: oneDNN assembles its kernels instruction by instruction with Xbyak
(`src/cpu/x64/jit_*_conv_kernel.cpp`), one generator for each level of vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from .constants import LANES

I64, I32, F32, POINTER = ir.IntType(64), ir.IntType(32), ir.FloatType(), ir.PointerType()
VECTOR = ir.VectorType(F32, LANES)
SPREAD = ir.Constant(ir.VectorType(I32, LANES), [0] * LANES)
Values = Sequence[Any]


class Code:
    """The function `name` of a new module; `signature` tells its slots: `*f4 *i8` pointers, `i8` an int, `f4` a float."""

    def __init__(self, name: str, signature: str) -> None:
        self.module = ir.Module(name)
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), (I64, I64, POINTER)), name)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.begin, self.end, slots = self.function.args
        self._multiply_add = ir.Function(
            self.module, ir.FunctionType(VECTOR, (VECTOR,) * 3), f"llvm.fmuladd.v{LANES}f32"
        )
        self.arguments = [self._slot(slots, i, word) for i, word in enumerate(signature.split())]

    def _slot(self, slots: Any, i: int, word: str) -> Any:
        address = self.b.gep(slots, [ir.Constant(I64, i)], source_etype=I64)
        if word.startswith("*"):
            return self.b.load(address, typ=POINTER)
        if word == "f4":
            return self.b.fptrunc(self.b.load(address, typ=ir.DoubleType()), F32)
        return self.b.load(address, typ=I64)

    def finish(self) -> str:
        """The module's text."""
        self.b.ret_void()
        return str(self.module)

    # Integers

    def int(self, value: Any) -> Any:
        return ir.Constant(I64, value) if isinstance(value, int) else value

    def add(self, a: Any, b: Any) -> Any:
        return a if isinstance(b, int) and b == 0 else self.b.add(self.int(a), self.int(b), flags=("nsw",))

    def sub(self, a: Any, b: Any) -> Any:
        return self.b.sub(self.int(a), self.int(b), flags=("nsw",))

    def mul(self, a: Any, b: Any) -> Any:
        return self.b.mul(self.int(a), self.int(b), flags=("nsw",))

    def divmod(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Of numbers that are not negative."""
        return self.b.udiv(a, self.int(b)), self.b.urem(a, self.int(b))

    def min(self, a: Any, b: Any) -> Any:
        a, b = self.int(a), self.int(b)
        return self.b.select(self.b.icmp_signed("<", a, b), a, b)

    def max(self, a: Any, b: Any) -> Any:
        a, b = self.int(a), self.int(b)
        return self.b.select(self.b.icmp_signed(">", a, b), a, b)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return self.b.select(condition, a, b)

    def is_zero(self, a: Any) -> Any:
        return self.b.icmp_signed("==", a, ir.Constant(I64, 0))

    def is_null(self, pointer: Any) -> Any:
        return self.b.icmp_unsigned("==", self.b.ptrtoint(pointer, I64), ir.Constant(I64, 0))

    # Memory: addresses move by elements of 4 bytes

    def at(self, pointer: Any, *offsets: Any) -> Any:
        """The address `offsets` elements behind `pointer`."""
        for offset in offsets:
            if not (isinstance(offset, int) and offset == 0):
                pointer = self.b.gep(pointer, [self.int(offset)], inbounds=True, source_etype=F32)
        return pointer

    def load_int(self, pointer: Any, index: Any) -> Any:
        return self.b.load(self.b.gep(pointer, [index], source_etype=I64), typ=I64)

    def load(self, pointer: Any, offset: Any = 0) -> Any:
        """The vector at `pointer`; it need not be aligned."""
        return self.b.load(self.at(pointer, offset), align=4, typ=VECTOR)

    def load_spread(self, pointer: Any, offset: Any = 0) -> Any:
        """The number at `pointer`, in all lanes."""
        return self.spread(self.b.load(self.at(pointer, offset), align=4, typ=F32))

    def load_number(self, pointer: Any, offset: Any = 0) -> Any:
        return self.b.load(self.at(pointer, offset), align=4, typ=F32)

    def store(self, value: Any, pointer: Any, offset: Any = 0) -> None:
        self.b.store(value, self.at(pointer, offset), align=4)

    def prefetch(self, pointer: Any, offset: Any) -> None:
        """Have the cache line at `pointer` brought near, for reading later. Any address will do."""
        name = "llvm.prefetch.p0"
        known = self.module.globals.get(name)
        if known is None:
            known = ir.Function(self.module, ir.FunctionType(ir.VoidType(), (POINTER, I32, I32, I32)), name)
        read, second_level, data = (ir.Constant(I32, n) for n in (0, 2, 1))
        self.b.call(known, [self.at(pointer, offset), read, second_level, data])

    # Vectors

    def vector(self, number: float) -> Any:
        return ir.Constant(VECTOR, [number] * LANES)

    def spread(self, number: Any) -> Any:
        """A vector with `number` in all lanes."""
        undefined = ir.Constant(VECTOR, ir.Undefined)
        one = self.b.insert_element(undefined, number, ir.Constant(I32, 0))
        return self.b.shuffle_vector(one, undefined, SPREAD)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """a * b + c, rounded once where the CPU can."""
        return self.b.call(self._multiply_add, [a, b, c])

    def clamp(self, v: Any, low: Any, high: Any) -> Any:
        """`v` between two vectors; NaN stays NaN."""
        v = self.b.select(self.b.fcmp_ordered("<", v, low), low, v)
        return self.b.select(self.b.fcmp_ordered(">", v, high), high, v)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger of each two numbers; NaN if one is."""
        b_counts = self.b.or_(self.b.fcmp_ordered(">", b, a), self.b.fcmp_unordered("uno", b, b))
        return self.b.select(b_counts, b, a)

    # Control

    def loop(
        self, count: Any, start: Values, body: Callable[[Any, list[Any]], Values | None], *, at_least_once: bool = False
    ) -> list[Any]:
        """`body(i, carried) -> carried` for 0 <= i < count; the values carried out of the last turn.

        A body that carries nothing returns nothing.
        """
        return self.range(0, count, start, body, at_least_once=at_least_once)

    def range(
        self,
        first: Any,
        last: Any,
        start: Values,
        body: Callable[[Any, list[Any]], Values | None],
        *,
        at_least_once: bool = False,
    ) -> list[Any]:
        """The same for first <= i < last."""
        first, last = self.int(first), self.int(last)
        before = self.b.block
        inside, after = self.function.append_basic_block("loop"), self.function.append_basic_block("after")
        if at_least_once:
            self.b.branch(inside)
        else:
            self.b.cbranch(self.b.icmp_signed("<", first, last), inside, after)
        self.b.position_at_end(inside)
        index, *carried = (self._phi(v, before) for v in (first, *start))
        results = list(body(index, carried) or ())
        following = self.add(index, 1)
        end = self.b.block
        for phi, value in zip((index, *carried), (following, *results)):
            phi.add_incoming(value, end)
        self.b.cbranch(self.b.icmp_signed("<", following, last), inside, after)
        self.b.position_at_end(after)
        return [self._merge(v, end, None if at_least_once else (s, before)) for v, s in zip(results, start)]

    def unless(self, condition: Any, values: Values, body: Callable[[list[Any]], Values | None]) -> list[Any]:
        """`body(values)`, or `values` as they are where the condition holds."""
        before = self.b.block
        inside, after = self.function.append_basic_block("do"), self.function.append_basic_block("after")
        self.b.cbranch(condition, after, inside)
        self.b.position_at_end(inside)
        results = list(body(list(values)) or ())
        end = self.b.block
        self.b.branch(after)
        self.b.position_at_end(after)
        return [self._merge(v, end, (s, before)) for v, s in zip(results, values)]

    def _phi(self, value: Any, block: Any) -> Any:
        phi = self.b.phi(value.type)
        phi.add_incoming(value, block)
        return phi

    def _merge(self, value: Any, end: Any, other: tuple[Any, Any] | None) -> Any:
        phi = self._phi(value, end)
        if other is not None:
            phi.add_incoming(*other)
        return phi
