"""The inner loop of `dots` in LLVM's language, for a tile of any size.

A tile of the result is `rows` times `columns` dot products. Their sums are vectors, `%sum0_0` to `%sum3_5`, which go round in
registers (`phi`) while the loop `term` goes along the rows of both matrices, a vector at a time; what is left over at the end of
the rows is read through a mask, as if zeros followed. Only then are the numbers of each vector added up (`vector.reduce.fadd`,
which may take them in pairs: `reassoc`).

How the real one differs: MKL writes such loops in assembler, for sizes where copying does not pay (`mkl_jit_create_sgemm`).
"""

from __future__ import annotations

from typing import NamedTuple

ARGUMENTS = {
    "ptr": ("x", "w", "bias", "out"),
    # rows and columns of the result; terms of each sum; how far rows of x, of w, numbers of the bias, and rows of out lie apart
    "i64": ("rows", "columns", "terms", "x_row", "w_row", "bias_step", "out_row"),
}  # fmt: skip
SIGNATURE = "*f4 " * len(ARGUMENTS["ptr"]) + "i8 " * len(ARGUMENTS["i64"])


class Tile(NamedTuple):
    """`rows` times `columns` sums in registers, each a vector of `lanes` numbers of a type ("float" or "double")."""

    type: str
    lanes: int
    rows: int
    columns: int


def text(tile: Tile) -> str:
    """The LLVM module. Its function `dots` does the columns of tiles from `begin` to `end`."""
    number, vector, bits = tile.type, f"<{tile.lanes} x {tile.type}>", 32 if tile.type == "float" else 64
    kind = f"v{tile.lanes}f{bits}"
    fma, add_up = f"{vector} @llvm.fmuladd.{kind}", f"{number} @llvm.vector.reduce.fadd.{kind}"
    masked_load = f"{vector} @llvm.masked.load.{kind}.p0"
    mask, places = f"<{tile.lanes} x i1>", f"<{tile.lanes} x i64>"
    counted = ", ".join(f"i64 {i}" for i in range(tile.lanes))
    rows, columns = range(tile.rows), range(tile.columns)
    cells = [(r, c) for r in rows for c in columns]
    factors = [*(f"x{r}" for r in rows), *(f"w{c}" for c in columns)]

    def lines(*parts: str) -> str:
        return "\n".join(parts)

    slots = [(kind, name) for kind, names in ARGUMENTS.items() for name in names]
    arguments = lines(
        *(
            f"  %{name}_at = getelementptr i64, ptr %slots, i64 {i}\n  %{name} = load {kind}, ptr %{name}_at"
            for i, (kind, name) in enumerate(slots)
        )
    )

    def rows_of(matrix: str, count: range) -> str:
        moves = (
            f"  %{matrix}_move{i} = mul i64 %{matrix}_row, {i}\n"
            f"  %{matrix}{i} = getelementptr {number}, ptr %{matrix}_tile, i64 %{matrix}_move{i}"
            for i in count
        )
        return lines(*moves)

    def at(block: str, k: str) -> str:
        return lines(*(f"  %{block}_at_{f} = getelementptr {number}, ptr %{f}, i64 %{k}" for f in factors))

    def multiply(block: str, sums: str) -> str:
        calls = (
            f"  %{block}{r}_{c} = call {fma}({vector} %{block}_x{r}, {vector} %{block}_w{c}, {vector} %{sums}{r}_{c})"
            for r, c in cells
        )
        return lines(*calls)

    sums = lines(
        *(f"  %sum{r}_{c} = phi {vector} [ zeroinitializer, %tile ], [ %more{r}_{c}, %term ]" for r, c in cells)
    )
    loads = lines(*(f"  %more_{f} = load {vector}, ptr %more_at_{f}, align {bits // 8}" for f in factors))
    masked_loads = lines(
        *(
            f"  %rest_{f} = call {masked_load}(ptr %rest_at_{f}, i32 {bits // 8}, {mask} %mask, {vector} zeroinitializer)"
            for f in factors
        )
    )
    totals = lines(
        *(f"  %all{r}_{c} = phi {vector} [ %sum{r}_{c}, %ends ], [ %rest{r}_{c}, %rest ]" for r, c in cells),
        *(f"  %dot{r}_{c} = call reassoc {add_up}({number} -0.0, {vector} %all{r}_{c})" for r, c in cells),
    )
    bias = lines(
        *(
            lines(
                f"  %bias_move{c} = mul i64 %bias_step, {c}",
                f"  %bias_at{c} = getelementptr {number}, ptr %bias_tile, i64 %bias_move{c}",
                f"  %bias{c} = load {number}, ptr %bias_at{c}",
            )
            for c in columns
        )
    )
    write = lines(
        *(
            lines(
                f"  %result{r}_{c} = fadd {number} %dot{r}_{c}, %bias{c}",
                f"  %out{r}_{c} = getelementptr {number}, ptr %out{r}, i64 {c}",
                f"  store {number} %result{r}_{c}, ptr %out{r}_{c}",
            )
            for r, c in cells
        )
    )
    return f"""
declare {fma}({vector}, {vector}, {vector})
declare {add_up}({number}, {vector})
declare {masked_load}(ptr, i32, {mask}, {vector})
declare i64 @llvm.smin.i64(i64, i64)

define void @dots(i64 %begin, i64 %end, ptr %slots) {{
entry:
{arguments}
  %last_row = sub i64 %rows, {tile.rows}
  %last_column = sub i64 %columns, {tile.columns}
  %left_over = urem i64 %terms, {tile.lanes}
  %in_vectors = sub i64 %terms, %left_over
  %one = insertelement {places} poison, i64 %left_over, i64 0
  %everywhere = shufflevector {places} %one, {places} poison, <{tile.lanes} x i32> zeroinitializer
  %mask = icmp ult {places} <{counted}>, %everywhere
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %item, label %done

item:
  %i = phi i64 [ %begin, %entry ], [ %i_next, %item_end ]
  %column_wanted = mul i64 %i, {tile.columns}
  %column = call i64 @llvm.smin.i64(i64 %column_wanted, i64 %last_column)
  %w_from = mul i64 %column, %w_row
  %w_tile = getelementptr {number}, ptr %w, i64 %w_from
{rows_of("w", columns)}
  %bias_from = mul i64 %column, %bias_step
  %bias_tile = getelementptr {number}, ptr %bias, i64 %bias_from
{bias}
  br label %tile

tile:
  %row_wanted = phi i64 [ 0, %item ], [ %row_next, %tile_end ]
  %row = call i64 @llvm.smin.i64(i64 %row_wanted, i64 %last_row)
  %x_from = mul i64 %row, %x_row
  %x_tile = getelementptr {number}, ptr %x, i64 %x_from
{rows_of("x", rows)}
  br label %whole

whole:
  %k = phi i64 [ 0, %tile ], [ %k_next, %term ]
{sums}
  %more_vectors = icmp slt i64 %k, %in_vectors
  br i1 %more_vectors, label %term, label %ends

term:
{at("more", "k")}
{loads}
{multiply("more", "sum")}
  %k_next = add nuw nsw i64 %k, {tile.lanes}
  br label %whole

ends:
  %something_left = icmp ne i64 %left_over, 0
  br i1 %something_left, label %rest, label %tile_end

rest:
{at("rest", "k")}
{masked_loads}
{multiply("rest", "sum")}
  br label %tile_end

tile_end:
{totals}
  %out_from_row = mul i64 %row, %out_row
  %out_from = add i64 %out_from_row, %column
  %out_tile = getelementptr {number}, ptr %out, i64 %out_from
{rows_of("out", rows)}
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
