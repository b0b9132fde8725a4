"""Finds the outputs of a model by running it on zeros, once with 2 rows and once with 3.

    zeros(2, 784) -> (2, 10)      a size that changes with the rows is written as -1,
    zeros(3, 784) -> (3, 10)      the others as they are:  [-1, 10]

The shapes of the inputs may be known in part. Sizes other than the rows are tried one after the
other: a network for images of 28 by 28 raises an error on 32 by 32. A linear layer fixes the last
size, but not the number of dimensions: the smallest that runs is taken. An embedding takes tensors
of any number of dimensions: if more than one of them runs, the shape stays open.

A model may refuse zeros for its own reasons, so a failure here only means that the outputs are not
known.

How the real one differs: servers do not run a model to learn its shapes. Triton reads them from
`config.pbtxt`, and a wrong one shows at the first request. `torch.export` traces with symbolic
sizes, which gives the same answer without running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import internals as torch
from internals import Tensor

from ..errors import ModelFailed
from .facts import Facts
from .signature import TensorSpec

# Sizes to try where one is open: usual ones of images and texts, the likeliest first.
FREE = (32, 28, 64, 224, 8, 16, 128, 299)
MOST_RANKS = 3  # how many numbers of dimensions to try
MOST_COMBINATIONS = 12  # of shapes for all inputs together
MOST_ELEMENTS = 1 << 24  # of one input: allows (2, 3, 299, 299), but not (2, 299, 299, 299)
TOO_LARGE = "its inputs are larger than what is tried"

Run = Callable[[Sequence[Tensor]], Mapping[str, Tensor]]
Shapes = tuple[tuple[int, ...], ...]


class WrongResult(ModelFailed):
    """The model ran, but what it returned cannot be sent: it is not made of tensors."""


@dataclass(frozen=True)
class Trial:
    """`inputs` and `outputs` as far as they are now known. `has_rows` tells whether all outputs
    have as many rows as the inputs; None if that was not tried.

    The model ran on `shapes`, with `free` for each open size other than the rows. `why_not` says
    in one line why nothing was found.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...] = ()
    has_rows: bool | None = None
    shapes: Shapes | None = None
    free: int = 0
    why_not: str = ""

    def zeros(self, rows: int) -> list[Tensor] | None:
        """Inputs that the model runs on; None if none are known."""
        return None if self.shapes is None else _zeros(self.inputs, self.shapes, rows, self.free)


def try_on_zeros(run: Run, inputs: Sequence[TensorSpec], facts: Sequence[Facts]) -> Trial:
    """Runs the model on zeros that fit `inputs`, and `facts` where those are open. Errors of the
    model become `why_not`.
    """
    candidates = [_candidates(spec, each) for spec, each in zip(inputs, facts)]
    certain = (
        replace(spec, shape=shapes[0]) if len(shapes) == 1 else spec
        for spec, shapes in zip(inputs, candidates)
    )
    search = _Search(run, tuple(certain))
    unknown = [spec.name for spec, shapes in zip(inputs, candidates) if not shapes]
    if unknown:
        return Trial(
            search.inputs,
            why_not=(
                f"the shape of '{unknown[0]}' is not known: declare it (--input "
                "NAME:DATATYPE:SIZES)"
            ),
        )
    found = search.first(candidates)
    if found is None:
        return Trial(
            search.inputs,
            why_not=search.wrong or f"it does not run on zeros: {search.error or TOO_LARGE}",
        )
    shapes, free, result = found
    # A guessed rank (an embedding's) is certain only if no other candidate runs.
    is_open = [
        spec.shape is None and each.rank is None and each.least_rank is None
        for spec, each in zip(inputs, facts)
    ]
    for i, others in enumerate(candidates):
        if is_open[i]:
            rest = (s for s in others if s != shapes[i])
            is_open[i] = any(search.runs((*shapes[:i], s, *shapes[i + 1 :]), free) for s in rest)
    specs = tuple(
        spec if o else replace(spec, shape=shape) for spec, shape, o in zip(inputs, shapes, is_open)
    )
    known = Trial(specs, shapes=shapes, free=free)
    if any(is_open):
        return replace(
            known, outputs=tuple(TensorSpec(name, t.dtype) for name, t in result.items())
        )
    outputs, has_rows = search.outputs(shapes, free, result)
    return replace(known, outputs=outputs, has_rows=has_rows)


