"""How alike vectors are, how far apart: `CosineSimilarity`, `PairwiseDistance`
(`torch/nn/modules/distance.py`).

How the real one differs: in nothing but the length of its documentation.
"""

from __future__ import annotations

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options


class CosineSimilarity(_Options):
    """x1 · x2 / (|x1| |x2|) along `dim`, the product of the norms counting as at least `eps`."""

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__(dim=dim, eps=eps)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(_Options):
    """The p-norm of x1 - x2 + eps along the last dimension."""

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__(norm=p, eps=eps, keepdim=keepdim)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
