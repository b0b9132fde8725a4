"""Optimizers beside PyTorch's: steps, state and words. What needs no PyTorch is in
`test_optim_formulas`.
"""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import internals as T
from tests.answers import answer
from tests.optim.support import parameters, set_gradients
from tests.support import assert_same, assert_same_outcome, from_torch

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
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "betas": (0.5, 0.9), "momentum_decay": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.7), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.5, 0.6), "eps": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.1, "rho": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("ASGD", {}),
    (
        "ASGD",
        {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1, "maximize": True},
    ),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 2.0), "step_sizes": (0.05, 0.15), "maximize": True}),
]


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


def steps(t: Any, optimizer: Any, params: list[Any], which: range) -> list[Any]:
    """The parameters after each of the steps."""
    places = []
    for step in which:
        set_gradients(t, params, step)
        optimizer.step()
        places.append([p.detach().clone() for p in params])
    return places


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "options"), CONFIGURATIONS)
def test_twelve_steps_agree(name: str, options: dict[str, Any], dtype: str) -> None:
    def walk(t: Any) -> Any:
        params = parameters(t, dtype)
        optimizer = getattr(t.optim, name)(params, **options)
        places = steps(t, optimizer, params, range(12))
        return repr(optimizer), places, optimizer.state_dict()

    assert_same_tree(walk(T), answer(walk, family="optim"))


@pytest.mark.parametrize(("name", "options"), CONFIGURATIONS)
def test_a_state_dict_of_pytorch_goes_on_here(name: str, options: dict[str, Any]) -> None:
    def walk(torch: Any) -> Any:
        params = parameters(torch, "float64")
        first = getattr(torch.optim, name)(params, **options)
        half = steps(torch, first, params, range(3))[-1]
        saved = copy.deepcopy(first.state_dict())
        second = getattr(torch.optim, name)(params)
        # which makes NAdam's product as exact as the parameters
        second.load_state_dict(first.state_dict())
        return half, saved, steps(torch, second, params, range(3, 6))

    half, saved, theirs = answer(walk, family="optim")
    params = [from_torch(p).requires_grad_() for p in half]
    optimizer = getattr(T.optim, name)(params)
    optimizer.load_state_dict(tree_from_torch(saved))
    assert_same_tree(steps(T, optimizer, params, range(3, 6)), theirs)


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
        ("NAdam", {"momentum_decay": -1.0}),
        ("NAdam", {"betas": (0.9, 1.0)}),
        ("RAdam", {"betas": (-0.1, 0.9)}),
        ("RAdam", {"weight_decay": -1.0}),
        ("Adamax", {"eps": -1.0}),
        ("Adadelta", {"rho": 1.5}),
        ("Rprop", {"etas": (0.5, 0.9)}),
        ("ASGD", {"weight_decay": -0.1}),
    ],
)
def test_options_are_refused_in_the_same_words(name: str, options: dict[str, Any]) -> None:
    def make(t: Any) -> Any:
        return getattr(t.optim, name)([t.ones(2)], **options)

    assert_same_outcome(lambda: make(T), make, family="optim")


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
    lambda t: t.optim.Optimizer(
        [t.ones(2)], {"lr": import_module(f"{t.__name__}.optim.optimizer").required}
    ),
    twice,
    mixed_groups,
    more_groups,
]


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters_are_refused_in_the_same_words(case: Any) -> None:
    assert_same_outcome(lambda: case(T), case, family="optim")


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.optim.SGD([{"params": t.ones(2), "lr": 1.0}, {"params": [t.ones(1)]}], lr=0.5),
        lambda t: t.optim.Adam([("weight", t.ones(2)), ("bias", t.ones(1))], lr=t.tensor(0.25)),
        lambda t: t.optim.AdamW([t.ones(2)], betas=[0.8, 0.9]),
    ],
)
def test_groups_print_and_save_alike(make: Any) -> None:
    def shown(t: Any) -> Any:
        return repr(make(t)), make(t).state_dict()

    assert_same_tree(shown(T), answer(shown, family="optim"))


def test_complex_parameters_agree() -> None:
    values = np.random.default_rng(0).standard_normal((6, 3, 2)).view(np.complex128)[..., 0]

    def walk(t: Any, name: str) -> Any:
        p = t.tensor(values[0])
        optimizer = getattr(t.optim, name)([p], lr=0.1)
        for g in values[1:]:
            p.grad = t.tensor(g)
            optimizer.step()
        return p

    for name in ("SGD", "Adam", "RMSprop", "Adagrad"):
        assert_same(
            walk(T, name), answer(lambda torch, name=name: walk(torch, name), family="optim")
        )
