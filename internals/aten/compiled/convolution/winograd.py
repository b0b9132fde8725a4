"""Winograd's algorithm: a 3x3 convolution with fewer multiplications.

A convolution with 3 weights is a product of polynomials, and polynomials that are known by their
values at points are multiplied value by value. F(m, 3) computes m results from the values at m + 2
points (the last is infinity), with m + 2 multiplications instead of 3m. In two dimensions F(4, 3)
needs 36 for 16 pixels, a quarter of 144. Three matrices describe it (Lavin and Gray 2015,
https://arxiv.org/abs/1509.09308):

    y = Aᵀ [ (G w Gᵀ) * (Bᵀ x B) ] A         G: weights to values at the points, Bᵀ: input likewise,
                                             Aᵀ: back to pixels

The products at one point, for all channels, are a matrix product, so a convolution is

    1. transform the input tiles                      (m+2)² vectors for each tile and block of
                                                      channels
    2. (m+2)² matrix products: tiles x channels in x channels out
    3. transform back, add bias and residual, clamp, store

done here for a group of tiles at a time, so that everything in between stays in the cache. The
price is rounding: results are differences of values at the points, which are larger than the
results themselves. The choice of points decides by how much.

How the real one differs: oneDNN (`jit_avx512_core_f32_wino_conv_4x3.cpp`) has the same three steps,
written for AVX-512; PyTorch's own (`aten/src/ATen/native/cpu/DepthwiseConvKernel.cpp`) is F(2, 3)
for depthwise convolutions on ARM.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from internals.machine_code.records import Pointer

from ..registers import LANES
from ..vector_code import Code
from .buffers import Place
from .direct import Ends, Finish, Tile, add_products

Matrix = list[list[Fraction]]
# used instead of the usual 1 and 2: a third of the rounding error, and exact in float32
A, B = Fraction(5, 8), Fraction(3, 2)
POINTS = {2: (0, 1, -1), 4: (0, A, -A, B, -B)}


class WinogradTile(NamedTuple):
    """One kernel: m of F(m, 3), and the register tile of the matrix products."""

    m: int  # a tile has m x m output pixels
    columns: int  # image tiles in a register tile
    blocks: int  # blocks of 16 output channels in a register tile
    ahead: int = 0  # how far ahead weights are fetched into the cache; 0 for not at all


class Winograd(NamedTuple):
    """The kernel's arguments; `height` and `width` are those of the output."""

    x: Place
    weights: Pointer  # (points², groups of blocks, in channels, blocks of a group * 16)
    ends: Ends
    scratch: Pointer
    scratch_size: int  # elements for each item; a call begins at the place of its first item
    tiles: int  # of an image
    tiles_in_row: int
    all_tiles: int  # of all images
    group_tiles: int  # computed together
    slices: int  # parts of the output channels, each an item of work
    slice_groups: int  # groups of blocks in a slice
    in_blocks: int
    blocks: int
    height: int
    width: int


def matrices(m: int) -> tuple[Matrix, Matrix, Matrix]:
    """Aᵀ (m, m+2), G (m+2, 3) and Bᵀ (m+2, m+2) of F(m, 3), as exact fractions.

    Row i of G evaluates at point i, divided by the product of its distances to the others; row i of
    Bᵀ has the coefficients of the polynomial that is zero at all other points. The last row of both
    is for infinity, where a polynomial's value is its highest coefficient.
    """
    points = [Fraction(p) for p in POINTS[m]]
    distances = [_product([p - q for q in points if q != p]) for p in points]
    from_points = [
        [p**power for p in points] + [Fraction(int(power == m - 1))] for power in range(m)
    ]
    weights = [[p**k / d for k in range(3)] for p, d in zip(points, distances)] + [
        [Fraction(int(k == 2)) for k in range(3)]
    ]
    others = [[q for q in points if q != p] for p in points] + [points]
    to_points = [_with_zeros_at(roots, m + 2) for roots in others]
    return from_points, weights, to_points


def _product(numbers: list[Fraction]) -> Fraction:
    result = Fraction(1)
    for n in numbers:
        result *= n
    return result


def _with_zeros_at(roots: list[Fraction], length: int) -> list[Fraction]:
    """The coefficients of the product of (x - root), the constant first."""
    poly = [Fraction(1)]
    for root in roots:
        poly = [a - root * b for a, b in zip([Fraction(0), *poly], [*poly, Fraction(0)])]
    return poly + [Fraction(0)] * (length - len(poly))


