"""The kernel that does most of the work: a tile of output pixels times some blocks of 16 output channels, in registers.

    for every tile of `rows` x `columns` pixels and `blocks` blocks of channels:
        sums = bias                                                   rows * columns * blocks vectors
        for each of the outer steps (channel block, kernel row, kernel column):
            for u in range(inner):                                    unrolled
                w = `blocks` vectors of weights, next in memory
                for each pixel: sums[pixel] += w * spread(input[pixel + u])
        sums += residual, clamped, stored

A pixel's input number is used for `blocks` vectors and a vector of weights for all pixels, so there is far more arithmetic than
memory traffic. Which numbers "input[pixel + u]" are is said by strides, so one kernel serves

- blocked inputs (N, C/16, H, W, 16): the inner steps are the 16 channels of a block, the outer ones blocks and kernel elements;
- planar inputs (N, C, H, W), for the few channels of a picture: the inner steps are the columns of the kernel;
- matrix products: linear layers, and the products inside Winograd's algorithm.

Nothing is done about edges: where pixels or blocks do not fill the last tile, it begins earlier and does some of them again.

How the real one differs: oneDNN's kernel (`jit_avx512_common_conv_kernel.cpp`) has the same loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .products import add_products
from .vector_code import LANES, Code

# Slots: what is read and written, how much of it, and how far things lie apart (in elements).
SIGNATURE = " ".join(
    (
        "*f4 *f4 *f4 *f4 *f4 *i8",  # input, weights, bias, residual (or 0), output, where each group of blocks finds its input
        "i8 i8 i8 i8",  # batch, groups of blocks, output blocks, 1 to let groups of blocks vary fastest
        "i8 i8",  # output rows and columns
        "i8 i8 i8",  # outer steps: blocks, kernel rows, kernel columns
        "i8 i8 i8 i8 i8",  # input: from image to image, output row to row, and outer step to step
        "i8 i8",  # weights: from image to image (0: the same for all), group to group
        "i8 i8 i8",  # output: image, block, row
        "i8 i8 i8",  # residual: image, block, row
        "f4 f4",  # least and largest result
    )
)


class Tile(NamedTuple):
    """One kernel: the pixels and blocks of a tile, the inner steps, how far apart the inputs of neighbouring pixels are, and how
    far ahead weights are fetched."""

    rows: int
    columns: int
    blocks: int
    inner: int
    pixel_step: int
    ahead: int = 0

    @property
    def key(self) -> str:
        return f"direct {self.rows}x{self.columns}x{self.blocks} inner {self.inner} step {self.pixel_step} ahead {self.ahead}"


def write(tile: Tile) -> str:
    """The LLVM text of the kernel. One item of work is a row of tiles, for one group of blocks of one image."""
    code = Code("direct", SIGNATURE)
    (
        x, weights, bias, residual, out, starts,
        batch, groups, all_blocks, groups_fastest,
        height, width,
        *counts,
        x_image, x_row, x_0, x_1, x_2,
        w_image, w_group,
        out_image, out_block, out_row,
        res_image, res_block, res_row,
        low, high,
    ) = code.arguments  # fmt: skip
    counts, x_steps = counts[:3], (x_0, x_1, x_2)
    low, high = code.spread(low), code.spread(high)
    row_tiles = code.divmod(code.add(height, tile.rows - 1), tile.rows)[0]
    column_tiles = code.divmod(code.add(width, tile.columns - 1), tile.columns)[0]
    fastest = code.b.icmp_signed("!=", groups_fastest, code.int(0))
    rows = range(tile.rows)
    pixels = [(r, c) for r in rows for c in range(tile.columns)]

    def one_item(i: Any, _: Any) -> None:
        rest, last = code.divmod(i, code.select(fastest, groups, row_tiles))
        first, middle = code.divmod(rest, code.select(fastest, row_tiles, batch))
        image = code.select(fastest, first, middle)
        row = code.select(fastest, middle, last)
        group = code.select(fastest, last, first)
        row = code.min(code.mul(row, tile.rows), code.sub(height, tile.rows))
        block = code.min(code.mul(group, tile.blocks), code.sub(all_blocks, tile.blocks))
        x_at = code.at(x, code.load_int(starts, group), code.mul(image, x_image), code.mul(row, x_row))
        w_at = code.at(weights, code.mul(image, w_image), code.mul(group, w_group))
        bias_at = code.at(bias, code.mul(block, LANES))
        out_at = code.at(out, code.mul(image, out_image), code.mul(block, out_block), code.mul(row, out_row))
        res_at = code.at(residual, code.mul(image, res_image), code.mul(block, res_block), code.mul(row, res_row))

        def one_tile(j: Any, _: Any) -> None:
            column = code.min(code.mul(j, tile.columns), code.sub(width, tile.columns))
            sums = [code.load(bias_at, q * LANES) for q in range(tile.blocks)] * len(pixels)
            first = code.at(x_at, code.mul(column, tile.pixel_step))
            sums = add_products(code, tile, first, x_row, w_at, list(zip(counts, x_steps)), sums)
            sums = code.unless(
                code.is_null(residual),
                sums,
                lambda s: [
                    code.b.fadd(v, code.load(place)) for v, place in zip(s, places(res_at, column, res_block, res_row))
                ],
            )
            for v, place in zip(sums, places(out_at, column, out_block, out_row)):
                code.store(code.clamp(v, low, high), place)

        code.loop(column_tiles, [], one_tile, at_least_once=True)

    def places(base: Any, column: Any, block_step: Any, row_step: Any) -> list[Any]:
        """The addresses of the tile's vectors, in the order of the sums."""
        base = code.at(base, code.mul(column, LANES))
        lines = {
            (r, q): code.at(base, code.mul(block_step, q), code.mul(row_step, r))
            for r in rows
            for q in range(tile.blocks)
        }
        return [code.at(lines[r, q], c * LANES) for r, c in pixels for q in range(tile.blocks)]

    code.range(code.begin, code.end, [], one_item)
    return code.finish()
