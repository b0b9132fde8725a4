"""Adadelta (`torch/optim/adadelta.py`): Zeiler, "Adadelta: an adaptive learning rate method", 2012.

As in RMSprop the gradient is divided by the root of the average of its squares. It is then
multiplied by the same root for the steps so far, which gives a step the units of the parameter, so
that no learning rate has to be chosen.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals import zeros_like
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
)  # fmt: skip


class Adadelta(Optimizer):
    """`p -= lr * sqrt(average(step ** 2) + eps) / sqrt(average(grad ** 2) + eps) * grad`, element
    by element.

    Raises ValueError for negative options, and for `rho` outside [0, 1].
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        check_not_differentiable("Adadelta", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        """One step for the parameters of `group`."""
        lr, rho, eps = number(group["lr"]), group["rho"], group["eps"]
        for p, grad, state in self._gradients(group):
            p, grad, square_avg, acc_delta = as_real(
                p, grad, state["square_avg"], state["acc_delta"]
            )
            square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
            step = acc_delta.add(eps).sqrt_().div_(square_avg.add(eps).sqrt_()).mul_(grad)
            acc_delta.mul_(rho).addcmul_(step, step, value=1 - rho)
            p.add_(step, alpha=-lr)

    def _first_state(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"square_avg": zeros_like(p), "acc_delta": zeros_like(p)}
