"""Where activations lie: in blocks of 16 channels, (N, C/16, H, W, 16), inside a border of zeros.

A vector register holds 16 channels of one pixel, neighbouring pixels are neighbours in memory, and
what a convolution's padding asks for is there: nothing has to be tested at the edges. Channels that
fill up the last block are zero too.

Pictures come with three channels, too few for a block; for the first convolution they lie as they
came, (N, C, H, W), with a border.

How the real one differs: this is oneDNN's `nChw16c`; it has no border, its kernels test instead.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.machine_code.records import Pointer

from ..registers import LANES

if TYPE_CHECKING:
    from internals.core.tensor_impl import Array


class Place(NamedTuple):
    """Where something begins and how far images, blocks and rows are apart, in elements. `address`
    0 is nothing.
    """

    address: Pointer
    image: int
    block: int
    row: int


NOWHERE = Place(0, 0, 0, 0)


class Buffer:
    """Room for N pictures of C channels; `lanes` is 16 for blocks and 1 for planes."""

    def __init__(self, sizes: tuple[int, ...], border: int, lanes: int = LANES) -> None:
        n, c, h, w = (*sizes, 1, 1)[:4]
        self.sizes, self.border, self.lanes = (n, c, h, w), border, lanes
        self.blocks = -(-c // lanes)
        self.array = aligned_zeros((n, self.blocks, h + 2 * border, w + 2 * border, lanes))
        self.row = (w + 2 * border) * lanes
        self.block = self.row * (h + 2 * border)
        self.image = self.block * self.blocks

    def place(self, up: int = 0, left: int = 0) -> Place:
        """The first pixel, or one `up` and `left` of it, in the border. Raises ValueError outside
        the border.
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
    """Buffers used again when their value is not needed any more. The border of a used one is still
    zero, for the same size only."""

    def __init__(self) -> None:
        self.free: dict[Any, list[Buffer]] = defaultdict(list)

    def take(self, sizes: tuple[int, ...], border: int) -> Buffer:
        known = self.free[sizes, border]
        return known.pop() if known else Buffer(sizes, border)

    def give(self, sizes: tuple[int, ...], buffer: Buffer) -> None:
        self.free[sizes, buffer.border].append(buffer)


def aligned_zeros(shape: tuple[int, ...]) -> Any:
    """A float32 array of zeros that begins at a cache line."""
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
    return int(array.__array_interface__["data"][0])
