"""The inner loop of `product` in LLVM's language, for a tile of any size.

It is written out because a compiler does not find this form from a loop over numbers: the sums are values `%sum0_0` to
`%sum7_2`, 24 vectors that go round from one turn of the loop `term` to the next (`phi`) and never to memory; the vectors of x are
loaded once a turn, each weight once, into all lanes of a vector (`shufflevector`). What `fmuladd` becomes is the CPU's choice:
one instruction, rounding once, or two.

Around it: `tile` goes along the columns of a block, `item` through the blocks of rows, of columns, and images that make up the
thread's part of the work. What is added to `out` is summed from zero first: chains of additions stay short, and so do their
rounding errors.

How the real one differs: such loops are written in assembler (OpenBLAS), with a generator of machine code (oneDNN), or with a
compiler's intrinsic functions (FBGEMM).
"""

from __future__ import annotations

from typing import NamedTuple

from .tile_code import Arguments, Vector, add_products, lines, read, signature, starts_of_rows, sums

ARGUMENTS: Arguments = {
    "ptr": ("weights", "x", "offsets", "out"),
    # rows and columns of the result; terms of each sum; columns that are computed before the next rows are;
    # matrices of weights that take turns with the images, and how far they lie apart, as do images and rows; 1 to add to `out`
    "i64": (
        "rows", "terms", "columns", "block", "turns", "w_matrix", "x_image", "out_image", "out_row", "adding"
    ),
}  # fmt: skip
SIGNATURE = signature(ARGUMENTS)


class Tile(NamedTuple):
    """What is kept in registers: `rows` times `vectors` vectors."""

    vector: Vector
    rows: int
    vectors: int

    @property
    def columns(self) -> int:
        return self.vectors * self.vector.lanes


def text(tile: Tile) -> str:
    """The LLVM module. Its function `product` does the items of work from `begin` to `end`."""
    vector, at = tile.vector, tile.vector.at
    rows, vectors = range(tile.rows), range(tile.vectors)
    cells = [(r, v) for r in rows for v in vectors]
    out_cells = lines(at(f"out{r}_{v}", f"out{r}", v * vector.lanes) for r, v in cells)
    load_x = lines(
        [
            *(at(f"x_at{v}", "x_row", v * vector.lanes) for v in vectors),
            *(vector.load(f"x{v}", f"x_at{v}") for v in vectors),
        ]
    )
    old = lines(vector.load(f"old{r}_{v}", f"out{r}_{v}") for r, v in cells)
    add = lines(f"  %both{r}_{v} = fadd {vector} %old{r}_{v}, %more{r}_{v}" for r, v in cells)
    write, write_both = (
        lines(vector.store(f"{name}{r}_{v}", f"out{r}_{v}") for r, v in cells) for name in ("more", "both")
    )
    return f"""
{vector.multiplies}
declare i64 @llvm.smin.i64(i64, i64)

define void @product(i64 %begin, i64 %end, ptr %slots) {{
entry:
{read(ARGUMENTS)}
  %rows_up = add i64 %rows, {tile.rows - 1}
  %row_tiles = udiv i64 %rows_up, {tile.rows}
  %last_row = sub i64 %rows, {tile.rows}
  %last_column = sub i64 %columns, {tile.columns}
  %columns_and_block = add i64 %columns, %block
  %columns_up = sub i64 %columns_and_block, 1
  %blocks = udiv i64 %columns_up, %block
  %continues = icmp ne i64 %adding, 0
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %item, label %done

item:
  %i = phi i64 [ %begin, %entry ], [ %i_next, %item_end ]
  %row_tile = urem i64 %i, %row_tiles
  %i_rest = udiv i64 %i, %row_tiles
  %block_number = urem i64 %i_rest, %blocks
  %image = udiv i64 %i_rest, %blocks
  %turn = urem i64 %image, %turns
  %row_wanted = mul i64 %row_tile, {tile.rows}
  %row = call i64 @llvm.smin.i64(i64 %row_wanted, i64 %last_row)
  %first = mul i64 %block_number, %block
  %behind = add i64 %first, %block
  %last = call i64 @llvm.smin.i64(i64 %behind, i64 %columns)
  %w_turn = mul i64 %turn, %w_matrix
  %w_first = mul i64 %row, %terms
  %w_from = add i64 %w_turn, %w_first
{at("w_tile", "weights", "%w_from")}
{starts_of_rows(vector, "w", "terms", rows)}
  %x_from = mul i64 %image, %x_image
{at("x_start", "x", "%x_from")}
  %out_at_image = mul i64 %image, %out_image
  %out_at_row = mul i64 %row, %out_row
  %out_from = add i64 %out_at_image, %out_at_row
{at("out_start", "out", "%out_from")}
  br label %tile

tile:
  %q = phi i64 [ %first, %item ], [ %q_next, %tile_end ]
  %column = call i64 @llvm.smin.i64(i64 %q, i64 %last_column)
{at("x_tile", "x_start", "%column")}
{at("out_tile", "out_start", "%column")}
{starts_of_rows(vector, "out", "out_row", rows)}
{out_cells}
  br label %term

term:
  %k = phi i64 [ 0, %tile ], [ %k_next, %term ]
{sums(vector, cells)}
  %offset_at = getelementptr i64, ptr %offsets, i64 %k
  %offset = load i64, ptr %offset_at
{at("x_row", "x_tile", "%offset")}
{load_x}
{add_products(vector, rows, vectors, "w", "%k")}
  %k_next = add nuw nsw i64 %k, 1
  %more_terms = icmp slt i64 %k_next, %terms
  br i1 %more_terms, label %term, label %sums

sums:
  br i1 %continues, label %continue, label %write

continue:
{old}
{add}
{write_both}
  br label %tile_end

write:
{write}
  br label %tile_end

tile_end:
  %q_next = add i64 %q, {tile.columns}
  %more_columns = icmp slt i64 %q_next, %last
  br i1 %more_columns, label %tile, label %item_end

item_end:
  %i_next = add i64 %i, 1
  %more_items = icmp slt i64 %i_next, %end
  br i1 %more_items, label %item, label %done

done:
  ret void
}}
"""
