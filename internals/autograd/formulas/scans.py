"""Gradients of products and of running sums and products
(`torch/csrc/autograd/FunctionsManual.cpp`).

Element i of an input is part of all running sums from i on: its gradient is the sum of theirs, a
running sum from the other end.

The derivative of a product by a factor x is the product of the other factors: product / x, unless x
is 0. With zeros it is the product of all factors before x times that of all after x: two running
products.

For a *running* product with zeros there are two ways. If the gradient is to be differentiated
again, all products without one factor are computed, n * n for a row of n. If not, one pass is
enough: in a row, only the elements up to the first zero have a gradient.

How the real one differs: it finds the two zeros of every row by sorting their positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals._generated.functions import cat, eye
from internals.core.dtype import dtype, finfo
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor

from .complex import conj


def cumsum_backward(grad: Tensor, dim: int, dtype: dtype) -> Any:
    """The sums of the gradients from each place on, in `dtype`, that of the input."""
    if grad.dtype is not dtype:
        grad = grad.to(dtype)
    return grad if grad.numel() <= 1 or grad.shape[dim] == 1 else _reverse_cumsum(grad, dim)


def prod_backward(grad: Tensor, self: Tensor, result: Tensor) -> Any:
    """grad times the product of all other elements, for the product over all dimensions. `self` has
    the dtype of the product.
    """
    if not self.dim():
        return grad
    zeros = (self == 0).sum().item()
    if not zeros:
        return grad * conj(result / self)
    if zeros > 1 and not is_grad_enabled():
        # every product of the others contains a zero
        return ops.zeros_like(self, None, None, None, None, None)
    return (grad * conj(_product_of_others(self.reshape(-1), 0))).view(self.shape)


def prod_dim_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Any:
    """`prod_backward` along a dimension."""
    if not self.dim():
        return grad
    if not keepdim:
        grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
    if (self == 0).any().item():
        return grad * conj(_product_of_others(self, dim))
    return grad * conj(result / self)


def cumprod_backward(grad: Tensor, self: Tensor, dim: int, result: Tensor) -> Any:
    """For each element x the sum, over all results from x on, of their gradient times the product
    of their factors other than x.
    """
    if grad.dtype is not self.dtype:
        grad, result = grad.to(self.dtype), result.to(self.dtype)
    if self.numel() <= 1 or self.shape[dim] == 1:
        return grad
    zero = self == 0
    self, result = conj(self), conj(result)
    if not zero.any().item():
        return _reverse_cumsum(grad * result, dim) / self
    if is_grad_enabled():
        return _all_products_of_others(grad, self, dim)
    # The elements of a row are of three kinds. Before the first zero the usual formula holds; later
    # results are 0 and add nothing.
    zeros_so_far = zero.cumsum(dim)
    first_zero = zero.logical_and(zeros_so_far == 1)
    before = _reverse_cumsum(grad * result, dim) / self.masked_fill(zero, 1)
    # At the first zero the gradient is the sum over the products with a 1 in its place, from there
    # on. Behind it every product of other factors contains that zero: the gradient is 0.
    without_first = (grad * self.masked_fill(first_zero, 1).cumprod(dim)).masked_fill(
        zeros_so_far == 0, 0
    )
    at_first = without_first.sum(dim, True)
    return before.masked_fill(zeros_so_far != 0, 0) + at_first * first_zero


def cummaxmin_backward(grad: Tensor, dim: int, indices: Tensor) -> Any:
    """The gradient of each running extremum, added at the element it was taken from, which may be
    the extremum of many results.
    """
    if not grad.dim():
        return grad
    return grad.new_zeros(grad.shape).scatter_add_(dim, indices, grad)


def logcumsumexp_backward(grad: Tensor, self: Any, result: Any, dim: int) -> Any:
    """For each x the sum of gradient * exp(x - result), over the results from x on.

    exp(x) and exp(-result) alone may overflow. So the sum of gradient * exp(-result) is computed as
    a logarithm, once for the positive gradients and once for the negative ones, and x is added to
    it.
    """
    if not grad.dim() or not grad.numel():
        return grad
    if grad.is_complex():
        return (_reverse_logcumsumexp(grad.conj().log() - result, dim) + self).exp().conj()
    # `none`, the smallest finite number, stands for the logarithm of 0
    size, none = grad.abs().log(), finfo(grad.dtype).min
    positive, negative = (
        (_reverse_logcumsumexp(size.masked_fill(sign, none) - result, dim) + self).exp()
        for sign in (grad <= 0, grad >= 0)
    )
    return positive - negative


def _reverse_logcumsumexp(t: Any, dim: int) -> Any:
    """The logarithms of the sums of exp(t) from each place on."""
    return t.flip((dim,)).logcumsumexp(dim).flip((dim,))


def _reverse_cumsum(t: Tensor, dim: int) -> Any:
    """The sums from each place on to the end of the row."""
    return t.flip((dim,)).cumsum(dim).flip((dim,))


def _product_of_others(t: Tensor, dim: int) -> Any:
    """For each element along `dim` the product of those before it and those after it."""
    n = t.shape[dim]
    if n < 2:
        return t.new_ones(t.shape)
    one = t.new_ones(_with(t.shape, dim, 1))
    before = cat((one, t.narrow(dim, 0, n - 1)), dim).cumprod(dim)
    after = cat((one, t.narrow(dim, 1, n - 1).flip((dim,))), dim).cumprod(dim).flip((dim,))
    return before * after


def _all_products_of_others(grad: Tensor, self: Tensor, dim: int) -> Any:
    """The gradient of a running product from all n * n products of a row of n. Row k of a matrix
    (..., n, n) is the running product with a 1 in place of element k.
    """
    x, g = self.movedim(dim, -1), grad.movedim(dim, -1)
    n = x.shape[-1]
    itself = eye(n, dtype=x.dtype, device=x.device) != 0
    others = x.unsqueeze(-2).expand((*x.shape[:-1], n, n)).masked_fill(itself, 1).cumprod(-1)
    # triu: element k is a factor of the results from k on only
    return (others.triu() * g.unsqueeze(-2)).sum(-1).movedim(-1, dim)


def _with(sizes: Sequence[int], dim: int, n: int) -> list[int]:
    """`sizes` with `n` as the size of dimension `dim`."""
    changed = list(sizes)
    changed[dim] = n
    return changed
