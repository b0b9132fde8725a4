"""Quantiles: the element below which a share q of all elements lies
(`aten/src/ATen/native/Sorting.cpp`: `quantile_compute`).

The row is sorted, and the rank q · (n - 1) is the position of the quantile. When it lies between
two positions, `interpolation` decides: the lower or the higher one, the nearer one (at a tie the
even position), the middle of both elements, or, "linear", the point as far between them as the rank
is. A row with a NaN gets the last rank, where sorting puts NaN; `nanquantile` counts only the
elements that are not NaN.

All functions are composed of operators, as in PyTorch, so autograd needs no formula for them.

How the real one differs: it checks the range of `q` on the CPU only, so as not to wait for a GPU.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor

MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    self: Tensor,
    q: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Any:
    """The quantiles `q`, a number or a vector, along `dim` or of all elements; those of a vector
    become the first dimension.

    Raises RuntimeError for an empty tensor, for other dtypes than float32 and float64, which both
    must have, and for `q` outside of 0...1.
    """
    return _quantile(self, q, dim, keepdim, interpolation, False)


def nanquantile(
    self: Tensor,
    q: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Any:
    """The quantiles of the elements that are not NaN; NaN where all are."""
    return _quantile(self, q, dim, keepdim, interpolation, True)


def quantile_scalar(
    self: Tensor,
    q: float,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Any:
    """`quantile` for a single number `q`."""
    return _quantile(self, _as_tensor(self, q), dim, keepdim, interpolation, False)


def nanquantile_scalar(
    self: Tensor,
    q: float,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Any:
    """`nanquantile` for a single number `q`."""
    return _quantile(self, _as_tensor(self, q), dim, keepdim, interpolation, True)


def _quantile(
    self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Any:
    """The quantiles of each row, of the numbers only if `ignore_nan`: (...) for a single q,
    (len(q), ...) for a vector.
    """
    if interpolation not in MODES:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            "but got " + interpolation
        )
    _check(self, q)
    rows = _sorted_rows(self, dim, keepdim)  # (..., n)
    last = rows.shape[-1] - 1
    if ignore_nan:
        # (..., 1): each row's own rank, (..., len(q)) if q is a vector; -q where a row is all NaN
        numbers = rows.isnan().logical_not().sum(-1, True)
        rank = q * (numbers - 1)
        rank = rank.masked_fill(rank < 0, 0)
    else:
        rank = (q * last).masked_fill(rows.isnan().any(-1, True), last)
    if interpolation in ("lower", "higher", "nearest"):
        rank = {"lower": ops.floor, "higher": ops.ceil, "nearest": ops.round}[interpolation](rank)
    below = rank.to(dt.int64)  # rounds towards 0, that is, down
    values = rows.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weight = (
            ops.full_like(rank, 0.5, None, None, None, None, None)
            if interpolation == "midpoint"
            else rank - below
        )
        values.lerp_(rows.gather(-1, rank.ceil().to(dt.int64)), weight)
    # a vector of quantiles becomes the first dimension: (..., len(q)) to (len(q), ...)
    return (
        values.squeeze_(-1) if not q.dim() else values.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)
    )


def _sorted_rows(self: Tensor, dim: int | None, keepdim: bool) -> Any:
    """The elements, sorted along the last dimension; the other dimensions are those of the result.
    Without `dim` all elements are one row.
    """
    if dim is None or not self.dim():
        if dim is not None:
            wrap_dim(dim, 0)
        row = self.flatten().sort()[0]
        return row.view([1] * self.dim() + [-1]) if keepdim else row
    d = wrap_dim(dim, self.dim())
    rows = self.sort()[0] if d == self.dim() - 1 else self.unsqueeze(-1).transpose(d, -1).sort()[0]
    sizes = [*self.shape[:d], *([1] if keepdim else []), *self.shape[d + 1 :]]
    return rows.view([*sizes, self.shape[d]])


def _as_tensor(self: Tensor, q: float) -> Any:
    """`q` as a 0-d tensor like `self`. Raises RuntimeError unless 0 <= q <= 1."""
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    return ops.scalar_tensor(q, self.dtype, None, self.device, None)


def _check(self: Tensor, q: Tensor) -> None:
    """Raises RuntimeError for an empty tensor, a q of more than one dimension, dtypes other than
    one of float32 and float64, and a q outside of 0...1.
    """
    if not self.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if self.dtype not in (dt.float32, dt.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype is not self.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if not q.ge(0).logical_and(q.le(1)).all().item():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
