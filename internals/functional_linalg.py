"""Norms and products: functions of the top-level namespace that choose their operator in Python (`torch/functional.py`).

How the real one differs: each first asks its arguments for a `__torch_function__`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core.dtype import dtype
from internals.core.tensor_impl import TensorImpl


def norm(
    input: Any,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtype | None = None,
) -> Any:
    """A norm of `input` over `dim` (all dimensions when None), as of one long vector; with p = "nuc" as of a matrix.

    `p` is a number, inf, -inf, "fro" (the same as 2) or "nuc" (the sum of singular values; two dimensions). Raises RuntimeError
    for another string and for integer tensors.
    """
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if isinstance(p, str) and not (p == "fro" and (dims is None or len(dims) <= 2)):
        dims = list(range(input.dim())) if dims is None else dims
        if out is None:
            return ops.linalg_matrix_norm_str_ord(input, p, dims, keepdim, dtype)
        return ops.linalg_matrix_norm_str_ord_out(input, p, dims, keepdim, dtype, out)
    order = 2 if p is None or isinstance(p, str) else p
    if out is None:
        return ops.linalg_vector_norm(input, order, dims, keepdim, dtype)
    return ops.linalg_vector_norm_out(input, order, dims, keepdim, dtype, out)


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """The sum of products over pairs of dimensions of `a` and `b`.

    `dims` is how many: the last of `a` with the first of `b`; or two lists, of dimensions of `a` and of `b`, as a tensor if you
    like. Raises RuntimeError for two dtypes, and for sizes that are neither equal nor 1.
    """
    if not isinstance(dims, (tuple, list, TensorImpl, int)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got "
            f"dims={dims}"
        )
    if isinstance(dims, TensorImpl):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())  # type: ignore[attr-defined]
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got {dims=}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got {dims=}")
        dims = range(-dims, 0), range(dims)
    dims_a, dims_b = (list(d) for d in dims)
    return ops.tensordot(a, b, dims_a, dims_b) if out is None else ops.tensordot_out(a, b, dims_a, dims_b, out)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of matrices, in the order that takes the fewest multiplications; `linalg.multi_dot` is its newer name.

    Raises RuntimeError for what is no matrix, two dtypes, and sizes that do not fit.
    """
    return ops.chain_matmul(list(matrices)) if out is None else ops.chain_matmul_out(list(matrices), out)
