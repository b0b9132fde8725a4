"""L-BFGS (`torch/optim/lbfgs.py`): Liu and Nocedal, "On the limited memory BFGS method", 1989.

Newton's method divides the gradient by the matrix of second derivatives. Here this matrix is
estimated from the last steps: from the change of the gradient (`y`) for a change of the parameters
(`s`). The inverse of the estimate is never stored; the two loops in `_direction` multiply a vector
by it, using the last `history_size` pairs.

All parameters count as one vector. The closure is called several times in a step, so it must
compute the same loss each time.

How the real one differs: it also takes sparse gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals import cat, enable_grad, mul, no_grad, view_as_real
from internals.core.tensor_impl import Tensor
from internals.optim.line_search import Trial, strong_wolfe
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import as_real, check_rate, number


class LBFGS(Optimizer):
    """Each step has up to `max_iter` iterations and `max_eval` calls of the closure, by default a
    quarter more than `max_iter`.

    `line_search_fn` is None, for steps of length `lr`, or "strong_wolfe". Iterations end early when
    no gradient is larger than `tolerance_grad`, or the loss or all parameters change by less than
    `tolerance_change`. Raises ValueError for a negative learning rate, and for more than one group
    of parameters.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[..., Any]) -> Any:
        """Iterate, and return the first loss of `closure`, which must call `backward` each time."""
        closure = enable_grad()(closure)
        group = self.param_groups[0]
        lr, max_iter, max_eval, change = (
            number(group["lr"]),
            group["max_iter"],
            group["max_eval"],
            group["tolerance_change"],
        )
        # stored for the first parameter, so that `load_state_dict` casts it to that one's dtype
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, grad = float(first_loss), self._gradient()
        evaluations = 1
        state["func_evals"] += 1
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            d = state["d"] = self._direction(state, grad, group["history_size"])
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = grad.clone()
            else:
                state["prev_flat_grad"].copy_(grad)
            previous_loss = state["prev_loss"] = loss
            # the first direction is the gradient itself, of any length: a short step is safer
            state["t"] = t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)  # the derivative of the loss along d
            if slope > -change:
                break
            tried = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = Trial(0, loss, grad.clone(), slope)
                best, tried = strong_wolfe(
                    self._along(closure, d), start, t, d.abs().max(), 1e-9, max_eval - evaluations
                )
                loss, grad, t = best.loss, best.grad, best.t
                state["t"] = t
                self._move(t, d)
            else:
                self._move(t, d)
                if iteration != max_iter:  # the next `step` computes loss and gradient anyway
                    loss, grad, tried = float(closure()), self._gradient(), 1
            evaluations += tried
            state["func_evals"] += tried
            if (
                evaluations >= max_eval
                or grad.abs().max() <= group["tolerance_grad"]
                or d.mul(t).abs().max() <= change
                or abs(loss - previous_loss) < change
            ):
                break
        return first_loss

    def _direction(self, state: dict[str, Any], grad: Tensor, history_size: int) -> Any:
        """Minus the gradient, multiplied from the second iteration on by the estimated inverse of
        the second derivatives: the two-loop recursion.
        """
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        ys = y.dot(s)
        if ys > 1e-10:  # only positive curvature keeps the estimate positive definite
            if len(changes) == history_size:
                for remembered in (changes, steps, inverses):
                    remembered.pop(0)
            changes.append(y)
            steps.append(s)
            inverses.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        alphas = state.setdefault("al", [None] * history_size)
        # newest to oldest pair, then a scaled identity as first estimate, then back
        q = grad.neg()
        for i in reversed(range(len(changes))):
            alphas[i] = steps[i].dot(q) * inverses[i]
            q.add_(changes[i], alpha=-alphas[i])
        d = mul(q, state["H_diag"])
        for i in range(len(changes)):
            d.add_(steps[i], alpha=alphas[i] - changes[i].dot(d) * inverses[i])
        return d

    def _along(self, closure: Callable[..., Any], d: Tensor) -> Any:
        """A function that evaluates the loss at distance t along `d`, then restores parameters."""
        here = [p.clone() for p in self._params]

        def evaluate(t: float | Tensor) -> Trial:
            self._move(t, d)
            loss, grad = float(closure()), self._gradient()
            for p, before in zip(self._params, here):
                p.copy_(before)
            return Trial(t, loss, grad, grad.dot(d))

        return evaluate

    def _gradient(self) -> Any:
        """All gradients as one vector (elements); zeros for a parameter without one."""
        grads = [p.new_zeros(p.shape) if p.grad is None else p.grad for p in self._params]
        return cat([(view_as_real(g) if g.is_complex() else g).reshape(-1) for g in grads], 0)

    def _move(self, t: float | Tensor, d: Tensor) -> None:
        """Add `t * d` to the parameters; `d` is a vector of all their elements."""
        start = 0
        for p in as_real(*self._params):
            p.add_(d[start : start + p.numel()].view_as(p), alpha=t)
            start += p.numel()
