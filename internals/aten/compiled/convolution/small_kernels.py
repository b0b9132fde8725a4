"""The kernels around the convolutions: into blocks and out of them, the largest of a window, the
sum of two.

All work on blocks of 16 channels. They move memory rather than compute, so they are loops over
single pixels.

How the real one differs: oneDNN calls the first two reorders (`src/cpu/reorder`), and has one for
every pair of layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir

from ..registers import LANES
from ..vector_code import Code
from .buffers import Place


class Reorder(NamedTuple):
    """The arguments of `pack` and `unpack`; blocks of `planes` are channels."""

    planes: Place
    blocked: Place
    channels: int
    height: int
    width: int


class Pair(NamedTuple):
    row: int
    column: int


class Maximum(NamedTuple):
    x: Place
    out: Place
    blocks: int
    size: Pair
    out_size: Pair
    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair


class Combine(NamedTuple):
    a: Place
    b: Place
    out: Place
    blocks: int
    height: int
    width: int
    low: float
    high: float


def write_pack() -> str:
    """From (N, C, H, W) to blocks. One item of work is a row of one block.

    Channels that fill up the last block are zero.
    """
    return _between("pack", _pack_pixel)


def write_unpack() -> str:
    """From blocks to (N, C, H, W)."""
    return _between("unpack", _unpack_pixel)


def _between(name: str, pixel: Callable[..., None]) -> str:
    code = Code(name, Reorder)
    r: Any = code.arguments
    blocks = code.parts(r.channels, LANES)

    def one_row(i: Any, _: object) -> None:
        rest, row = code.divmod(i, r.height)
        image, block = code.divmod(rest, blocks)
        first = code.mul(block, LANES)
        a, b = code.place(r.planes, image, first, row), code.place(r.blocked, image, block, row)
        present = code.min(code.sub(r.channels, first), LANES)
        full = code.b.icmp_signed("==", present, code.integer(LANES))

        def every_pixel(known: int | None) -> Callable[[Any], None]:
            def pixels(_: object) -> None:
                def body(j: Any, _: object) -> None:
                    pixel(
                        code,
                        code.at(a, j),
                        r.planes.block,
                        code.at(b, code.mul(j, LANES)),
                        known,
                        present,
                    )

                code.loop(r.width, [], body, at_least_once=True)

            return pixels

        code.unless(code.b.not_(full), [], every_pixel(LANES))
        code.unless(full, [], every_pixel(None))

    code.range(code.begin, code.end, [], one_row)
    return code.finish()


def _pack_pixel(
    code: Code, a: Any, channel_step: Any, b: Any, known: int | None, present: Any
) -> None:
    if known is None:
        code.store(code.vector(0.0), b)
        _each_channel(
            code,
            present,
            lambda c: code.store(code.load_number(a, code.mul(c, channel_step)), b, c),
        )
        return
    v = ir.Constant(code.type, ir.Undefined)
    for c in range(known):
        v = code.b.insert_element(
            v, code.load_number(a, code.mul(channel_step, c)), ir.Constant(ir.IntType(32), c)
        )
    code.store(v, b)


def _unpack_pixel(
    code: Code, a: Any, channel_step: Any, b: Any, known: int | None, present: Any
) -> None:
    if known is None:
        _each_channel(
            code,
            present,
            lambda c: code.store(code.load_number(b, c), a, code.mul(c, channel_step)),
        )
        return
    v = code.load(b)
    for c in range(known):
        code.store(
            code.b.extract_element(v, ir.Constant(ir.IntType(32), c)), a, code.mul(channel_step, c)
        )


def _each_channel(code: Code, count: Any, body: Callable[[Any], None]) -> None:
    def turn(c: Any, _: object) -> None:
        body(c)

    code.loop(count, [], turn, at_least_once=True)


def write_maximum() -> str:
    """The largest number of each window; what lies outside the picture does not count, NaN does. An
    item is a row of a block.
    """
    code = Code("maximum", Maximum)
    m: Any = code.arguments
    lowest = code.vector(float("-inf"))

    def window(i: Any, n: int) -> tuple[Any, Any, Any]:
        """Where the window begins, and its first and last (exclusive) element inside the
        picture.
        """
        start = code.sub(code.mul(i, m.stride[n]), m.padding[n])
        missing = code.max(code.sub(0, start), 0)
        room = code.max(code.sub(m.size[n], start), 0)
        return (
            start,
            code.parts(missing, m.dilation[n]),
            code.min(code.parts(room, m.dilation[n]), m.kernel[n]),
        )

    def one_row(i: Any, _: object) -> None:
        rest, row = code.divmod(i, m.out_size.row)
        image, block = code.divmod(rest, m.blocks)
        x_at, out_at = code.place(m.x, image, block, 0), code.place(m.out, image, block, row)
        top, first_row, last_row = window(row, 0)

        def one_pixel(j: Any, _: object) -> None:
            left, first, last = window(j, 1)

            def kernel_row(k: Any, carried: list[Any]) -> list[Any]:
                line = code.at(x_at, code.mul(code.add(top, code.mul(k, m.dilation.row)), m.x.row))

                def kernel_element(e: Any, carried: list[Any]) -> list[Any]:
                    at = code.mul(code.add(left, code.mul(e, m.dilation.column)), LANES)
                    return [code.larger(carried[0], code.load(line, at))]

                return code.range(first, last, carried, kernel_element)

            (best,) = code.range(first_row, last_row, [lowest], kernel_row)
            code.store(best, out_at, code.mul(j, LANES))

        code.loop(m.out_size.column, [], one_pixel, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()


def write_combine() -> str:
    """The sum of two, or one (the second is 0), clamped. One item of work is a row of one block."""
    code = Code("combine", Combine)
    c: Any = code.arguments
    low, high, none = code.spread(c.low), code.spread(c.high), code.is_null(c.b.address)

    def one_row(i: Any, _: object) -> None:
        rest, row = code.divmod(i, c.height)
        image, block = code.divmod(rest, c.blocks)
        a, b, out = (code.place(p, image, block, row) for p in (c.a, c.b, c.out))

        def one_pixel(j: Any, _: object) -> None:
            at = code.mul(j, LANES)
            v = code.unless(
                none, [code.load(a, at)], lambda v: [code.b.fadd(v[0], code.load(b, at))]
            )[0]
            code.store(code.clamp(v, low, high), out, at)

        code.loop(c.width, [], one_pixel, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()
