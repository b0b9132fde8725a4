"""The kernels around the convolutions: into blocks and out of them, the largest of a window, the sum of two.

All work on blocks of 16 channels. They move memory rather than compute, so they are loops over single pixels.

How the real one differs: oneDNN calls the first two reorders (`src/cpu/reorder`), and has one for every pair of layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .vector_code import LANES, Code

PACK = "*f4 *f4 i8 i8 i8 i8 i8 i8 i8 i8 i8"
UNPACK = PACK
MAXIMUM = "*f4 *f4 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8"
COMBINE = "*f4 *f4 *f4 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 f4 f4"


def write_pack() -> str:
    """From (N, C, H, W), its channels `from_channel` apart, to blocks. One item of work is a row of one block.

    Channels that fill up the last block are zero.
    """
    return _between("pack", PACK, _pack_pixel)


def write_unpack() -> str:
    """From blocks to (N, C, H, W)."""
    return _between("unpack", UNPACK, _unpack_pixel)


def _between(name: str, signature: str, pixel: Callable[..., None]) -> str:
    code = Code(name, signature)
    (
        planes, blocked,
        channels, height, width,
        plane_image, plane_channel, plane_row,
        image_step, block_step, row_step,
    ) = code.arguments  # fmt: skip
    blocks = code.divmod(code.add(channels, LANES - 1), LANES)[0]

    def one_row(i: Any, _: Any) -> None:
        rest, row = code.divmod(i, height)
        image, block = code.divmod(rest, blocks)
        first = code.mul(block, LANES)
        a = code.at(planes, code.mul(image, plane_image), code.mul(first, plane_channel), code.mul(row, plane_row))
        b = code.at(blocked, code.mul(image, image_step), code.mul(block, block_step), code.mul(row, row_step))
        present = code.min(code.sub(channels, first), LANES)
        full = code.b.icmp_signed("==", present, code.int(LANES))

        def every_pixel(known: int | None) -> Callable[[Any], None]:
            def pixels(_: Any) -> None:
                def body(j: Any, _: Any) -> None:
                    pixel(code, code.at(a, j), plane_channel, code.at(b, code.mul(j, LANES)), known, present)

                code.loop(width, [], body, at_least_once=True)

            return pixels

        code.unless(code.b.not_(full), [], every_pixel(LANES))
        code.unless(full, [], every_pixel(None))

    code.range(code.begin, code.end, [], one_row)
    return code.finish()


def _pack_pixel(code: Code, a: Any, channel_step: Any, b: Any, known: int | None, present: Any) -> None:
    if known is None:
        code.store(code.vector(0.0), b)
        _each_channel(code, present, lambda c: code.store(code.load_number(a, code.mul(c, channel_step)), b, c))
        return
    v = ir.Constant(code.vector(0.0).type, ir.Undefined)
    for c in range(known):
        v = code.b.insert_element(v, code.load_number(a, code.mul(channel_step, c)), ir.Constant(ir.IntType(32), c))
    code.store(v, b)


def _unpack_pixel(code: Code, a: Any, channel_step: Any, b: Any, known: int | None, present: Any) -> None:
    if known is None:
        _each_channel(code, present, lambda c: code.store(code.load_number(b, c), a, code.mul(c, channel_step)))
        return
    v = code.load(b)
    for c in range(known):
        code.store(code.b.extract_element(v, ir.Constant(ir.IntType(32), c)), a, code.mul(channel_step, c))


def _each_channel(code: Code, count: Any, body: Callable[[Any], None]) -> None:
    def turn(c: Any, _: Any) -> None:
        body(c)

    code.loop(count, [], turn, at_least_once=True)


def write_maximum() -> str:
    """The largest number of each window; what lies outside the picture does not count, NaN does. An item is a row of a block."""
    code = Code("maximum", MAXIMUM)
    (
        x, out,
        blocks, height, width, out_height, out_width,
        kernel_rows, kernel_columns, stride_rows, stride_columns, padding_rows, padding_columns, dilation_rows, dilation_columns,
        x_image, x_block, x_row,
        out_block, out_row,
    ) = code.arguments  # fmt: skip
    lowest = code.vector(float("-inf"))

    def window(i: Any, stride: Any, padding: Any, dilation: Any, kernel: Any, size: Any) -> tuple[Any, Any, Any]:
        """Where the window begins, and its first and last (exclusive) element inside the picture."""
        start = code.sub(code.mul(i, stride), padding)
        missing = code.max(code.sub(0, start), 0)
        first = code.divmod(code.add(missing, code.sub(dilation, 1)), dilation)[0]
        room = code.max(code.sub(size, start), 0)
        last = code.min(code.divmod(code.add(room, code.sub(dilation, 1)), dilation)[0], kernel)
        return start, first, last

    def one_row(i: Any, _: Any) -> None:
        rest, row = code.divmod(i, out_height)
        image, block = code.divmod(rest, blocks)
        x_at = code.at(x, code.mul(image, x_image), code.mul(block, x_block))
        out_at = code.at(out, code.mul(rest, out_block), code.mul(row, out_row))
        top, first_row, last_row = window(row, stride_rows, padding_rows, dilation_rows, kernel_rows, height)

        def one_pixel(j: Any, _: Any) -> None:
            left, first, last = window(j, stride_columns, padding_columns, dilation_columns, kernel_columns, width)

            def kernel_row(k: Any, carried: list[Any]) -> list[Any]:
                line = code.at(x_at, code.mul(code.add(top, code.mul(k, dilation_rows)), x_row))

                def kernel_element(e: Any, carried: list[Any]) -> list[Any]:
                    at = code.mul(code.add(left, code.mul(e, dilation_columns)), LANES)
                    return [code.larger(carried[0], code.load(line, at))]

                return code.range(first, last, carried, kernel_element)

            (best,) = code.range(first_row, last_row, [lowest], kernel_row)
            code.store(best, out_at, code.mul(j, LANES))

        code.loop(out_width, [], one_pixel, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()


def write_combine() -> str:
    """The sum of two, or one (the second is 0), clamped. One item of work is a row of one block."""
    code = Code("combine", COMBINE)
    a, b, out, blocks, height, width, *steps, low, high = code.arguments
    low, high = code.spread(low), code.spread(high)
    none = code.is_null(b)

    def one_row(i: Any, _: Any) -> None:
        rest, row = code.divmod(i, height)
        image, block = code.divmod(rest, blocks)
        a_at, b_at, out_at = (
            code.at(base, code.mul(image, s[0]), code.mul(block, s[1]), code.mul(row, s[2]))
            for base, s in zip((a, b, out), (steps[0:3], steps[3:6], steps[6:9]))
        )

        def one_pixel(j: Any, _: Any) -> None:
            at = code.mul(j, LANES)
            v = code.unless(none, [code.load(a_at, at)], lambda v: [code.b.fadd(v[0], code.load(b_at, at))])[0]
            code.store(code.clamp(v, low, high), out_at, at)

        code.loop(width, [], one_pixel, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()
