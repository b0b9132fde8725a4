"""Checks of the tensors given to `X_backward`, the kernel of a gradient
(`aten/src/ATen/TensorUtils.cpp`: `check_dim_size`).

Autograd only passes tensors that fit. A direct call of `X_backward` may pass any, and without a
check the kernel would read outside their memory.

How the real one differs: most kernels of PyTorch check little. Where it does check, the messages
are in the kernels' own files; these checks are for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core.tensor_impl import Tensor


def check_grad_output(grad_output: Tensor, result_sizes: Sequence[int]) -> None:
    """Raises RuntimeError, with PyTorch's message, unless `grad_output` has the sizes of the result
    of the forward pass.
    """
    dims, result_dims = grad_output.dim(), len(result_sizes)
    for dim, n in enumerate(result_sizes):
        if dims != result_dims or grad_output.shape[dim] != n:
            if dim < dims:
                size = f"tensor.size[{dim}] = {grad_output.shape[dim]}"
            else:
                size = "no such size"
            raise RuntimeError(
                f"Expected a tensor of dimension {result_dims} and tensor.size[{dim}] == {n} but "
                f"got: dimension {dims} and {size}"
            )


def check_sizes(name: str, what: str, t: Any, sizes: Sequence[int]) -> None:
    """Raises RuntimeError unless `t`, which `name` calls `what`, is None or has these sizes."""
    if t is not None and tuple(t.shape) != tuple(sizes):
        raise RuntimeError(
            f"{name}(): expected {what} to have sizes {list(sizes)}, but got {list(t.shape)}"
        )


def check_elements(name: str, what: str, t: Tensor | None, n: int) -> None:
    """Raises RuntimeError unless `t` is None or has `n` elements."""
    if t is not None and t.numel() != n:
        raise RuntimeError(
            f"{name}(): expected {what} to have {n} elements, but got sizes {list(t.shape)}"
        )
