"""What the texts of products in LLVM's language have in common: arguments in slots, the types of vectors, the lines of a tile.

`product_code`, `dots_code`, `batches_code` and `attention_code` each write a whole function, which is best read as it will stand
there. From here come the lines of which it needs many that differ in a number, as one for each sum of a tile:

    %sum0_0 = phi <16 x float> [ zeroinitializer, %tile ], [ %more0_0, %term ]     the sums, which go round in registers
    %more0_0 = call <16 x float> @llvm.fmuladd.v16f32(...)                         and what they are a term later

Names of values come without `%`; where a number may stand as well (an index), the `%` is part of it. Packed convolutions, whose
loops nest in more ways, have a language of their own (`convolution.vector_code`).

How the real one differs: oneDNN's generators share a base class that holds the registers and writes instructions
(`jit_generator`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache as once
from typing import NamedTuple

from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.machine_code.llvm import host

Arguments = dict[str, tuple[str, ...]]
"""The names of a function's arguments by their types in LLVM, in the order of their slots."""

WORDS = {"ptr": "*f4", "i64": "i8", "double": "f8"}


class Vector(NamedTuple):
    """The type of what a register holds: `lanes` numbers of a type ("float", "double" or "i64"). Formatted, it is LLVM's name."""

    number: str
    lanes: int

    def __str__(self) -> str:
        return f"<{self.lanes} x {self.number}>"

    @property
    def bytes(self) -> int:
        """How long one number is."""
        return 4 if self.number == "float" else 8

    @property
    def kind(self) -> str:
        """Its name in those of functions on vectors of floats."""
        return f"v{self.lanes}f{8 * self.bytes}"

    @property
    def counted(self) -> str:
        """Of integers: 0, 1, 2, ..."""
        return f"<{', '.join(f'{self.number} {i}' for i in range(self.lanes))}>"

    @property
    def mask(self) -> str:
        """The type of what tells for each lane whether it counts."""
        return f"<{self.lanes} x i1>"

    @property
    def multiplies(self) -> str:
        """The declaration that `multiply_add` needs."""
        return f"declare {self} @llvm.fmuladd.{self.kind}({self}, {self}, {self})"

    @property
    def loads_masked(self) -> str:
        """The declaration that `load_masked` needs."""
        return f"declare {self} @llvm.masked.load.{self.kind}.p0(ptr, i32, {self.mask}, {self})"

    def at(self, name: str, start: str, index: str | int) -> str:
        """The address `index` numbers behind `start`."""
        return f"  %{name} = getelementptr {self.number}, ptr %{start}, i64 {index}"

    def load(self, name: str, address: str) -> str:
        return f"  %{name} = load {self}, ptr %{address}, align {self.bytes}"

    def load_masked(self, name: str, address: str, mask: str) -> str:
        """What lies there where the mask holds, 0 elsewhere, where nothing is read."""
        what = f"ptr %{address}, i32 {self.bytes}, {self.mask} %{mask}, {self} zeroinitializer"
        return f"  %{name} = call {self} @llvm.masked.load.{self.kind}.p0({what})"

    def store(self, value: str, address: str) -> str:
        return f"  store {self} %{value}, ptr %{address}, align {self.bytes}"

    def everywhere(self, name: str, value: str) -> str:
        """`%name_everywhere` has a number in all lanes."""
        return (
            f"  %{name}_one = insertelement {self} poison, {self.number} {value}, i64 0\n"
            f"  %{name}_everywhere = shufflevector {self} %{name}_one, {self} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def multiply_add(self, name: str, a: str, b: str, c: str) -> str:
        """a * b + c, rounded once or twice, as the CPU does it sooner."""
        return f"  %{name} = call {self} @llvm.fmuladd.{self.kind}({self} %{a}, {self} %{b}, {self} %{c})"


def lines(parts: Iterable[str]) -> str:
    return "\n".join(parts)


def signature(arguments: Arguments) -> str:
    """These arguments in the words of `Entry`."""
    return " ".join(WORDS[kind] for kind, _ in slots(arguments))


def slots(arguments: Arguments) -> list[tuple[str, str]]:
    """Type and name of each."""
    return [(kind, name) for kind, names in arguments.items() for name in names]


def read(arguments: Arguments) -> str:
    """Load each argument from its slot, 8 bytes of `%slots`."""
    return lines(
        f"  %{name}_at = getelementptr i64, ptr %slots, i64 {i}\n  %{name} = load {kind}, ptr %{name}_at"
        for i, (kind, name) in enumerate(slots(arguments))
    )


def starts_of_rows(vector: Vector, matrix: str, step: str, count: Iterable[int]) -> str:
    """`%matrix0`, `%matrix1`, ...: where rows begin that lie `step` apart, the first at `%matrix_tile`."""
    return lines(
        f"  %{matrix}_move{i} = mul i64 %{step}, {i}\n{vector.at(f'{matrix}{i}', f'{matrix}_tile', f'%{matrix}_move{i}')}"
        for i in count
    )


def sums(vector: Vector, cells: Sequence[tuple[int, int]], loop: str = "") -> str:
    """The sums of a tile: zero at first, from block `tile`, and then what block `term` made of them."""
    return lines(
        f"  %{loop}sum{r}_{v} = phi {vector} [ zeroinitializer, %{loop}tile ], [ %{loop}more{r}_{v}, %{loop}term ]"
        for r, v in cells
    )


def add_products(vector: Vector, rows: range, vectors: range, matrix: str, index: str, loop: str = "") -> str:
    """One term of each sum: number `index` of each row of `matrix`, in all lanes, times each of the vectors `%x0`, `%x1`, ..."""
    parts = []
    for r in rows:
        a = f"{loop}a{r}"
        parts += [
            vector.at(f"{loop}a_at{r}", f"{matrix}{r}", index),
            f"  %{a} = load {vector.number}, ptr %{loop}a_at{r}",
            vector.everywhere(a, f"%{a}"),
            *(
                vector.multiply_add(f"{loop}more{r}_{v}", f"{a}_everywhere", f"{loop}x{v}", f"{loop}sum{r}_{v}")
                for v in vectors
            ),
        ]
    return lines(parts)


def register_for(dtype: dtype) -> Vector:
    """What a register of this CPU holds of float32 or float64."""
    bits, _ = vector_registers()
    return Vector("float", bits // 32) if dtype is dt.float32 else Vector("double", bits // 64)


@once
def vector_registers() -> tuple[int, int]:
    """How many bits a vector register of this CPU has, and how many registers there are."""
    features = host()
    if "+avx512f" in features:
        return 512, 32
    if "+avx," in features or "+avx2" in features:
        return 256, 16
    return 128, 32 if features.startswith(("aarch64", "arm64")) else 16
