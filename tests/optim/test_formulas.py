"""Optimizers by their formulas, and around them: state, copies, hooks, closures, what users build
on them.
"""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import internals as T
from internals.optim import Optimizer
from tests.optim.support import KINDS, parameters, set_gradients


def test_sgd_is_a_step_against_the_gradient() -> None:
    p = T.tensor([1.0, 2.0])
    p.grad = T.tensor([10.0, -10.0])
    T.optim.SGD([p], lr=0.1).step()
    assert p.tolist() == [0.0, 3.0]


def test_momentum_is_a_sum_of_decayed_gradients() -> None:
    p = T.zeros(1, dtype=T.float64)
    optimizer = T.optim.SGD([p], lr=1.0, momentum=0.5)
    for _ in range(4):
        p.grad = T.ones(1, dtype=T.float64)
        optimizer.step()
    assert p.item() == -(1 + 1.5 + 1.75 + 1.875)
    assert optimizer.state_dict()["state"][0]["momentum_buffer"].item() == 1.875


def test_the_first_step_of_adam_has_the_length_of_the_learning_rate() -> None:
    p = T.zeros(3, dtype=T.float64)
    p.grad = T.tensor([1e-3, -5.0, 1e3], dtype=T.float64)
    T.optim.Adam([p], lr=0.1, eps=0.0).step()
    np.testing.assert_allclose(p.numpy(), [-0.1, 0.1, -0.1], rtol=1e-12)


def test_adamw_shrinks_what_has_no_gradient_and_adam_does_not() -> None:
    a, b = T.ones(1, dtype=T.float64), T.ones(1, dtype=T.float64)
    a.grad, b.grad = T.zeros(1, dtype=T.float64), T.zeros(1, dtype=T.float64)
    T.optim.AdamW([a], lr=0.1, weight_decay=0.5).step()
    T.optim.Adam([b], lr=0.1).step()
    assert a.item() == 0.95 and b.item() == 1.0


@pytest.mark.parametrize("name", KINDS)
def test_every_optimizer_finds_the_bottom_of_a_bowl(name: str) -> None:
    p = T.tensor([3.0, -2.0], dtype=T.float64)
    optimizer = getattr(T.optim, name)([p], lr={"Adagrad": 1.0, "Adadelta": 10.0}.get(name, 0.05))
    start = (p * p).sum().item()
    for _ in range(200):
        p.grad = 2 * p
        optimizer.step()
    assert (p * p).sum().item() < 1e-2 * start


@pytest.mark.parametrize("name", KINDS)
def test_parameters_without_gradient_stay_and_have_no_history(name: str) -> None:
    p, q = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    p.grad = T.ones(2)
    optimizer = getattr(T.optim, name)([p, q])
    before = p._version
    optimizer.step()
    assert q.tolist() == [1.0, 1.0] and p.tolist() != [1.0, 1.0]
    assert p.is_leaf and p.requires_grad and p._version > before
    assert all(not s.requires_grad for state in optimizer.state.values() for s in state.values())


@pytest.mark.parametrize("name", KINDS)
def test_a_state_dict_continues_where_it_was(name: str) -> None:
    ours = parameters(T, "float64")
    optimizer = getattr(T.optim, name)(ours, lr=0.1)
    set_gradients(T, ours, 1)
    optimizer.step()
    copied = [p.detach().clone() for p in ours]
    other = getattr(T.optim, name)(copied, lr=0.7)
    other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    assert other.param_groups[0]["lr"] == 0.1
    for params, o in ((ours, optimizer), (copied, other)):
        set_gradients(T, params, 2)
        o.step()
    for p, q in zip(ours, copied):
        # whose product was a float32, and is as exact as the parameters once it was loaded
        rounded = name == "NAdam"
        assert T.allclose(p, q, rtol=1e-6) if rounded else T.equal(p, q)


def test_loading_casts_to_the_dtype_of_the_parameter_but_not_the_count() -> None:
    p = T.ones(2, dtype=T.float64)
    p.grad = p.clone()
    saved = T.optim.Adam([p])
    saved.step()
    half = T.ones(2, dtype=T.float16)
    optimizer = T.optim.Adam([half])
    optimizer.load_state_dict(saved.state_dict())
    assert optimizer.state[half]["exp_avg"].dtype is T.float16
    assert optimizer.state[half]["step"].dtype is T.float32


def test_old_state_dicts_lack_options_and_count_in_numbers() -> None:
    p = T.ones(1)
    optimizer = T.optim.Adam([p])
    zeros = {"exp_avg": T.zeros(1), "exp_avg_sq": T.zeros(1)}
    group = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "params": [7]}
    optimizer.load_state_dict({"state": {7: {"step": 3, **zeros}}, "param_groups": [group]})
    p.grad = T.ones(1)
    optimizer.step()
    assert (
        optimizer.state[p]["step"].item() == 4.0 and optimizer.param_groups[0]["amsgrad"] is False
    )


def test_deepcopy_and_pickle_take_the_parameters_along() -> None:
    p = T.ones(2)
    p.grad = T.ones(2)
    optimizer = T.optim.SGD([p], lr=0.1, momentum=0.9)
    optimizer.step()
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (q,) = twin.param_groups[0]["params"]
        q.grad = T.ones(2)
        twin.step()
        assert q is not p
        np.testing.assert_allclose(q.tolist(), [0.71, 0.71], rtol=1e-6)
    np.testing.assert_allclose(p.tolist(), [0.9, 0.9], rtol=1e-6)


