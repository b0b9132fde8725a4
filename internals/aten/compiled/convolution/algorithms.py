"""The algorithms for a convolution: direct, depthwise, Winograd. Each packs the weights in the
order in which its kernel reads them, and makes a step of a program.

`choice.py` decides which of them are worth trying for a problem, and tries them.

How the real one differs: oneDNN has an ordered list of implementations for each CPU and takes the
first that says yes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from internals.core.tensor_impl import Array
from internals.machine_code.records import Pointer, flat

from .. import vector_code
from ..registers import LANES, vector_registers
from . import depthwise, direct, small_kernels, winograd
from .buffers import NOWHERE, Buffer, address_of, aligned, aligned_zeros
from .depthwise import DepthwiseTile
from .direct import Ends, Steps, Tile
from .problem import Problem, View
from .runner import Step
from .winograd import WinogradTile


class Scratch:
    """Memory for intermediate values of an algorithm; all layers of a network share it, as only one
    runs at a time."""

    def __init__(self) -> None:
        self.array = aligned_zeros((0,))

    def address(self, numbers: int) -> int:
        """The address of memory for at least this many float32 numbers."""
        if numbers > self.array.size:
            self.array = aligned_zeros((numbers,))
        return address_of(self.array)


class PreparedStep(NamedTuple):
    """A step, and the arrays whose addresses it has, which must live as long."""

    step: Step
    kept: tuple[Any, ...]


class Direct(NamedTuple):
    """`direct.py`, with a tile of `rows` x `columns` pixels and `blocks` blocks of channels.

    groups_fastest: do all groups of blocks for one row of tiles, then the next row."""

    rows: int
    columns: int
    blocks: int
    groups_fastest: bool = False
    ahead: int = 0

    @property
    def text(self) -> str:
        pixels = f"{self.rows}x{self.columns}" if self.rows > 1 else str(self.columns)
        return f"direct, {pixels} pixels x {self.blocks * LANES} channels{_prefetched(self.ahead)}"

    def make(self, p: Problem, scratch: Scratch) -> PreparedStep:
        """The step that solves the problem this way."""
        view = View.of(p)
        weights, starts, counts = self.pack(p)
        # planes have no block of channels to loop over, so the columns of the kernel are unrolled
        inner = p.layer.weight.shape[3] if p.x.lanes == 1 else LANES
        tile = Tile(self.rows, self.columns, self.blocks, inner, view.pixel_step, self.ahead)
        groups, bias, dilation = len(starts), aligned(p.bias()), p.layer.dilation
        record = direct.Direct(
            view.x, pointer(weights), pointer(starts),
            Ends(pointer(bias), view.residual, view.out, p.layer.low, p.layer.high),
            view.batch, groups, p.out.blocks, int(self.groups_fastest), view.height, view.width,
            Steps(*counts),
            Steps(p.x.block, p.x.row * dilation[0], p.x.lanes * dilation[1]), weights[0].size,
        )  # fmt: skip
        items = view.batch * groups * ceil(view.height / self.rows)
        return PreparedStep(
            step(direct.write_direct, record, tile, items, p.threads), (weights, bias, starts)
        )

    def pack(self, p: Problem) -> tuple[Any, Any, tuple[int, int, int]]:
        """The weights in the order of reading, one row for each group of blocks; where each group
        finds its input, in elements; and how often each outer loop turns.
        """
        a, blocks = p.layer, p.out.blocks
        w = a.weight
        outputs, inputs, height, width = w.shape
        # the last group begins earlier where it would reach beyond the last block
        firsts = [min(b, blocks - self.blocks) for b in range(0, blocks, self.blocks)]
        if a.groups == 1:
            lanes = p.x.lanes
            depth = ceil(inputs / lanes)
            padded = np.zeros((blocks * LANES, depth * lanes, height, width), np.float32)
            padded[:outputs, :inputs] = w
            rows = [padded[b * LANES : (b + self.blocks) * LANES] for b in firsts]
            starts = np.zeros(len(firsts), np.int64)
        else:
            rows, first_blocks, depth = _rows_of_groups(
                w, a.groups, firsts, self.blocks, p.x.blocks
            )
            lanes = LANES
            starts = np.array(first_blocks, np.int64) * p.x.block
        packed = []
        for row in rows:
            split = row.reshape(self.blocks, LANES, depth, lanes, height, width)
            # outer steps (depth, height, width), then inner ones (lanes), then the vectors; for
            # planes (depth, height), then (width)
            packed.append(
                split.transpose(2, 4, 5, 3, 0, 1)
                if lanes > 1
                else split.transpose(2, 4, 3, 5, 0, 1)
            )
        counts = (depth, height, width) if lanes > 1 else (depth, height, 1)
        return aligned(np.stack(packed)), starts, counts


class Depthwise(NamedTuple):
    """`depthwise.py`, with `columns` pixels at a time."""

    columns: int

    @property
    def text(self) -> str:
        return f"depthwise, {self.columns} pixels x {LANES} channels"

    def make(self, p: Problem, scratch: Scratch) -> PreparedStep:
        """The step that solves the problem this way, which needs a depthwise convolution."""
        a = p.layer
        height, width = a.weight.shape[2:]
        # (C, 1, kh, kw) to (blocks, kh, kw, 16)
        padded = np.zeros((p.out.blocks * LANES, height, width), np.float32)
        padded[: len(a.weight)] = a.weight[:, 0]
        weights = aligned(padded.reshape(p.out.blocks, LANES, height, width).transpose(0, 2, 3, 1))
        return self.with_weights(
            p.x, p.out, p.residual, weights, p.bias(), p.layer, (height, width), p.threads
        )

    def with_weights(
        self, x: Buffer, out: Buffer, residual: Buffer | None, weights: Any, bias: Any, a: Any,
        kernel_size: tuple[int, int], threads: int,
    ) -> PreparedStep:  # fmt: skip
        """A step with weights (blocks, kh, kw, 16), or (1, kh, kw, 16) that serve all blocks. `a`,
        a layer, has stride, padding, dilation and bounds.
        """
        dilation = getattr(a, "dilation", (1, 1))  # average pooling has none
        n, _, h, w = out.sizes
        source, bias = x.place(*a.padding), aligned(bias)
        tile = DepthwiseTile(self.columns, a.stride[1])
        record = depthwise.Depthwise(
            source._replace(row=source.row * a.stride[0]), pointer(weights),
            Ends(
                pointer(bias), residual.place() if residual else NOWHERE, out.place(), a.low,
                a.high,
            ),
            out.blocks, h, w, *kernel_size, source.row * dilation[0], LANES * dilation[1],
            weights[0].size if len(weights) > 1 else 0,
        )  # fmt: skip
        made = step(depthwise.write_depthwise, record, tile, n * out.blocks * h, threads)
        return PreparedStep(made, (weights, bias))


class Winograd(NamedTuple):
    """`winograd.py`: F(m, 3), whose register tile has `columns` tiles and `blocks` blocks; `tiles`
    image tiles are done together, and the output channels are cut into `slices`.
    """

    m: int
    columns: int
    blocks: int
    tiles: int
    slices: int
    ahead: int = 0

    @property
    def text(self) -> str:
        tile = f"{self.columns} tiles x {self.blocks * LANES} channels, {self.tiles} at once"
        return f"Winograd F({self.m}, 3), {tile}{_prefetched(self.ahead)}"

    def make(self, p: Problem, scratch: Scratch) -> PreparedStep:
        """The step that solves the problem this way, with memory for the transformed tiles."""
        tile = WinogradTile(self.m, self.columns, self.blocks, self.ahead)
        n, _, height, width = p.out.sizes
        weights, bias = self.pack(p), aligned(p.bias())
        tiles_in_row = ceil(width / self.m)
        tiles = ceil(height / self.m) * tiles_in_row
        group_tiles = min(self.tiles, n * tiles)
        slice_groups = ceil(ceil(p.out.blocks / self.blocks) / self.slices)
        items = ceil(n * tiles / group_tiles) * self.slices
        # each thread takes all its items in one call, which uses the scratch memory of its first
        share = ceil(items / p.threads)
        size = (self.m + 2) ** 2 * group_tiles * LANES * (p.x.blocks + p.out.blocks)
        size_of_item = ceil(size / share / LANES) * LANES
        residual = p.residual.place() if p.residual is not None else NOWHERE
        memory = scratch.address((size_of_item * share + size) * p.threads)
        record = winograd.Winograd(
            p.x.place(*p.layer.padding), pointer(weights),
            Ends(pointer(bias), residual, p.out.place(), p.layer.low, p.layer.high),
            memory, size_of_item, tiles, tiles_in_row, n * tiles, group_tiles, self.slices,
            slice_groups,
            p.x.blocks, p.out.blocks, height, width,
        )  # fmt: skip
        return PreparedStep(
            step(winograd.write_winograd, record, tile, items, p.threads, share),
            (weights, bias, scratch.array),
        )

    def pack(self, p: Problem) -> Any:
        """The weights at the points, (points², groups of blocks, input channels, blocks, 16)."""
        outputs, inputs = p.layer.weight.shape[:2]
        g = np.array(winograd.matrices(self.m)[1], np.float64)
        # G w Gᵀ as one product: (points², 9) @ (9, outputs * inputs)
        both = np.kron(g, g).astype(np.float32)
        at_points = both @ np.ascontiguousarray(p.layer.weight.reshape(outputs * inputs, 9).T)
        padded = np.zeros((len(both), p.out.blocks, LANES, p.x.blocks * LANES), np.float32)
        padded.reshape(len(both), p.out.blocks * LANES, -1)[:, :outputs, :inputs] = (
            at_points.reshape(-1, outputs, inputs)
        )
        blocks = p.out.blocks
        firsts = [min(b, blocks - self.blocks) for b in range(0, blocks, self.blocks)]
        packed = aligned_zeros((len(both), len(firsts), p.x.blocks * LANES, self.blocks, LANES))
        for i, first in enumerate(firsts):
            packed[:, i] = padded[:, first : first + self.blocks].transpose(0, 3, 1, 2)
        return packed


Algorithm = Direct | Depthwise | Winograd
ALGORITHMS: dict[str, type[Any]] = {"direct": Direct, "depthwise": Depthwise, "winograd": Winograd}


def to_list(algorithm: Algorithm) -> list[Any]:
    """The algorithm's name and fields, as JSON can store them."""
    return [type(algorithm).__name__.lower(), *algorithm]


