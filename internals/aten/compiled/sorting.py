"""`sort` and `topk` of rows (`aten/src/ATen/native/cpu/SortingKernel.cpp`).

A radix sort compares nothing. It takes the last byte of every key, counts how often each of the 256
values occurs, which tells where the elements with that byte go, and puts them there in the order in
which they come; then it does the same with the byte before. Each round keeps the order of elements
with equal bytes, so after the round of the first byte the row is sorted, and stably so. Rounds in
which all bytes are the same are skipped.

Keys are integers that order as the elements do (`row_functions.py`); NaN has the largest, and -0
that of 0. To sort in descending order all bits of the keys are flipped, so that equal elements
still keep their order.

`topk` for a small k keeps the best k so far in order, and looks at each element once: hardly any is
better than the last of them.

How the real one differs: it sorts with `std::stable_sort` over pairs of iterators, or with vector
instructions where those are at hand and stability was not asked for; `topk` is `std::nth_element`
or `std::partial_sort`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.tensor_impl import Tensor, array
from internals.machine_code import inline, kernel, template
from internals.machine_code.parallel import get_num_threads
from internals.machine_code.records import Elements

from .entries import run
from .row_functions import float32_key, float64_key, identity, larger
from .rows import WORD, address

THRESHOLD = 1 << 14  # from how many elements on this is faster than numpy
GRAIN = 1 << 14  # how many elements are worth a thread
SHORT = 64  # numpy sorts shorter rows as quickly
FEW = 64  # the largest k for which topk keeps the best in order

T = template("T")  # the dtype
K = template("K")  # the integer type of keys
key = template("key")  # from an element to its key
BYTES = template("BYTES")  # how many a key has
SIGN = template("SIGN")  # the key's sign bit
before = template("before")  # whether one element comes before another


@kernel
def sorts_of_rows(
    begin: int,
    end: int,
    x: Elements,
    values: Elements,
    indices: Elements,
    keys: Elements,
    places: Elements,
    counts: Elements,
    n: int,
    rows: int,
    parts: int,
    flip: int,
) -> None:
    """Sort the rows of x (rows, n) into `values`, with their positions in `indices`. One item of
    work is one of `parts` equal parts of the rows.

    Each part has memory of its own: keys and places (2, n), read from one half and written to the
    other, and counts (BYTES, 256). flip: 0, or -1 for descending order."""
    for part in range(begin, end):
        first_count = part * BYTES * 256
        for row in range(part * rows // parts, (part + 1) * rows // parts):
            current, spare = 2 * part * n, (2 * part + 1) * n
            for c in range(first_count, first_count + BYTES * 256):
                counts[c] = 0
            # one pass counts the bytes of all rounds: rounds only move keys, so counts stay true
            for i in range(n):
                k = sort_key(x[row * n + i]) ^ K(flip)
                keys[current + i] = k
                places[current + i] = i
                for byte in range(BYTES):
                    counts[first_count + byte * 256 + ((k >> (8 * byte)) & 255)] += 1
            for byte in range(BYTES):
                count = first_count + byte * 256
                if counts[count + ((keys[current] >> (8 * byte)) & 255)] == n:
                    continue  # all keys have the same byte here
                # from how often a byte occurs to where the first key with it goes
                total = 0
                for c in range(count, count + 256):
                    smaller, total = total, total + counts[c]
                    counts[c] = smaller
                # from one half of the memory to the other, in order, so equal bytes keep theirs
                for i in range(current, current + n):
                    c = count + ((keys[i] >> (8 * byte)) & 255)
                    target = spare + counts[c]
                    counts[c] += 1
                    keys[target] = keys[i]
                    places[target] = places[i]
                current, spare = spare, current
            for i in range(n):
                place = places[current + i]
                indices[row * n + i] = place
                values[row * n + i] = x[row * n + place]


@inline
def sort_key(v: float) -> Any:
    """An integer whose bits, read without a sign, order as the elements do; all ones for NaN."""
    # + 0 turns -0 into 0; ^ SIGN moves negative keys below the others
    return K(key(v + T(0)) ^ SIGN) if v == v else K(-1)


@kernel
def best_of_rows(
    begin: int, end: int, x: Elements, values: Elements, indices: Elements, n: int, k: int
) -> None:
    """The first k of each row of x (rows, n), in order, and their positions, both (rows, k)."""
    for row in range(begin, end):
        first, last, held = row * k, row * k + k - 1, 0
        for i in range(n):
            v = x[row * n + i]
            if held < k or before(v, values[last]):
                # insert it, and move those behind it on by one; the last of k drops out
                at = first + held if held < k else last
                while at > first and before(v, values[at - 1]):
                    values[at], indices[at] = values[at - 1], indices[at - 1]
                    at -= 1
                values[at], indices[at] = v, i
                held = held + 1 if held < k else k


@inline
def smaller_than_nan(a: float, b: float) -> Any:
    """Whether a comes before b in ascending order, in which NaN comes last."""
    return (a < b) | ((b != b) & (a == a))


def sort(t: Tensor, values: Tensor, indices: Tensor, dim: int, descending: bool) -> bool:
    """Fill `values` with the elements of `t` in order along `dim`, and `indices` with their
    positions in `t`. False if numpy has to do it.
    """
    if t.dtype.np.char not in WORD or not SHORT <= t.shape[dim] < 1 << 31:
        return False
    x = np.ascontiguousarray(np.moveaxis(array(t), dim, -1))  # rows, a copy unless dim is the last
    n, word = x.shape[-1], WORD[x.dtype.char]
    rows = x.size // n
    bindings = _keys(x.dtype)
    wide = np.dtype(bindings["K"])
    words = f"{word} {word} *i8 {WORD[wide.char]} *i4 *i4"
    parts = min(get_num_threads(), rows, max(1, x.size // GRAIN))
    keys, places = np.empty((parts, 2, n), wide), np.empty((parts, 2, n), np.int32)
    counts = np.empty((parts, bindings["BYTES"], 256), np.int32)
    straight = dim == t.dim() - 1 and values.is_contiguous() and indices.is_contiguous()
    found = (
        (array(values), array(indices))
        if straight
        else (np.empty_like(x), np.empty(x.shape, np.int64))
    )
    addresses = [address(a) for a in (x, *found, keys, places, counts)]
    sizes = n, rows, parts, -int(descending)
    if not run(sorts_of_rows.bind(**bindings), words, parts, 1, *addresses, *sizes):
        return False
    if not straight:  # the results are rows, too, and have to be copied back
        for target, a in zip((values, indices), found):
            array(target)[...] = np.moveaxis(a, -1, dim)
    return True


def topk(t: Tensor, k: int, dim: int, largest: bool) -> Any:
    """(values, indices) of the k largest (or smallest) elements along `dim`, in order, as arrays.
    None if numpy has to find them.
    """
    if t.dtype.np.char not in WORD or not 0 < k <= FEW:
        return None
    x = np.ascontiguousarray(np.moveaxis(array(t), dim, -1))
    word = WORD[x.dtype.char]
    bound = best_of_rows.bind(before=larger if largest else smaller_than_nan)
    n, kept = x.shape[-1], (*x.shape[:-1], k)
    values, indices = np.empty(kept, x.dtype), np.empty(kept, np.int64)
    grain, addresses = max(1, GRAIN // n), [address(a) for a in (x, values, indices)]
    if not run(bound, f"{word} {word} *i8", x.size // n, grain, *addresses, n, k):
        return None
    return np.moveaxis(values, -1, dim), np.moveaxis(indices, -1, dim)


def _keys(d: Any) -> dict[str, Any]:
    """The template parameters that make keys of elements of a numpy dtype, for `bind`."""
    number = np.uint8 if d.char == "?" else d.type
    if d.itemsize == 8:
        wide = {"K": np.int64, "BYTES": 8, "SIGN": -(2**63)}
    else:
        wide = {"K": np.int32, "BYTES": 4, "SIGN": -(2**31)}
    return {"T": number, "key": {"f": float32_key, "d": float64_key}.get(d.char, identity), **wide}
