"""Depthwise convolution: every channel has its own kernel, and nothing is added up over channels.

In the blocked layout 16 channels lie side by side, so a vector of inputs is multiplied by a vector
of weights:

    for each kernel element: sums[pixel] += x[pixel] * w      a row of `columns` pixels at a time

There is one multiplication for each number loaded, so memory decides the speed. With weights that
are all the same, it is average pooling (`Network._average`).

How the real one differs: oneDNN's `jit_uni_dw_conv_kernel_f32.cpp` unrolls over the kernel's
elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from internals.machine_code.records import Pointer

from ..registers import LANES
from ..vector_code import Code
from .buffers import Place
from .direct import Ends, Finish


class DepthwiseTile(NamedTuple):
    """One kernel: `columns` pixels at a time, whose inputs are `step` (the stride) pixels apart."""

    columns: int
    step: int


class Depthwise(NamedTuple):
    """The kernel's arguments; the rows of `x` are a stride apart, so they match the output's."""

    x: Place
    weights: Pointer
    ends: Ends
    blocks: int
    height: int
    width: int
    kernel_rows: int
    kernel_columns: int
    kernel_row: int  # how far apart the kernel's rows are in x
    kernel_column: int
    w_block: int  # from the weights of a block to the next; 0 if all share them


def write_depthwise(tile: DepthwiseTile) -> str:
    """The LLVM text of the kernel. One item of work is a row of output of one block of one
    image.
    """
    code = Code("depthwise", Depthwise)
    a: Any = code.arguments
    ends, steps = Finish(code, a.ends), code.parts(a.width, tile.columns)

    def one_row(i: Any, _: object) -> None:
        rest, row = code.divmod(i, a.height)
        image, block = code.divmod(rest, a.blocks)
        x_at, w_at = (
            code.place(a.x, image, block, row),
            code.at(a.weights, code.mul(block, a.w_block)),
        )
        b = code.load(a.ends.bias, code.mul(block, LANES))

        def some_pixels(j: Any, _: object) -> None:
            # the last pixels begin earlier where they would cross the edge
            column = code.mul(
                code.min(code.mul(j, tile.columns), code.sub(a.width, tile.columns)), LANES
            )

            # both loops carry where they read x, where they read weights, and the sums
            def kernel_row(k: Any, carried: list[Any]) -> list[Any]:
                line, w, *sums = carried

                def kernel_element(_: object, carried: list[Any]) -> list[Any]:
                    at, w_at, *sums = carried
                    w = code.load(w_at)
                    sums = [
                        code.multiply_add(code.load(at, c * tile.step * LANES), w, v)
                        for c, v in enumerate(sums)
                    ]
                    return [code.at(at, a.kernel_column), code.at(w_at, LANES), *sums]

                _, w, *sums = code.loop(
                    a.kernel_columns, [line, w, *sums], kernel_element, at_least_once=True
                )
                return [code.at(line, a.kernel_row), w, *sums]

            def places(to: Place) -> list[Any]:
                """The addresses of the pixels' vectors."""
                base = code.at(code.place(to, image, block, row), column)
                return [code.at(base, c * LANES) for c in range(tile.columns)]

            start = [code.at(x_at, code.mul(column, tile.step)), w_at, *[b] * tile.columns]
            ends.store(code.loop(a.kernel_rows, start, kernel_row, at_least_once=True)[2:], places)

        code.loop(steps, [], some_pixels, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()
