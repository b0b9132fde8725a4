"""Optimizers: PyTorch's steps, state and words; and what the formulas say."""

from __future__ import annotations

import copy
import math
import pickle
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import internals as T
from internals.optim import Optimizer
from tests.support import assert_same, assert_same_outcome, from_torch, oracle

CONFIGURATIONS = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.3}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.05, "centered": True, "maximize": True}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.5, "alpha": 0.5}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
]
SHAPES = [(3, 4), (5,), ()]
KINDS = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"]


def parameters(library: Any, dtype: str, seed: int = 0) -> list[Any]:
    stream = np.random.default_rng(seed)
    values = [np.asarray(stream.standard_normal(shape), dtype) for shape in SHAPES]
    return [library.tensor(v).requires_grad_() for v in values]


def set_gradients(library: Any, params: list[Any], seed: int) -> None:
    """A gradient of random numbers for every parameter but, every third time, the second."""
    stream = np.random.default_rng(1000 + seed)
    for i, p in enumerate(params):
        grad = stream.standard_normal(tuple(p.shape)) * 0.5
        skip = i == 1 and seed % 3 == 0
        p.grad = None if skip else library.tensor(np.asarray(grad), dtype=p.dtype)


def assert_same_tree(ours: Any, theirs: Any) -> None:
    """Dicts, lists and tuples with the same tensors and values at the same places."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same_tree(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            assert_same_tree(a, b)
    else:
        assert_same(ours, theirs)


def tree_from_torch(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: tree_from_torch(value) for key, value in tree.items()}
    return [tree_from_torch(v) for v in tree] if isinstance(tree, list) else from_torch(tree)


# Side by side with PyTorch


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "options"), CONFIGURATIONS)
def test_twelve_steps_agree(name: str, options: dict[str, Any], dtype: str) -> None:
    torch = oracle()
    ours, theirs = parameters(T, dtype), parameters(torch, dtype)
    a, b = getattr(T.optim, name)(ours, **options), getattr(torch.optim, name)(theirs, **options)
    assert repr(a) == repr(b)
    for step in range(12):
        set_gradients(T, ours, step)
        set_gradients(torch, theirs, step)
        a.step()
        b.step()
        for p, q in zip(ours, theirs):
            assert_same(p.detach(), q.detach())
    assert_same_tree(a.state_dict(), b.state_dict())


@pytest.mark.parametrize(("name", "options"), CONFIGURATIONS)
def test_a_state_dict_of_pytorch_goes_on_here(name: str, options: dict[str, Any]) -> None:
    torch = oracle()
    theirs = parameters(torch, "float64")
    b = getattr(torch.optim, name)(theirs, **options)
    for step in range(3):
        set_gradients(torch, theirs, step)
        b.step()
    ours = [from_torch(p).requires_grad_() for p in theirs]
    a = getattr(T.optim, name)(ours)
    a.load_state_dict(tree_from_torch(b.state_dict()))
    for step in range(3, 6):
        set_gradients(T, ours, step)
        set_gradients(torch, theirs, step)
        a.step()
        b.step()
    for p, q in zip(ours, theirs):
        assert_same(p.detach(), q.detach())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": -0.1}),
        ("SGD", {"momentum": -1}),
        ("SGD", {"weight_decay": -1}),
        ("SGD", {"nesterov": True}),
        ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
        ("SGD", {"fused": True, "foreach": True}),
        ("SGD", {"fused": True, "differentiable": True}),
        ("Adam", {"lr": -1.0}),
        ("Adam", {"eps": -1.0}),
        ("Adam", {"betas": (1.0, 0.9)}),
        ("Adam", {"betas": (0.9, -0.1)}),
        ("Adam", {"betas": (0, 0.9)}),
        ("Adam", {"weight_decay": -1}),
        ("AdamW", {"weight_decay": -1}),
        ("AdamW", {"fused": True, "foreach": True}),
        ("RMSprop", {"lr": -1.0}),
        ("RMSprop", {"eps": -1.0}),
        ("RMSprop", {"momentum": -1.0}),
        ("RMSprop", {"weight_decay": -1.0}),
        ("RMSprop", {"alpha": -1.0}),
        ("Adagrad", {"lr": -1.0}),
        ("Adagrad", {"lr_decay": -1.0}),
        ("Adagrad", {"weight_decay": -1.0}),
        ("Adagrad", {"initial_accumulator_value": -1.0}),
        ("Adagrad", {"eps": -1.0}),
    ],
)
def test_options_are_refused_in_the_same_words(name: str, options: dict[str, Any]) -> None:
    torch = oracle()
    assert_same_outcome(
        lambda: getattr(T.optim, name)([T.ones(2)], **options),
        lambda: getattr(torch.optim, name)([torch.ones(2)], **options),
    )


def mixed_groups(t: Any) -> Any:
    optimizer = t.optim.SGD([t.ones(2)], lr=0.1)
    optimizer.load_state_dict(t.optim.SGD([t.ones(2), t.ones(1)], lr=0.1).state_dict())


def more_groups(t: Any) -> Any:
    two = t.optim.SGD([{"params": t.ones(1)}, {"params": t.ones(1)}], lr=0.1)
    t.optim.SGD([t.ones(2)], lr=0.1).load_state_dict(two.state_dict())


def twice(t: Any) -> Any:
    p = t.ones(2)
    return t.optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1)


BAD_PARAMETERS = [
    lambda t: t.optim.SGD(t.ones(2)),
    lambda t: t.optim.SGD([]),
    lambda t: t.optim.SGD([3]),
    lambda t: t.optim.SGD(["w"]),
    lambda t: t.optim.SGD([{"params": {t.ones(1), t.ones(2)}}]),
    lambda t: t.optim.SGD([t.ones(2, requires_grad=True) * 2]),
    lambda t: t.optim.SGD([("a", t.ones(2)), t.ones(2)]),
    lambda t: t.optim.SGD([t.ones(2)], lr=t.ones(2)),
    lambda t: t.optim.SGD([t.ones(2)]).add_param_group([t.ones(2)]),
    lambda t: t.optim.SGD([("a", t.ones(2))]).add_param_group({"params": [t.ones(2)]}),
    lambda t: t.optim.SGD([t.ones(2)]).add_param_group({"params": [("a", t.ones(2))]}),
    lambda t: t.optim.Optimizer([t.ones(2)], {}).step(),
    lambda t: t.optim.Optimizer([t.ones(2)], {"lr": import_module(f"{t.__name__}.optim.optimizer").required}),
    twice,
    mixed_groups,
    more_groups,
]


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters_are_refused_in_the_same_words(case: Any) -> None:
    torch = oracle()
    assert_same_outcome(lambda: case(T), lambda: case(torch))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.optim.SGD([{"params": t.ones(2), "lr": 1.0}, {"params": [t.ones(1)]}], lr=0.5),
        lambda t: t.optim.Adam([("weight", t.ones(2)), ("bias", t.ones(1))], lr=t.tensor(0.25)),
        lambda t: t.optim.AdamW([t.ones(2)], betas=[0.8, 0.9]),
    ],
)
def test_groups_print_and_save_alike(make: Any) -> None:
    torch = oracle()
    assert repr(make(T)) == repr(make(torch))
    assert_same_tree(make(T).state_dict(), make(torch).state_dict())


def test_complex_parameters_agree() -> None:
    torch = oracle()
    for name in ("SGD", "Adam", "RMSprop", "Adagrad"):
        values = np.random.default_rng(0).standard_normal((6, 3, 2)).view(np.complex128)[..., 0]
        results = []
        for t in (T, torch):
            p = t.tensor(values[0])
            optimizer = getattr(t.optim, name)([p], lr=0.1)
            for g in values[1:]:
                p.grad = t.tensor(g)
                optimizer.step()
            results.append(p)
        assert_same(results[0], results[1])


# What the formulas say


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
    optimizer = getattr(T.optim, name)([p], lr={"Adagrad": 1.0}.get(name, 0.05))
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
        assert p.tolist() == q.tolist()


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
    assert optimizer.state[p]["step"].item() == 4.0 and optimizer.param_groups[0]["amsgrad"] is False


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
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("before", p.item(), args, kwargs)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("after", p.item(), args, kwargs)))
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
    assert optimizer.param_groups[0]["lr"] == 2.0 and order[-1] == "loaded" and saved["param_groups"][0]["lr"] == 0.5


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
        with pytest.raises(NotImplementedError, match="differentiable=True is not implemented; SGD has it"):
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
    assert optimizer.state[p]["step"].dtype is T.float64 and math.isclose(optimizer.state[p]["step"].item(), 1)
