"""Rprop (`torch/optim/rprop.py`): Riedmiller and Braun, "RPROP", 1993.

Only the sign of the gradient counts. Every element has its own step size, which grows while the
sign stays the same and shrinks when it changes: then the element has jumped over a minimum, and it
is not moved in this step.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals import full_like, ones_like, zeros_like
from internals.core.tensor_impl import Tensor
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_not_differentiable,
    check_rate,
    number,
)  # fmt: skip


class Rprop(Optimizer):
    """`p -= step_size * sign(grad)`, element by element.

    `etas` are the factors by which a step size shrinks and grows, `step_sizes` the smallest and the
    largest. Raises ValueError unless 0 < etas[0] < 1 < etas[1].
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_not_differentiable("Rprop", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        shrink, grow = group["etas"]
        for p, grad, state in self._gradients(group):
            p, grad, prev, step_size = as_real(p, grad, state["prev"], state["step_size"])
            sign = grad.mul(prev).sign()
            factor = ones_like(sign).masked_fill_(sign > 0, grow).masked_fill_(sign < 0, shrink)
            step_size.mul_(factor).clamp_(*group["step_sizes"])
            # sign(0) is 0: no step now, and no change of the step size next time
            grad = grad.masked_fill(sign < 0, 0)
            p.addcmul_(grad.sign(), step_size, value=-1)
            prev.copy_(grad)

    def _first_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = number(group["lr"])
        return {
            "prev": zeros_like(p),
            "step_size": full_like(p, complex(lr, lr) if p.is_complex() else lr),
        }
