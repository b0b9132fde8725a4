"""What a group computes, step by step: the words that `observe` writes a program in and the writers
of kernels read.

How the real one differs: 1.0.1 writes C directly from the nodes of the group.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.geometry import Geometry
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Node


class NotFusable(Exception):
    """A group that cannot be one loop, and why."""


class Read:
    """An element of an argument: what a chunk of it, or all of it, looks like in memory."""

    def __init__(self, name: str, argument: int, t: TensorImpl) -> None:
        g = t._geometry
        self.name, self.argument, self.offset = name, argument, t._offset
        self.dtype, self.sizes, self.strides = g.dtype, tuple(g.sizes), g.strides


class Rows(NamedTuple):
    """Tensors of these sizes, as rows of the elements of their last `dims` dimensions."""

    sizes: tuple[int, ...]
    dims: int

    @property
    def outer(self) -> tuple[int, ...]:
        return self.sizes[: -self.dims]

    @property
    def length(self) -> int:
        return prod(self.sizes[-self.dims :])


class Number:
    """A Python number that is an argument of the group: another one in every call."""

    def __init__(self, name: str, argument: int, kind: type) -> None:
        self.name, self.argument, self.kind = name, argument, kind


class Step:
    """`name = loop(operands)`. Each operand comes with the dtype that it is converted to first;
    `numbers` belong to the loop.

    `common` is the dtype that is computed in, `dtype` that of the result; `loop` is None for a
    cast. `row` is the name of a function of whole rows, "softmax", or "" (`row_steps.py`);
    `is_short` says of one that its result has lost the dimensions that rows are of.
    """

    row = ""
    is_short = False

    def __init__(
        self, name: str, loop: Callable[..., Any] | None, operands: tuple[tuple[Any, dtype], ...],
        numbers: dict[str, Any], common: dtype, result: dtype, sizes: tuple[int, ...], node: Node,
    ) -> None:  # fmt: skip
        self.name, self.loop, self.operands, self.numbers, self.common = (
            name,
            loop,
            operands,
            numbers,
            common,
        )
        self.dtype, self.sizes, self.node = result, sizes, node


class Array(NamedTuple):
    """How something lies in memory."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]


class Piece(NamedTuple):
    """A value, and where in an output it goes: sizes, strides, and an offset in elements."""

    value: Any
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Output(NamedTuple):
    """A tensor that the group returns: a new one that pieces are written to, `argument` if one that
    went in, `twin` if it is an earlier output once more, `deferred` if a deferred call makes it."""

    geometry: Geometry | None
    pieces: tuple[Piece, ...] = ()
    argument: int = -1
    twin: int = -1
    deferred: int = -1


class DeferredCall(NamedTuple):
    """An operator that runs after the kernels, on what they made: one that sums, or needs a sum.
    `inputs` are ("input", i), ("output", i), ("deferred", i) or ("constant", value); its results
    are the next of the deferred values; `kind` is that of its node."""

    kind: str
    function: Any
    inputs: tuple[tuple[str, Any], ...]
    results: int


class Program(NamedTuple):
    """All steps of a group for arguments of certain geometries, in order, what comes out, and where
    it runs.

    The first of the outputs are those of the group; others are there for the deferred calls. `rows`
    are what functions of rows go over, if there are any.
    """

    steps: list[Step]
    outputs: list[Output]
    device: device
    deferred: list[DeferredCall]
    rows: Rows | None
