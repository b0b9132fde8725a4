"""Winograd's algorithm: a 3x3 convolution with fewer multiplications.

Convolving with 3 numbers and evaluating m results is a product of polynomials, and a product of polynomials is cheap where they
are known by their values at points: multiply the values. F(m, 3) takes m + 2 points (the last is infinity), so m results cost m
+ 2 multiplications instead of 3m; in two dimensions F(4, 3) needs 36 for 16 pixels, a quarter of 144. Three matrices say it all
(Lavin and Gray 2015, https://arxiv.org/abs/1509.09308):

    y = Aᵀ [ (G w Gᵀ) * (Bᵀ x B) ] A         G: weights to values at the points, Bᵀ: input likewise, Aᵀ: back to pixels

The products at one point, for all channels, are a matrix product, so a convolution is

    1. transform the input tiles                      (m+2)² vectors for each tile and block of channels
    2. (m+2)² matrix products: tiles x channels in x channels out
    3. transform back, add bias and residual, clamp, store

done here for a group of tiles at a time, so that everything in between stays in the cache. The price is rounding: the values at
the points are larger than the results that come of their differences, and which points one takes decides by how much.

How the real one differs: oneDNN (`jit_avx512_core_f32_wino_conv_4x3.cpp`) has the same three steps, written for AVX-512;
PyTorch's own (`aten/src/ATen/native/cpu/DepthwiseConvKernel.cpp`) is F(2, 3) for depthwise convolutions on ARM.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from .products import add_products
from .vector_code import LANES, Code

Matrix = list[list[Fraction]]
A, B = Fraction(5, 8), Fraction(3, 2)  # instead of the usual 1 and 2: a third of their error, and exact in float32
POINTS = {2: (0, 1, -1), 4: (0, A, -A, B, -B)}

SIGNATURE = " ".join(
    (
        "*f4 *f4 *f4 *f4 *f4 *f4",  # input, transformed weights, bias, residual (or 0), output, scratch
        "i8 i8 i8",  # scratch of one thread, tiles of an image, tiles in a row
        "i8 i8 i8 i8",  # tiles of all images, tiles in a group; slices of the output blocks, groups of blocks in a slice
        "i8 i8 i8 i8",  # input blocks, output blocks, output rows and columns
        "i8 i8 i8",  # input: image, block, row
        "i8 i8 i8",  # output: image, block, row
        "i8 i8 i8",  # residual: image, block, row
        "f4 f4",  # least and largest result
    )
)


class WinogradTile(NamedTuple):
    """One kernel: pixels m of F(m, 3), and the matrix product's registers: tiles times blocks."""

    m: int
    columns: int
    blocks: int
    ahead: int = 0
    rows: int = 1
    inner: int = LANES
    pixel_step: int = LANES

    @property
    def key(self) -> str:
        return f"winograd F({self.m},3) {self.columns}x{self.blocks} ahead {self.ahead}"


def matrices(m: int) -> tuple[Matrix, Matrix, Matrix]:
    """Aᵀ (m, m+2), G (m+2, 3) and Bᵀ (m+2, m+2) of F(m, 3), exactly.

    Row i of G evaluates at point i, divided by the product of its distances to the others; row i of Bᵀ has the coefficients of
    the polynomial that is zero at all other points.
    """
    points = [Fraction(p) for p in POINTS[m]]
    distances = [_product([p - q for q in points if q != p]) for p in points]
    back = [[p**power for p in points] + [Fraction(int(power == m - 1))] for power in range(m)]
    weights = [[p**k / d for k in range(3)] for p, d in zip(points, distances)] + [
        [Fraction(int(k == 2)) for k in range(3)]
    ]
    others = [[q for q in points if q != p] for p in points] + [points]
    forth = [_with_zeros_at(roots, m + 2) for roots in others]
    return back, weights, forth


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


