"""Attention in LLVM's language: for a few queries at a time, their scores, the weights, and the
mean of the values.

The three steps are kernels of their own, which are called by their addresses: both products
(`gemm_code`) and the softmax of rows between them (`attention.weights_of_rows`). Scores and weights
stay in two pieces of memory that are small enough for a cache. Each call takes such a pair for
itself, by an atomic addition to a counter; there are as many pairs as there can be calls.

How the real one differs: flash attention (`aten/src/ATen/native/cpu/FlashAttentionKernel.cpp`) cuts
the keys into blocks too, and corrects the result as larger scores appear.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from internals.machine_code.records import Pointer

from .gemm_code import Gemm
from .registers import Vector
from .vector_code import Code


class Steps(NamedTuple):
    """How far apart batches, heads and rows of a tensor are, in elements."""

    batch: int
    head: int
    row: int


class Weigh(NamedTuple):
    """The arguments of `attention.weights_of_rows`."""

    scores: Pointer
    weights: Pointer
    n: int
    pitch: int
    sees: int
    more: int


class Attend(NamedTuple):
    """The arguments of the kernel."""

    queries: Pointer
    keys: Pointer  # (batch, heads, size, n_keys), contiguous
    values: Pointer
    out: Pointer
    pieces: Pointer  # scores and weights, in pairs
    taken: Pointer  # how many of the pairs are in use
    factor: float
    score: Pointer  # the addresses of the three kernels
    weigh: Pointer
    mix: Pointer
    rows_of_keys: Pointer  # the tables of offsets of both products
    rows_of_values: Pointer
    of_queries: Steps
    of_values: Steps
    of_out: Steps
    heads: int
    n_queries: int
    n_keys: int
    size: int  # numbers in a key
    value_size: int  # and in a value
    column: int  # how far apart the numbers of a query are
    block: int  # queries at a time
    score_rows: int  # queries in a tile of the first product
    mix_rows: int  # and of the second
    causal: int  # whether a query sees only the keys up to its own place


def write_attend(vector: Vector) -> str:
    """The LLVM text of the kernel. One item of work is a block of queries of one head."""
    code = Code("attend", Attend, vector)
    a: Any = code.arguments
    slots = [code.slots(record) for record in (Gemm, Weigh, Gemm)]
    # once for each call: a pair of pieces, (block, n_keys) for scores and as much for weights
    pair, size_of_scores = code.take(a.taken), code.mul(a.block, a.n_keys)
    scores = code.at(a.pieces, code.mul(code.mul(pair, 2), size_of_scores))
    weights = code.at(scores, size_of_scores)
    blocks, all_seen = code.parts(a.n_queries, a.block), code.is_zero(a.causal)

    def one_item(i: Any, _: object) -> None:
        matrix, place = code.divmod(i, blocks)
        batch, head = code.divmod(matrix, a.heads)
        first = code.mul(place, a.block)
        count = code.min(a.block, code.sub(a.n_queries, first))
        # keys seen by the last query of the block, and by its first; causal: up to its own place
        seen = code.select(all_seen, a.n_keys, code.min(code.add(first, count), a.n_keys))
        first_sees = code.select(all_seen, a.n_keys, code.add(first, 1))
        keys = code.at(a.keys, code.mul(matrix, code.mul(a.size, a.n_keys)))

        def row_at(start: Any, steps: Any, row: Any) -> Any:
            """The address of a row of this batch and head."""
            places = (steps.batch, batch), (steps.head, head), (steps.row, row)
            return code.at(start, *(code.mul(step, i) for step, i in places))

        # (count, size) @ (size, seen), times the factor
        score = Gemm(
            row_at(a.queries, a.of_queries, first), keys, a.rows_of_keys, scores, count, seen,
            a.size, seen, a_row=a.of_queries.row, a_term=a.column, out_row=a.n_keys,
            factor=a.factor,
        )  # fmt: skip
        # (count, seen) @ (seen, value_size)
        mix = Gemm(
            weights, row_at(a.values, a.of_values, 0), a.rows_of_values,
            row_at(a.out, a.of_out, first), count, a.value_size, seen, a.value_size,
            a_row=a.n_keys, a_term=1, out_row=a.of_out.row,
        )  # fmt: skip
        weigh = Weigh(scores, weights, seen, a.n_keys, first_sees, a.causal)
        steps = (a.score, score, code.parts(count, a.score_rows)), (a.weigh, weigh, count)
        for place, (kernel, record, n) in zip(
            slots, (*steps, (a.mix, mix, code.parts(count, a.mix_rows)))
        ):
            code.run(kernel, record, place, n)

    code.range(code.begin, code.end, [], one_item)
    return code.finish()
