"""`norm`, `tensordot` and `chain_matmul`: norms and products that choose their operator in Python
(`torch/functional.py`).

How the real one differs: each first looks for a `__torch_function__` of its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import functions as F, linalg_functions as linalg, ops
from internals.core.dtype import dtype
from internals.core.tensor_impl import TensorImpl as Tensor
from internals.functional.scripting import annotate, overload


@overload(
    "(Tensor, str, Optional[List[int]], bool, Optional[Tensor], Optional[int]) -> Tensor",
    "(Tensor, Optional[number], Optional[List[int]], bool, Optional[Tensor], Optional[int]) -> "
    "Tensor",
    "(Tensor, Optional[number], Optional[int], bool, Optional[Tensor], Optional[int]) -> Tensor",
    "(Tensor, str, Optional[int], bool, Optional[Tensor], Optional[int]) -> Tensor",
)
def norm(
    input: Any,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtype | None = None,
) -> Any:
    """The p-norm over `dim` (None: all dimensions), whose elements count as one vector.

    `p` is a number, inf, -inf, "fro" (the same as 2) or "nuc": the sum of the singular values of a
    matrix, for two dimensions. Raises RuntimeError for another string and for integer tensors.
    """
    dims: list[int] | None = None
    if dim is not None:
        if isinstance(dim, int):
            dims = [dim]
        else:
            dims = dim  # type: ignore[assignment]
    if isinstance(p, str):
        # "fro" of up to two dimensions is the 2-norm of all their elements
        if p == "fro" and (dim is None or isinstance(dim, int) or len(dim) <= 2):
            if out is None:
                return linalg.vector_norm(input, 2, dims, keepdim, dtype=dtype)
            return linalg.vector_norm(input, 2, dims, keepdim, dtype=dtype, out=out)
        if dims is None:
            dims = list(range(input.dim()))
        if out is None:
            return linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype)
        return linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    order = 2.0 if p is None else p
    if out is None:
        return linalg.vector_norm(input, order, dims, keepdim, dtype=dtype)
    return linalg.vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)


@overload(
    "(Tensor, Tensor, int, Optional[Tensor]) -> Tensor",
    "(Tensor, Tensor, Tuple[List[int], List[int]], Optional[Tensor]) -> Tensor",
    "(Tensor, Tensor, List[List[int]], Optional[Tensor]) -> Tensor",
    "(Tensor, Tensor, Tensor, Optional[Tensor]) -> Tensor",
)
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """The product of `a` and `b`, summed over pairs of dimensions; a matrix product for `dims` 1.

    `dims` is the number of pairs, the last dimensions of `a` with the first of `b`; or two lists of
    dimensions of `a` and of `b`, which may be a tensor. Raises RuntimeError for two dtypes, and for
    sizes that are neither equal nor 1.
    """
    dims_a: list[int] = []
    dims_b: list[int] = []
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
    elif isinstance(dims, Tensor):
        if dims.numel() > 1:
            dims_a, dims_b = annotate(list[list[int]], dims.tolist())  # type: ignore[attr-defined]
        else:
            dims_a, dims_b = _last_and_first(a, b, int(dims.item()))  # type: ignore[attr-defined]
    elif isinstance(dims, int):
        dims_a, dims_b = _last_and_first(a, b, dims)
    else:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if out is None:
        return F.tensordot(a, b, dims_a, dims_b)
    return F.tensordot(a, b, dims_a, dims_b, out=out)


def _last_and_first(a: Tensor, b: Tensor, dims: int) -> tuple[list[int], list[int]]:
    """The last `dims` dimensions of `a` and the first of `b`. Raises RuntimeError for too many."""
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.dim(), b.dim()):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of matrices, in the order that takes the fewest multiplications.
    `linalg.multi_dot` is its newer name.

    Raises RuntimeError for tensors that are not matrices, two dtypes, and sizes that do not fit.
    """
    return (
        ops.chain_matmul(list(matrices))
        if out is None
        else ops.chain_matmul_out(list(matrices), out)
    )
