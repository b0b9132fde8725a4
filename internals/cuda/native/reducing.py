"""How a reduction is spread over the device (`setReduceConfig` in
`aten/src/ATen/native/cuda/Reduce.cuh`).

The dimensions of a tensor are of two sorts: those that are kept number the rows, those that are
gone lie within a row. Adjacent dimensions of a sort are merged, so that nearly always one of each
is left. Then two questions decide the launch:

- Are neighbours in memory elements of one row, or do they belong to different rows? Threads with
  consecutive x should read consecutive addresses, so in the first case the lanes of a row lie along
  x, in the second along y.
- Are there enough rows to keep the device busy? If not, each row gets many lanes, and if a block of
  them is not enough, many blocks, whose partial results a second launch reduces.

How the real one differs: the same decisions, with the number of elements one thread takes as a
third, and with a limit of 2^31 elements to a launch (larger tensors are split).
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
from internals.core.tensor_impl import empty_contiguous

from .. import backend
from ..device_array import flat
from ..kernels import reduction as kernels, reduction_functors as functors
from ..kernels.accumulators import THREADS
from ..kernels.block_reduction import Accumulator, accumulator, block_total
from ..kernels.copy import offset_of
from ..launch import counted
from .opmath import dtype_of

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.scalar import Scalar
    from internals.machine_code.templates import DeviceFunction

UNROLL = 4  # elements that a thread has on their way at once
LEAST = 4 * UNROLL  # elements for which it is worth to have one more lane's block
BLOCKS_PER_PROCESSOR = 8  # of THREADS threads: 2048 fit


@dataclass(frozen=True, eq=False)
class Reduction:
    """What fills the template parameters of `kernels.reduction.reduce`."""

    kind: Accumulator
    identity: Any
    fold: Any
    combine: Any
    write: Any
    absorb: Any = None  # instead of `fold`: finds its element by itself


@dataclass(frozen=True, eq=False)
class Recipe:
    """A reduction whose accumulator is one number: which functors of `reduction_functors.py` it is
    made of.
    """

    take: Any
    combine: Any
    first: Any  # the number that changes nothing
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

    along_x: bool
    lanes: int
    width: int  # rows of a block
    blocks: int
    splits: int  # blocks that share a row

    @property
    def grid(self) -> tuple[int, int]:
        return self.blocks, self.splits

    @property
    def block(self) -> tuple[int, int]:
        return (self.lanes, self.width) if self.along_x else (self.width, self.lanes)


class Rows(NamedTuple):
    """A tensor as rows: sizes and strides of the dimensions that number them, and of those within
    one.
    """

    kept: tuple[int, ...]
    kept_strides: tuple[int, ...]
    gone: tuple[int, ...]
    gone_strides: tuple[int, ...]

    @property
    def height(self) -> int:
        return prod(self.kept)

    @property
    def length(self) -> int:
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
    """Reduce `self` over `dims` into `results`, which have one element a row. `ordered`: positions
    within a row matter.

    `sources`: what the kernel is given instead of the elements of `self`, for an `absorb` of its
    own.
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
        _launch(reduction, plan, rows, elements, outs, parameter, True)
    else:
        parts = [
            empty_contiguous((plan.splits * rows.height,), dtype_of(t), self.device)
            for t in reduction.kind.parts
        ]
        between = [flat(t) for t in parts]
        _launch(reduction, plan, rows, elements, between, parameter, True, False)
        last = Rows((rows.height,), (1,), (plan.splits,), (rows.height,))
        _launch(reduction, plan_for(last, count, False), last, between, outs, parameter, False)
    write_back(targets, results)


@lru_cache(maxsize=1 << 12)
def as_rows(
    sizes: tuple[int, ...], strides: tuple[int, ...], dims: tuple[int, ...], ordered: bool = False
) -> Rows:
    """The dimensions of a tensor, sorted into those kept and those gone; where order does not
    matter, by stride.
    """
    kept = _merged([(sizes[d], strides[d]) for d in range(len(sizes)) if d not in dims])
    gone = [(sizes[d], strides[d]) for d in sorted(dims)]
    if not ordered:
        gone.sort(key=lambda pair: -pair[1])
    return Rows(*kept, *_merged(gone))


