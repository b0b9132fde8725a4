"""The inner loop of `batches` in LLVM's language, for a tile of any size.

The tile is that of `product_code`: sums that stay in registers, `rows` times `vectors` vectors. What differs is around it.
Matrices may be smaller than a tile, so nothing begins earlier to fit in: a row behind the last one stands for the last one, and
is computed again; columns behind the last full tile are done in `narrow` tiles, whose vectors are read and written through masks.
And the first matrix is found by strides, so that a transposed one need not be copied.

    out[b, r, c] = factor * sum over k of a[b, r, k] * x[b, k, c]         only the columns of x and out must be neighbours

An item of work is one row of tiles of one product of the batch.

How the real one differs: MKL has such loops for each small size, made at run time (`mkl_jit_create_sgemm`,
`cblas_sgemm_batch_strided`).
"""

from __future__ import annotations

from typing import NamedTuple

from .tile_code import Arguments, Vector, add_products, lines, read, signature, sums

ARGUMENTS: Arguments = {
    "ptr": ("a", "x", "out"),
    # rows and columns of a result, terms of each sum; how far matrices, rows, and terms lie apart
    "i64": ("rows", "columns", "terms", "a_matrix", "a_row", "a_term", "x_matrix", "x_term", "out_matrix", "out_row"),
    "double": ("factor",),
}  # fmt: skip
SIGNATURE = signature(ARGUMENTS)


class Tile(NamedTuple):
    """What is kept in registers: `rows` times `vectors` vectors; of the columns that are left over, `narrow` vectors."""

    vector: Vector
    rows: int
    vectors: int
    narrow: int


def text(tile: Tile) -> str:
    """The LLVM module. Its function `batches` does the items of work from `begin` to `end`."""
    vector, number = tile.vector, tile.vector.number
    factor = "%factor" if number == "double" else "%factor_rounded"
    rounded = "" if number == "double" else "  %factor_rounded = fptrunc double %factor to float"
    row_starts = lines(
        f"""\
  %wanted{r} = add i64 %row, {r}
  %row{r} = call i64 @llvm.smin.i64(i64 %wanted{r}, i64 %last_row)
  %a_move{r} = mul i64 %row{r}, %a_row
  %a{r} = getelementptr {number}, ptr %a_here, i64 %a_move{r}
  %out_move{r} = mul i64 %row{r}, %out_row
  %out{r} = getelementptr {number}, ptr %out_here, i64 %out_move{r}"""
        for r in range(tile.rows)
    )
    return f"""
{vector.multiplies}
{vector.loads_masked}
declare void @llvm.masked.store.{vector.kind}.p0({vector}, ptr, i32, {vector.mask})
declare i64 @llvm.smin.i64(i64, i64)

define void @batches(i64 %begin, i64 %end, ptr %slots) {{
entry:
{read(ARGUMENTS)}
{rounded}
{vector.everywhere("factor", factor)}
  %last_row = sub i64 %rows, 1
  %rows_up = add i64 %rows, {tile.rows - 1}
  %row_tiles = udiv i64 %rows_up, {tile.rows}
  %past_tiles = urem i64 %columns, {tile.vectors * vector.lanes}
  %in_tiles = sub i64 %columns, %past_tiles
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %item, label %done

item:
  %i = phi i64 [ %begin, %entry ], [ %i_next, %item_end ]
  %row_tile = urem i64 %i, %row_tiles
  %matrix = udiv i64 %i, %row_tiles
  %row = mul i64 %row_tile, {tile.rows}
  %a_from = mul i64 %matrix, %a_matrix
  %a_here = getelementptr {number}, ptr %a, i64 %a_from
  %x_from = mul i64 %matrix, %x_matrix
  %x_here = getelementptr {number}, ptr %x, i64 %x_from
  %out_from = mul i64 %matrix, %out_matrix
  %out_here = getelementptr {number}, ptr %out, i64 %out_from
{row_starts}
  br label %wide

{columns_of_tiles(tile, "wide", "item", "0", "%in_tiles", "narrow")}
{columns_of_tiles(tile, "narrow", "wide", "%in_tiles", "%columns", "item_end")}
item_end:
  %i_next = add i64 %i, 1
  %more_items = icmp slt i64 %i_next, %end
  br i1 %more_items, label %item, label %done

done:
  ret void
}}
"""


