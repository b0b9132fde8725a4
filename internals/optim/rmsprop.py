"""RMSprop (`torch/optim/rmsprop.py`): Tieleman and Hinton, lecture 6.5 of "Neural networks for
machine learning", 2012.

The gradient is divided by the root of a running average of its square. `centered` (Graves,
"Generating sequences with recurrent neural networks", 2013) subtracts the square of the average,
which makes it an estimate of the standard deviation.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals import zeros_like
from internals.core.tensor_impl import Tensor
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
)  # fmt: skip


class RMSprop(Optimizer):
    """`p -= lr * grad / (sqrt(average(grad ** 2)) + eps)`, element by element.

    Raises ValueError for negative options.
    """

    added_later = {
        "momentum": 0, "centered": False, "foreach": None, "maximize": False,
        "differentiable": False, "capturable": False,
    }  # fmt: skip
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        check_not_differentiable("RMSprop", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        lr, alpha, momentum = number(group["lr"]), group["alpha"], group["momentum"]
        for p, grad, state in self._gradients(group):
            p, grad, square_avg = as_real(p, grad, state["square_avg"])
            square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if group["centered"]:
                (grad_avg,) = as_real(state["grad_avg"])
                grad_avg.lerp_(grad, 1 - alpha)
                # variance = average of squares - square of the average
                denominator = (
                    square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_().add_(group["eps"])
                )
            else:
                denominator = square_avg.sqrt().add_(group["eps"])
            if momentum > 0:
                (v,) = as_real(state["momentum_buffer"])
                v.mul_(momentum).addcdiv_(grad, denominator)
                p.add_(v, alpha=-lr)
            else:
                p.addcdiv_(grad, denominator, value=-lr)

    def _first_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"square_avg": zeros_like(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)
        return state
