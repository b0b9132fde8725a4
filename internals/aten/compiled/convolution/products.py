"""Sums of products in registers: what convolutions and matrix products are made of.

`add_products` writes the loop that everything else exists for. Its sums stay in registers while weights stream past:

    for each outer step:                     as many loops inside each other as there are (count, distance) pairs
        for u in range(inner):               unrolled
            w = `blocks` vectors of weights, next in memory
            for each pixel: sums[pixel] += w * spread(x[pixel + u])

How the real one differs: oneDNN's `jit_avx512_common_conv_fwd_kernel.cpp` has this loop for AVX-512, others for other CPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .vector_code import LANES, Code

Step = Callable[[Any, list[Any]], list[Any]]  # from where in x it is, and what it carries on, to what comes after it


class Shape(Protocol):
    """What is unrolled: pixels (rows x columns), blocks of output channels, inner steps; the distance of pixels in memory; and
    how far ahead weights are fetched into the cache (0: left to the processor, which does not do it across pages)."""

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def inner(self) -> int: ...
    @property
    def pixel_step(self) -> int: ...
    @property
    def ahead(self) -> int: ...


def add_products(
    code: Code, tile: Shape, x_at: Any, x_row: Any, w_at: Any, loops: list[tuple[Any, Any]], sums: list[Any]
) -> list[Any]:
    """The code for a tile; `sums` are ordered by rows, columns, blocks. Rows lie `x_row` apart.

    loops: how often each outer loop turns, at least once, and how far its turns lie apart in x.
    """
    rows = range(tile.rows)
    offsets = [code.mul(x_row, r) if r else 0 for r in rows]

    def multiply(x_at: Any, carried: list[Any]) -> list[Any]:
        w_at, *sums = carried
        lines = [code.at(x_at, offset) for offset in offsets]
        for u in range(tile.inner):
            w = [code.load(w_at, (u * tile.blocks + q) * LANES) for q in range(tile.blocks)]
            if tile.ahead:
                for q in range(tile.blocks):
                    code.prefetch(w_at, (u * tile.blocks + q) * LANES + tile.ahead)
            for p, (r, c) in enumerate((r, c) for r in rows for c in range(tile.columns)):
                v = code.load_spread(lines[r], c * tile.pixel_step + u)
                for q in range(tile.blocks):
                    sums[p * tile.blocks + q] = code.multiply_add(v, w[q], sums[p * tile.blocks + q])
        return [code.at(w_at, tile.inner * tile.blocks * LANES), *sums]

    step: Step = multiply
    for count, distance in reversed(loops):
        step = _repeated(code, step, count, distance)
    return step(x_at, [w_at, *sums])[1:]


def _repeated(code: Code, step: Step, count: Any, distance: Any) -> Step:
    """`step` in a loop of `count` turns, which lie `distance` apart in x."""

    def turn(_: Any, values: list[Any]) -> list[Any]:
        return [code.at(values[0], distance), *step(values[0], values[1:])]

    return lambda x_at, carried: code.loop(count, [x_at, *carried], turn, at_least_once=True)[1:]