@dataclass
class _Search:
    """Attempts to run a model. `error` is the first error it raised, `wrong` the reason why its
    result cannot be sent.
    """

    run: Run
    inputs: tuple[TensorSpec, ...]
    error: str = ""
    wrong: str = ""

    def first(
        self, candidates: Sequence[Sequence[tuple[int, ...]]]
    ) -> tuple[Shapes, int, Mapping[str, Tensor]] | None:
        """Returns the first shapes on which the model runs, the size for what is open in them, and
        the result; None if it runs on none. Combinations with few dimensions come first.
        """
        combinations = sorted(product(*candidates), key=lambda shapes: sum(map(len, shapes)))
        for shapes in combinations[:MOST_COMBINATIONS]:
            for free in _free_sizes(shapes):
                result = self.attempt(shapes, free, 2)
                if result is not None:
                    return shapes, free, result
                if self.wrong:  # it ran: no other shape will help
                    return None
        return None

    def attempt(self, shapes: Shapes, free: int, rows: int) -> Mapping[str, Tensor] | None:
        """The model's outputs on zeros, or None if it fails, with the reason kept."""
        try:
            return self.run(_zeros(self.inputs, shapes, rows, free))
        except WrongResult as error:
            self.wrong = str(error)
        except Exception as error:  # a model may raise anything
            self.error = self.error or str(error)  # the first one: of the likeliest shapes
        return None

    def runs(self, shapes: Shapes, free: int) -> bool:
        return self.attempt(shapes, free, 2) is not None

    def outputs(
        self, shapes: Shapes, free: int, two: Mapping[str, Tensor]
    ) -> tuple[tuple[TensorSpec, ...], bool | None]:
        """The specs of the outputs, and whether they have as many rows as the inputs. `two` is the
        result for two rows.
        """
        unsure = tuple(TensorSpec(name, t.dtype) for name, t in two.items())
        if not any(shape and shape[0] == -1 for shape in shapes):  # sizes are fixed
            return tuple(
                TensorSpec(name, t.dtype, tuple(t.shape)) for name, t in two.items()
            ), False
        three = self.attempt(shapes, free, 3)
        if three is None or list(three) != list(two):  # other names: other outputs
            return unsure, False
        has_rows = all(_rows(two[name]) == 2 and _rows(three[name]) == 3 for name in two)
        # A run with another `free` shows which sizes of the outputs follow it.
        seen = [two, three]
        for other in sorted(_free_sizes(shapes)):
            again = self.attempt(shapes, other, 2) if other != free else None
            if again is not None and list(again) == list(two):
                seen.append(again)
                break
        return tuple(
            replace(s, shape=_same_sizes([r[s.name] for r in seen])) for s in unsure
        ), has_rows


def _candidates(spec: TensorSpec, facts: Facts) -> list[tuple[int, ...]]:
    """The shapes that an input may have, the likeliest first; [] if nothing is known."""
    if spec.shape is not None:
        return [spec.shape]
    if facts.rank is not None:
        ranks = range(facts.rank, facts.rank + 1)
    elif facts.least_rank is not None:
        ranks = range(facts.least_rank, facts.least_rank + MOST_RANKS)
    elif facts.dtype is torch.int64:  # indices of an embedding: (N), (N, T), ...
        ranks = range(1, 1 + MOST_RANKS)
    else:
        return []
    return [shape for shape in map(facts.shape, ranks) if shape is not None]


def _free_sizes(shapes: Shapes) -> Iterator[int]:
    """The sizes to try where one is open. The first size of a shape is the rows, and not one of
    them.
    """
    for size in FREE if any(-1 in shape[1:] for shape in shapes) else (1,):
        if all(prod(_filled(shape, 2, size)) <= MOST_ELEMENTS for shape in shapes):
            yield size


def _zeros(inputs: Sequence[TensorSpec], shapes: Shapes, rows: int, free: int) -> list[Tensor]:
    dtypes = (spec.dtype if spec.dtype is not None else torch.float32 for spec in inputs)
    return [
        torch.zeros(_filled(shape, rows, free), dtype=dtype) for dtype, shape in zip(dtypes, shapes)
    ]


def _filled(shape: tuple[int, ...], rows: int, free: int) -> tuple[int, ...]:
    """`shape` with `rows` for -1 in the first dimension, and `free` for -1 in the others."""
    return tuple((free if d else rows) if size == -1 else size for d, size in enumerate(shape))


def _rows(t: Tensor) -> int | None:
    return int(t.shape[0]) if t.dim() else None


def _same_sizes(tensors: Sequence[Tensor]) -> tuple[int, ...] | None:
    """The sizes that all tensors have, -1 where they differ; None if their ranks differ."""
    if len({t.dim() for t in tensors}) != 1:
        return None
    return tuple(
        int(sizes[0]) if len(set(sizes)) == 1 else -1 for sizes in zip(*(t.shape for t in tensors))
    )
