"""Norms, and the logarithm of a sum of exponentials (`aten/src/ATen/native/LinearAlgebra.cpp`,
`ReduceOps.cpp`).

The p-norm is (Σ|x|^p)^(1/p); for p = inf the largest |x|, for -inf the smallest, for 0 the number
of elements that are not zero. It is computed in double precision.

Norms of order 1 and 2, and `logsumexp`, of large tensors are left to machine code
(`aten/compiled`).

How the real one differs: `norm` is kept for old code and calls `linalg_vector_norm`, which has a
vectorised loop for each p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.dtype import COMPLEX, SCALAR_TYPE_NAME, dtype
from internals.core.promotion import promote_types
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor, array
from internals.machine_code.settings import settings, use_compiled

from .reduction_tools import is_floating, reduced_dims, reduced_sizes, shares_memory, store, total


def linalg_vector_norm(
    self: Tensor,
    ord: Scalar = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Any:
    """The norm of order `ord` over `dim`; None means all dimensions. The result is real. Raises
    RuntimeError for integers, and where a norm does not exist, as the largest of no elements.
    """
    return _norm(self, ord, dim, keepdim, dtype, out)


def linalg__powsum(
    self: Tensor, ord: Scalar, dim: Sequence[int] | None, keepdim: bool, dtype: dtype | None
) -> Any:
    """Σ|x|^ord over `dim`, of which a norm is the root. Raises NotImplementedError for integers
    unless `dtype` is floating.
    """
    if isinstance(ord, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    kind = dtype or self.dtype
    if not is_floating(kind):
        raise not_implemented("powsum_cpu", kind)
    dims = reduced_dims(self, dim)
    with np.errstate(all="ignore"):
        return store(
            self,
            lambda: total(_magnitudes(self) ** float(ord), dims),
            dims=dims,
            keepdim=keepdim,
            d=kind.to_real(),
        )


def norm_Scalar(self: Tensor, p: Scalar = 2) -> Any:
    """The p-norm of all elements."""
    return _norm(self, p, None, False, None)


def norm_ScalarOpt_dtype(self: Tensor, p: Scalar | None, dtype: dtype) -> Any:
    """The p-norm of all elements, computed in `dtype`."""
    return _norm(self, p, None, False, dtype)


def norm_ScalarOpt_dim(
    self: Tensor,
    p: Scalar | None,
    dim: Sequence[int],
    keepdim: bool = False,
    out: Tensor | None = None,
) -> Any:
    """The p-norm over `dim`. Raises RuntimeError for integers, and for an empty `dim` when p < 0 or
    p is inf.
    """
    return _norm(self, p, dim, keepdim, None, out)


def norm_ScalarOpt_dim_dtype(
    self: Tensor,
    p: Scalar | None,
    dim: Sequence[int],
    keepdim: bool,
    dtype: dtype,
    out: Tensor | None = None,
) -> Any:
    """The p-norm over `dim`, computed in `dtype`."""
    return _norm(self, p, dim, keepdim, dtype, out)


def logsumexp(
    self: Tensor, dim: Sequence[int], keepdim: bool = False, out: Tensor | None = None
) -> Any:
    """log Σ exp(x) over `dim`, computed without overflow; integers become the default dtype."""
    dims = reduced_dims(self, dim)
    if out is not None and not is_floating(out.dtype):
        raise RuntimeError(
            "logsumexp(): Expected floating point type for result tensor, but got: "
            f"{SCALAR_TYPE_NAME[out.dtype]}"
        )
    d = self.dtype if is_floating(self.dtype) else dt.get_default_dtype()

    def loop() -> Any:
        if (
            self.numel() >= settings.least
            and (found := _compiled_logsumexp(self, dims)) is not None
        ):
            return found
        a = array(self).astype(np.complex128 if d.category == COMPLEX else np.float64)
        with np.errstate(all="ignore"):
            # exp(x - largest) is at most 1; an infinite one would give inf - inf
            largest = np.maximum.reduce(a.real, axis=dims, keepdims=True, initial=-np.inf)
            largest = np.where(np.isinf(largest), 0, largest)
            return np.log(total(np.exp(a - largest), dims)) + np.squeeze(largest, dims)

    # `name`: the kernel that computes the result on a GPU, where `loop` is not run
    return store(
        self,
        loop,
        dims=dims,
        keepdim=keepdim,
        d=d if out is None else out.dtype,
        out=out,
        name="norms.logsumexp",
    )


def check_norm_dtype(name: str, wanted: dtype | None, given: dtype) -> None:
    """Raises RuntimeError for a `dtype=` of a norm that is not floating or complex, that is complex
    for real input or real for complex input, or narrower than the input.
    """
    if wanted is None:
        return
    text = SCALAR_TYPE_NAME[wanted]
    if not is_floating(wanted):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {text}")
    if wanted.is_complex != given.is_complex:
        kind = "complex" if given.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {text}")
    if promote_types(given, wanted) is not wanted:
        raise RuntimeError(
            f"{name}: the dtype of the input ({SCALAR_TYPE_NAME[given]}) should be convertible "
            f"without narrowing to the specified dtype ({text})"
        )


def _norm(
    self: Tensor,
    p: Any,
    dim: Sequence[int] | None,
    keepdim: bool,
    dtype: dtype | None,
    out: Tensor | None = None,
) -> Any:
    """The p-norm over `dim`, 2 if `p` is None: the checks in PyTorch's order, then machine code for
    large tensors, or numpy.
    """
    p = 2 if p is None else p
    if isinstance(p, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    if not is_floating(self.dtype):
        raise RuntimeError(
            f"linalg.vector_norm: {_EXPECTED_FLOATING}. Got {SCALAR_TYPE_NAME[self.dtype]}"
        )
    check_norm_dtype("linalg.vector_norm", dtype, self.dtype)
    dims = reduced_dims(self, dim)
    _check_identity(self, p, dims, dim)
    p = float(p)
    if (
        self._geometry.stored >= settings.least
        and (found := _compiled_norm(self, p, dims, keepdim, dtype, out)) is not None
    ):
        return found
    d = (dtype or self.dtype).to_real()
    with np.errstate(all="ignore"):
        return store(
            self,
            lambda: _p_norm(_magnitudes(self), p, dims),
            dims,
            keepdim,
            d,
            out,
            "norms.norm",  # the kernel on a GPU, which is called with `dims` and p
            p,
        )


def _compiled_norm(
    self: Tensor,
    p: float,
    dims: tuple[int, ...],
    keepdim: bool,
    d: dtype | None,
    out: Tensor | None,
) -> Any:
    """The norm by machine code; None where numpy does it."""
    from internals.aten.compiled.reductions import THRESHOLD, norms

    fits = (
        p in (1, 2)
        and self.numel()
        and d in (None, self.dtype)
        and self.dtype in (dt.float32, dt.float64)
    )
    if not fits or not use_compiled(self.numel(), THRESHOLD) or shares_memory(self, out):
        return None
    target = set_output(reduced_sizes(self.shape, dims, keepdim), self.dtype, out)
    return target if norms(self, dims, target, p) else None


def _compiled_logsumexp(self: Tensor, dims: tuple[int, ...]) -> Any:
    """logsumexp by machine code, an array; None where numpy does it."""
    from internals.aten.compiled.softmax import THRESHOLD, logsumexp as compiled

    fits = self.numel() and self.dtype in (dt.float32, dt.float64)
    return compiled(self, dims) if fits and use_compiled(self.numel(), THRESHOLD) else None


def _magnitudes(self: Tensor) -> Any:
    """|x| as an array of doubles; for complex numbers the moduli."""
    return np.abs(array(self)).astype(np.float64)


def _p_norm(a: Array, p: float, dims: tuple[int, ...]) -> Any:
    """The p-norm over `dims`, which disappear, of an array of magnitudes."""
    if p == np.inf:
        return np.maximum.reduce(a, axis=dims)
    if p == -np.inf:
        return np.minimum.reduce(a, axis=dims)
    if p == 0:
        return total((a != 0).astype(np.float64), dims)
    if p == 1:
        return total(a, dims)
    if p == 2:
        return np.sqrt(total(a * a, dims))
    return total(a**p, dims) ** (1 / p)


def _check_identity(self: Tensor, p: Any, dims: tuple[int, ...], dim: Sequence[int] | None) -> None:
    """Raises RuntimeError for p < 0 and p = inf where a dimension to reduce is empty: the smallest
    and the largest of no elements do not exist.
    """
    if self.numel() or not (p < 0 or p == np.inf):
        return
    if dim is None or not len(dim):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {p:g} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    for d in dims:
        if self.shape[d] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {p:g} norm on the dimension {d}because "
                "this dimension is empty and the operation does not have an identity"
            )


_EXPECTED_FLOATING = "Expected a floating point or complex tensor as input"
