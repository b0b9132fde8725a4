"""The kernel that does most of the work: a tile of output pixels times some blocks of 16 output
channels, in registers.

    for every tile of `rows` x `columns` pixels and `blocks` blocks of channels:
        sums = bias                                             rows * columns * blocks vectors
        for each of the outer steps (channel block, kernel row, kernel column):
            for u in range(inner):                              unrolled
                w = `blocks` vectors of weights, next in memory
                for each pixel: sums[pixel] += w * spread(input[pixel + u])
        sums += residual, clamped, stored

A pixel's input number is used for `blocks` vectors and a vector of weights for all pixels, so there
is far more arithmetic than memory traffic. Strides say where "input[pixel + u]" lies, so one kernel
serves

- blocked inputs (N, C/16, H, W, 16): the inner steps are the 16 channels of a block, the outer ones
  blocks and kernel elements;
- planar inputs (N, C, H, W), for the few channels of a picture: the inner steps are the columns of
  the kernel;
- matrix products: linear layers, and the products inside Winograd's algorithm.

Edges need no code of their own: where pixels or blocks do not fill the last tile, it begins earlier
and computes some of them again.

How the real one differs: oneDNN's kernel (`jit_avx512_common_conv_kernel.cpp`) has the same loops,
in machine code that it assembles itself, with shorter tiles at the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from internals.machine_code.records import Pointer

from ..registers import LANES
from ..vector_code import Code
from .buffers import Place


class Tile(NamedTuple):
    """The unrolled loops of a kernel: `rows` x `columns` pixels, `blocks`, `inner` steps."""

    rows: int
    columns: int
    blocks: int  # of 16 output channels
    inner: int
    pixel_step: int  # how far apart the inputs of neighbouring pixels are
    # how far ahead weights are fetched into the cache, in numbers; 0: the processor decides, which
    # does not fetch across pages
    ahead: int = 0


class Ends(NamedTuple):
    """The bias that sums begin with, and where they go: clamped to bounds, after the residual was
    added (its address is 0 where there is none)."""

    bias: Pointer
    residual: Place
    out: Place
    low: float
    high: float


class Steps(NamedTuple):
    """One number for each of the outer steps: blocks, kernel rows, kernel columns."""

    block: int
    row: int
    column: int


class Direct(NamedTuple):
    """The kernel's arguments. Weights are packed in the order of reading, and `starts` says where
    each group of blocks finds its input."""

    x: Place
    weights: Pointer
    starts: Pointer
    ends: Ends
    batch: int
    groups: int  # of blocks: each has as many as a tile
    blocks: int
    groups_fastest: int  # whether items count groups first, then rows of tiles, then images
    height: int
    width: int
    counts: Steps  # how often each outer loop turns
    steps: Steps  # how far apart its turns lie in x
    w_group: int  # numbers in the weights of a group


def write_direct(tile: Tile) -> str:
    """The LLVM text of the kernel. One item of work is a row of tiles, for one group of blocks of
    one image.
    """
    code = Code("direct", Direct)
    a: Any = code.arguments
    row_tiles, column_tiles = code.parts(a.height, tile.rows), code.parts(a.width, tile.columns)
    fastest = code.b.icmp_signed("!=", a.groups_fastest, code.integer(0))
    rows, blocks = range(tile.rows), range(tile.blocks)
    pixels = [(r, c) for r in rows for c in range(tile.columns)]
    ends = Finish(code, a.ends)

    def one_item(i: Any, _: object) -> None:
        # i counts (image, row, group) or (group, image, row), the last of them fastest
        rest, last = code.divmod(i, code.select(fastest, a.groups, row_tiles))
        first, middle = code.divmod(rest, code.select(fastest, row_tiles, a.batch))
        image = code.select(fastest, first, middle)
        row = code.select(fastest, middle, last)
        group = code.select(fastest, last, first)
        # the last tile begins earlier rather than cross the edge
        row = code.min(code.mul(row, tile.rows), code.sub(a.height, tile.rows))
        block = code.min(code.mul(group, tile.blocks), code.sub(a.blocks, tile.blocks))
        x_at = code.at(code.place(a.x, image, 0, row), code.load_int(a.starts, group))
        w_at = code.at(a.weights, code.mul(group, a.w_group))
        residual_at, out_at = (
            code.place(to, image, block, row) for to in (a.ends.residual, a.ends.out)
        )
        biases = [code.load(a.ends.bias, code.mul(code.add(block, q), LANES)) for q in blocks]

        def one_tile(j: Any, _: object) -> None:
            column = code.min(code.mul(j, tile.columns), code.sub(a.width, tile.columns))
            first = code.at(x_at, code.mul(column, tile.pixel_step))
            sums = add_products(
                code, tile, first, a.x.row, w_at, list(zip(a.counts, a.steps)), biases * len(pixels)
            )

            def places(to: Place) -> list[Any]:
                """The addresses of the tile's vectors, in the order of the sums."""
                base = code.at(out_at if to is a.ends.out else residual_at, code.mul(column, LANES))
                lines = {
                    (r, q): code.at(base, code.mul(to.block, q), code.mul(to.row, r))
                    for r in rows
                    for q in blocks
                }
                return [code.at(lines[r, q], c * LANES) for r, c in pixels for q in blocks]

            ends.store(sums, places)

        code.loop(column_tiles, [], one_tile, at_least_once=True)

    code.range(code.begin, code.end, [], one_item)
    return code.finish()


