"""NAdam (`torch/optim/nadam.py`): Dozat, "Incorporating Nesterov momentum into Adam", 2016.

Like Adam, but a step looks ahead: it uses the average of gradients that the next step will have, as
far as it is known now. The momentum `mu` grows slowly from half of `beta1` to `beta1`; `mu_product`
is the product of all of them so far, and corrects the bias as `beta1 ** step` does in Adam.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals import tensor, zeros_like
from internals.core.tensor_impl import Tensor
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_beta_range,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
    step_dtype,
)  # fmt: skip


class NAdam(Optimizer):
    """Adam with Nesterov's momentum.

    Raises ValueError for negative options, and for betas outside [0, 1).
    """

    added_later = {
        "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False,
    }  # fmt: skip
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        check_not_differentiable("NAdam", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = number(group["lr"]), group["betas"]
        for p, grad, state in self._gradients(group):
            count = state["step"].item()
            mu, mu_next = (
                beta1 * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"]))
                for n in (count, count + 1)
            )
            product = state["mu_product"].mul_(mu).item()
            p, grad, exp_avg, exp_avg_sq = as_real(p, grad, state["exp_avg"], state["exp_avg_sq"])
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            denominator = exp_avg_sq.div(1 - beta2**count).sqrt().add_(group["eps"])
            # the share of this gradient, then that of the average with the next step's momentum
            p.addcdiv_(grad, denominator, value=-lr * (1 - mu) / (1 - product))
            p.addcdiv_(exp_avg, denominator, value=-lr * mu_next / (1 - product * mu_next))

    def _first_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        product = tensor(1.0, dtype=step_dtype())
        return {"mu_product": product, "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}
