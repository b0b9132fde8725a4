"""Reading and writing where an index says, in large tensors (`ScatterGatherKernel.cpp`,
`IndexKernel.cpp` in `native/cpu`).

Along one dimension a tensor is a block with three dimensions, (outer, n, inner): `outer` slices of
n places, each a row of `inner` elements.

    gather        out[o, m, i] = x[o, index[o, m, i], i]        one index an element
    index_select  out[o, m, i] = x[o, index[m], i]              one index a row
    scatter       x[o, index[o, m, i], i] = src[o, m, i]        or +=, or *=
    index_add     x[o, index[m], i] += alpha * src[o, m, i]

Kernels that write go through m in order: of several writes to a place the last one wins, and sums
are the same every time. Threads share out the slices, or the columns where there is one slice only.

Every index is checked when it is used. To check all of them beforehand would not help: the kernel
runs without the GIL, and another thread may write to them meanwhile. A kernel cannot raise an
error, so it notes that an index was wrong, and goes on with the next row. As in PyTorch, a tensor
may be half written when the error is raised.

How the real one differs: `scatter` with repeated indices is a race between threads, and the first
wrong index ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import BOOL
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, TensorImpl, backed_ptr
from internals.machine_code.language import inline, kernel, template
from internals.machine_code.records import Elements, Indices
from internals.machine_code.settings import use_compiled

from .copying import BITS
from .elementwise import GRAIN, WORDS, WORTH_COMPILING, are_disjoint
from .entries import run

T, OP = template("T"), template("OP")  # the dtype, and how a new element joins the old one
# strides of the innermost loop, and of x along n and across `inner`: 0 or 1 if it is that, as the
# compiler makes vector loops of them; else -1, and the stride is an argument
STEP, ALONG, ACROSS = template("STEP"), template("ALONG"), template("ACROSS")
# whether threads share the columns, not the slices; whether a negative index counts from the end
BY_COLUMNS, WRAPS = template("BY_COLUMNS"), template("WRAPS")


class Steps(NamedTuple):
    """Strides, in elements."""

    outer: int
    n: int
    inner: int


class Block(NamedTuple):
    """A tensor around one dimension: sizes (outer, n, inner), and the strides of the three."""

    outer: int
    n: int
    inner: int
    strides: Steps

    def along_n(self) -> Block:
        """(outer, n, 1) as (outer, 1, n), for an `inner` of 1: so the kernels' inner loops run
        along n.
        """
        return Block(self.outer, 1, self.n, Steps(self.strides.outer, 0, self.strides.n))


@kernel
def read_elements(
    begin: int, end: int, out: Elements, x: Elements, index: Elements, wrong: Indices, n: int,
    steps: Steps, index_block: Block,
) -> None:  # fmt: skip
    """gather: out[o, p, i] = x[o, index[o, p, i], i]. One item of work is a row (o, p) of the
    index; `n` and `steps` are those of x."""
    step = index_block.strides.inner if STEP < 0 else STEP
    along, across = steps.n if ALONG < 0 else ALONG, steps.inner if ACROSS < 0 else ACROSS
    for row in range(begin, end):
        o, p = row // index_block.n, row % index_block.n
        # where the row begins in the index, and the slice in x; `out` is contiguous
        rows, start = o * index_block.strides.outer + p * index_block.strides.n, o * steps.outer
        for i in range(index_block.inner):
            at = index[rows + i * step]
            if WRAPS and at < 0:
                at += n
            if at < 0 or at >= n:
                wrong[0] = 1
                break
            out[row * index_block.inner + i] = x[start + at * along + i * across]


@kernel
def read_rows(
    begin: int, end: int, out: Elements, x: Elements, index: Elements, wrong: Indices, block: Block,
    m: int, index_step: int,
) -> None:  # fmt: skip
    """index_select: out[o, p, i] = x[o, index[p], i]. One item of work is a row (o, p); `block` is
    that of x."""
    n, inner, steps = block.n, block.inner, block.strides
    step = steps.inner if STEP < 0 else STEP
    for row in range(begin, end):
        o, p = row // m, row % m
        at = index[p * index_step]
        if WRAPS and at < 0:
            at += n
        if at < 0 or at >= n:
            wrong[0] = 1
        else:  # the whole row is copied
            start = o * steps.outer + at * steps.n
            for i in range(inner):
                out[row * inner + i] = x[start + i * step]


@kernel
def write_elements(
    begin: int, end: int, x: Elements, index: Elements, src: Elements, wrong: Indices, n: int,
    steps: Steps, index_block: Block, src_steps: Steps,
) -> None:  # fmt: skip
    """scatter: x[o, index[o, p, i], i] = OP(old, src[o, p, i]). One item of work is a slice, or,
    with `BY_COLUMNS`, a column."""
    # no two items write to the same place, so no two threads do
    first, last, left, right = begin, end, 0, index_block.inner
    if BY_COLUMNS:
        first, last, left, right = 0, index_block.outer, begin, end
    step = index_block.strides.inner if STEP < 0 else STEP
    along, across = steps.n if ALONG < 0 else ALONG, steps.inner if ACROSS < 0 else ACROSS
    for o in range(first, last):
        for p in range(index_block.n):
            start, source = o * steps.outer, o * src_steps.outer + p * src_steps.n
            rows = o * index_block.strides.outer + p * index_block.strides.n
            for i in range(left, right):
                at = index[rows + i * step]
                if at < 0 or at >= n:
                    wrong[0] = 1
                    break
                place = start + at * along + i * across
                x[place] = T(OP(x[place], src[source + i * src_steps.inner]))


@kernel
def add_rows(
    begin: int, end: int, x: Elements, index: Elements, src: Elements, alpha: Elements,
    wrong: Indices, n: int, steps: Steps, rows: Block, index_step: int,
) -> None:  # fmt: skip
    """index_add: x[o, index[p], i] += alpha * src[o, p, i]. One item of work is a slice, or, with
    `BY_COLUMNS`, a column; `rows` is the block of src.
    """
    # no two items write to the same place, so no two threads do
    first, last, left, right = begin, end, 0, rows.inner
    if BY_COLUMNS:
        first, last, left, right = 0, rows.outer, begin, end
    step = rows.strides.inner if STEP < 0 else STEP
    scale = alpha[0]
    for o in range(first, last):
        for p in range(rows.n):
            at = index[p * index_step]
            if WRAPS and at < 0:
                at += n
            if at < 0 or at >= n:
                wrong[0] = 1
            else:
                start = o * steps.outer + at * steps.n
                source = o * rows.strides.outer + p * rows.strides.n
                for i in range(left, right):
                    x[start + i] = T(x[start + i] + src[source + i * step] * scale)


# fmt: off
put      = inline(lambda old, new: new)
add      = inline(lambda old, new: old + new)
multiply = inline(lambda old, new: old * new)
# fmt: on
_WRITERS = {"": put, "add": add, "multiply": multiply}


def gather(out: Tensor, x: Tensor, dim: int, index: Tensor) -> bool | None:
    """Fill `out`. True if it is done, False if numpy has to do it, None if an index was wrong."""
    block, index_block = _block(x, dim), _block(index, dim)
    if (
        block is None
        or index_block is None
        or (block.outer, block.inner) != (index_block.outer, index_block.inner)
    ):
        return False
    bits = _reads(out, x, index)
    if bits is None:
        return False
    n, steps = block.n, block.strides
    if index_block.inner == 1:  # along the last dimension: let the inner loop run along it
        index_block, steps = index_block.along_n(), steps._replace(inner=0)
    bound = read_elements.bind(
        STEP=_known(index_block.strides.inner), ALONG=_known(steps.n), ACROSS=_known(steps.inner),
        WRAPS=False,
    )  # fmt: skip
    wrong, flag = _flag()
    words = f"*{bits} *{bits} *{WORDS[index.dtype]} *i8"
    units, grain = index_block.outer * index_block.n, max(1, GRAIN // index_block.inner)
    done = run(bound, words, units, grain, out, x, index, flag, n, steps, index_block)
    return None if wrong[0] else done


def index_select(
    out: Tensor, x: Tensor, dim: int, index: Tensor, wraps: bool = False
) -> bool | None:
    """Fill `out`. True if it is done, False if numpy has to do it, None if an index was wrong.
    `wraps`: -1 is the last place.
    """
    block = _block(x, dim)
    bits = None if block is None else _reads(out, x, index)
    if block is None or bits is None or (index.dim() > 1 and not index.is_contiguous()):
        return False
    m, step = index.numel(), index.stride()[-1] if index.dim() == 1 else 1
    words = f"*{bits} *{bits} *{WORDS[index.dtype]} *i8"
    wrong, flag = _flag()
    pointers = out, x, index, flag
    if block.inner == 1:
        # rows of one element: gather, with an index of stride 0 along `outer`
        known = {"STEP": _known(step), "ALONG": _known(block.strides.n), "ACROSS": 0}
        bound, units, grain = read_elements.bind(**known, WRAPS=wraps), block.outer, GRAIN // m
        index_block = Block(block.outer, 1, m, Steps(0, 0, step))
        sizes: tuple[Any, ...] = block.n, block.strides._replace(inner=0), index_block
    else:
        bound = read_rows.bind(STEP=_known(block.strides.inner), WRAPS=wraps)
        units, grain, sizes = block.outer * m, GRAIN // block.inner, (block, m, step)
    done = run(bound, words, units, max(1, grain), *pointers, *sizes)
    return None if wrong[0] else done


def scatter(x: Tensor, dim: int, index: Tensor, src: Tensor | Any, reduce: str = "") -> bool | None:
    """Write `src`, a tensor or a number, into `x`, or "add" or "multiply" it as `reduce` says. True
    if it is done, False if numpy has to do it, None if an index was wrong.
    """
    block, index_block = _block(x, dim), _block(index, dim)
    if (
        block is None
        or index_block is None
        or (block.outer, block.inner) != (index_block.outer, index_block.inner)
    ):
        return False
    words = _word(x) if reduce else _bits(x)
    kept_alive, values = None, None  # the memory of a number must live while the kernel runs
    if isinstance(src, TensorImpl):
        values = _block_of(src, dim, index.shape)
        if values is None or not are_disjoint(x, index, src):
            return False
        address, src_steps = backed_ptr(src), values.strides
    else:  # a number: strides of 0 read it for every element
        kept_alive = np.asarray(src, x.dtype.np)
        address, src_steps = kept_alive.__array_interface__["data"][0], Steps(0, 0, 0)
    if (
        words is None
        or not x.is_contiguous()
        or not _usable(index, index.numel())
        or not are_disjoint(x, index)
    ):
        return False
    # a single slice: threads share its columns
    n, steps, by_columns = block.n, block.strides, block.outer == 1 and block.inner > 1
    if index_block.inner == 1:
        index_block, steps = index_block.along_n(), steps._replace(inner=0)
        src_steps = Steps(src_steps.outer, 0, src_steps.n)
    bound = write_elements.bind(
        OP=_WRITERS[reduce], T=_number(words), BY_COLUMNS=by_columns,
        STEP=_known(index_block.strides.inner), ALONG=_known(steps.n), ACROSS=_known(steps.inner),
    )  # fmt: skip
    wrong, flag = _flag()
    units, work = index_block.outer, index_block.n * index_block.inner
    if by_columns:
        units, work = index_block.inner, index_block.n
    words = f"*{words} *{WORDS[index.dtype]} *{words} *i8"
    pointers = x, index, address, flag
    grain = max(1, GRAIN // work)
    done = run(bound, words, units, grain, *pointers, n, steps, index_block, src_steps)
    return None if wrong[0] else done


def index_add(
    x: Tensor, dim: int, index: Tensor, src: Tensor, alpha: Scalar = 1, wraps: bool = False
) -> bool | None:
    """Add rows of `src`, times alpha, to rows of x. True if it is done, False if numpy has to do
    it, None if an index was wrong. `wraps`: -1 is the last place.
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
        or not are_disjoint(x, index, src)
    ):
        return False
    if index.dim() > 1 and not index.is_contiguous():
        return False
    by_columns = block.outer == 1 and block.inner > 1  # one slice: threads share its columns
    bound = add_rows.bind(
        T=_number(words), BY_COLUMNS=by_columns, STEP=_known(rows.strides[2]), WRAPS=wraps
    )
    wrong, flag = _flag()
    scale = np.asarray(alpha, x.dtype.np)
    units, work = (block.inner, rows.n) if by_columns else (block.outer, rows.n * block.inner)
    step = index.stride()[-1] if index.dim() == 1 else 1
    words = f"*{words} *{WORDS[index.dtype]} *{words} *{words} *i8"
    pointers = x, index, src, scale.__array_interface__["data"][0], flag
    sizes = block.n, block.strides, rows, step
    done = run(bound, words, units, max(1, GRAIN // work), *pointers, *sizes)
    return None if wrong[0] else done


def _reads(out: Tensor, x: Tensor, index: Tensor) -> str | None:
    """The name of the elements' dtype for a kernel that reads them into `out`; None if there is no
    such kernel, or it does not pay."""
    if (
        not out.is_contiguous()
        or not _usable(index, out.numel())
        or not are_disjoint(out, x, index)
    ):
        return None
    return _bits(x) if x.numel() else None


def _bits(t: Tensor) -> str | None:
    """The name of an integer of the elements' size, for kernels that only move them; or None."""
    found = BITS.get(t.dtype.itemsize)
    return None if found is None else found[0]


def _word(t: Tensor) -> str | None:
    """The name of the elements' dtype, for kernels that add them up; None for other dtypes, and for
    bools, whose sum is a logical or."""
    return WORDS.get(t.dtype) if t.dtype.category != BOOL else None


def _usable(index: Tensor, numel: int) -> bool:
    """Whether kernels know the dtype of the index, and `numel` elements are worth one."""
    return (
        index.dtype in (dt.int64, dt.int32)
        and index.numel() > 0
        and use_compiled(numel, WORTH_COMPILING)
    )


def _block(t: TensorImpl, dim: int) -> Block | None:
    """`t` as (outer, n, inner) around `dim`. None if the dimensions before it, or those after it,
    cannot be merged into one.
    """
    return _block_of(t, dim, t.shape)


def _block_of(t: TensorImpl, dim: int, sizes: Sequence[int]) -> Block | None:
    """The part of `t` with these sizes, around `dim`."""
    strides = t.stride()
    if not sizes:
        return Block(1, 1, 1, Steps(0, 0, 0))
    before, after = (
        _merged(sizes[:dim], strides[:dim]),
        _merged(sizes[dim + 1 :], strides[dim + 1 :]),
    )
    if before is None or after is None:
        return None
    return Block(before[0], sizes[dim], after[0], Steps(before[1], strides[dim], after[1]))


def _merged(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """Dimensions merged into one: its (size, stride). None if no single stride reaches all."""
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
    """The stride if it is one that the compiler makes use of, else -1."""
    return stride if stride in (0, 1) else -1


def _number(word: str) -> type:
    return np.dtype(word).type


def _flag() -> tuple[Any, int]:
    """An array of one 0, which a kernel sets to 1 for a wrong index, and its address."""
    wrong = np.zeros(1, np.int64)
    return wrong, wrong.__array_interface__["data"][0]
