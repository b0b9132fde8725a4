"""AdamW (`torch/optim/adamw.py`): Loshchilov and Hutter, "Decoupled weight decay regularization",
2017.

In Adam an L2 penalty is part of the gradient and is divided with it, so weights with large
gradients hardly decay. AdamW separates the two: before each step every weight is multiplied by
`1 - lr * weight_decay`.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals.optim.adam import Adam
from internals.optim.optimizer import Params


class AdamW(Adam):
    """Adam with decoupled weight decay, by default 0.01. Raises ValueError like `Adam`."""

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # a state saved by Adam says False
            group["decoupled_weight_decay"] = True
