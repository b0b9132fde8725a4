"""Stochastic gradient descent, optionally with momentum (`torch/optim/sgd.py`).

The plain method (Robbins and Monro, "A stochastic approximation method", 1951) goes downhill:
`p -= lr * grad`. Momentum (Polyak, "Some methods of speeding up the convergence of iteration
methods", 1964) goes along a running sum of gradients: `v = momentum * v + grad`. Nesterov's
variant, in the form of Sutskever, Martens, Dahl and Hinton ("On the importance of initialization
and momentum in deep learning", 2013), looks one step of momentum ahead.

The learning rate multiplies `v` when it is applied, while in Sutskever et al. it multiplies the
gradient when it is added: the two differ after a change of the learning rate. `v` begins as the
first gradient, without dampening.

How the real one differs: see `internals.optim.optimizer`.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import check_implementation, check_not_negative, check_rate, number


class SGD(Optimizer):
    """`p -= lr * grad`; options are momentum, an L2 penalty (`weight_decay`) and Nesterov momentum.

    Raises ValueError for negative options, and for `nesterov` without momentum or with dampening.
    """

    added_later = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        check_implementation(foreach, differentiable, fused)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        step = -number(group["lr"])
        weight_decay, momentum, maximize = (
            number(group["weight_decay"]),
            group["momentum"],
            group["maximize"],
        )
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if maximize:
                grad = -grad
            if weight_decay:
                grad = grad.add(p, alpha=weight_decay)
            if momentum:
                grad = self._with_momentum(p, grad, momentum, group)
            # p.add_(grad, alpha=step), without parsing the arguments
            ops.add__Tensor(p, grad, step)

    def _with_momentum(
        self, p: Tensor, grad: Tensor, momentum: float, group: dict[str, Any]
    ) -> Any:
        """The direction of the step: the updated `v`, or with `nesterov` grad + momentum * v."""
        state = self.state[p]
        v = state.get("momentum_buffer")
        if v is None:
            v = state["momentum_buffer"] = grad.detach().clone()
        else:
            v.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        return grad.add(v, alpha=momentum) if group["nesterov"] else v
