"""The size and number of this CPU's vector registers, which limit how large a tile of sums can be.

How the real one differs: `at::vec` has one type for each set of instructions
(`aten/src/ATen/cpu/vec`); oneDNN asks CPUID.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.machine_code.llvm import host

LANES = 16  # numbers in a vector of packed convolutions, and channels in a block, on every CPU


class Vector(NamedTuple):
    """A vector of `lanes` numbers of a type, "f4" or "f8". LLVM splits one that is longer than a
    register."""

    number: str
    lanes: int


BLOCK = Vector("f4", LANES)


def register_for(dtype: dtype) -> Vector:
    """The vector of float32 or float64 that a register of this CPU holds."""
    bits, _ = vector_registers()
    return Vector("f4", bits // 32) if dtype is dt.float32 else Vector("f8", bits // 64)


@cache
def vector_registers() -> tuple[int, int]:
    """(bits of a vector register of this CPU, number of registers)."""
    features = host()
    if "+avx512f" in features:
        return 512, 32
    if "+avx," in features or "+avx2" in features:
        return 256, 16
    # NEON has 32 registers, SSE has 16
    return 128, 32 if features.startswith(("aarch64", "arm64")) else 16
