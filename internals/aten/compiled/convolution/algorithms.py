"""The ways to do a convolution: direct, depthwise, Winograd. Each packs the weights as its kernel reads them, and makes a step.

`candidates` lists what is worth trying for a problem; `choice.py` tries.

How the real one differs: oneDNN has an ordered list of implementations for each CPU and takes the first that says yes.
"""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from internals.machine_code.entry import Entry
from internals.machine_code.llvm import entry_from_ir, host

from . import depthwise, direct, products, small_kernels, vector_code, winograd
from .buffers import Buffer, address_of, aligned, aligned_zeros
from .constants import LANES
from .depthwise import DepthwiseTile
from .direct import Tile
from .problem import Problem, View
from .runner import Step
from .sources import version_of
from .winograd import WinogradTile


class Scratch:
    """Memory for what is between the phases of an algorithm; all layers of a network share it."""

    def __init__(self) -> None:
        self.array = aligned_zeros((0,))

    def address(self, numbers: int) -> int:
        if numbers > self.array.size:
            self.array = aligned_zeros((numbers,))
        return address_of(self.array)


class Made(NamedTuple):
    """A step, and the arrays that it reads, which must live as long."""

    step: Step
    kept: tuple[Any, ...]


class Direct(NamedTuple):
    """`direct.py`, with a tile of pixels and blocks. `groups_fastest`: all groups of blocks for one row of tiles, then the
    next."""

    rows: int
    columns: int
    blocks: int
    groups_fastest: bool = False
    ahead: int = 0

    @property
    def text(self) -> str:
        pixels = f"{self.rows}x{self.columns}" if self.rows > 1 else str(self.columns)
        return f"direct, {pixels} pixels x {self.blocks * LANES} channels{_prefetched(self.ahead)}"

    def make(self, p: Problem, scratch: Scratch) -> Made:
        view = View.of(p)
        weights, starts, counts = self.pack(p)
        inner = p.layer.weight.shape[3] if p.x.lanes == 1 else LANES
        entry = kernel(Tile(self.rows, self.columns, self.blocks, inner, view.pixel_step, self.ahead))
        groups, bias = len(starts), aligned(p.bias())
        dilation = p.layer.dilation
        row = p.x.row * dilation[0]
        steps = (p.x.block, row, p.x.lanes * dilation[1])
        arguments = (
            view.x.address, address_of(weights), address_of(bias), view.residual.address, view.out.address, address_of(starts),
            view.batch, groups, p.out.blocks, int(self.groups_fastest),
            view.height, view.width,
            *counts,
            view.x.image, view.x.row, *steps,
            0, weights[0].size,
            *view.out[1:], *view.residual[1:],
            p.layer.low, p.layer.high,
        )  # fmt: skip
        items = view.batch * groups * ceil(view.height / self.rows)
        return Made(Step(entry, arguments, items, _share(items, p.threads)), (weights, bias, starts))

    def pack(self, p: Problem) -> tuple[Any, Any, tuple[int, int, int]]:
        """The weights in the order of reading, one row for each group of blocks; where each finds its input; the outer steps."""
        a, blocks = p.layer, p.out.blocks
        w = a.weight
        outputs, inputs, height, width = w.shape
        firsts = [min(b, blocks - self.blocks) for b in range(0, blocks, self.blocks)]
        if a.groups == 1:
            lanes = p.x.lanes
            depth = ceil(inputs / lanes)
            padded = np.zeros((blocks * LANES, depth * lanes, height, width), np.float32)
            padded[:outputs, :inputs] = w
            rows = [padded[b * LANES : (b + self.blocks) * LANES] for b in firsts]
            starts = np.zeros(len(firsts), np.int64)
        else:
            rows, first_blocks, depth = _rows_of_groups(w, a.groups, firsts, self.blocks, p.x.blocks)
            lanes = LANES
            starts = np.array(first_blocks, np.int64) * p.x.block
        packed = []
        for row in rows:
            split = row.reshape(self.blocks, LANES, depth, lanes, height, width)
            packed.append(split.transpose(2, 4, 5, 3, 0, 1) if lanes > 1 else split.transpose(2, 4, 3, 5, 0, 1))
        counts = (depth, height, width) if lanes > 1 else (depth, height, 1)
        return aligned(np.stack(packed)), starts, counts


class Depthwise(NamedTuple):
    """`depthwise.py`, so many pixels at a time."""

    columns: int

    @property
    def text(self) -> str:
        return f"depthwise, {self.columns} pixels x {LANES} channels"

    def make(self, p: Problem, scratch: Scratch) -> Made:
        a = p.layer
        height, width = a.weight.shape[2:]
        padded = np.zeros((p.out.blocks * LANES, height, width), np.float32)
        padded[: len(a.weight)] = a.weight[:, 0]
        weights = aligned(padded.reshape(p.out.blocks, LANES, height, width).transpose(0, 2, 3, 1))
        return self.with_weights(p.x, p.out, p.residual, weights, p.bias(), p.layer, (height, width), p.threads)

    def with_weights(
        self, x: Buffer, out: Buffer, residual: Buffer | None, weights: Any, bias: Any, a: Any, kernel_size: tuple[int, int],
        threads: int,
    ) -> Made:  # fmt: skip
        """Weights (blocks, kh, kw, 16), or (1, kh, kw, 16) for all; `a` has stride, padding, dilation and bounds."""
        dilation = getattr(a, "dilation", (1, 1))
        n, _, h, w = out.sizes
        source, bias = x.place(*a.padding), aligned(bias)
        entry = kernel(DepthwiseTile(self.columns, a.stride[1]))
        arguments = (
            source.address, address_of(weights), address_of(bias), residual.place().address if residual else 0,
            out.place().address,
            out.blocks, h, w, *kernel_size,
            source.image, source.block, source.row * a.stride[0], source.row * dilation[0], LANES * dilation[1],
            weights[0].size if len(weights) > 1 else 0,
            *out.place()[1:], *(residual.place()[1:] if residual else (0, 0, 0)),
            a.low, a.high,
        )  # fmt: skip
        items = n * out.blocks * h
        return Made(Step(entry, arguments, items, _share(items, threads)), (weights, bias))


