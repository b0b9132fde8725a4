"""`lu`, and five functions that were removed: `lstsq`, `symeig`, `eig`, `solve`, `matrix_rank`
(`torch/functional.py`, `torch/_linalg_utils.py`).

PyTorch removed five functions of linear algebra, whose successors in `linalg` take their arguments
in another order or return other results. The names still exist, and raise an error that explains
what to use.

How the real one differs: its errors show more of the code to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated import functions as F
from internals.core.tensor_impl import Tensor
from internals.functional.scripting import BooleanDispatch, boolean_dispatch, is_scripting

_REMOVED = "This function was deprecated since version 1.9 and is now removed."


def _lu_with_infos(
    A: Tensor, pivot: bool = True, get_infos: bool = False,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    result = F._lu_with_info(A, pivot, not get_infos)
    if out is None:
        return result
    if not is_scripting():
        _check_out(out, 3)
    for target, found in zip(out, result):
        target.resize_as_(found).copy_(found)
    return out


def _lu_no_infos(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """The LU decomposition: a matrix with U in its upper triangle and L, without its diagonal of
    ones, below; the pivots; and, with `get_infos`, `info`. `linalg.lu_factor_ex` is its newer name.

    Raises RuntimeError where `lu_factor_ex` does, TypeError for an `out` with another number of
    tensors.
    """
    LU, pivots, _ = F._lu_with_info(A, pivot, not get_infos)
    if out is None:
        return LU, pivots
    if not is_scripting():
        _check_out(out, 2)
    for target, found in zip(out, (LU, pivots)):
        target.resize_as_(found).copy_(found)
    return out


def _check_out(out: Any, count: int) -> None:
    """Raises TypeError unless `out` is a tuple or a list of `count` elements."""
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")


lu = boolean_dispatch("lu", BooleanDispatch("get_infos", 2, False, _lu_with_infos, _lu_no_infos))


def _removed(name: str, instead: str) -> Callable[..., Any]:
    """A function of this name that raises an error; `instead` says what to use in its place."""

    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{_REMOVED} {instead}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed, as in PyTorch: always raises RuntimeError. {instead}"
    return function


lstsq = _removed(
    "lstsq",
    "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, which takes A first and returns "
    "no QR decomposition.",
)
symeig = _removed(
    "symeig",
    "The default behavior has changed from using the upper triangular portion of the matrix by "
    "default to using the lower triangular portion. Use `torch.linalg.eigh` or "
    "`torch.linalg.eigvalsh`.",
)
eig = _removed(
    "eig",
    "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real "
    "tensors mimicking complex tensors.",
)
solve = _removed(
    "solve",
    "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its "
    "arguments reversed and does not return the LU factorization.",
)
matrix_rank = _removed(
    "matrix_rank",
    "Please use the `torch.linalg.matrix_rank` function instead, with `hermitian` for `symmetric`.",
)
