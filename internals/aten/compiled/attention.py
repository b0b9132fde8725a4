"""Attention in one call of machine code: softmax(q @ k.T * scale) @ v for a few queries at a time.

The scores are not returned, so need not be kept: twelve queries are compared with all keys, their
scores become weights, and these the mean of the values, before the next twelve come
(`attention_code`). With `is_causal` keys that are not seen are not multiplied either. The keys are
copied first, rows as columns, since the product wants its second matrix so.

How the real one differs: `_scaled_dot_product_flash_attention_for_cpu` also takes masks, and has a
gradient.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.core.geometry import Geometry
from internals.core.tensor_impl import backed_ptr
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

if TYPE_CHECKING:
    from internals._tensor import Tensor

BLOCK = 12  # queries at a time: tiles of most heights fit in
MOST_KEYS = 1 << 13

T = template("T")
W = template("W")


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
    """softmax of rows of n, `pitch` apart: of the first `sees` of the first row, `more` more of
    each row after it.

    What is not seen weighs nothing; a row of nothing but -inf is all zeros.
    """
    for row in range(begin, end):
        start, count = row * pitch, min(n, sees + row * more)
        largest = row_largest(scores, start, count, 1)
        factor = T(0)
        if largest > T(-np.inf) or largest != largest:
            factor = T(W(1) / row_exp(scores, weights, start, count, 1, largest))
            for i in range(start, start + count):
                weights[i] *= factor
        else:
            count = 0
        for i in range(start + count, start + n):
            weights[i] = T(0)


class Plan(NamedTuple):
    """The entry to call, its arguments, and how to copy the keys first."""

    entry: Entry
    items: int
    grain: int
    numbers: tuple[Any, ...]  # all arguments but addresses of tensors and the factor
    tables: tuple[Table, Table]
    copy: Any
    copied: int


def attend(
    query: Tensor, key: Tensor, value: Tensor, out: Tensor, factor: float, is_causal: bool
) -> bool:
    """Fill `out` (batch, heads, L, V) with what queries (batch, heads, L, E) get of keys (batch,
    heads, S, E) and values (batch, heads, S, V); `factor` multiplies the scores. False if the
    operators are to do it, one by one."""
    plan = _plan(query._geometry, key._geometry, value._geometry, out._geometry, is_causal)
    if plan is None:
        return False
    dtype, n_keys, pieces = query.dtype, key._geometry.sizes[2], PARTS_A_THREAD * get_num_threads()
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
    (batch, heads, n_queries, size), (n_keys, value_size) = q.sizes, v.sizes[2:]
    fits = k.sizes == (batch, heads, n_keys, size) and v.sizes[:2] == (batch, heads)
    if q.dtype not in FLOATS or not fits or 0 in (*q.sizes, *v.sizes) or n_keys > MOST_KEYS:
        return None
    if v.strides[3] != 1 or not gemm.available(q.dtype):
        return None
    number: Any = q.dtype.np
    bound = weights_of_rows.bind(T=number.type, W=np.float64, **keys_for(number.type))
    weigh = machine_code_of(bound, f"*{number.str[1:]} *{number.str[1:]}")
    columns = (*k.strides[:2], k.strides[3], k.strides[2])
    packed = (heads * size * n_keys, size * n_keys, n_keys, 1)
    copy = plan_copy(k.dtype, k.dtype, (batch, heads, size, n_keys), packed, columns)
    if weigh is None or copy is None:
        return None
    rows = min(BLOCK, n_queries)
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
