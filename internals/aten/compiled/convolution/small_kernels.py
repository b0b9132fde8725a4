"""The kernels between the convolutions: copies into blocks and out of them, maximum pooling, and
the sum of two values.

All work on blocks of 16 channels. Memory decides their speed rather than arithmetic, so they are
loops over single pixels.

How the real one differs: oneDNN calls the copies reorders (`src/cpu/reorder`), and has one for
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
    """The arguments of `pack` and `unpack`; in `planes` a block is a single channel."""

    planes: Place
    blocked: Place
    channels: int
    height: int
    width: int


class Pair(NamedTuple):
    """A number for the rows and one for the columns."""

    row: int
    column: int


class Maximum(NamedTuple):
    """The arguments of `maximum`."""

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
    """The arguments of `combine`; `b` may be `NOWHERE`."""

    a: Place
    b: Place
    out: Place
    blocks: int
    height: int
    width: int
    low: float
    high: float


def write_pack() -> str:
    """The LLVM text of a copy from (N, C, H, W) to (N, C/16, H, W, 16). One item of work is a row
    of one block.

    Channels that fill up the last block are zero.
    """
    return _between("pack", _pack_pixel)


def write_unpack() -> str:
    """The LLVM text of a copy from (N, C/16, H, W, 16) to (N, C, H, W). One item of work is a row
    of one block."""
    return _between("unpack", _unpack_pixel)


def _between(name: str, pixel: Callable[..., None]) -> str:
    """The LLVM text of a copy one way or the other; `pixel` writes the code for one pixel."""
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

        # a full block has loops of a known length, which are unrolled; the last one may have fewer
        # channels, which are copied one by one
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
    """The code that copies the channels of a pixel, `channel_step` apart from a on, to b."""
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
    """The code that copies the channels of a pixel at b to a, `channel_step` apart."""
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
    """The code of `body(c)` for 0 <= c < count."""

    def turn(c: Any, _: object) -> None:
        body(c)

    code.loop(count, [], turn, at_least_once=True)


def write_maximum() -> str:
    """The LLVM text of maximum pooling. Elements outside the picture do not count; the maximum of a
    window with a NaN is NaN. One item of work is a row of one block.
    """
    code = Code("maximum", Maximum)
    m: Any = code.arguments
    lowest = code.vector(float("-inf"))

    def window(i: Any, n: int) -> tuple[Any, Any, Any]:
        """Window i along dimension n: where it begins, its first element inside the picture, and
        the one after its last inside.
        """
        start = code.sub(code.mul(i, m.stride[n]), m.padding[n])
        # how many pixels from the window's start to the picture's first, and to its end
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

            # only rows and columns inside: a window that lies in the padding alone gives -inf
            (best,) = code.range(first_row, last_row, [lowest], kernel_row)
            code.store(best, out_at, code.mul(j, LANES))

        code.loop(m.out_size.column, [], one_pixel, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()


def write_combine() -> str:
    """The LLVM text of the sum of two values, or of one (the second is null), clamped. One item of
    work is a row of one block."""
    code = Code("combine", Combine)
    c: Any = code.arguments
    low, high, none = code.spread(c.low), code.spread(c.high), code.is_null(c.b.address)

    def one_row(i: Any, _: object) -> None:
        rest, row = code.divmod(i, c.height)
        image, block = code.divmod(rest, c.blocks)
        a, b, out = (code.place(p, image, block, row) for p in (c.a, c.b, c.out))

        def one_pixel(j: Any, _: object) -> None:
            at = code.mul(j, LANES)
            # b is only read if there is one
            v = code.unless(
                none, [code.load(a, at)], lambda v: [code.b.fadd(v[0], code.load(b, at))]
            )[0]
            code.store(code.clamp(v, low, high), out, at)

        code.loop(c.width, [], one_pixel, at_least_once=True)

    code.range(code.begin, code.end, [], one_row)
    return code.finish()
