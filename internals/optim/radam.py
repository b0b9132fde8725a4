"""RAdam (`torch/optim/radam.py`): Liu et al., "On the variance of the adaptive learning rate and
beyond", 2020.

In Adam's first steps the average of squares is an estimate from few gradients, so its variance is
large and the length of the steps is unreliable. Here steps are shortened by a factor derived from
that variance. As long as the variance has no finite value (about five steps), the gradient is not
divided at all.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals import zeros_like
from internals.core.tensor_impl import Tensor
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_beta_range,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
)  # fmt: skip


class RAdam(Optimizer):
    """Adam with rectified first steps.

    Raises ValueError for negative options, and for betas outside [0, 1).
    """

    added_later = {
        "foreach": None, "maximize": False, "differentiable": False,
        "decoupled_weight_decay": False, "capturable": False,
    }  # fmt: skip
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(epsilon=eps)
        check_beta_range(betas)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        check_not_differentiable("RAdam", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = number(group["lr"]), group["betas"]
        for p, grad, state in self._gradients(group):
            count = state["step"].item()
            p, grad, exp_avg, exp_avg_sq = as_real(p, grad, state["exp_avg"], state["exp_avg_sq"])
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            step = exp_avg / (1 - beta1**count) * lr
            shorter = _rectification(count, beta2)
            if shorter is not None:
                step = (
                    step
                    * ((1 - beta2**count) ** 0.5 / exp_avg_sq.sqrt().add_(group["eps"]))
                    * shorter
                )
            p.add_(step, alpha=-1.0)

    def _first_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}


def _rectification(count: float, beta2: float) -> float | None:
    """The factor that shortens step `count`; None while the variance is not finite.

    `length` is the effective number of gradients in the average, `longest` its limit (rho_t and
    rho_inf in the paper).
    """
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * count * beta2**count / (1 - beta2**count)
    if length <= 5:
        return None
    return ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
