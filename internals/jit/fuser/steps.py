"""The steps of a group's program: `observe` makes them, and the writers of kernels read them.

How the real one differs: PyTorch 1.0.1 writes C directly from the nodes of the group.
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
    """Raised for a group that no kernel can compute; its text is the reason."""


class Read:
    """An element of an argument, or of a chunk of it: its number among the arguments, and where the
    elements lie in its memory (offset and strides in elements).
    """

    def __init__(self, name: str, argument: int, t: TensorImpl) -> None:
        g = t._geometry
        self.name, self.argument, self.offset = name, argument, t._offset
        self.dtype, self.sizes, self.strides = g.dtype, tuple(g.sizes), g.strides


class Rows(NamedTuple):
    """Tensors of these sizes, seen as rows: the last `dims` dimensions lie within a row."""

    sizes: tuple[int, ...]
    dims: int

    @property
    def outer(self) -> tuple[int, ...]:
        """The sizes of the dimensions that number the rows."""
        return self.sizes[: -self.dims]

    @property
    def length(self) -> int:
        """The number of elements in a row."""
        return prod(self.sizes[-self.dims :])


class Number:
    """A Python number that is an argument of the group, so that it may differ in each call."""

    def __init__(self, name: str, argument: int, kind: type) -> None:
        self.name, self.argument, self.kind = name, argument, kind


class Step:
    """`name = loop(operands)`. Each operand comes with the dtype that it is converted to first;
    `numbers` belong to the loop.

    `common` is the dtype that is computed in, `dtype` that of the result; `loop` is None for a
    cast. `row` is the name of a function of whole rows, such as "softmax", or "" (`row_steps.py`);
    `is_short` tells whether its result has lost the rows' dimensions.
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
    """The sizes of an array and its strides in elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]


class Store(NamedTuple):
    """A value, and the part of an output that it is written to: sizes, strides and offset, in
    elements.
    """

    value: Any
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Output(NamedTuple):
    """A tensor that the group returns: a new one, of `geometry`, that pieces are written to; or one
    of the arguments, an earlier output once more (`twin`), or the result of a deferred call, by
    number."""

    geometry: Geometry | None
    pieces: tuple[Store, ...] = ()
    argument: int = -1
    twin: int = -1
    deferred: int = -1


class DeferredCall(NamedTuple):
    """An operator that runs after the kernels, on their results: one that sums, or needs a sum.
    `inputs` are ("input", i), ("output", i), ("deferred", i) or ("constant", value). Its `results`,
    a count, are appended to the deferred values; `kind` is that of its node."""

    kind: str
    function: Any
    inputs: tuple[tuple[str, Any], ...]
    results: int


class Program(NamedTuple):
    """The program of a group for arguments of certain geometries: its steps in order, its outputs,
    and the device that it runs on.

    The first outputs are those of the group; further ones are for the deferred calls. `rows` are
    the rows of its functions of rows, if there are any.
    """

    steps: list[Step]
    outputs: list[Output]
    device: device
    deferred: list[DeferredCall]
    rows: Rows | None
