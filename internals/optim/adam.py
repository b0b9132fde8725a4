"""Adam (`torch/optim/adam.py`): Kingma and Ba, "Adam: A method for stochastic optimization", 2014.

There are two running averages for each element: of the gradient (`exp_avg`) and of its square
(`exp_avg_sq`). A step is the first divided by the root of the second, times `lr`: about `lr` for an
element whose gradient stays the same, large or small, and less where it fluctuates. Both averages
begin at zero and would be too small at first; dividing them by `1 - beta ** step` corrects that.

AMSGrad (Reddi, Kale and Kumar, "On the convergence of Adam and beyond", 2018) divides by the
largest second average so far. `weight_decay` is an L2 penalty in the gradient, or with
`decoupled_weight_decay` AdamW's.

How the real one differs: see `internals.optim.optimizer`. With `differentiable=True` gradients flow
through its steps; here that raises an error.
"""

from __future__ import annotations

from typing import Any

from internals import Tensor, maximum, zeros_like
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_beta_range,
    check_implementation,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
)  # fmt: skip


class Adam(Optimizer):
    """`p -= lr * average(grad) / sqrt(average(grad ** 2))`, element by element.

    Raises ValueError for negative options, for betas outside [0, 1), and for one beta a float and
    the other a tensor.
    """

    added_later = {
        "amsgrad": False, "maximize": False, "foreach": None, "capturable": False,
        "differentiable": False, "decoupled_weight_decay": False, "fused": None,
    }  # fmt: skip
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_rate(lr)
        check_not_negative(epsilon=eps)
        check_betas(betas, foreach and not capturable)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        check_implementation(foreach, differentiable, fused)
        check_not_differentiable("Adam", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        lr, beta1, beta2 = number(group["lr"]), number(group["betas"][0]), number(group["betas"][1])
        for p, grad, state in self._gradients(group):
            count = state["step"].item()
            p, grad, exp_avg, exp_avg_sq = as_real(p, grad, state["exp_avg"], state["exp_avg_sq"])
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            if group["amsgrad"]:  # the largest average replaces the current one
                (largest,) = as_real(state["max_exp_avg_sq"])
                exp_avg_sq = maximum(largest, exp_avg_sq, out=largest)
            # both corrections: lr * (m / (1 - beta1^n)) / (sqrt(v / (1 - beta2^n)) + eps)
            denominator = exp_avg_sq.sqrt().div_((1 - beta2**count) ** 0.5).add_(group["eps"])
            p.addcdiv_(exp_avg, denominator, value=-(lr / (1 - beta1**count)))

    def _first_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}
        return {**state, "max_exp_avg_sq": zeros_like(p)} if group["amsgrad"] else state


def check_betas(betas: tuple[Any, Any], no_tensors: bool | None) -> None:
    """Raise ValueError unless both are in [0, 1), and both floats or both one-element tensors.

    With `no_tensors` tensors are not allowed.
    """
    check_beta_range(betas)
    if not any(
        isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)
    ):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas[:2]):
        if isinstance(beta, Tensor) and no_tensors:
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
            )
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
