"""`sort` and `topk` of rows (`aten/src/ATen/native/cpu/SortingKernel.cpp`).

A radix sort compares nothing. It takes the last byte of every key, counts how often each of the 256
bytes occurs, which tells where the elements with that byte go, and puts them there in the order in
which they come; then it does the same with the next byte. As each round keeps the order of what it
cannot tell apart, the rows are sorted after the first byte, and stably so. Rounds in which all
bytes are the same are left out.

Keys are integers that order as the elements do (`pieces.py`); NaN has the largest, and -0 that of
0. To sort downwards all bits of the keys are turned over, so that equal elements still keep their
order.

`topk` of a few keeps those it has found in order, and looks at the rest once: hardly any is better
than the last of them.

How the real one differs: it sorts with `std::stable_sort` over pairs of iterators, or with vector
instructions where those are at hand and stability was not asked for; `topk` is `std::nth_element`
or `std::partial_sort`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core.tensor_impl import array
from internals.machine_code import inline, kernel, template
from internals.machine_code.parallel import get_num_threads
from internals.machine_code.records import Elements

from .entries import run
from .row_functions import float32_key, float64_key, identity, larger
from .rows import WORD, address

if TYPE_CHECKING:
    from internals._tensor import Tensor

THRESHOLD = 1 << 14
GRAIN = 1 << 14
SHORT = 64  # rows shorter than this numpy sorts as quickly
FEW = 64  # what topk finds by keeping them in order

T = template("T")
K = template("K")  # the integer that keys are
key = template("key")
BYTES = template("BYTES")
SIGN = template("SIGN")
before = template("before")


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
    for part in range(begin, end):
        first_count = part * BYTES * 256
        for row in range(part * rows // parts, (part + 1) * rows // parts):
            here, there = 2 * part * n, (2 * part + 1) * n
            for c in range(first_count, first_count + BYTES * 256):
                counts[c] = 0
            for i in range(n):
                k = sort_key(x[row * n + i]) ^ K(flip)
                keys[here + i] = k
                places[here + i] = i
                for byte in range(BYTES):
                    counts[first_count + byte * 256 + ((k >> (8 * byte)) & 255)] += 1
            for byte in range(BYTES):
                count = first_count + byte * 256
                if counts[count + ((keys[here] >> (8 * byte)) & 255)] == n:
                    continue
                total = 0
                for c in range(count, count + 256):
                    smaller, total = total, total + counts[c]
                    counts[c] = smaller
                for i in range(here, here + n):
                    c = count + ((keys[i] >> (8 * byte)) & 255)
                    target = there + counts[c]
                    counts[c] += 1
                    keys[target] = keys[i]
                    places[target] = places[i]
                here, there = there, here
            for i in range(n):
                place = places[here + i]
                indices[row * n + i] = place
                values[row * n + i] = x[row * n + place]


@inline
def sort_key(v: float) -> Any:
    """An integer whose bits, read without a sign, order as the elements do."""
    return K(key(v + T(0)) ^ SIGN) if v == v else K(-1)


@kernel
def best_of_rows(
    begin: int, end: int, x: Elements, values: Elements, indices: Elements, n: int, k: int
) -> None:
    for row in range(begin, end):
        first, last, held = row * k, row * k + k - 1, 0
        for i in range(n):
            v = x[row * n + i]
            if held < k or before(v, values[last]):
                at = first + held if held < k else last
                while at > first and before(v, values[at - 1]):
                    values[at], indices[at] = values[at - 1], indices[at - 1]
                    at -= 1
                values[at], indices[at] = v, i
                held = held + 1 if held < k else k


@inline
def smaller_than_nan(a: float, b: float) -> Any:
    """Whether a comes before b upwards: here NaN comes last."""
    return (a < b) | ((b != b) & (a == a))


def sort(t: Tensor, values: Tensor, indices: Tensor, dim: int, descending: bool) -> bool:
    """Fill `values`, `indices` with the elements of `t` in order along `dim`, and where they were.
    False if numpy has to.
    """
    if t.dtype.np.char not in WORD or not SHORT <= t.shape[dim] < 1 << 31:
        return False
    x = np.ascontiguousarray(np.moveaxis(array(t), dim, -1))
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
    if not straight:
        for target, a in zip((values, indices), found):
            array(target)[...] = np.moveaxis(a, -1, dim)
    return True


def topk(t: Tensor, k: int, dim: int, largest: bool) -> Any:
    """(values, indices) of the first k along `dim`, in order, as arrays. None if numpy has to find
    them.
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
    """How elements of a numpy dtype become keys, for `bind`."""
    number = np.uint8 if d.char == "?" else d.type
    if d.itemsize == 8:
        wide = {"K": np.int64, "BYTES": 8, "SIGN": -(2**63)}
    else:
        wide = {"K": np.int32, "BYTES": 4, "SIGN": -(2**31)}
    return {"T": number, "key": {"f": float32_key, "d": float64_key}.get(d.char, identity), **wide}
