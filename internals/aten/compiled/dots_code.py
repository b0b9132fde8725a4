"""The inner loop of `dots` in LLVM's language, for a tile of any size.

A tile of the result is `rows` times `columns` dot products. Their sums are vectors, `%sum0_0` to `%sum3_5`, which go round in
registers (`phi`) while the loop `term` goes along the rows of both matrices, a vector at a time; what is left over at the end of
the rows is read through a mask, as if zeros followed. Only then are the numbers of each vector added up (`vector.reduce.fadd`,
which may take them in pairs: `reassoc`).

How the real one differs: MKL writes such loops in assembler, for sizes where copying does not pay (`mkl_jit_create_sgemm`).
"""

from __future__ import annotations

from typing import NamedTuple

from .tile_code import Arguments, Vector, lines, read, signature, starts_of_rows, sums

ARGUMENTS: Arguments = {
    "ptr": ("x", "w", "bias", "out"),
    # rows and columns of the result; terms of each sum; how far rows of x, of w, numbers of the bias, and rows of out lie apart
    "i64": ("rows", "columns", "terms", "x_row", "w_row", "bias_step", "out_row"),
}  # fmt: skip
SIGNATURE = signature(ARGUMENTS)


class Tile(NamedTuple):
    """`rows` times `columns` sums in registers, each a vector."""

    vector: Vector
    rows: int
    columns: int


def text(tile: Tile) -> str:
    """The LLVM module. Its function `dots` does the columns of tiles from `begin` to `end`."""
    vector, number, lanes = tile.vector, tile.vector.number, tile.vector.lanes
    places = Vector("i64", lanes)
    add_up = f"{number} @llvm.vector.reduce.fadd.{vector.kind}"
    rows, columns = range(tile.rows), range(tile.columns)
    cells = [(r, c) for r in rows for c in columns]
    factors = [*(f"x{r}" for r in rows), *(f"w{c}" for c in columns)]

    def at(block: str) -> str:
        return lines(vector.at(f"{block}_at_{f}", f, "%k") for f in factors)

    def multiply(block: str, sums: str) -> str:
        return lines(
            vector.multiply_add(f"{block}{r}_{c}", f"{block}_x{r}", f"{block}_w{c}", f"{sums}{r}_{c}") for r, c in cells
        )

    loads = lines(vector.load(f"more_{f}", f"more_at_{f}") for f in factors)
    masked_loads = lines(vector.load_masked(f"rest_{f}", f"rest_at_{f}", "mask") for f in factors)
    totals = lines(
        [
            *(f"  %all{r}_{c} = phi {vector} [ %sum{r}_{c}, %ends ], [ %rest{r}_{c}, %rest ]" for r, c in cells),
            *(f"  %dot{r}_{c} = call reassoc {add_up}({number} -0.0, {vector} %all{r}_{c})" for r, c in cells),
        ]
    )
    bias = lines(
        f"""\
  %bias_move{c} = mul i64 %bias_step, {c}
{vector.at(f"bias_at{c}", "bias_tile", f"%bias_move{c}")}
  %bias{c} = load {number}, ptr %bias_at{c}"""
        for c in columns
    )
    write = lines(
        f"""\
  %result{r}_{c} = fadd {number} %dot{r}_{c}, %bias{c}
{vector.at(f"out{r}_{c}", f"out{r}", c)}
  store {number} %result{r}_{c}, ptr %out{r}_{c}"""
        for r, c in cells
    )
    return f"""
{vector.multiplies}
declare {add_up}({number}, {vector})
{vector.loads_masked}
declare i64 @llvm.smin.i64(i64, i64)

define void @dots(i64 %begin, i64 %end, ptr %slots) {{
entry:
{read(ARGUMENTS)}
  %last_row = sub i64 %rows, {tile.rows}
  %last_column = sub i64 %columns, {tile.columns}
  %left_over = urem i64 %terms, {lanes}
  %in_vectors = sub i64 %terms, %left_over
{places.everywhere("left_over", "%left_over")}
  %mask = icmp ult {places} {places.counted}, %left_over_everywhere
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %item, label %done

item:
  %i = phi i64 [ %begin, %entry ], [ %i_next, %item_end ]
  %column_wanted = mul i64 %i, {tile.columns}
  %column = call i64 @llvm.smin.i64(i64 %column_wanted, i64 %last_column)
  %w_from = mul i64 %column, %w_row
  %w_tile = getelementptr {number}, ptr %w, i64 %w_from
{starts_of_rows(vector, "w", "w_row", columns)}
  %bias_from = mul i64 %column, %bias_step
  %bias_tile = getelementptr {number}, ptr %bias, i64 %bias_from
{bias}
  br label %tile

tile:
  %row_wanted = phi i64 [ 0, %item ], [ %row_next, %tile_end ]
  %row = call i64 @llvm.smin.i64(i64 %row_wanted, i64 %last_row)
  %x_from = mul i64 %row, %x_row
  %x_tile = getelementptr {number}, ptr %x, i64 %x_from
{starts_of_rows(vector, "x", "x_row", rows)}
  br label %whole

whole:
  %k = phi i64 [ 0, %tile ], [ %k_next, %term ]
{sums(vector, cells)}
  %more_vectors = icmp slt i64 %k, %in_vectors
  br i1 %more_vectors, label %term, label %ends

term:
{at("more")}
{loads}
{multiply("more", "sum")}
  %k_next = add nuw nsw i64 %k, {lanes}
  br label %whole

ends:
  %something_left = icmp ne i64 %left_over, 0
  br i1 %something_left, label %rest, label %tile_end

rest:
{at("rest")}
{masked_loads}
{multiply("rest", "sum")}
  br label %tile_end

tile_end:
{totals}
  %out_from_row = mul i64 %row, %out_row
  %out_from = add i64 %out_from_row, %column
  %out_tile = getelementptr {number}, ptr %out, i64 %out_from
{starts_of_rows(vector, "out", "out_row", rows)}
{write}
  %row_next = add i64 %row_wanted, {tile.rows}
  %more_rows = icmp slt i64 %row_next, %rows
  br i1 %more_rows, label %tile, label %item_end

item_end:
  %i_next = add i64 %i, 1
  %more_items = icmp slt i64 %i_next, %end
  br i1 %more_items, label %item, label %done

done:
  ret void
}}
"""
