"""Depthwise convolution: every channel has its own kernel, and nothing is added up over channels.

In the blocked layout 16 channels lie side by side, so a vector of inputs times a vector of weights is all there is:

    for each kernel element: sums[pixel] += x[pixel] * w             a row of `columns` pixels at a time

There is one multiplication for each number loaded: memory decides the speed. With equal weights for all channels it is average
pooling (`pooling.py`).

How the real one differs: oneDNN's `jit_uni_dw_conv_kernel_f32.cpp` unrolls over the kernel's elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .vector_code import LANES, Code

SIGNATURE = " ".join(
    (
        "*f4 *f4 *f4 *f4 *f4",  # input, weights, bias, residual (or 0), output
        "i8 i8 i8 i8 i8",  # blocks, output rows and columns, kernel rows and columns
        "i8 i8 i8 i8 i8",  # input: image, block, output row, kernel row, kernel column
        "i8",  # weights: block
        "i8 i8 i8",  # output: image, block, row
        "i8 i8 i8",  # residual: image, block, row
        "f4 f4",  # least and largest result
    )
)


class DepthwiseTile(NamedTuple):
    """One kernel: so many pixels at a time, whose inputs are `step` pixels apart."""

    columns: int
    step: int

    @property
    def key(self) -> str:
        return f"depthwise {self.columns} step {self.step}"


def write(tile: DepthwiseTile) -> str:
    """The LLVM text of the kernel. One item of work is a row of output of one block of one image."""
    code = Code("depthwise", SIGNATURE)
    (
        x, weights, bias, residual, out,
        blocks, height, width, kernel_rows, kernel_columns,
        x_image, x_block, x_row, x_kernel_row, x_kernel_column,
        w_block,
        out_image, out_block, out_row,
        res_image, res_block, res_row,
        low, high,
    ) = code.arguments  # fmt: skip
    low, high = code.spread(low), code.spread(high)
    none = code.is_null(residual)
    steps = code.divmod(code.add(width, tile.columns - 1), tile.columns)[0]

    def one_row(i: Any, _: Any) -> None:
        rest, row = code.divmod(i, height)
        image, block = code.divmod(rest, blocks)
        x_at = code.at(x, code.mul(image, x_image), code.mul(block, x_block), code.mul(row, x_row))
        w_at = code.at(weights, code.mul(block, w_block))
        out_at = code.at(out, code.mul(image, out_image), code.mul(block, out_block), code.mul(row, out_row))
        res_at = code.at(residual, code.mul(image, res_image), code.mul(block, res_block), code.mul(row, res_row))
        b = code.load(bias, code.mul(block, LANES))

        def some_pixels(j: Any, _: Any) -> None:
            column = code.mul(code.min(code.mul(j, tile.columns), code.sub(width, tile.columns)), LANES)

            def kernel_row(k: Any, carried: list[Any]) -> list[Any]:
                line, w, *sums = carried

                def kernel_element(_: Any, carried: list[Any]) -> list[Any]:
                    at, w_at, *sums = carried
                    w = code.load(w_at)
                    sums = [code.multiply_add(code.load(at, c * tile.step * LANES), w, v) for c, v in enumerate(sums)]
                    return [code.at(at, x_kernel_column), code.at(w_at, LANES), *sums]

                _, w, *sums = code.loop(kernel_columns, [line, w, *sums], kernel_element, at_least_once=True)
                return [code.at(line, x_kernel_row), w, *sums]

            start = [code.at(x_at, code.mul(column, tile.step)), w_at, *[b] * tile.columns]
            sums = code.loop(kernel_rows, start, kernel_row, at_least_once=True)[2:]
            sums = code.unless(
                none,
                sums,
                lambda values: [
                    code.b.fadd(v, code.load(res_at, code.add(column, c * LANES))) for c, v in enumerate(values)
                ],
            )
            to = code.at(out_at, column)
            for c, v in enumerate(sums):
                code.store(code.clamp(v, low, high), to, c * LANES)

        code.loop(steps, [], some_pixels, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()
