"""The functions of `prim::MMTreeReduce` and `prim::MMBatchSide`, batched matrix products
(`torch/csrc/jit/passes/batch_mm.cpp`; the pass that makes them is `passes/batch_mm.py`).

Both check the shapes at run time. If the operands have different shapes, or one large product would
be slower than the small ones, the small products are computed one by one. The limits were measured
by PyTorch's authors on a GPU.

How the real one differs: operands that are stored transposed are concatenated transposed, which
copies them faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor
from internals.jit.ir import Node

from .node_functions import node_function

MAX_ELEMENTS_OF_SIDE = 1024 * 2048  # of a matrix that is worth copying into a batch


@node_function("prim::MMTreeReduce")
def mm_tree_reduce(node: Node) -> Callable[..., Any]:
    """The sum of the products of the first half of the inputs with the second half."""

    def reduce(*inputs: Any) -> Any:
        half = len(inputs) // 2
        lefts, rights = list(inputs[:half]), list(inputs[half:])
        if _same_shape(lefts) and _same_shape(rights) and _worth_it(lefts[0], rights[0]):
            # (rows, n * k) @ (n * k, columns) for n products (rows, k) @ (k, columns)
            return ops.mm(ops.cat(lefts, 1), ops.cat(rights, 0))
        total = ops.mm(lefts[0], rights[0])
        for a, b in zip(lefts[1:], rights[1:]):
            total = total + ops.mm(a, b)
        return total

    return reduce


@node_function("prim::MMBatchSide")
def mm_batch_side(node: Node) -> Callable[..., Any]:
    """The products of the first input, on side 0 (left) or 1 (right), with each of the others."""
    left = node.i("side") == 0
    dim = 1 if left else 0  # along which the other matrices are joined

    def product(side: Tensor, other: Any) -> Any:
        return ops.mm(side, other) if left else ops.mm(other, side)

    def products(side: Tensor, *others: Any) -> tuple[Any, ...]:
        if (
            _same_shape(others)
            and others[0].numel() <= MAX_ELEMENTS_OF_SIDE
            and others[0].size(dim) != 0  # joining empty matrices saves no work
        ):
            # side (rows, k) @ [others] (k, n * columns), or [others] (n * rows, k) @ side
            together = ops.cat(list(others), dim)
            return tuple(ops.chunk(product(side, together), len(others), dim))
        return tuple([product(side, t) for t in others])

    return products


def _same_shape(tensors: Sequence[Tensor]) -> bool:
    return all(t.shape == tensors[0].shape for t in tensors)


def _worth_it(left: Tensor, right: Tensor) -> bool:
    """Whether one product of all is faster than several of (rows, inner) @ (inner, columns)."""
    rows, inner, columns = left.size(0), left.size(1), right.size(1)
    return inner < 512 or (rows < 256 and columns < 256) or (rows > 256 and columns > 256)
