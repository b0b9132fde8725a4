"""Gradients of distances and of `renorm` (`torch/csrc/autograd/FunctionsManual.cpp`,
`aten/src/ATen/native/Distance.cpp`).

How the real one differs: the same formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated import ops

from .complex import conj, real_part
from .norms import norm_backward

if TYPE_CHECKING:
    from internals._tensor import Tensor


def dist_backward(grad: Tensor, self: Any, other: Any, p: Any, result: Any) -> Any:
    """Of `self`; with the arguments exchanged, of `other`."""
    return norm_backward(grad, self - other, p, result, None, False)


def euclidean_dist_backward(grad: Tensor, x1: Any, x2: Any, result: Any) -> Any:
    """For both matrices: a distance grows in the direction away from the other row; 0 at distance
    0.
    """
    ratio = (grad / result).masked_fill(result == 0, 0)
    return (
        x1 * ratio.sum(-1, True) - ratio.matmul(x2),
        x2 * ratio.sum(-2).unsqueeze(-1) - ratio.mT.matmul(x1),
    )


def renorm_backward(grad: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Any:
    """Of a slice that was scaled: the scaled gradient, less the part of it that would have changed
    the norm.
    """
    dims = [d for d in range(self.dim()) if d != dim % self.dim()]
    norm = ops.linalg_vector_norm(self, p, dims, True, None)
    along = real_part((conj(self) * grad).sum(dims, True))
    of_norm = norm_backward(along, self, p, norm, dims, True)
    scale = (norm + 1e-7).reciprocal()
    scaled = maxnorm * scale * (grad - scale * of_norm)
    return ops.where_self(norm > maxnorm, scaled.to(grad.dtype), grad)