def contiguous_rows(rows: int, n: int, inner: int) -> Rows:
    """Rows of a contiguous tensor of which all but one dimension number them; the elements of a row
    lie `inner` apart.
    """
    return Rows((rows,), (n if inner == 1 else 1,), (n,), (inner,))


@lru_cache(maxsize=1 << 12)
def plan_for(rows: Rows, processors: int, may_split: bool = True) -> Plan:
    """The launch for `rows` on a device with that many multiprocessors. Unless it `may_split`, each
    row stays in one block.
    """
    count, n = rows.height, rows.length
    along_x = n >= 16 and (
        count == 1 or rows.gone_strides[-1] < rows.kept_strides[-1] or rows.kept_strides[-1] == 0
    )
    if along_x:
        lanes = min(THREADS, max(32, _power_of_two(-(-n // UNROLL))))
        width = min(THREADS // lanes, _power_of_two(count))
    else:
        width = min(THREADS, max(32, _power_of_two(count)))
        lanes = 1
        if -(-count // width) < processors * BLOCKS_PER_PROCESSOR:
            # too few threads: several lanes to a row
            width = 32
            lanes = min(THREADS // width, _power_of_two(-(-n // LEAST)))
    blocks = -(-count // width)
    splits = min(processors * BLOCKS_PER_PROCESSOR // blocks, n // (lanes * LEAST), 65535)
    return Plan(along_x, lanes, width, blocks, max(splits, 1) if may_split else 1)


def _launch(
    reduction: Reduction, plan: Plan, rows: Rows, sources: list[Any], outs: list[Any],
    parameter: Scalar, first: bool, last: bool = True,
) -> None:  # fmt: skip
    kernel = instance(reduction, plan.along_x, len(rows.gone) == 1, first, last)
    kernel = counted(kernel, max(rows.height, rows.length))
    missing = (0, 0)
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
    """The kernel: `first`, of elements, or of parts; `last`, to results, or to parts."""
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
    """Copy each of `targets` to the result that it stood in for."""
    for target, result in zip(targets, results):
        if target is not result:
            ops.copy_(result, target, False)


def converted(self: Tensor, d: dtype) -> Any:
    """`self`, or a copy of dtype `d` where a kernel should not convert as it reads: from floating
    point to integers.
    """
    if self.dtype.is_floating_point and not d.is_floating_point:
        return ops._to_copy(self, d, None, None, None, False, None)
    return self


def examples(
    reduction: Reduction, source: str, outs: Sequence[str], parameter: Any
) -> list[tuple[Any, tuple[Any, ...]]]:
    """The instances of a reduction with their arguments' types: along x and y, to results, to
    parts, and of parts.
    """
    missing = (int, int)
    final = (*[f"{t}[:]" for t in outs], *missing)[:3]
    parts = (*[f"{np.dtype(t).name}[:]" for t in reduction.kind.parts], *missing)[:3]
    elements = (f"{source}[:]", *missing)
    rest = (int, int, parameter, (int,), (int,), (int,), (int,))
    return [
        (instance(reduction, True, True, True, True), (*final, *elements, *rest)),
        (instance(reduction, False, False, True, True), (*final, *elements, *rest)),
        (instance(reduction, True, True, True, False), (*parts, *elements, *rest)),
        (instance(reduction, False, True, False, True), (*final, *parts, *rest)),
    ]


def _typed(function: DeviceFunction, **types: Any) -> Any:
    """`function` with those of `types` that are template parameters of its own."""
    return function.bind(
        **{name: value for name, value in types.items() if name in function.names()}
    )


def _merged(pairs: list[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides with neighbours merged where one continues the other; at least one
    dimension.
    """
    merged: list[tuple[int, int]] = []
    for size, stride in pairs:
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
    return backend.driver().properties(index).multi_processor_count
