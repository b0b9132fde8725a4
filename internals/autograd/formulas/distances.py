"""Gradients of distances and of `renorm` (`torch/csrc/autograd/FunctionsManual.cpp`,
`aten/src/ATen/native/Distance.cpp`).

A distance between two points grows fastest in the direction from the other point to this one; a
norm does so in the direction `norm_backward` gives.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor

from .complex import conj, real_part
from .norms import norm_backward


def dist_backward(grad: Tensor, self: Any, other: Any, p: Any, result: Any) -> Any:
    """The gradient of `self`; with the two tensors exchanged it is that of `other`."""
    return norm_backward(grad, self - other, p, result, None, False)


def euclidean_dist_backward(grad: Tensor, x1: Any, x2: Any, result: Any) -> Any:
    """The gradients of x1 (..., P, M) and x2 (..., R, M), from `grad` for all distances (..., P,
    R).

    The derivative of the distance d between rows a and b is (a - b) / d by a; it is taken as 0
    where d is 0.
    """
    # sum over r of ratio[p, r] * (x1[p] - x2[r]) is x1[p] * (sum of ratio[p]) - (ratio @ x2)[p]
    ratio = (grad / result).masked_fill(result == 0, 0)
    return (
        x1 * ratio.sum(-1, True) - ratio.matmul(x2),
        x2 * ratio.sum(-2).unsqueeze(-1) - ratio.mT.matmul(x1),
    )


def renorm_backward(grad: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Any:
    """The gradient of `self`, whose slices along `dim` were scaled to the norm `maxnorm` if theirs
    was larger: for a scaled slice, the scaled gradient less its component that changes the norm.
    """
    dims = [d for d in range(self.dim()) if d != dim % self.dim()]
    norm = ops.linalg_vector_norm(self, p, dims, True, None)
    # one number for each slice: sizes are 1 but for `dim`
    along = real_part((conj(self) * grad).sum(dims, True))
    of_norm = norm_backward(along, self, p, norm, dims, True)
    scale = (norm + 1e-7).reciprocal()  # renorm itself divides by norm + 1e-7
    scaled = maxnorm * scale * (grad - scale * of_norm)
    return ops.where_self(norm > maxnorm, scaled.to(grad.dtype), grad)
