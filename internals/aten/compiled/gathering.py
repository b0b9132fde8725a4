"""Reading and writing where an index says, in large tensors (`ScatterGatherKernel.cpp`,
`IndexKernel.cpp` in `native/cpu`).

Along one dimension a tensor is a block of three: `outer` slices of n places, each a row of `inner`
elements.

    gather        out[o, m, i] = x[o, index[o, m, i], i]        one index an element
    index_select  out[o, m, i] = x[o, index[m], i]              one index a row
    scatter       x[o, index[o, m, i], i] = src[o, m, i]        or +=, or *=
    index_add     x[o, index[m], i] += alpha * src[o, m, i]

Whoever writes goes through m in order, so that the last of several wins and sums come out the same
every time; threads share the slices, or where there is but one, the columns.

An index is checked when it is used, each time it is: a first look at all of them would not help,
because the kernel runs without the GIL and another thread may write to them. A kernel cannot raise
an error, so it notes that an index was wrong, and goes on with the others: as in PyTorch, a tensor
may be half written when the error comes.

How the real one differs: `scatter` with repeated indices is a race between threads, and the first
wrong index ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import BOOL
from internals.core.tensor_impl import TensorImpl, backed_ptr
from internals.machine_code.language import inline, kernel, template
from internals.machine_code.settings import use_compiled

from .copying import BITS
from .elementwise import GRAIN, WORDS, WORTH_COMPILING, are_apart
from .ready import run

T, OP = template("T"), template("OP")
# a stride where it is 0 or 1, else -1
STEP, ALONG, ACROSS = template("STEP"), template("ALONG"), template("ACROSS")
BY_COLUMNS, WRAPS = template("BY_COLUMNS"), template("WRAPS")


@kernel
def read_elements(
    begin, end, out, x, index, wrong, n, m, inner, x_o, x_n, x_i, index_o, index_m, index_i
):
    """gather, for a range of rows (o, m). `WRAPS`: -1 is the last place."""
    step, along, across = (
        index_i if STEP < 0 else STEP,
        x_n if ALONG < 0 else ALONG,
        x_i if ACROSS < 0 else ACROSS,
    )
    for row in range(begin, end):
        o, p = row // m, row % m
        rows, start = o * index_o + p * index_m, o * x_o
        for i in range(inner):
            at = index[rows + i * step]
            if WRAPS and at < 0:
                at += n
            if at < 0 or at >= n:
                wrong[0] = 1
                break
            out[row * inner + i] = x[start + at * along + i * across]


@kernel
def read_rows(begin, end, out, x, index, wrong, n, m, inner, x_o, x_n, x_i, index_m):
    """index_select, for a range of rows (o, m). `WRAPS`: -1 is the last place."""
    step = x_i if STEP < 0 else STEP
    for row in range(begin, end):
        o, p = row // m, row % m
        at = index[p * index_m]
        if WRAPS and at < 0:
            at += n
        if at < 0 or at >= n:
            wrong[0] = 1
        else:
            start = o * x_o + at * x_n
            for i in range(inner):
                out[row * inner + i] = x[start + i * step]


@kernel
def write_elements(
    begin,
    end,
    x,
    index,
    src,
    wrong,
    n,
    outer,
    m,
    inner,
    x_o,
    x_n,
    x_i,
    index_o,
    index_m,
    index_i,
    src_o,
    src_m,
    src_i,
):
    """scatter, for a range of slices, or of the columns of all slices."""
    first, last, left, right = begin, end, 0, inner
    if BY_COLUMNS:
        first, last, left, right = 0, outer, begin, end
    step, along, across = (
        index_i if STEP < 0 else STEP,
        x_n if ALONG < 0 else ALONG,
        x_i if ACROSS < 0 else ACROSS,
    )
    for o in range(first, last):
        for p in range(m):
            start, rows, source = o * x_o, o * index_o + p * index_m, o * src_o + p * src_m
            for i in range(left, right):
                at = index[rows + i * step]
                if at < 0 or at >= n:
                    wrong[0] = 1
                    break
                place = start + at * along + i * across
                x[place] = T(OP(x[place], src[source + i * src_i]))


@kernel
def add_rows(
    begin,
    end,
    x,
    index,
    src,
    alpha,
    wrong,
    outer,
    m,
    inner,
    n,
    x_o,
    x_n,
    index_m,
    src_o,
    src_m,
    src_i,
):
    """index_add, for a range of slices, or of the columns of all slices. `WRAPS`: -1 is the last
    place.
    """
    first, last, left, right = begin, end, 0, inner
    if BY_COLUMNS:
        first, last, left, right = 0, outer, begin, end
    step = src_i if STEP < 0 else STEP
    scale = alpha[0]
    for o in range(first, last):
        for p in range(m):
            at = index[p * index_m]
            if WRAPS and at < 0:
                at += n
            if at < 0 or at >= n:
                wrong[0] = 1
            else:
                start, source = o * x_o + at * x_n, o * src_o + p * src_m
                for i in range(left, right):
                    x[start + i] = T(x[start + i] + src[source + i * step] * scale)


# fmt: off
put      = inline(lambda old, new: new)
add      = inline(lambda old, new: old + new)
multiply = inline(lambda old, new: old * new)
# fmt: on
_WRITERS = {"": put, "add": add, "multiply": multiply}


class Block(NamedTuple):
    """A tensor around one dimension: sizes (outer, n, inner), and the strides of the three."""

    outer: int
    n: int
    inner: int
    strides: tuple[int, int, int]


def gather(out: TensorImpl, x: TensorImpl, dim: int, index: TensorImpl) -> bool | None:
    """True if it is done, False if numpy is to do it, None if an index was wrong."""
    block, places = _block(x, dim), _block(index, dim)
    if (
        block is None
        or places is None
        or (block.outer, block.inner) != (places.outer, places.inner)
    ):
        return False
    bits = _reads(out, x, index)
    if bits is None:
        return False
    m, inner, (index_o, index_m, index_i), (x_o, x_n, x_i) = (
        places.n,
        places.inner,
        places.strides,
        block.strides,
    )
    if inner == 1:  # the last dimension: let the kernel's inner loop run along it
        m, inner, index_m, index_i, x_i = 1, m, 0, index_m, 0
    bound = read_elements.bind(
        STEP=_known(index_i), ALONG=_known(x_n), ACROSS=_known(x_i), WRAPS=False
    )
    wrong, flag = _flag()
    done = run(
        bound, f"*{bits} *{bits} *{WORDS[index.dtype]} *i8" + " i8" * 9,
        block.outer * m, max(1, GRAIN // inner),
        backed_ptr(out), backed_ptr(x), backed_ptr(index), flag,
        block.n, m, inner, x_o, x_n, x_i, index_o, index_m, index_i,
    )  # fmt: skip
    return None if wrong[0] else done


def index_select(
    out: TensorImpl, x: TensorImpl, dim: int, index: TensorImpl, wraps: bool = False
) -> bool | None:
    """True if it is done, False if numpy is to do it, None if an index was wrong. `wraps`: -1 is
    the last place.
    """
    block = _block(x, dim)
    bits = None if block is None else _reads(out, x, index)
    if block is None or bits is None or (index.dim() > 1 and not index.is_contiguous()):
        return False
    m, index_m = index.numel(), index.stride()[-1] if index.dim() == 1 else 1
    (x_o, x_n, x_i), inner, words = (
        block.strides,
        block.inner,
        f"*{bits} *{bits} *{WORDS[index.dtype]} *i8",
    )
    wrong, flag = _flag()
    addresses = backed_ptr(out), backed_ptr(x), backed_ptr(index), flag
    if inner == 1:
        steps = {"STEP": _known(index_m), "ALONG": _known(x_n), "ACROSS": 0}
        bound = read_elements.bind(**steps, WRAPS=wraps)
        units = block.outer
        sizes: tuple[int, ...] = (block.n, 1, m, x_o, x_n, 0, 0, 0, index_m)
    else:
        bound = read_rows.bind(STEP=_known(x_i), WRAPS=wraps)
        units, sizes = block.outer * m, (block.n, m, inner, x_o, x_n, x_i, index_m)
    grain = max(1, GRAIN // (m if inner == 1 else inner))
    done = run(bound, words + " i8" * len(sizes), units, grain, *addresses, *sizes)
    return None if wrong[0] else done


def scatter(
    x: TensorImpl, dim: int, index: TensorImpl, src: TensorImpl | Any, reduce: str = ""
) -> bool | None:
    """Write `src`, a tensor or a number, into `x`. True if it is done, False if numpy is to do it,
    None for a wrong index.
    """
    block, places = _block(x, dim), _block(index, dim)
    if (
        block is None
        or places is None
        or (block.outer, block.inner) != (places.outer, places.inner)
    ):
        return False
    words = _word(x) if reduce else _bits(x)
    held, values = None, None
    if isinstance(src, TensorImpl):
        values = _block_of(src, dim, index.shape)
        if values is None or not are_apart(x, index, src):
            return False
        address, strides = backed_ptr(src), values.strides
    else:
        held = np.asarray(src, x.dtype.np)
        address, strides = held.__array_interface__["data"][0], (0, 0, 0)
    if (
        words is None
        or not x.is_contiguous()
        or not _usable(index, index.numel())
        or not are_apart(x, index)
    ):
        return False
    m, inner, (index_o, index_m, index_i), (x_o, x_n, x_i) = (
        places.n,
        places.inner,
        places.strides,
        block.strides,
    )
    if inner == 1:
        m, inner, index_m, index_i, x_i = 1, m, 0, index_m, 0
        strides = strides[0], 0, strides[1]
    by_columns = block.outer == 1 and block.inner > 1
    steps = {"STEP": _known(index_i), "ALONG": _known(x_n), "ACROSS": _known(x_i)}
    bound = write_elements.bind(
        OP=_WRITERS[reduce], T=_number(words), BY_COLUMNS=by_columns, **steps
    )
    wrong, flag = _flag()
    n, work = (inner, m) if by_columns else (block.outer, m * inner)
    done = run(
        bound, f"*{words} *{WORDS[index.dtype]} *{words} *i8" + " i8" * 13,
        n, max(1, GRAIN // work), backed_ptr(x), backed_ptr(index), address, flag,
        block.n, block.outer, m, inner, x_o, x_n, x_i, index_o, index_m, index_i, *strides,
    )  # fmt: skip
    return None if wrong[0] else done


def index_add(
    x: TensorImpl, dim: int, index: TensorImpl, src: TensorImpl, alpha: Any = 1, wraps: bool = False
) -> bool | None:
    """Add rows. True if it is done, False if numpy is to do it, None for a wrong index. `wraps`: -1
    is the last place.
    """
    block, rows = _block(x, dim), _block(src, dim)
    if (
        block is None
        or rows is None
        or (block.outer, index.numel(), block.inner) != (rows.outer, rows.n, rows.inner)
    ):
        return False
    words = _word(x) if src.dtype is x.dtype else None
    if (
        words is None
        or not x.is_contiguous()
        or not _usable(index, src.numel())
        or not are_apart(x, index, src)
    ):
        return False
    if index.dim() > 1 and not index.is_contiguous():
        return False
    by_columns = block.outer == 1 and block.inner > 1
    bound = add_rows.bind(
        T=_number(words), BY_COLUMNS=by_columns, STEP=_known(rows.strides[2]), WRAPS=wraps
    )
    wrong, flag = _flag()
    scale = np.asarray(alpha, x.dtype.np)
    n, work = (block.inner, rows.n) if by_columns else (block.outer, rows.n * block.inner)
    index_m = index.stride()[-1] if index.dim() == 1 else 1
    done = run(
        bound, f"*{words} *{WORDS[index.dtype]} *{words} *{words} *i8" + " i8" * 10,
        n, max(1, GRAIN // work), backed_ptr(x), backed_ptr(index), backed_ptr(src),
        scale.__array_interface__["data"][0], flag,
        block.outer, rows.n, block.inner, block.n, *block.strides[:2], index_m, *rows.strides,
    )  # fmt: skip
    return None if wrong[0] else done


def _reads(out: TensorImpl, x: TensorImpl, index: TensorImpl) -> str | None:
    """What the elements are called if they can be read by machine code, and that pays."""
    if not out.is_contiguous() or not _usable(index, out.numel()) or not are_apart(out, x, index):
        return None
    return _bits(x) if x.numel() else None


def _bits(t: TensorImpl) -> str | None:
    """What elements are called that are only moved."""
    found = BITS.get(t.dtype.itemsize)
    return None if found is None else found[0]


def _word(t: TensorImpl) -> str | None:
    """What elements are called that are added up; for bools that means something else."""
    return WORDS.get(t.dtype) if t.dtype.category != BOOL else None


def _usable(index: TensorImpl, numel: int) -> bool:
    return (
        index.dtype in (dt.int64, dt.int32)
        and index.numel() > 0
        and use_compiled(numel, WORTH_COMPILING)
    )


def _block(t: TensorImpl, dim: int) -> Block | None:
    """`t` around `dim`. None if the dimensions before it, or those after it, are not one
    stretch.
    """
    return _block_of(t, dim, t.shape)


def _block_of(t: TensorImpl, dim: int, sizes: Sequence[int]) -> Block | None:
    """The part of `t` with these sizes, around `dim`."""
    strides = t.stride()
    if not sizes:
        return Block(1, 1, 1, (0, 0, 0))
    before, after = (
        _merged(sizes[:dim], strides[:dim]),
        _merged(sizes[dim + 1 :], strides[dim + 1 :]),
    )
    if before is None or after is None:
        return None
    return Block(before[0], sizes[dim], after[0], (before[1], strides[dim], after[1]))


def _merged(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """Dimensions as one: its size and stride. None if they cannot be."""
    size, stride = 1, 0
    for n, s in zip(reversed(sizes), reversed(strides)):
        if n == 1:
            continue
        if size == 1:
            stride = s
        elif s != size * stride:
            return None
        size *= n
    return size, stride


def _known(stride: int) -> int:
    """The stride, if the compiler is to know it."""
    return stride if stride in (0, 1) else -1


def _number(word: str) -> type:
    return np.dtype(word).type


def _flag() -> tuple[Any, int]:
    wrong = np.zeros(1, np.int64)
    return wrong, wrong.__array_interface__["data"][0]