def from_list(description: list[Any]) -> Algorithm:
    """The algorithm of a list by `to_list`. Raises KeyError, TypeError or ValueError for any
    other."""
    name, *numbers = description
    found: Algorithm = ALGORITHMS[name](*numbers)
    return found


def step(
    write: Callable[..., str],
    record: tuple[Any, ...],
    tile: DepthwiseTile | Tile | WinogradTile | None,
    items: int,
    threads: int,
    at_a_time: int = 0,
) -> Step:
    """A step of the kernel for a tile. Without `at_a_time` a thread takes a sixth of its share at a
    time, so that quick threads can take over from slow ones."""
    entry = vector_code.entry_of(write, type(record), *(() if tile is None else (tile,)))
    return Step(entry, tuple(flat(record)), items, at_a_time or max(1, items // (threads * 6)))


def small_step(name: str, record: tuple[Any, ...], items: int, threads: int) -> Step:
    """A step of the kernel that `small_kernels.write_{name}` writes."""
    return step(getattr(small_kernels, f"write_{name}"), record, None, items, threads)


def registers() -> int:
    """How many sums of 16 numbers fit into this CPU's registers, beside their operands."""
    bits, count = vector_registers()
    # 16 float32 fill one register of 512 bits, two of 256, four of 128
    return 28 if bits == 512 else 6 if bits == 256 or count == 32 else 2


def pointer(array: Array) -> Pointer:
    return address_of(array)


def _rows_of_groups(
    w: Array, groups: int, firsts: list[int], width: int, in_blocks: int
) -> tuple[list[Any], list[int], int]:
    """Weights of a grouped convolution as dense ones: for each group of output blocks, those of all
    input blocks that it reads, with zeros for channels of other groups.

    Returns (the weights, the first input block of each, how many input blocks all of them read).
    """
    outputs, inputs = w.shape[:2]
    per_group = outputs // groups
    spans = []
    for b in firsts:
        channels = range(b * LANES, min((b + width) * LANES, outputs))
        first, last = channels[0] // per_group * inputs, (channels[-1] // per_group + 1) * inputs
        spans.append((first // LANES, ceil(last / LANES)))
    depth = max(last - first for first, last in spans)
    rows, starts = [], []
    for b, (first, _) in zip(firsts, spans):
        start = min(first, in_blocks - depth)  # all read `depth` blocks, also those that need fewer
        row = np.zeros((width * LANES, depth * LANES, *w.shape[2:]), np.float32)
        for o in range(b * LANES, min((b + width) * LANES, outputs)):
            at = o // per_group * inputs - start * LANES
            row[o - b * LANES, at : at + inputs] = w[o]
        rows.append(row)
        starts.append(start)
    return rows, starts, depth


def _prefetched(ahead: int) -> str:
    return ", prefetched" if ahead else ""
