"""The memory of activations: blocks of 16 channels, (N, C/16, H, W, 16), inside a border of zeros.

A vector register holds 16 channels of one pixel, and neighbouring pixels are neighbours in memory.
The border holds the zeros of a convolution's padding, so the kernels need no test at the edges.
Channels that fill up the last block are zero too.

Pictures have three channels, too few for a block; for the first convolution they keep their layout,
(N, C, H, W), and get a border only.

How the real one differs: oneDNN's `nChw16c` is this layout without the border; its kernels test for
the edges instead.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from internals.core.tensor_impl import Array
from internals.machine_code.records import Pointer

from ..registers import LANES


class Place(NamedTuple):
    """Where a value begins, and how far apart images, blocks and rows are, in elements. `address` 0
    means that there is no value.
    """

    address: Pointer
    image: int
    block: int
    row: int


NOWHERE = Place(0, 0, 0, 0)


class Buffer:
    """Memory of zeros for N pictures of C channels, (N, blocks, H + 2 * border, W + 2 * border,
    lanes); `lanes` is 16 for blocks and 1 for planes."""

    def __init__(self, sizes: tuple[int, ...], border: int, lanes: int = LANES) -> None:
        n, c, h, w = (*sizes, 1, 1)[:4]
        self.sizes, self.border, self.lanes = (n, c, h, w), border, lanes
        self.blocks = -(-c // lanes)
        self.array = aligned_zeros((n, self.blocks, h + 2 * border, w + 2 * border, lanes))
        self.row = (w + 2 * border) * lanes
        self.block = self.row * (h + 2 * border)
        self.image = self.block * self.blocks

    def place(self, up: int = 0, left: int = 0) -> Place:
        """The place of the first pixel, or of one that many pixels `up` and `left` of it. Raises
        ValueError if that is outside the border.
        """
        if max(up, left) > self.border:
            raise ValueError(f"a border of {self.border} is less than {max(up, left)}")
        offset = (self.border - up) * self.row + (self.border - left) * self.lanes
        return Place(address_of(self.array) + 4 * offset, self.image, self.block, self.row)

    def inside(self) -> Any:
        """The array without its border."""
        b, (_, _, h, w) = self.border, self.sizes
        return self.array[:, :, b : b + h, b : b + w]


class Pool:
    """Buffers that are used again when their value is not needed any more. Only for the same size
    and border: then a used buffer's border is still zero."""

    def __init__(self) -> None:
        self.free: dict[Any, list[Buffer]] = defaultdict(list)

    def take(self, sizes: tuple[int, ...], border: int) -> Buffer:
        """A free buffer, or a new one."""
        free = self.free[sizes, border]
        return free.pop() if free else Buffer(sizes, border)

    def give(self, sizes: tuple[int, ...], buffer: Buffer) -> None:
        """Let others take the buffer."""
        self.free[sizes, buffer.border].append(buffer)


def aligned_zeros(shape: tuple[int, ...]) -> Any:
    """A float32 array of zeros that begins at a cache line, of 64 bytes."""
    count = int(np.prod(shape, dtype=np.int64))
    memory = np.zeros(count + 16, np.float32)
    skip = -address_of(memory) % 64 // 4
    return memory[skip : skip + count].reshape(shape)


def aligned(array: Array) -> Any:
    """A contiguous float32 copy that begins at a cache line."""
    copy = aligned_zeros(array.shape)
    copy[...] = array
    return copy


def address_of(array: Array) -> int:
    """The address of an array's first element."""
    return int(array.__array_interface__["data"][0])
