"""`lu`, and what is no longer there: `lstsq`, `symeig`, `eig`, `solve`, `matrix_rank` (`torch/functional.py`,
`torch/_linalg_utils.py`).

PyTorch removed five functions of linear algebra whose successors in `linalg` take their arguments in another order or give
something else. The names are kept so that the error can say so.

How the real one differs: the errors show more of the code to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals._generated import ops

_REMOVED = "This function was deprecated since version 1.9 and is now removed."


def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Sequence[Any] | None = None) -> Any:
    """L and U of every matrix in one, and the pivots; with `get_infos` also `info`. The older `linalg.lu_factor_ex`.

    Raises RuntimeError as that, TypeError for an `out` that does not have as many tensors.
    """
    result = ops._lu_with_info(A, pivot, not get_infos)
    found = result if get_infos else (result.LU, result.pivots)
    if out is None:
        return found
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) - int(get_infos) != 2:
        raise TypeError(f"expected tuple of {2 + int(get_infos)} elements but got {len(out)}")
    for target, t in zip(out, found):
        target.resize_as_(t).copy_(t)
    return out


def _removed(name: str, instead: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{_REMOVED} {instead}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed, as in PyTorch: always raises RuntimeError. {instead}"
    return function


lstsq = _removed(
    "lstsq",
    "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, which takes A first and returns no QR decomposition.",
)
symeig = _removed(
    "symeig",
    "The default behavior has changed from using the upper triangular portion of the matrix by default to using the lower "
    "triangular portion. Use `torch.linalg.eigh` or `torch.linalg.eigvalsh`.",
)
eig = _removed(
    "eig",
    "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking complex "
    "tensors.",
)
solve = _removed(
    "solve",
    "`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed and does not "
    "return the LU factorization.",
)
matrix_rank = _removed(
    "matrix_rank", "Please use the `torch.linalg.matrix_rank` function instead, with `hermitian` for `symmetric`."
)
