"""A small language for loops over vectors of numbers, on top of `llvmlite.ir`.

A compiler's auto-vectoriser rarely finds the form that products need: two dozen sums held in
registers while numbers stream past, each used many times. So the inner loops of matrix products and
convolutions are written with explicit vectors.

`Code` writes a function `void (i64 begin, i64 end, ptr slots)`. Each of its values is assigned once
(LLVM's static single assignment), and a value that changes in a loop is carried from turn to turn:
`loop` takes the values at the start and returns those at the end:

    (total,) = code.loop(n, [zero], lambda i, carried: [code.add(carried[0], i)])

`entry_of` makes machine code from a function that writes a kernel. Its text is only written if
there is no object file on the disk.

How the real one differs: oneDNN assembles its kernels instruction by instruction with Xbyak
(`src/cpu/x64/jit_*_conv_kernel.cpp`), one generator for each level of vector instructions.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from internals.machine_code.entry import Entry
from internals.machine_code.llvm import entry_from_ir
from internals.machine_code.records import filled, flat, signature_of

from .registers import BLOCK, Vector

if TYPE_CHECKING:
    from internals.aten.compiled.convolution.buffers import Place

I1, I32, I64, POINTER = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.PointerType()
F32, F64 = ir.FloatType(), ir.DoubleType()
KERNEL = ir.FunctionType(ir.VoidType(), (I64, I64, POINTER))
Values = Sequence[Any]
Body = Callable[[Any, list[Any]], Values | None]  # (index, carried values) to the next ones


@cache
def entry_of(write: Callable[..., str], record: type, *tile: Any) -> Entry:
    """The machine code of the function that `write(*tile)` writes, which takes a `record` as
    arguments. It is loaded from the disk, or compiled if it is not there."""
    name = write.__name__.removeprefix("write_")
    # the modules whose code the writer may use: if one of them changes, so does the key
    used = {str(getattr(value, "__module__", "")) for value in write.__globals__.values()} | {
        write.__module__
    }
    key = f"{tile} {version_of(*sorted(m for m in used if m.startswith('internals.')))}"
    return entry_from_ir(lambda: write(*tile), name, key, signature_of(record), optimize=False)


@cache
def version_of(*modules: str) -> str:
    """A digest of the source of modules: part of a kernel's name in the cache on disk, so that a
    changed one is compiled anew."""
    return hashlib.sha256(
        "".join(inspect.getsource(sys.modules[m]) for m in modules).encode()
    ).hexdigest()[:16]


class Code:
    """Writes the function `name` of a new LLVM module. Its arguments are a `record`, its vectors
    and numbers are of the type of `vector`."""

    def __init__(self, name: str, record: type, vector: Vector = BLOCK) -> None:
        self.module = ir.Module(name)
        self.function = ir.Function(self.module, KERNEL, name)
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.begin, self.end, slots = self.function.args
        self.number, self.lanes = F32 if vector.number == "f4" else F64, vector.lanes
        self.type = ir.VectorType(self.number, vector.lanes)
        self.align = int(vector.number[1])
        words = signature_of(record).split()
        self.arguments = filled(
            record, (self._slot(slots, i, word) for i, word in enumerate(words))
        )

    def _slot(self, slots: Any, i: int, word: str) -> Any:
        """Argument i, loaded from its slot of 8 bytes; float32 arguments arrive as doubles."""
        address = self.b.gep(slots, [self.integer(i)], source_etype=I64)
        if word[0] != "f":
            return self.b.load(address, typ=POINTER if word[0] == "*" else I64)
        number = self.b.load(address, typ=F64)
        return number if self.number is F64 else self.b.fptrunc(number, F32)

    def finish(self) -> str:
        """The module's text."""
        self.b.ret_void()
        return str(self.module)

    # Integers

    def integer(self, value: object) -> Any:
        """An LLVM value: an int becomes a constant, others stay as they are."""
        return ir.Constant(I64, value) if isinstance(value, int) else value

    def add(self, a: object, b: Any) -> Any:
        """a + b of integers; no instruction if b is the Python int 0."""
        return (
            a
            if isinstance(b, int) and b == 0
            else self.b.add(self.integer(a), self.integer(b), flags=("nsw",))
        )

    def sub(self, a: object, b: object) -> Any:
        return self.b.sub(self.integer(a), self.integer(b), flags=("nsw",))

    def mul(self, a: object, b: object) -> Any:
        return self.b.mul(self.integer(a), self.integer(b), flags=("nsw",))

    def divmod(self, a: object, b: object) -> tuple[Any, Any]:
        """(a // b, a % b) of integers that are not negative."""
        return self.b.udiv(a, self.integer(b)), self.b.urem(a, self.integer(b))

    def parts(self, total: Any, size: Any) -> Any:
        """How many parts of `size` a total takes; the last may be smaller."""
        return self.divmod(self.sub(self.add(total, size), 1), size)[0]

    def min(self, a: Any, b: object) -> Any:
        a, b = self.integer(a), self.integer(b)
        return self.b.select(self.b.icmp_signed("<", a, b), a, b)

    def max(self, a: Any, b: int) -> Any:
        a, b = self.integer(a), self.integer(b)
        return self.b.select(self.b.icmp_signed(">", a, b), a, b)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        return self.b.select(condition, a, b)

    def is_zero(self, a: object) -> Any:
        return self.b.icmp_signed("==", a, ir.Constant(I64, 0))

    def is_null(self, pointer: object) -> Any:
        return self.b.icmp_unsigned("==", self.b.ptrtoint(pointer, I64), ir.Constant(I64, 0))

    # Memory: addresses move by numbers

    def at(self, pointer: object, *offsets: Any) -> Any:
        """The address that lies the sum of `offsets` after `pointer`, in numbers."""
        for offset in offsets:
            if not (isinstance(offset, int) and offset == 0):
                pointer = self.b.gep(
                    pointer, [self.integer(offset)], inbounds=True, source_etype=self.number
                )
        return pointer

    def place(self, p: Place, image: Any, block: object, row: Any) -> Any:
        """The address of a row of a block of an image, in a value at place `p`. An index that is a
        Python int is taken as 0."""
        steps = (p.image, image), (p.block, block), (p.row, row)
        return self.at(
            p.address, *(self.mul(step, i) for step, i in steps if not isinstance(i, int))
        )

    def load_int(self, pointer: Any, index: Any) -> Any:
        return self.b.load(self.b.gep(pointer, [index], source_etype=I64), typ=I64)

    def load(self, pointer: object, offset: Any = 0, mask: Any = None) -> Any:
        """The vector at `pointer`, which need not be aligned. Lanes for which the mask does not
        hold are 0, and their memory is not read."""
        place = self.at(pointer, offset)
        if mask is None:
            return self.b.load(place, align=self.align, typ=self.type)
        holds, none = self._holds(mask), ir.Constant(self.type, None)
        return self.call(
            "llvm.masked.load",
            self.type,
            place,
            ir.Constant(I32, self.align),
            holds,
            none,
            end=".p0",
        )

    def load_number(self, pointer: Any, offset: Any = 0) -> Any:
        return self.b.load(self.at(pointer, offset), align=self.align, typ=self.number)

    def load_spread(self, pointer: Any, offset: int = 0) -> Any:
        """The number at `pointer`, in all lanes."""
        return self.spread(self.load_number(pointer, offset))

    def store(self, value: object, pointer: Any, offset: Any = 0, mask: Any = None) -> None:
        """Write a vector or a number; of a vector only the lanes for which the mask holds."""
        place = self.at(pointer, offset)
        if mask is None:
            self.b.store(value, place, align=self.align)
        else:
            align = ir.Constant(I32, self.align)
            self.call(
                "llvm.masked.store",
                ir.VoidType(),
                value,
                place,
                align,
                self._holds(mask),
                end=".p0",
            )

    def _holds(self, mask: Any) -> Any:
        """The mask as a vector of bits: its lanes are 0 or -1."""
        return self.b.icmp_signed("<", mask, ir.Constant(mask.type, None))

    def prefetch(self, pointer: Any, offset: int) -> None:
        """Fetch the cache line at `pointer` into the second-level cache, for reading later. Any
        address will do: an invalid one is ignored."""
        read, second_level, data = (ir.Constant(I32, n) for n in (0, 2, 1))
        place = self.at(pointer, offset)
        self.call(
            "llvm.prefetch.p0", ir.VoidType(), place, read, second_level, data, of_vectors=False
        )

    # Vectors

    def constant(self, number: float) -> Any:
        return ir.Constant(self.number, number)

    def vector(self, number: float) -> Any:
        return ir.Constant(self.type, [number] * self.lanes)

    def spread(self, number: Any) -> Any:
        """A vector with `number` in all lanes."""
        undefined = ir.Constant(ir.VectorType(number.type, self.lanes), ir.Undefined)
        one = self.b.insert_element(undefined, number, ir.Constant(I32, 0))
        return self.b.shuffle_vector(
            one, undefined, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        )

    def mask(self, count: Any) -> Any:
        """A mask that holds in the first `count` lanes: in all if there are fewer lanes, in none if
        it is negative.

        It consists of integers of the numbers' size, 0 or -1, whose signs serve masked instructions
        directly. If it were the result of a comparison, LLVM would repeat the comparison in the
        loops that use it."""
        width = I32 if self.number is F32 else I64
        count = self.max(self.min(count, self.lanes), 0)
        count = self.b.trunc(count, I32) if width is I32 else count
        places = ir.VectorType(width, self.lanes)
        held = self.b.icmp_signed(
            "<", ir.Constant(places, list(range(self.lanes))), self.spread(count)
        )
        return self.b.sext(held, places)

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """a * b + c, rounded once where the CPU can."""
        return self.call("llvm.fmuladd", self.type, a, b, c)

    def add_outer(
        self, numbers: Iterable[Any], vectors: Sequence[Any], sums: Sequence[Any]
    ) -> list[Any]:
        """The sums plus the outer product of the numbers at these addresses and the vectors:
        sums[n, q] + number n (in all lanes) * vector q.

        This is the heart of all products: a number serves all vectors and a vector all numbers, so
        there is far more arithmetic than memory traffic."""
        found: list[Any] = []
        for place in numbers:
            v = self.load_spread(place)
            found += [self.multiply_add(v, w, sums[len(found) + q]) for q, w in enumerate(vectors)]
        return found

    def total(self, v: Any) -> Any:
        """The sum of the numbers in a vector, in any order."""
        return self.call(
            "llvm.vector.reduce.fadd", self.number, self.constant(-0.0), v, fastmath=("reassoc",)
        )

    def call(
        self,
        name: str,
        result: Any,
        *values: Any,
        end: str = "",
        of_vectors: bool = True,
        fastmath: Sequence[str] = (),
    ) -> Any:
        """Call one of LLVM's intrinsic functions. For vectors their type is part of its name, such
        as ".v16f32"."""
        name += f".v{self.lanes}f{8 * self.align}{end}" if of_vectors else end
        known = self.module.globals.get(name)
        if known is None:
            known = ir.Function(
                self.module, ir.FunctionType(result, [v.type for v in values]), name
            )
        return self.b.call(known, values, fastmath=fastmath)

    # Other kernels, called by their addresses

    def slots(self, record: type) -> Any:
        """Memory on the stack for the arguments of a kernel. To be called outside loops: each call
        takes new memory until the function returns."""
        memory = self.b.alloca(ir.ArrayType(I64, len(signature_of(record).split())))
        # through an integer and back, which turns llvmlite's typed pointer into an untyped one
        return self.b.inttoptr(self.b.ptrtoint(memory, I64), POINTER)

    def run(self, kernel: Any, record: tuple[Any, ...], slots: Any, count: Any) -> None:
        """Call the kernel at an address for `count` items of work, with a record as its arguments,
        which are written to `slots`."""
        for i, value in enumerate(flat(record)):
            value = ir.Constant(F64, value) if isinstance(value, float) else self.integer(value)
            value = self.b.fpext(value, F64) if value.type == F32 else value
            self.b.store(value, self.b.gep(slots, [self.integer(i)], source_etype=I64))
        self.b.call(
            self.b.inttoptr(self.b.ptrtoint(kernel, I64), KERNEL.as_pointer()),
            [self.integer(0), count, slots],
        )

    def take(self, counter: Any) -> Any:
        """The integer at an address, to which one is added; no two threads get the same."""
        return self.b.atomic_rmw("add", counter, self.integer(1), "seq_cst")

    # Choices

    def clamp(self, v: Any, low: Any, high: Any) -> Any:
        """`v` clamped between two vectors; NaN stays NaN."""
        v = self.b.select(self.b.fcmp_ordered("<", v, low), low, v)
        return self.b.select(self.b.fcmp_ordered(">", v, high), high, v)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger of the numbers in each lane; NaN if one of them is."""
        b_counts = self.b.or_(self.b.fcmp_ordered(">", b, a), self.b.fcmp_unordered("uno", b, b))
        return self.b.select(b_counts, b, a)

    # Control

    def loop(
        self, count: object, start: Values, body: Body, *, at_least_once: bool = False
    ) -> list[Any]:
        """The code of a loop, `carried = body(i, carried)` for 0 <= i < count. Returns the values
        carried out of the last turn.

        A body that carries no values may return None.
        """
        return self.range(0, count, start, body, at_least_once=at_least_once)

    def range(
        self,
        first: object,
        last: object,
        start: Values,
        body: Body,
        *,
        step: int = 1,
        at_least_once: bool = False,
    ) -> list[Any]:
        """`loop` for first <= i < last, in steps of `step`. `at_least_once` omits the test before
        the first turn."""
        first, last = self.integer(first), self.integer(last)
        start = [self.integer(v) for v in start]
        before = self.b.block
        inside, after = (
            self.function.append_basic_block("loop"),
            self.function.append_basic_block("after"),
        )
        if at_least_once:
            self.b.branch(inside)
        else:
            self.b.cbranch(self.b.icmp_signed("<", first, last), inside, after)
        self.b.position_at_end(inside)
        # the value of a phi depends on the block that control comes from: `before` at the start,
        # the end of the body afterwards, which is only known once the body is written
        index, *carried = (self._phi(v, before) for v in (first, *start))
        results = list(body(index, carried) or ())
        following = self.add(index, step)
        end = self.b.block
        for phi, value in zip((index, *carried), (following, *results)):
            phi.add_incoming(value, end)
        self.b.cbranch(self.b.icmp_signed("<", following, last), inside, after)
        self.b.position_at_end(after)
        return [
            self._merge(v, end, None if at_least_once else (s, before))
            for v, s in zip(results, start)
        ]

    def unless(
        self, condition: Any, values: Values, body: Callable[[list[Any]], Values | None]
    ) -> list[Any]:
        """The code of a branch: `values` if the condition holds, else `body(values)`."""
        before = self.b.block
        inside, after = (
            self.function.append_basic_block("do"),
            self.function.append_basic_block("after"),
        )
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

    def _merge(self, value: object, end: Any, other: tuple[Any, Any] | None) -> Any:
        """`value` if control comes from block `end`; `other` is the (value, block) of the second
        way here, if there is one."""
        phi = self._phi(value, end)
        if other is not None:
            phi.add_incoming(*other)
        return phi