def test_zero_grad() -> None:
    p, q = T.ones(2), T.ones(2)
    p.grad = kept = T.ones(2)
    optimizer = T.optim.SGD([p, q])
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is kept and kept.tolist() == [0.0, 0.0] and q.grad is None
    optimizer.zero_grad()
    assert p.grad is None


def test_the_closure_is_evaluated_with_gradients_on_and_the_step_with_gradients_off() -> None:
    p = T.tensor([2.0], requires_grad=True)
    optimizer = T.optim.SGD([p], lr=0.25)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with T.no_grad():
        loss = optimizer.step(closure)
        assert not T.is_grad_enabled()
    assert T.is_grad_enabled() and loss.item() == 4.0 and p.tolist() == [1.0]


def test_a_step_that_fails_leaves_gradients_on() -> None:
    p = T.ones(2)
    p.grad = T.ones(2)
    with pytest.raises(TypeError):
        T.optim.SGD([p]).step(closure=lambda: len(3))  # type: ignore[arg-type]
    assert T.is_grad_enabled()


def test_hooks_run_around_the_step() -> None:
    p = T.ones(1)
    p.grad = T.ones(1)
    optimizer = T.optim.SGD([p], lr=1.0)
    seen: list[Any] = []
    before = optimizer.register_step_pre_hook(
        lambda o, args, kwargs: seen.append(("before", p.item(), args, kwargs))
    )
    optimizer.register_step_post_hook(
        lambda o, args, kwargs: seen.append(("after", p.item(), args, kwargs))
    )
    everywhere = T.optim.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append(o))
    optimizer.step()
    assert seen == [("before", 1.0, (optimizer,), {}), ("after", 0.0, (optimizer,), {}), optimizer]
    before.remove()
    everywhere.remove()
    optimizer.step(closure=None)
    assert seen[3:] == [("after", -1.0, (optimizer,), {"closure": None})]


def test_a_hook_may_change_the_arguments() -> None:
    p = T.ones(1)
    p.grad = T.ones(1)
    optimizer = T.optim.SGD([p], lr=1.0)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 7}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


class Halving(Optimizer):
    """An optimizer as users write them: with a step of its own."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {})

    @T.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                p.mul_(0.5)
        return "halved"


class Quartering(Halving):
    def step(self, closure: Any = None) -> Any:
        super().step()
        return super().step()


def test_users_optimizers_get_hooks_once_a_step() -> None:
    p = T.ones(1, requires_grad=True)
    optimizer = Quartering([p])
    calls: list[float] = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(p.item()))
    assert optimizer.step() == "halved"
    assert calls == [0.25]


def test_state_dict_hooks() -> None:
    optimizer = T.optim.SGD([T.ones(1)], lr=0.5)
    order: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: order.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    saved = optimizer.state_dict()
    assert order == ["first", "second"] and saved["extra"] == 1

    def faster(o: Any, state: Any) -> Any:
        return {**state, "param_groups": [{**group, "lr": 2.0} for group in state["param_groups"]]}

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda o: order.append("loaded"))
    optimizer.load_state_dict(saved)
    assert (
        optimizer.param_groups[0]["lr"] == 2.0
        and order[-1] == "loaded"
        and saved["param_groups"][0]["lr"] == 0.5
    )


def test_names_are_kept_and_saved() -> None:
    optimizer = T.optim.SGD([("a", T.ones(1)), ("b", T.ones(1))], lr=0.5)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    unnamed = T.optim.SGD([T.ones(1), T.ones(1)], lr=0.1).state_dict()
    optimizer.load_state_dict(unnamed)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]


def test_a_parameter_listed_twice_warns() -> None:
    p = T.ones(1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        T.optim.SGD([p, p])


def test_a_learning_rate_in_a_tensor_is_read_at_each_step() -> None:
    p, lr = T.zeros(1), T.tensor(1.0)
    p.grad = T.ones(1)
    optimizer = T.optim.SGD([p], lr=lr)
    optimizer.step()
    lr.fill_(10.0)
    optimizer.step()
    assert p.item() == -11.0


def test_a_differentiable_step_of_sgd_has_a_history_and_others_refuse() -> None:
    x = T.ones(1, dtype=T.float64, requires_grad=True)
    p = x.clone()
    p.grad = (x * x * x).detach() * 0 + x * 3
    T.optim.SGD([p], lr=0.5, differentiable=True).step()
    p.backward()
    assert x.grad.item() == 1 - 0.5 * 3
    for name in ("Adam", "AdamW", "RMSprop", "Adagrad"):
        with pytest.raises(
            NotImplementedError, match="differentiable=True is not implemented; SGD has it"
        ):
            getattr(T.optim, name)([T.ones(1)], differentiable=True)


def test_steps_are_counted_in_double_when_that_is_the_default() -> None:
    p = T.ones(1)
    p.grad = T.ones(1)
    was = T.get_default_dtype()
    try:
        T.set_default_dtype(T.float64)
        optimizer = T.optim.Adam([p])
        optimizer.step()
    finally:
        T.set_default_dtype(was)
    assert optimizer.state[p]["step"].dtype is T.float64 and math.isclose(
        optimizer.state[p]["step"].item(), 1
    )