def write(tile: WinogradTile) -> str:
    """The LLVM text of the kernel. One item of work is a slice of the output channels of a group of tiles."""
    m, points = tile.m, tile.m + 2
    back, _, forth = matrices(m)
    code = Code("winograd", SIGNATURE)
    (
        x, weights, bias, residual, out, scratch,
        scratch_size, tiles, tiles_in_row,
        all_tiles, group_tiles, slices, slice_groups,
        in_blocks, all_blocks, height, width,
        x_image, x_block, x_row,
        out_image, out_block, out_row,
        res_image, res_block, res_row,
        low, high,
    ) = code.arguments  # fmt: skip
    low, high = code.spread(low), code.spread(high)
    scratch = code.at(scratch, code.mul(code.begin, scratch_size))
    line = code.mul(group_tiles, LANES)  # one block of channels of all tiles of a group, at one point
    in_plane, out_plane = code.mul(line, in_blocks), code.mul(line, all_blocks)
    products = code.at(scratch, code.mul(in_plane, points * points))
    w_group = code.mul(in_blocks, LANES * LANES * tile.blocks)
    all_groups = code.divmod(code.add(all_blocks, tile.blocks - 1), tile.blocks)[0]
    w_plane = code.mul(w_group, all_groups)

    def one_item(i: Any, _: Any) -> None:
        group, part = code.divmod(i, slices)
        first_tile = code.min(code.mul(group, group_tiles), code.sub(all_tiles, group_tiles))
        first_group = code.min(code.mul(part, slice_groups), code.sub(all_groups, slice_groups))
        transform_input(first_tile)
        multiply(first_group)
        first_block = code.min(code.mul(first_group, tile.blocks), code.sub(all_blocks, tile.blocks))
        last_block = code.min(code.mul(code.add(first_group, slice_groups), tile.blocks), all_blocks)
        transform_back(first_tile, first_block, last_block)

    def corner(t: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Image, first row and column of an output tile, and how many of its rows and columns belong to tiles before.

        The last tiles begin early rather than reach over the edge.
        """
        image, tile_of_image = code.divmod(t, tiles)
        row, column = (code.mul(n, m) for n in code.divmod(tile_of_image, tiles_in_row))
        first_row, first_column = code.min(row, code.sub(height, m)), code.min(column, code.sub(width, m))
        return image, first_row, first_column, code.sub(row, first_row), code.sub(column, first_column)

    def transform_input(first_tile: Any) -> None:
        def one_tile(t: Any, _: Any) -> None:
            image, row, column, _, _ = corner(code.add(first_tile, t))
            at = code.at(x, code.mul(image, x_image), code.mul(row, x_row), code.mul(column, LANES))
            to = code.at(scratch, code.mul(t, LANES))

            def one_block(block: Any, _: Any) -> None:
                from_ = code.at(at, code.mul(block, x_block))
                place = code.at(to, code.mul(block, line))
                lines = [code.at(from_, code.mul(x_row, r)) for r in range(points)]
                grid = [[code.load(lines[r], c * LANES) for r in range(points)] for c in range(points)]
                half = [apply(code, forth, column) for column in grid]  # [column][point]
                for p in range(points):
                    for q, v in enumerate(apply(code, forth, [half[c][p] for c in range(points)])):
                        code.store(v, code.at(place, code.mul(in_plane, p * points + q)))

            code.loop(in_blocks, [], one_block, at_least_once=True)

        code.loop(group_tiles, [], one_tile, at_least_once=True)

    def multiply(first_group: Any) -> None:
        zero = code.vector(0.0)

        def one_point(p: Any, _: Any) -> None:
            x_at, w_at = code.at(scratch, code.mul(p, in_plane)), code.at(weights, code.mul(p, w_plane))
            to = code.at(products, code.mul(p, out_plane))

            def one_group(g: Any, _: Any) -> None:
                group = code.add(first_group, g)
                block = code.min(code.mul(group, tile.blocks), code.sub(all_blocks, tile.blocks))
                group_at, out_at = code.at(w_at, code.mul(group, w_group)), code.at(to, code.mul(block, line))

                def some_tiles(j: Any, _: Any) -> None:
                    first = code.mul(code.min(code.mul(j, tile.columns), code.sub(group_tiles, tile.columns)), LANES)
                    sums = [zero] * (tile.columns * tile.blocks)
                    sums = add_products(code, tile, code.at(x_at, first), 0, group_at, [(in_blocks, line)], sums)
                    lines = [code.at(out_at, first, code.mul(line, q)) for q in range(tile.blocks)]
                    for n, v in enumerate(sums):
                        code.store(v, lines[n % tile.blocks], n // tile.blocks * LANES)

                steps = code.divmod(code.add(group_tiles, tile.columns - 1), tile.columns)[0]
                code.loop(steps, [], some_tiles, at_least_once=True)

            code.loop(slice_groups, [], one_group, at_least_once=True)

        code.loop(points * points, [], one_point, at_least_once=True)

    def transform_back(first_tile: Any, first_block: Any, last_block: Any) -> None:
        none = code.is_null(residual)

        def one_block(block: Any, _: Any) -> None:
            at = code.at(products, code.mul(block, line))
            out_at, res_at = code.at(out, code.mul(block, out_block)), code.at(residual, code.mul(block, res_block))
            b = code.load(bias, code.mul(block, LANES))

            def one_tile(t: Any, _: Any) -> None:
                image, row, column, known_rows, known_columns = corner(code.add(first_tile, t))
                to, other = code.at(out_at, code.mul(image, out_image)), code.at(res_at, code.mul(image, res_image))
                from_ = code.at(at, code.mul(t, LANES))
                grid = [
                    [code.load(code.at(from_, code.mul(out_plane, p * points + q))) for p in range(points)]
                    for q in range(points)
                ]
                half = [apply(code, back, values) for values in grid]  # [point of columns][row]
                results = [v for r in range(m) for v in apply(code, back, [half[q][r] for q in range(points)])]
                results = [code.b.fadd(v, b) for v in results]
                results = code.unless(
                    none,
                    results,
                    lambda values: [
                        code.b.fadd(v, code.load(place))
                        for v, place in zip(values, places(other, row, column, res_row))
                    ],
                )
                results = [code.clamp(v, low, high) for v in results]
                store(results, places(to, row, column, out_row), known_rows, known_columns)

            code.loop(group_tiles, [], one_tile, at_least_once=True)

        code.range(first_block, last_block, [], one_block)

    def store(results: list[Any], to: list[Any], known_rows: Any, known_columns: Any) -> None:
        """Store what does not belong to other tiles: those have rounded it otherwise, and who is last depends on the threads."""
        whole = code.is_zero(code.b.or_(known_rows, known_columns))

        def all_of_it(_: Any) -> None:
            for v, place in zip(results, to):
                code.store(v, place)

        def part(_: Any) -> None:
            for n, (v, place) in enumerate(zip(results, to)):
                row_known = code.b.icmp_signed("<", code.int(n // m), known_rows)
                column_known = code.b.icmp_signed("<", code.int(n % m), known_columns)
                code.unless(code.b.or_(row_known, column_known), [], partial(store_one, v, place))

        def store_one(v: Any, place: Any, _: Any) -> None:
            code.store(v, place)

        code.unless(code.b.not_(whole), [], all_of_it)
        code.unless(whole, [], part)

    def places(base: Any, row: Any, column: Any, row_step: Any) -> list[Any]:
        at = code.at(base, code.mul(row, row_step), code.mul(column, LANES))
        lines = [code.at(at, code.mul(row_step, r)) for r in range(m)]
        return [code.at(lines[r], c * LANES) for r in range(m) for c in range(m)]

    code.range(code.begin, code.end, [], one_item)
    return code.finish()


def apply(code: Code, matrix: Matrix, values: list[Any]) -> list[Any]:
    """The vectors `matrix @ values`. Points p and -p share their work: half of it is the same, half has the other sign."""
    if len(matrix) == len(values):  # Bᵀ: two rows are even + odd and even - odd
        return _by_pairs_of_rows(code, matrix, values)
    sums: dict[int, Any] = {}  # Aᵀ: two columns count with their sum in even rows, with their difference in odd ones
    columns = list(zip(*matrix))
    for p in range(1, len(values) - 1, 2):
        sums[p] = code.b.fadd(values[p], values[p + 1]), code.b.fsub(values[p], values[p + 1])
    results = []
    for r, row in enumerate(matrix):
        terms = [(columns[p][r], pair[r % 2]) for p, pair in sums.items()]
        terms += [(row[0], values[0]), (row[-1], values[-1])]
        results.append(_combine(code, terms))
    return results


def _by_pairs_of_rows(code: Code, matrix: Matrix, values: list[Any]) -> list[Any]:
    results: list[Any] = [None] * len(matrix)
    for r in (0, len(matrix) - 1):
        results[r] = _combine(code, list(zip(matrix[r], values)))
    for r in range(1, len(matrix) - 1, 2):
        even = _combine(code, list(zip(matrix[r][0::2], values[0::2])))
        odd = _combine(code, list(zip(matrix[r][1::2], values[1::2])))
        same = matrix[r][0::2] == matrix[r + 1][0::2]  # else it is the even part that changes its sign
        results[r] = code.b.fadd(even, odd)
        results[r + 1] = code.b.fsub(even, odd) if same else code.b.fsub(odd, even)
    return results


def _combine(code: Code, terms: list[tuple[Fraction, Any]]) -> Any:
    """The sum of factor * vector, without multiplying by 1."""
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
