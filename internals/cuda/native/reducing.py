"""The launch of a reduction: which threads and blocks share its work (`setReduceConfig` in
`aten/src/ATen/native/cuda/Reduce.cuh`).

The dimensions of a tensor are of two sorts: those that are kept number the rows, those that are
reduced ("gone" in the result) lie within a row. Adjacent dimensions of a sort are merged, so that
usually one of each is left. Then two questions decide the launch:

- Are neighbours in memory elements of one row, or do they belong to different rows? Threads with
  consecutive x should read consecutive addresses, so in the first case the lanes of a row lie along
  x, in the second along y.
- Are there enough rows to keep the device busy? If not, each row gets many lanes, and if a block of
  them is not enough, many blocks, whose partial results a second launch reduces.

For example, the sum over dimension 1 of a contiguous (1000, 64) has 1000 rows of 64 neighbours, so
the lanes lie along x: 32 to a row, 8 rows to a block.

How the real one differs: it also decides how many elements a thread takes, and splits tensors of
more than 2^31 elements into several launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals._generated import ops
from internals.core.dtype import dtype
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, empty_contiguous

from .. import backend
from ..device_array import flat
from ..kernels import reduction as kernels, reduction_functors as functors
from ..kernels.accumulators import THREADS
from ..kernels.block_reduction import Accumulator, accumulator, block_total
from ..kernels.copy import offset_of
from ..launch import counted
from .opmath import dtype_of

if TYPE_CHECKING:
    from internals.machine_code.templates import DeviceFunction

UNROLL = 4  # elements that a thread has under way, as the kernel has four accumulators
LEAST = 4 * UNROLL  # elements that a lane should have, if a row is to get more lanes or blocks
BLOCKS_PER_PROCESSOR = 8  # of THREADS (256) threads: a multiprocessor holds 2048


@dataclass(frozen=True, eq=False)
class Reduction:
    """The functions that fill the template parameters of `kernels.reduction.reduce`."""

    kind: Accumulator
    identity: Any
    fold: Any
    combine: Any
    write: Any
    absorb: Any = None  # instead of `fold`: finds the element itself


@dataclass(frozen=True, eq=False)
class Recipe:
    """A reduction whose accumulator is one number, as functors of `reduction_functors.py`, before
    their types are known.
    """

    take: Any
    combine: Any
    first: Any  # the accumulator of no elements
    finish: Any = functors.as_it_is


@cache
def number(recipe: Recipe, T: type, R: type, OUT: type) -> Reduction:
    """`recipe` for elements read as `R`, accumulated in `T`, with results of type `OUT`."""
    f = functors
    fold = f.fold_number.bind(take=_typed(recipe.take, T=T, R=R), combine=recipe.combine)
    write = f.write_number.bind(finish=_typed(recipe.finish, T=T, OUT=OUT))
    return Reduction(
        accumulator("number", T),
        f.neutral.bind(T=T, FIRST=recipe.first),
        fold,
        recipe.combine,
        write,
    )


class Plan(NamedTuple):
    """The shape of a launch."""

    along_x: bool  # whether the lanes of a row lie along x
    lanes: int  # threads that share a row, in a block
    width: int  # rows of a block
    blocks: int
    splits: int  # blocks that share a row

    @property
    def grid(self) -> tuple[int, int]:
        return self.blocks, self.splits

    @property
    def block(self) -> tuple[int, int]:
        """(threads along x, threads along y): lanes and rows, or rows and lanes."""
        return (self.lanes, self.width) if self.along_x else (self.width, self.lanes)


class Rows(NamedTuple):
    """A tensor as rows: sizes and strides of the dimensions that number them (`kept`), and of those
    within a row (`gone`).
    """

    kept: tuple[int, ...]
    kept_strides: tuple[int, ...]
    gone: tuple[int, ...]
    gone_strides: tuple[int, ...]

    @property
    def height(self) -> int:
        """The number of rows."""
        return prod(self.kept)

    @property
    def length(self) -> int:
        """The number of elements in a row."""
        return prod(self.gone)


def reduce(
    reduction: Reduction,
    self: Tensor,
    dims: Sequence[int],
    results: Sequence[Any],
    parameter: Any = 0,
    ordered: bool = False,
    sources: Sequence[Any] | None = None,
) -> None:
    """Reduces `self` over `dims` into `results`, each with one element for each row. `ordered`:
    positions within a row matter.

    `sources` are the kernel's arguments instead of the elements of `self`, for a reduction with its
    own `absorb`.
    """
    rows = as_rows(tuple(self.shape), tuple(self.stride()), tuple(dims), ordered)
    if rows.height == 0:
        return
    count = processors(self.device.index)
    plan = plan_for(rows, count)
    targets = [
        t if t.is_contiguous() else empty_contiguous(t.shape, t.dtype, t.device) for t in results
    ]
    outs, elements = [flat(t) for t in targets], [flat(self)] if sources is None else list(sources)
    if plan.splits == 1:
        _launch(reduction, plan, rows, elements, outs, parameter, first=True, last=True)
    else:
        # the blocks' accumulators, (splits, height): one array for each part of a pair or triple
        parts = [
            empty_contiguous((plan.splits * rows.height,), dtype_of(t), self.device)
            for t in reduction.kind.parts
        ]
        partial = [flat(t) for t in parts]
        _launch(reduction, plan, rows, elements, partial, parameter, first=True, last=False)
        # row r is now column r of (splits, height)
        rest = Rows((rows.height,), (1,), (plan.splits,), (rows.height,))
        plan = plan_for(rest, count, may_split=False)
        _launch(reduction, plan, rest, partial, outs, parameter, first=False, last=True)
    write_back(targets, results)


@lru_cache(maxsize=1 << 12)
def as_rows(
    sizes: tuple[int, ...], strides: tuple[int, ...], dims: tuple[int, ...], ordered: bool = False
) -> Rows:
    """The dimensions of a tensor, divided into those kept and those gone. If order does not matter,
    the latter are sorted by stride, so that more of them can be merged.
    """
    kept = _merged([(sizes[d], strides[d]) for d in range(len(sizes)) if d not in dims])
    gone = [(sizes[d], strides[d]) for d in sorted(dims)]
    if not ordered:
        gone.sort(key=lambda pair: -pair[1])
    return Rows(*kept, *_merged(gone))


def contiguous_rows(rows: int, n: int, inner: int) -> Rows:
    """The rows of a contiguous (outer, n, inner), along its middle dimension; `rows` is outer *
    inner. For a plan only: the kernels that use it compute their own offsets.
    """
    return Rows((rows,), (n if inner == 1 else 1,), (n,), (inner,))


@lru_cache(maxsize=1 << 12)
def plan_for(rows: Rows, processors: int, may_split: bool = True) -> Plan:
    """The launch for `rows` on a device with that many multiprocessors. Unless it `may_split`, each
    row stays in one block.
    """
    count, n = rows.height, rows.length
    # whether neighbours within a row are closer in memory than neighbouring rows
    along_x = n >= 16 and (
        count == 1 or rows.gone_strides[-1] < rows.kept_strides[-1] or rows.kept_strides[-1] == 0
    )
    if along_x:  # at least a warp to a row, and as many rows as fill a block
        lanes = min(THREADS, max(32, _power_of_two(-(-n // UNROLL))))
        width = min(THREADS // lanes, _power_of_two(count))
    else:  # at least a warp of neighbouring rows
        width = min(THREADS, max(32, _power_of_two(count)))
        lanes = 1
        if -(-count // width) < processors * BLOCKS_PER_PROCESSOR:
            # too few threads: several lanes to a row
            width = 32
            lanes = min(THREADS // width, _power_of_two(-(-n // LEAST)))
    blocks = -(-count // width)
    # as many as the device can hold at once, if each lane has LEAST elements; y has 65535 at most
    splits = min(processors * BLOCKS_PER_PROCESSOR // blocks, n // (lanes * LEAST), 65535)
    return Plan(along_x, lanes, width, blocks, max(splits, 1) if may_split else 1)


def _launch(
    reduction: Reduction, plan: Plan, rows: Rows, sources: list[Any], outs: list[Any],
    parameter: Scalar, first: bool, last: bool,
) -> None:  # fmt: skip
    """Launches the kernel; see `instance`."""
    evenly = len(rows.gone) == 1
    kernel = instance(reduction, plan.along_x, evenly, first, last)
    kernel = counted(kernel, max(rows.height, rows.length))
    missing = (0, 0)  # for the second and third arrays, where the accumulator has fewer parts
    kernel[plan.grid, plan.block](
        *(*outs, *missing)[:3],
        *(*sources, *missing)[:3],
        rows.height,
        rows.length,
        parameter,
        *rows,
    )


@cache
def instance(reduction: Reduction, along_x: bool, evenly: bool, first: bool, last: bool) -> Any:
    """The kernel of a launch. The first one reads elements, later ones partial results; the last
    one writes results, earlier ones partial results. `evenly`: one dimension is gone, so that the
    elements of a row lie at even distances.
    """
    kind, combine = reduction.kind, reduction.combine
    absorb = reduction.absorb or kernels.absorb_element.bind(fold=reduction.fold)
    return kernels.reduce.bind(
        ALONG_X=along_x,
        identity=reduction.identity,
        combine=combine,
        total=block_total(kind, combine, along_x),
        absorb=absorb if first else kernels.absorb_part.bind(combine=combine, get=kind.get),
        write=reduction.write if last else kernels.write_part.bind(put=kind.put),
        reach=kernels.evenly if evenly else offset_of,
    )


def write_back(targets: Sequence[Any], results: Sequence[Any]) -> None:
    """Copies each of `targets` to the result that it stood in for, unless it is the result."""
    for target, result in zip(targets, results):
        if target is not result:
            ops.copy_(result, target, False)


def converted(self: Tensor, d: dtype) -> Any:
    """`self`, or from floating point to integers a copy of dtype `d`: this conversion a kernel
    should not do as it reads.
    """
    if self.dtype.is_floating_point and not d.is_floating_point:
        return ops._to_copy(self, d, None, None, None, False, None)
    return self


def examples(
    reduction: Reduction, source: str, outs: Sequence[str], parameter: Any
) -> list[tuple[Any, tuple[Any, ...]]]:
    """Four instances of a reduction, each with the types of its arguments, for compiling them
    without a launch: along x and along y to results, to partial results, and from partial results.
    """
    missing = (int, int)
    final = (*[f"{t}[:]" for t in outs], *missing)[:3]
    parts = (*[f"{np.dtype(t).name}[:]" for t in reduction.kind.parts], *missing)[:3]
    elements = (f"{source}[:]", *missing)
    rest = (int, int, parameter, (int,), (int,), (int,), (int,))
    return [  # along_x, evenly, first, last, by position as in `_launch`: `instance` is cached
        (instance(reduction, True, True, True, True), (*final, *elements, *rest)),
        (instance(reduction, False, False, True, True), (*final, *elements, *rest)),
        (instance(reduction, True, True, True, False), (*parts, *elements, *rest)),
        (instance(reduction, False, True, False, True), (*final, *parts, *rest)),
    ]


def _typed(function: DeviceFunction, **types: Any) -> Any:
    """`function` with those of `types` that it has as template parameters."""
    return function.bind(
        **{name: value for name, value in types.items() if name in function.names()}
    )


def _merged(dimensions: list[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides of `dimensions`, pairs of (size, stride). Neighbours are merged if the
    outer one steps over exactly the inner one; of no dimensions, one of size 1 is left.
    """
    merged: list[tuple[int, int]] = []
    for size, stride in dimensions:
        if size == 1:
            continue
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    sizes, strides = zip(*(merged or [(1, 0)]))
    return sizes, strides


def _power_of_two(n: int) -> int:
    """The smallest power of two that is not below `n`."""
    return 1 << max(n - 1, 0).bit_length()


@cache
def processors(index: int) -> int:
    """The number of multiprocessors of a device."""
    return backend.driver().properties(index).multi_processor_count
