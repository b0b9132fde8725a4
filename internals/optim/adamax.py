"""Adamax (`torch/optim/adamax.py`): Kingma and Ba, "Adam", 2015, section 7.1.

Adam with another norm: instead of the root of an average of squares, it divides by the largest
gradient so far, which decays by `beta2` in each step.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals import maximum, zeros_like
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


class Adamax(Optimizer):
    """`p -= lr * average(grad) / largest(|grad|)`, element by element.

    Raises ValueError for negative options, and for betas outside [0, 1).
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_not_differentiable("Adamax", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = number(group["lr"]), group["betas"]
        for p, grad, state in self._gradients(group):
            count = state["step"].item()
            p, grad, exp_avg, exp_inf = as_real(p, grad, state["exp_avg"], state["exp_inf"])
            exp_avg.lerp_(grad, 1 - beta1)
            maximum(exp_inf.mul_(beta2), grad.abs().add_(group["eps"]), out=exp_inf)
            p.addcdiv_(exp_avg, exp_inf, value=-(lr / (1 - beta1**count)))

    def _first_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": zeros_like(p), "exp_inf": zeros_like(p)}