class Winograd(NamedTuple):
    """`winograd.py`: F(m, 3), products of `columns` tiles and `blocks` blocks; groups of tiles; the output channels in slices."""

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

    def make(self, p: Problem, scratch: Scratch) -> Made:
        entry = kernel(WinogradTile(self.m, self.columns, self.blocks, self.ahead))
        n, _, height, width = p.out.sizes
        weights, bias = self.pack(p), aligned(p.bias())
        tiles_in_row = ceil(width / self.m)
        tiles = ceil(height / self.m) * tiles_in_row
        group_tiles = min(self.tiles, n * tiles)
        slice_groups = ceil(ceil(p.out.blocks / self.blocks) / self.slices)
        items = ceil(n * tiles / group_tiles) * self.slices
        share = ceil(items / p.threads)  # what a thread does at once uses one part of the scratch memory
        size = (self.m + 2) ** 2 * group_tiles * LANES * (p.x.blocks + p.out.blocks)
        size_of_item = ceil(size / share / LANES) * LANES
        residual = p.residual.place() if p.residual is not None else (0, 0, 0, 0)
        x, out = p.x.place(*p.layer.padding), p.out.place()
        memory = scratch.address((size_of_item * share + size) * p.threads)
        arguments = (
            x.address, address_of(weights), address_of(bias), residual[0], out.address, memory,
            size_of_item, tiles, tiles_in_row,
            n * tiles, group_tiles, self.slices, slice_groups,
            p.x.blocks, p.out.blocks, height, width,
            *x[1:], *out[1:], *residual[1:],
            p.layer.low, p.layer.high,
        )  # fmt: skip
        return Made(Step(entry, arguments, items, share), (weights, bias, scratch.array))

    def pack(self, p: Problem) -> Any:
        """The weights at the points, (points, groups of blocks, input channels, blocks, 16)."""
        outputs, inputs = p.layer.weight.shape[:2]
        g = np.array(winograd.matrices(self.m)[1], np.float64)
        both = np.kron(g, g).astype(np.float32)
        at_points = both @ np.ascontiguousarray(p.layer.weight.reshape(outputs * inputs, 9).T)
        padded = np.zeros((len(both), p.out.blocks, LANES, p.x.blocks * LANES), np.float32)
        padded.reshape(len(both), p.out.blocks * LANES, -1)[:, :outputs, :inputs] = at_points.reshape(
            -1, outputs, inputs
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
    """For a file."""
    return [type(algorithm).__name__.lower(), *algorithm]


def from_list(description: list[Any]) -> Algorithm:
    name, *numbers = description
    found: Algorithm = ALGORITHMS[name](*numbers)
    return found


def kernel(tile: Tile | DepthwiseTile | WinogradTile) -> Entry:
    """The machine code for a tile: loaded, or compiled for the first time on this machine."""
    found = _kernels.get(tile)
    if found is None:
        module = {Tile: direct, DepthwiseTile: depthwise, WinogradTile: winograd}[type(tile)]
        key = f"{tile.key} {version_of(module, products, vector_code)}"
        symbol = module.__name__.rpartition(".")[2]
        found = entry_from_ir(lambda: module.write(tile), symbol, key, module.SIGNATURE, optimize=False)
        _kernels[tile] = found
    return found


_kernels: dict[Any, Entry] = {}


def small_kernel(name: str) -> Entry:
    """The machine code of one of `small_kernels.py`."""
    found = _small_kernels.get(name)
    if found is None:
        write, signature = getattr(small_kernels, f"write_{name}"), getattr(small_kernels, name.upper())
        key = f"{name} {version_of(small_kernels, vector_code)}"
        found = _small_kernels[name] = entry_from_ir(write, name, key, signature, optimize=False)
    return found


_small_kernels: dict[str, Entry] = {}


@cache
def registers() -> int:
    """How many sums of 16 numbers fit into this CPU's registers, beside what they are made of."""
    target = host()
    if "+avx512f" in target:
        return 28
    return 6 if "+avx," in target or "aarch64" in target or "arm64" in target else 2


def _rows_of_groups(
    w: Any, groups: int, firsts: list[int], width: int, in_blocks: int
) -> tuple[list[Any], list[int], int]:
    """Weights of a grouped convolution as dense ones for the input blocks that each group of output blocks meets.

    What belongs to other groups of channels is zero there.
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
        start = min(first, in_blocks - depth)
        row = np.zeros((width * LANES, depth * LANES, *w.shape[2:]), np.float32)
        for o in range(b * LANES, min((b + width) * LANES, outputs)):
            at = o // per_group * inputs - start * LANES
            row[o - b * LANES, at : at + inputs] = w[o]
        rows.append(row)
        starts.append(start)
    return rows, starts, depth


def _prefetched(ahead: int) -> str:
    return ", prefetched" if ahead else ""


def _share(items: int, threads: int) -> int:
    """How many items a thread takes at a time."""
    return max(1, items // (threads * 6))