def columns_of_tiles(tile: Tile, name: str, before: str, start: str, stop: str, after: str) -> str:
    """The loop `name` over the columns from `start` to `stop`, a tile at a time: those of "narrow" tiles have masks."""
    vector, (number, lanes), masked = tile.vector, tile.vector, name == "narrow"
    places = Vector("i64", lanes)
    rows, vectors = range(tile.rows), range(tile.narrow if masked else tile.vectors)
    cells = [(r, v) for r in rows for v in vectors]

    def load(v: int) -> str:
        names = f"{name}_x{v}", f"{name}_x_at{v}"
        return vector.load_masked(*names, f"mask{v}") if masked else vector.load(*names)

    def store(r: int, v: int) -> str:
        value, address = f"{name}_scaled{r}_{v}", f"{name}_out_at{r}_{v}"
        if not masked:
            return vector.store(value, address)
        what = f"{vector} %{value}, ptr %{address}, i32 {vector.bytes}, {vector.mask} %mask{v}"
        return f"  call void @llvm.masked.store.{vector.kind}.p0({what})"

    masks = lines(
        f"""\
  %left{v} = sub i64 %left, {v * lanes}
{places.everywhere(f"left{v}", f"%left{v}")}
  %mask{v} = icmp slt {places} {places.counted}, %left{v}_everywhere"""
        for v in vectors
    )
    load_x = lines(f"{vector.at(f'{name}_x_at{v}', f'{name}_x', v * lanes)}\n{load(v)}" for v in vectors)
    write = lines(
        f"""\
  %{name}_scaled{r}_{v} = fmul {vector} %{name}_more{r}_{v}, %factor_everywhere
  %{name}_column{r}_{v} = add i64 %{name}_column, {v * lanes}
  %{name}_out_at{r}_{v} = getelementptr {number}, ptr %out{r}, i64 %{name}_column{r}_{v}
{store(r, v)}"""
        for r, v in cells
    )
    return f"""\
{name}:
  %{name}_column = phi i64 [ {start}, %{before} ], [ %{name}_column_next, %{name}_tile_end ]
  %{name}_more = icmp slt i64 %{name}_column, {stop}
  br i1 %{name}_more, label %{name}_tile, label %{after}

{name}_tile:
  %{name}_x_tile = getelementptr {number}, ptr %x_here, i64 %{name}_column
{f"  %left = sub i64 %columns, %{name}_column" if masked else ""}
{masks if masked else ""}
  br label %{name}_term

{name}_term:
  %{name}_k = phi i64 [ 0, %{name}_tile ], [ %{name}_k_next, %{name}_term ]
  %{name}_a_from = phi i64 [ 0, %{name}_tile ], [ %{name}_a_next, %{name}_term ]
  %{name}_x = phi ptr [ %{name}_x_tile, %{name}_tile ], [ %{name}_x_next, %{name}_term ]
{sums(vector, cells, f"{name}_")}
{load_x}
{add_products(vector, rows, vectors, "a", f"%{name}_a_from", f"{name}_")}
  %{name}_k_next = add nuw nsw i64 %{name}_k, 1
  %{name}_a_next = add i64 %{name}_a_from, %a_term
  %{name}_x_next = getelementptr {number}, ptr %{name}_x, i64 %x_term
  %{name}_more_terms = icmp slt i64 %{name}_k_next, %terms
  br i1 %{name}_more_terms, label %{name}_term, label %{name}_tile_end

{name}_tile_end:
{write}
  %{name}_column_next = add i64 %{name}_column, {len(vectors) * lanes}
  br label %{name}
"""
