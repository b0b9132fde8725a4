"""Attention in LLVM's language: for a few queries at a time, their scores, the weights, and the mean of the values.

The three steps are kernels of their own, which are called by their addresses: both products (`batches_code`) and the softmax of
rows between them (`attention.weights_of_rows`). Scores and weights stay in two small pieces of memory, so that none of the three
has to wait for it. Each call takes a pair for itself, by an atomic addition; there are as many as there can be calls.

How the real one differs: flash attention (`aten/src/ATen/native/cpu/FlashAttentionKernel.cpp`) cuts the keys into blocks too, and
corrects the result as larger scores appear.
"""

from __future__ import annotations

from .batches_code import ARGUMENTS as OF_PRODUCT
from .tile_code import Arguments, lines, read, signature, slots

ARGUMENTS: Arguments = {
    "ptr": ("score", "weigh", "mix", "queries", "keys", "values", "out", "pieces", "taken"),
    # heads, queries, keys, and numbers in a key and a value; queries at a time, and in a tile of either product; whether a
    # query sees only the keys up to its own place; how far batches, heads, rows and columns lie apart
    "i64": (
        "heads", "n_queries", "n_keys", "size", "value_size", "block", "score_rows", "mix_rows", "causal",
        "q_batch", "q_head", "q_row", "q_column", "v_batch", "v_head", "v_row", "out_batch", "out_head", "out_row",
    ),
    "double": ("factor",),
}  # fmt: skip
SIGNATURE = signature(ARGUMENTS)


def text(number: str) -> str:
    """The LLVM module for "float" or "double". Its function `attend` does the blocks of queries from `begin` to `end`."""
    of_scores = {
        "a": "%q_here", "x": "%k_here", "out": "%scores", "rows": "%count", "columns": "%seen", "terms": "%size",
        "a_row": "%q_row", "a_term": "%q_column", "x_term": "%n_keys", "out_row": "%n_keys", "factor": "%factor",
    }  # fmt: skip
    of_mix = {
        "a": "%weights", "x": "%v_here", "out": "%out_here", "rows": "%count", "columns": "%value_size", "terms": "%seen",
        "a_row": "%n_keys", "a_term": "1", "x_term": "%v_row", "out_row": "%out_row", "factor": "1.0",
    }  # fmt: skip
    product = slots(OF_PRODUCT)
    weights = [("ptr", "%scores"), ("ptr", "%weights")]
    weights += [("i64", value) for value in ("%seen", "%n_keys", "%first_sees", "%causal")]
    return f"""
declare i64 @llvm.smin.i64(i64, i64)

define void @attend(i64 %begin, i64 %end, ptr %slots) {{
entry:
{read(ARGUMENTS)}
  %of_scores = alloca [{len(product)} x i64]
  %of_weights = alloca [{len(weights)} x i64]
  %of_mix = alloca [{len(product)} x i64]
  %piece = atomicrmw add ptr %taken, i64 1 seq_cst
  %piece_size = mul i64 %block, %n_keys
  %both_pieces = mul i64 %piece, 2
  %piece_from = mul i64 %both_pieces, %piece_size
  %scores = getelementptr {number}, ptr %pieces, i64 %piece_from
  %weights = getelementptr {number}, ptr %scores, i64 %piece_size
  %keys_size = mul i64 %size, %n_keys
  %queries_up = add i64 %n_queries, %block
  %queries_behind = sub i64 %queries_up, 1
  %blocks = udiv i64 %queries_behind, %block
  %is_causal = icmp ne i64 %causal, 0
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %item, label %done

item:
  %i = phi i64 [ %begin, %entry ], [ %i_next, %item ]
  %place = urem i64 %i, %blocks
  %matrix = udiv i64 %i, %blocks
  %head = urem i64 %matrix, %heads
  %batch = udiv i64 %matrix, %heads
  %first = mul i64 %place, %block
  %left = sub i64 %n_queries, %first
  %count = call i64 @llvm.smin.i64(i64 %block, i64 %left)
  %behind = add i64 %first, %count
  %seen_by_last = call i64 @llvm.smin.i64(i64 %behind, i64 %n_keys)
  %seen = select i1 %is_causal, i64 %seen_by_last, i64 %n_keys
  %one_more = add i64 %first, 1
  %first_sees = select i1 %is_causal, i64 %one_more, i64 %n_keys
  %k_from = mul i64 %matrix, %keys_size
  %k_here = getelementptr {number}, ptr %keys, i64 %k_from
{_place(number, "q", "queries", "%first")}
{_place(number, "v", "values", "0")}
{_place(number, "out", "out", "%first")}
{_fill("of_scores", [(kind, of_scores.get(name, "0")) for kind, name in product])}
{_fill("of_weights", weights)}
{_fill("of_mix", [(kind, of_mix.get(name, "0")) for kind, name in product])}
{_tiles("score")}
{_tiles("mix")}
  call void %score(i64 0, i64 %score_tiles, ptr %of_scores)
  call void %weigh(i64 0, i64 %count, ptr %of_weights)
  call void %mix(i64 0, i64 %mix_tiles, ptr %of_mix)
  %i_next = add i64 %i, 1
  %more_items = icmp slt i64 %i_next, %end
  br i1 %more_items, label %item, label %done

done:
  ret void
}}
"""


def _place(number: str, name: str, start: str, row: str) -> str:
    """The address of a row of this batch and head."""
    return f"""\
  %{name}_to_batch = mul i64 %batch, %{name}_batch
  %{name}_to_head = mul i64 %head, %{name}_head
  %{name}_to_row = mul i64 {row}, %{name}_row
  %{name}_there = add i64 %{name}_to_batch, %{name}_to_head
  %{name}_from = add i64 %{name}_there, %{name}_to_row
  %{name}_here = getelementptr {number}, ptr %{start}, i64 %{name}_from"""


def _fill(places: str, arguments: list[tuple[str, str]]) -> str:
    """Write the arguments of a kernel to its slots."""
    return lines(
        f"  %{places}{i} = getelementptr i64, ptr %{places}, i64 {i}\n  store {kind} {value}, ptr %{places}{i}"
        for i, (kind, value) in enumerate(arguments)
    )


def _tiles(product: str) -> str:
    """How many tiles high the result of a product is."""
    return f"""\
  %{product}_up = add i64 %count, %{product}_rows
  %{product}_behind = sub i64 %{product}_up, 1
  %{product}_tiles = udiv i64 %{product}_behind, %{product}_rows"""
