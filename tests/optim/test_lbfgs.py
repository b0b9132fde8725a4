"""L-BFGS beside PyTorch's, and on functions whose minimum is known."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import internals
from tests.answers import answer


def rosenbrock(p: Any) -> Any:
    return (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()


def waves(p: Any) -> Any:
    return (p.sin() * 3 + p**2).sum() + (p[0] * p[1]).cos()


def walk(library: Any, loss: Any, dtype: str, steps: int = 3, **options: Any) -> list[Any]:
    """The losses and points of some steps, and the state that is left."""
    p = library.tensor(np.array([-1.2, 1.0, 0.3], dtype)).requires_grad_()
    optimizer = library.optim.LBFGS([p], **options)
    seen: list[Any] = []

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss(p)
        value.backward()
        return value

    for _ in range(steps):
        seen += [optimizer.step(closure).item(), *p.tolist()]
    state = optimizer.state_dict()["state"][0]
    return [
        seen,
        state["func_evals"],
        state["n_iter"],
        len(state.get("old_dirs", [])),
        sorted(state),
        repr(optimizer),
    ]


@pytest.mark.parametrize("loss", [rosenbrock, waves])
@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.01},
        {"lr": 0.01, "max_iter": 4, "history_size": 2},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "max_iter": 5, "lr": 0.3, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 3, "max_eval": 4},
        {"line_search_fn": "strong_wolfe", "tolerance_grad": 1e-2, "lr": 10.0},
        {"lr": 0.1, "tolerance_change": 1e-2},
    ],
)
def test_steps_agree(loss: Any, options: dict[str, Any]) -> None:
    ours = walk(internals, loss, "float64", **options)
    theirs = answer(lambda torch: walk(torch, loss, "float64", **options), family="optim")
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6, atol=1e-8)
    assert ours[1:] == theirs[1:]


def test_the_valley_s_end_is_found() -> None:
    seen, evaluations, *_ = walk(internals, rosenbrock, "float64", 3, line_search_fn="strong_wolfe")
    np.testing.assert_allclose(seen[-3:], [1, 1, 1], atol=1e-4)
    assert evaluations < 80


def test_complex_parameters_and_missing_gradients(T: Any) -> None:
    z, unused = (
        T.zeros(2, dtype=T.complex128, requires_grad=True),
        T.ones(3, dtype=T.float64, requires_grad=True),
    )
    goal = T.tensor([1 + 2j, -3j], dtype=T.complex128)
    optimizer = T.optim.LBFGS([z, unused], line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (z - goal).abs().pow(2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 14
    assert T.allclose(z, goal, atol=1e-6) and unused.tolist() == [1, 1, 1]


def test_a_saved_state_goes_on(T: Any) -> None:
    p, ends = T.tensor([-1.2, 1.0], dtype=T.float64, requires_grad=True), []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = rosenbrock(p)
        loss.backward()
        return loss

    optimizer = T.optim.LBFGS([p], max_iter=3, line_search_fn="strong_wolfe")
    optimizer.step(closure)
    saved, here = pickle.dumps(optimizer.state_dict()), p.detach().clone()
    for again in range(2):
        if again:
            optimizer = T.optim.LBFGS([p])
            optimizer.load_state_dict(pickle.loads(saved))
            p.data = here
        optimizer.step(closure)
        ends.append(p.tolist())
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_refusals(T: Any) -> None:
    a, b = T.ones(1, requires_grad=True), T.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        T.optim.LBFGS([{"params": [a]}, {"params": [b]}])
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        T.optim.LBFGS([a], lr=-1)

    def closure() -> Any:
        loss = (a * a).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        T.optim.LBFGS([a], line_search_fn="armijo").step(closure)
