"""Gradients of norms and of logsumexp (`torch/csrc/autograd/FunctionsManual.cpp`: `norm_backward`).

The derivative of (Σ|x|^p)^(1/p) with respect to an x is sgn(x) (|x| / norm)^(p-1), for complex
numbers too. Where that is not defined, PyTorch chose a value:

- 0 where the norm is 0, and for p <= 1 at x = 0;
- for an infinite p, the elements that attain the maximum (or minimum) share the gradient evenly;
- the 0-norm is a count and constant almost everywhere: it has no gradient, None.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import Any

from internals.core.tensor_impl import Tensor

from .complex import conj
from .reductions import unsqueeze_multiple


def norm_backward(
    grad: Tensor, self: Tensor, p: float, norm: Tensor, dim: Sequence[int] | None, keepdim: bool
) -> Any:
    """The gradient of the p-norm over `dim`; None and [] mean all dimensions, p = None means 2."""
    p = 2.0 if p is None else float(p)
    if p == 0:
        return None
    if not keepdim:
        grad = unsqueeze_multiple(grad, dim, self.dim())
        norm = unsqueeze_multiple(norm, dim, self.dim())
    if p == 1:
        return self.sgn() * grad
    if p == 2:
        return grad * _zero_where(self / norm, norm)
    if isinf(p):
        size = self.abs()
        mask = (size == norm).logical_or(size != size)  # a NaN makes the norm NaN, and shares too
        return self.sgn() * (grad / mask.sum(dim, True) * mask)
    if p < 1:
        return self.sgn() * _zero_where(self.abs().pow(p - 1), self) * grad * norm.pow(1 - p)
    scale = _zero_where(grad / norm.pow(p - 1), norm)
    if p < 2:  # sgn(x) |x|^(p-1); below it is written without the sign: x |x|^(p-2)
        return self.sgn() * self.abs().pow(p - 1) * scale
    return self * self.abs().pow(p - 2) * scale


def logsumexp_backward(
    grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int], keepdim: bool
) -> Any:
    """grad times the softmax of `self` over `dim`, which is exp(self - logsumexp)."""
    if not keepdim:
        grad = unsqueeze_multiple(grad, dim, self.dim())
        result = unsqueeze_multiple(result, dim, self.dim())
    return grad * conj((self - result).exp())


def _zero_where(t: Tensor, zero: Tensor) -> Any:
    """`t`, but 0 where `zero` is 0."""
    return t.masked_fill(zero == 0, 0)