Addresses = Callable[[Any], list[Any]]  # the addresses of vectors in the residual, or in the output


class Finish:
    """The epilogue: the code that adds the residual to sums, clamps them and stores them."""

    def __init__(self, code: Code, ends: Ends) -> None:
        self.code, self.ends = code, ends
        self.low, self.high, self.none = (
            code.spread(ends.low),
            code.spread(ends.high),
            code.is_null(ends.residual.address),
        )

    def results(self, sums: list[Any], places: Addresses) -> list[Any]:
        """The sums plus the residual, if there is one, clamped to the bounds."""
        code, residual = self.code, self.ends.residual

        def with_residual(sums: list[Any]) -> list[Any]:
            return [code.b.fadd(v, code.load(at)) for v, at in zip(sums, places(residual))]

        return [
            code.clamp(v, self.low, self.high) for v in code.unless(self.none, sums, with_residual)
        ]

    def store(self, sums: list[Any], places: Addresses) -> None:
        """Write the results to the output."""
        for v, at in zip(self.results(sums, places), places(self.ends.out)):
            self.code.store(v, at)


# the code of one turn of a loop: takes the address in x and the values carried from turn to turn,
# returns the new values
Step = Callable[[Any, list[Any]], list[Any]]


def add_products(
    code: Code,
    tile: Tile,
    x_at: Any,
    x_row: Any,
    w_at: Any,
    loops: list[tuple[Any, Any]],
    sums: list[Any],
) -> list[Any]:
    """The code for the sums of a tile, ordered by rows, columns, blocks. Rows lie `x_row` apart.

    loops: (how often it turns, at least once; how far apart its turns lie in x) for each outer
    loop, the outermost first.
    """
    offsets = [code.mul(x_row, r) if r else 0 for r in range(tile.rows)]

    def multiply(x_at: Any, carried: list[Any]) -> list[Any]:
        w_at, *sums = carried
        lines = [code.at(x_at, offset) for offset in offsets]
        for u in range(tile.inner):
            w = [code.load(w_at, (u * tile.blocks + q) * LANES) for q in range(tile.blocks)]
            if tile.ahead:
                for q in range(tile.blocks):
                    code.prefetch(w_at, (u * tile.blocks + q) * LANES + tile.ahead)
            pixels = (
                code.at(line, c * tile.pixel_step + u)
                for line in lines
                for c in range(tile.columns)
            )
            sums = code.add_outer(pixels, w, sums)
        return [code.at(w_at, tile.inner * tile.blocks * LANES), *sums]

    # wrap the loops round each other, from the innermost to the outermost
    step: Step = multiply
    for count, distance in reversed(loops):
        step = _repeated(code, step, count, distance)
    return step(x_at, [w_at, *sums])[1:]


def _repeated(code: Code, step: Step, count: Any, distance: Any) -> Step:
    """`step` in a loop of `count` turns, which lie `distance` apart in x."""

    def turn(_: object, values: list[Any]) -> list[Any]:
        return [code.at(values[0], distance), *step(values[0], values[1:])]

    return lambda x_at, carried: code.loop(count, [x_at, *carried], turn, at_least_once=True)[1:]
