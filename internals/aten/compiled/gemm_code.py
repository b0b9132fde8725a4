"""The inner loops of matrix products, written in LLVM's language for tiles of any size.

A compiler does not find this form from loops over numbers. In `write_gemm` a tile of the result,
`rows` times `vectors` vectors of columns, stays in registers while the loop over the terms runs:

    for k:
        v = `vectors` vectors of x, from offsets[k] + column on
        for each row r of the tile:
            tile[r] += a[r, k] * v                    the number in all lanes

Each number that is loaded is used many times: 6 rows times 2 vectors take 8 loads for 12
multiplications of vectors. A tile that reaches below the last row computes the last row again
instead. Columns after the last full tile are done in `narrow` tiles, whose vectors are read and
written through masks. Even where the result is added to `out`, the sum starts from zero: chains of
additions stay short, and so do their rounding errors.

In `write_dot` a tile consists of dot products, each a vector of partial sums that are added up at
the end.

How the real one differs: such loops are written in assembler (OpenBLAS), with a generator of
machine code (oneDNN, MKL's `mkl_jit_create_sgemm`), or with a compiler's intrinsic functions
(FBGEMM).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from internals.machine_code.records import Pointer

from .registers import Vector
from .vector_code import Code


class Tile(NamedTuple):
    """The vectors kept in registers: `rows` times `vectors`, or `rows` times `narrow` for the
    columns that are left over."""

    vector: Vector
    rows: int
    vectors: int
    narrow: int

    @property
    def columns(self) -> int:
        """How many columns of the result a full tile has, in numbers."""
        return self.vectors * self.vector.lanes


class Gemm(NamedTuple):
    """The arguments of out[i, r, c] = factor * (the sum over k of a[i, r, k] * x[i, offsets[k] +
    c]), which is added to `out` instead with `adding`. Strides count elements."""

    a: Pointer
    x: Pointer
    offsets: Pointer
    out: Pointer
    rows: int
    columns: int
    terms: int
    block: int  # columns that are computed before the next rows are
    a_row: int  # the strides of rows and terms
    a_term: int
    out_row: int
    x_matrix: int = 0  # the strides from one product of a batch to the next
    out_matrix: int = 0
    a_matrix: int = 0
    turns: int = 1 << 62  # the number of matrices a: product i uses the one numbered i % turns
    adding: int = 0
    factor: float = 1.0


def write_gemm(tile: Tile) -> str:
    """The LLVM text of `gemm` for a tile. One item of work is a row of tiles in one block of
    columns of one product."""
    code = Code("gemm", Gemm, tile.vector)
    g: Any = code.arguments
    lanes, zero, factor = tile.vector.lanes, code.vector(0.0), code.spread(g.factor)
    overwriting = code.is_zero(g.adding)  # the result replaces what is in `out`
    plain = code.b.and_(overwriting, code.b.fcmp_ordered("==", g.factor, code.constant(1.0)))
    row_tiles, blocks = code.parts(g.rows, tile.rows), code.parts(g.columns, g.block)

    def one_item(i: Any, _: object) -> None:
        # rows of tiles are the innermost: the block of x stays in the cache while they pass by
        rest, row_tile = code.divmod(i, row_tiles)
        matrix, block = code.divmod(rest, blocks)
        first, row, end = (
            code.mul(block, g.block),
            code.mul(row_tile, tile.rows),
            code.sub(g.rows, 1),
        )
        last = code.min(code.add(first, g.block), g.columns)
        full_end = code.sub(last, code.divmod(code.sub(last, first), tile.columns)[1])
        a_at = code.at(g.a, code.mul(code.divmod(matrix, g.turns)[1], g.a_matrix))
        x_at, out_at = (
            code.at(g.x, code.mul(matrix, g.x_matrix)),
            code.at(g.out, code.mul(matrix, g.out_matrix)),
        )
        rows = [code.min(code.add(row, r), end) for r in range(tile.rows)]
        a_rows = [code.at(a_at, code.mul(r, g.a_row)) for r in rows]
        out_rows = [code.at(out_at, code.mul(r, g.out_row)) for r in rows]

        def columns(start: Any, stop: Any, vectors: int, masked: bool) -> None:
            def one_tile(column: Any, _: object) -> None:
                left = code.sub(stop, column)
                masks = [
                    code.mask(code.sub(left, v * lanes)) if masked else None for v in range(vectors)
                ]
                x_tile = code.at(x_at, column)

                def term(k: Any, carried: list[Any]) -> list[Any]:
                    a_offset, *sums = carried
                    x_row = code.at(x_tile, code.load_int(g.offsets, k))
                    x = [code.load(x_row, v * lanes, mask) for v, mask in enumerate(masks)]
                    return [
                        code.add(a_offset, g.a_term),
                        *code.add_outer((code.at(a, a_offset) for a in a_rows), x, sums),
                    ]

                # carried through the loop: the position in a row of a, then all sums of the tile
                start = [0, *[zero] * tile.rows * vectors]
                sums = code.loop(g.terms, start, term, at_least_once=True)[1:]
                places = [
                    (code.at(out, column, v * lanes), mask)
                    for out in out_rows
                    for v, mask in enumerate(masks)
                ]

                def add(sums: list[Any]) -> list[Any]:
                    return [
                        code.b.fadd(code.load(place, 0, mask), v)
                        for v, (place, mask) in zip(sums, places)
                    ]

                def scale_and_add(sums: list[Any]) -> list[Any]:
                    return code.unless(overwriting, [code.b.fmul(v, factor) for v in sums], add)

                sums = code.unless(plain, sums, scale_and_add)
                for v, (place, mask) in zip(sums, places):
                    code.store(v, place, 0, mask)

            code.range(start, stop, [], one_tile, step=vectors * lanes)

        columns(first, full_end, tile.vectors, False)
        columns(full_end, last, tile.narrow, True)  # what is left over, through masks

    code.range(code.begin, code.end, [], one_item)
    return code.finish()


class DotTile(NamedTuple):
    """`rows` times `columns` sums in registers, each a vector."""

    vector: Vector
    rows: int
    columns: int


class Dot(NamedTuple):
    """The arguments of out[r, c] = bias[c] + the sum over k of x[r, k] * w[c, k]. There must be at
    least as many rows and columns as in a tile."""

    x: Pointer
    w: Pointer
    bias: Pointer
    out: Pointer
    rows: int
    columns: int
    terms: int
    x_row: int
    w_row: int
    bias_step: int
    out_row: int


def write_dot(tile: DotTile) -> str:
    """The LLVM text of `dot` for a tile. One item of work is a column of tiles. The last tiles
    begin earlier where they would cross the edge.

    The terms after the last full vector are read through a mask, as if zeros followed."""
    code = Code("dot", Dot, tile.vector)
    d: Any = code.arguments
    left = code.divmod(d.terms, tile.vector.lanes)[1]
    full_end, mask, zero = code.sub(d.terms, left), code.mask(left), code.vector(0.0)

    def one_item(i: Any, _: object) -> None:
        column = code.min(code.mul(i, tile.columns), code.sub(d.columns, tile.columns))
        w_at, bias_at = (
            code.at(d.w, code.mul(column, d.w_row)),
            code.at(d.bias, code.mul(column, d.bias_step)),
        )
        w_rows = [code.at(w_at, code.mul(d.w_row, c)) for c in range(tile.columns)]
        biases = [code.load_number(bias_at, code.mul(d.bias_step, c)) for c in range(tile.columns)]

        def one_tile(row: Any, _: object) -> None:
            row = code.min(row, code.sub(d.rows, tile.rows))
            x_at, out_at = (
                code.at(d.x, code.mul(row, d.x_row)),
                code.at(d.out, code.mul(row, d.out_row), column),
            )
            x_rows = [code.at(x_at, code.mul(d.x_row, r)) for r in range(tile.rows)]

            def multiply(k: Any, sums: list[Any], mask: Any = None) -> list[Any]:
                # one vector of terms from each row; every row of x with every row of w
                x, w = ([code.load(line, k, mask) for line in lines] for lines in (x_rows, w_rows))
                pairs = [(a, b) for a in x for b in w]
                return [code.multiply_add(a, b, v) for (a, b), v in zip(pairs, sums)]

            sums = [zero] * tile.rows * tile.columns
            sums = code.range(0, full_end, sums, multiply, step=tile.vector.lanes)
            sums = code.unless(
                code.is_zero(left), sums, lambda sums: multiply(full_end, sums, mask)
            )
            for n, v in enumerate(sums):
                r, c = divmod(n, tile.columns)
                code.store(
                    code.b.fadd(code.total(v), biases[c]),
                    out_at,
                    code.add(code.mul(d.out_row, r), c),
                )

        code.range(0, d.rows, [], one_tile, step=tile.rows)

    code.range(code.begin, code.end, [], one_item)
    return code.finish()
