"""Attention in one call of machine code: softmax(q @ k.T * scale) @ v for a few queries at a time.

The scores are not returned, so they need not be kept: twelve queries are compared with all keys,
the scores become weights, and the weights give the means of the values, before the next twelve
queries are read (`attention_code`). With `is_causal`, keys that come after all twelve queries are
not multiplied either. The keys are transposed by a copy first: the product loads vectors from the
rows of its second matrix.

How the real one differs: `_scaled_dot_product_flash_attention_for_cpu` also takes masks, and has a
gradient.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from internals.core.geometry import Geometry
from internals.core.tensor_impl import Tensor, backed_ptr
from internals.machine_code import kernel, template
from internals.machine_code.entry import Entry
from internals.machine_code.parallel import get_num_threads
from internals.machine_code.pool import PARTS_A_THREAD
from internals.machine_code.records import Elements

from . import gemm
from .copying import plan_copy
from .entries import FLOATS, machine_code_of
from .registers import register_for
from .row_functions import keys_for, row_exp, row_largest
from .scratch import Scratch, Table

BLOCK = 12  # queries at a time: a multiple of the heights of most tiles
MOST_KEYS = 1 << 13  # with more, scores and weights of a block no longer fit into a cache

T = template("T")  # the dtype of scores and weights
W = template("W")  # the dtype that they are summed in


@kernel
def weights_of_rows(
    begin: int,
    end: int,
    scores: Elements,
    weights: Elements,
    n: int,
    pitch: int,
    sees: int,
    more: int,
) -> None:
    """softmax of rows of n scores, `pitch` apart. Row r sees the first `sees + r * more` of them.

    The weight of what it does not see is 0; in a row where all that is seen is -inf, all are 0.
    """
    for row in range(begin, end):
        start, count = row * pitch, min(n, sees + row * more)
        largest = row_largest(scores, start, count, 1)
        factor = T(0)
        if largest > T(-np.inf) or largest != largest:
            factor = T(W(1) / row_exp(scores, weights, start, count, 1, largest))
            for i in range(start, start + count):
                weights[i] *= factor
        else:  # all -inf: softmax would be 0 / 0
            count = 0
        for i in range(start + count, start + n):
            weights[i] = T(0)


class Plan(NamedTuple):
    """The entry to call, its arguments, and how to copy the keys first."""

    entry: Entry
    items: int
    grain: int
    numbers: tuple[Any, ...]  # all arguments but addresses of tensors and the factor
    tables: tuple[Table, Table]  # `numbers` has their addresses, so they must live as long
    copy: Any
    copied: int  # elements of the copied keys


def attend(
    query: Tensor, key: Tensor, value: Tensor, out: Tensor, factor: float, is_causal: bool
) -> bool:
    """Fill `out` (batch, heads, L, V) with the attention of queries (batch, heads, L, E) to keys
    (batch, heads, S, E) and values (batch, heads, S, V); `factor` multiplies the scores. False if
    the operators have to do it, one by one."""
    plan = _plan(query._geometry, key._geometry, value._geometry, out._geometry, is_causal)
    if plan is None:
        return False
    dtype, n_keys, pieces = query.dtype, key._geometry.sizes[2], PARTS_A_THREAD * get_num_threads()
    # no two calls that run at once may share scores: `taken` counts the pieces given to calls
    keys, scores, taken = (
        Scratch(plan.copied, dtype),
        Scratch(2 * pieces * BLOCK * n_keys, dtype),
        ctypes.c_int64(0),
    )
    plan.copy.run(keys.address, backed_ptr(key))
    tensors = (
        backed_ptr(query),
        keys.address,
        backed_ptr(value),
        backed_ptr(out),
        scores.address,
    )
    plan.entry.parallel(
        plan.items, plan.grain, *tensors, ctypes.addressof(taken), factor, *plan.numbers
    )
    return True


@lru_cache(maxsize=1 << 12)
def _plan(q: Geometry, k: Geometry, v: Geometry, out: Geometry, is_causal: bool) -> Plan | None:
    """The plan for tensors of these geometries; None where the kernels do not take them."""
    (batch, heads, n_queries, size), (n_keys, value_size) = q.sizes, v.sizes[2:]
    fits = k.sizes == (batch, heads, n_keys, size) and v.sizes[:2] == (batch, heads)
    if q.dtype not in FLOATS or not fits or 0 in (*q.sizes, *v.sizes) or n_keys > MOST_KEYS:
        return None
    if v.strides[3] != 1 or not gemm.available(q.dtype):
        return None
    number: Any = q.dtype.np
    bound = weights_of_rows.bind(T=number.type, W=np.float64, **keys_for(number.type))
    weigh = machine_code_of(bound, f"*{number.str[1:]} *{number.str[1:]}")
    # keys (batch, heads, n_keys, size) are copied as (batch, heads, size, n_keys)
    columns = (*k.strides[:2], k.strides[3], k.strides[2])
    packed = (heads * size * n_keys, size * n_keys, n_keys, 1)
    copy = plan_copy(k.dtype, k.dtype, (batch, heads, size, n_keys), packed, columns)
    if weigh is None or copy is None:
        return None
    rows = min(BLOCK, n_queries)
    # (rows, size) @ (size, n_keys), then (rows, n_keys) @ (n_keys, value_size)
    tiles = [gemm.best_tile(q.dtype, rows, columns) for columns in (n_keys, value_size)]
    score, mix = (gemm.entry(tile).address for tile in tiles)
    from .attention_code import Attend, write_attend
    from .vector_code import entry_of

    tables = gemm.rows_apart(size, n_keys), gemm.rows_apart(n_keys, v.strides[2])
    kernels = score, weigh.address, mix, tables[0].address, tables[1].address
    sizes = (
        heads,
        n_queries,
        n_keys,
        size,
        value_size,
        q.strides[3],
        BLOCK,
        tiles[0].rows,
        tiles[1].rows,
    )
    numbers = *kernels, *q.strides[:3], *v.strides[:3], *out.strides[:3], *sizes, int(is_causal)
    entry = entry_of(write_attend, Attend, register_for(q.dtype))
    grain = max(1, gemm.GRAIN // (BLOCK * n_keys * (size + value_size)))
    items, copied = batch * heads * ceil(n_queries / BLOCK), batch * heads * size * n_keys
    return Plan(entry, items, grain, numbers, tables, copy, copied)