def write_winograd(tile: WinogradTile) -> str:
    """The LLVM text of the kernel. One item of work is a slice of the output channels of a group of
    tiles.
    """
    m, points = tile.m, tile.m + 2
    from_points, _, to_points = matrices(m)
    code = Code("winograd", Winograd)
    a: Any = code.arguments
    product = Tile(1, tile.columns, tile.blocks, LANES, LANES, tile.ahead)
    scratch = code.at(a.scratch, code.mul(code.begin, a.scratch_size))
    # scratch holds the transformed input (points², in_blocks, group_tiles, 16), and after it the
    # products (points², blocks, group_tiles, 16); line: one block of all tiles, at one point
    line = code.mul(a.group_tiles, LANES)
    in_plane, out_plane = code.mul(line, a.in_blocks), code.mul(line, a.blocks)
    products = code.at(scratch, code.mul(in_plane, points * points))
    w_group = code.mul(a.in_blocks, LANES * LANES * tile.blocks)
    all_groups = code.parts(a.blocks, tile.blocks)
    w_plane = code.mul(w_group, all_groups)
    ends = Finish(code, a.ends)

    def one_item(i: Any, _: object) -> None:
        group, part = code.divmod(i, a.slices)
        # the last group and the last slice begin earlier where they would reach beyond the end
        first_tile = code.min(code.mul(group, a.group_tiles), code.sub(a.all_tiles, a.group_tiles))
        first_group = code.min(code.mul(part, a.slice_groups), code.sub(all_groups, a.slice_groups))
        transform_input(first_tile)
        multiply(first_group)
        first_block = code.min(code.mul(first_group, tile.blocks), code.sub(a.blocks, tile.blocks))
        last_block = code.min(
            code.mul(code.add(first_group, a.slice_groups), tile.blocks), a.blocks
        )
        transform_back(first_tile, first_block, last_block)

    def corner(t: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Image, first row and first column of output tile t, and how many of its rows and columns
        belong to the tiles before it: the last ones begin earlier, so as not to cross the edge.
        """
        image, tile_of_image = code.divmod(t, a.tiles)
        row, column = (code.mul(n, m) for n in code.divmod(tile_of_image, a.tiles_in_row))
        first_row, first_column = (
            code.min(row, code.sub(a.height, m)),
            code.min(column, code.sub(a.width, m)),
        )
        return (
            image,
            first_row,
            first_column,
            code.sub(row, first_row),
            code.sub(column, first_column),
        )

    def transform_input(first_tile: Any) -> None:
        def one_tile(t: Any, _: object) -> None:
            image, row, column, _, _ = corner(code.add(first_tile, t))
            at = code.at(code.place(a.x, image, 0, row), code.mul(column, LANES))
            to = code.at(scratch, code.mul(t, LANES))

            def one_block(block: Any, _: object) -> None:
                from_ = code.at(at, code.mul(block, a.x.block))
                place = code.at(to, code.mul(block, line))
                lines = [code.at(from_, code.mul(a.x.row, r)) for r in range(points)]
                grid = [
                    [code.load(lines[r], c * LANES) for r in range(points)] for c in range(points)
                ]
                # Bᵀ x B: first down the columns, then along the rows of what that gives
                half = [apply(code, to_points, column) for column in grid]  # [column][point]
                for p in range(points):
                    for q, v in enumerate(
                        apply(code, to_points, [half[c][p] for c in range(points)])
                    ):
                        code.store(v, code.at(place, code.mul(in_plane, p * points + q)))

            code.loop(a.in_blocks, [], one_block, at_least_once=True)

        code.loop(a.group_tiles, [], one_tile, at_least_once=True)

    def multiply(first_group: Any) -> None:
        # for each point: (tiles, in channels) @ (in channels, out channels)
        zero = code.vector(0.0)

        def one_point(p: Any, _: object) -> None:
            x_at, w_at = (
                code.at(scratch, code.mul(p, in_plane)),
                code.at(a.weights, code.mul(p, w_plane)),
            )
            to = code.at(products, code.mul(p, out_plane))

            def one_group(g: Any, _: object) -> None:
                group = code.add(first_group, g)
                block = code.min(code.mul(group, tile.blocks), code.sub(a.blocks, tile.blocks))
                group_at, out_at = (
                    code.at(w_at, code.mul(group, w_group)),
                    code.at(to, code.mul(block, line)),
                )

                def some_tiles(j: Any, _: object) -> None:
                    # (columns tiles, in channels) @ (in channels, blocks * 16), in registers
                    first = code.mul(
                        code.min(code.mul(j, tile.columns), code.sub(a.group_tiles, tile.columns)),
                        LANES,
                    )
                    sums = [zero] * (tile.columns * tile.blocks)
                    sums = add_products(
                        code,
                        product,
                        code.at(x_at, first),
                        0,
                        group_at,
                        [(a.in_blocks, line)],
                        sums,
                    )
                    lines = [code.at(out_at, first, code.mul(line, q)) for q in range(tile.blocks)]
                    for n, v in enumerate(sums):
                        code.store(v, lines[n % tile.blocks], n // tile.blocks * LANES)

                code.loop(
                    code.parts(a.group_tiles, tile.columns), [], some_tiles, at_least_once=True
                )

            code.loop(a.slice_groups, [], one_group, at_least_once=True)

        code.loop(points * points, [], one_point, at_least_once=True)

    def transform_back(first_tile: Any, first_block: Any, last_block: Any) -> None:
        def one_block(block: Any, _: object) -> None:
            at, b = (
                code.at(products, code.mul(block, line)),
                code.load(a.ends.bias, code.mul(block, LANES)),
            )

            def one_tile(t: Any, _: object) -> None:
                image, row, column, known_rows, known_columns = corner(code.add(first_tile, t))

                def places(to: Place) -> list[Any]:
                    corner_at = code.at(code.place(to, image, block, row), code.mul(column, LANES))
                    lines = [code.at(corner_at, code.mul(to.row, r)) for r in range(m)]
                    return [code.at(lines[r], c * LANES) for r in range(m) for c in range(m)]

                from_ = code.at(at, code.mul(t, LANES))
                grid = [
                    [
                        code.load(code.at(from_, code.mul(out_plane, p * points + q)))
                        for p in range(points)
                    ]
                    for q in range(points)
                ]
                # Aᵀ ... A: half is [point of columns][row]
                half = [apply(code, from_points, values) for values in grid]
                results = [
                    v
                    for r in range(m)
                    for v in apply(code, from_points, [half[q][r] for q in range(points)])
                ]
                results = ends.results([code.b.fadd(v, b) for v in results], places)
                store(results, places(a.ends.out), known_rows, known_columns)

            code.loop(a.group_tiles, [], one_tile, at_least_once=True)

        code.range(first_block, last_block, [], one_block)

    def store(results: list[Any], to: list[Any], known_rows: Any, known_columns: Any) -> None:
        """Store only pixels that no tile before has. Two tiles round the same pixel differently,
        and which thread stores last is up to chance, so results would differ from run to run.
        """
        whole = code.is_zero(code.b.or_(known_rows, known_columns))

        def all_of_it(_: object) -> None:
            for v, place in zip(results, to):
                code.store(v, place)

        def part(_: object) -> None:
            for n, (v, place) in enumerate(zip(results, to)):
                row_known = code.b.icmp_signed("<", code.integer(n // m), known_rows)
                column_known = code.b.icmp_signed("<", code.integer(n % m), known_columns)
                code.unless(code.b.or_(row_known, column_known), [], partial(store_one, v, place))

        def store_one(v: Any, place: Any, _: object) -> None:
            code.store(v, place)

        # most tiles are whole: they need no test for each pixel
        code.unless(code.b.not_(whole), [], all_of_it)
        code.unless(whole, [], part)

    code.range(code.begin, code.end, [], one_item)
    return code.finish()


def apply(code: Code, matrix: Matrix, values: list[Any]) -> list[Any]:
    """The vectors `matrix @ values`. Points p and -p share their work: even powers of them are the
    same, odd ones differ in sign.
    """
    if len(matrix) == len(values):  # Bᵀ, (m+2, m+2): rows of p and -p are even + odd, even - odd
        return _two_rows_at_a_time(code, matrix, values)
    # Aᵀ, (m, m+2): even rows need the sum of the values at p and -p, odd rows their difference
    sums: dict[int, Any] = {}
    columns = list(zip(*matrix))
    for p in range(1, len(values) - 1, 2):
        sums[p] = code.b.fadd(values[p], values[p + 1]), code.b.fsub(values[p], values[p + 1])
    results = []
    for r, row in enumerate(matrix):
        terms = [(columns[p][r], pair[r % 2]) for p, pair in sums.items()]
        terms += [(row[0], values[0]), (row[-1], values[-1])]
        results.append(_combine(code, terms))
    return results


def _two_rows_at_a_time(code: Code, matrix: Matrix, values: list[Any]) -> list[Any]:
    """`matrix @ values` for Bᵀ: its first and last row alone, the others in pairs, for p and -p."""
    results: list[Any] = [None] * len(matrix)
    for r in (0, len(matrix) - 1):
        results[r] = _combine(code, list(zip(matrix[r], values)))
    for r in range(1, len(matrix) - 1, 2):
        even = _combine(code, list(zip(matrix[r][0::2], values[0::2])))
        odd = _combine(code, list(zip(matrix[r][1::2], values[1::2])))
        # between the rows of p and -p either the odd part changes its sign, or the even one
        same = matrix[r][0::2] == matrix[r + 1][0::2]
        results[r] = code.b.fadd(even, odd)
        results[r + 1] = code.b.fsub(even, odd) if same else code.b.fsub(odd, even)
    return results


def _combine(code: Code, terms: list[tuple[Fraction, Any]]) -> Any:
    """The sum of factor * vector, without multiplying by 1 or -1 where it can be avoided."""
    # factors of 1 and -1 first: the sum then begins without a multiplication
    terms = sorted((t for t in terms if t[0] != 0), key=lambda t: abs(t[0]) != 1)
    total = None
    for factor, v in terms:
        if total is None:
            total = v if factor == 1 else code.b.fmul(v, code.vector(float(factor)))
        elif factor == 1:
            total = code.b.fadd(total, v)
        elif factor == -1:
            total = code.b.fsub(total, v)
        else:
            total = code.multiply_add(v, code.vector(float(factor)), total)
    return total
