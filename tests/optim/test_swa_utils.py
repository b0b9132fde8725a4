"""Averages of parameters. The same code runs in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from tests.answers import answer


def small_model(T: Any) -> Any:
    T.manual_seed(0)
    return T.nn.Sequential(T.nn.Linear(3, 2), T.nn.BatchNorm1d(2))


def averaged(T: Any, **options: Any) -> list[Any]:
    """Parameters and buffers of the average after four steps."""
    model = small_model(T)
    average = T.optim.swa_utils.AveragedModel(model, **options)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        model(T.arange(12.0).reshape(4, 3).sin() * step).square().sum().backward()
        optimizer.step()
        average.update_parameters(model)
    return [*average.parameters(), *average.buffers()]


def options_of(T: Any) -> list[dict[str, Any]]:
    swa = T.optim.swa_utils
    return [
        {},
        {"use_buffers": True},
        {"avg_fn": swa.get_ema_avg_fn(0.7)},
        {"avg_fn": swa.get_swa_avg_fn(), "use_buffers": True},
        {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.7)},
        {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.7), "use_buffers": True},
        {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
    ]


@pytest.mark.parametrize("case", range(7))
def test_averages_agree(case: int) -> None:
    ours = averaged(internals, **options_of(internals)[case])
    theirs = answer(lambda torch: averaged(torch, **options_of(torch)[case]), family="optim")
    for a, b in zip(ours, theirs, strict=True):
        assert a.requires_grad == b.requires_grad and str(a.dtype)[-5:] == str(b.dtype)[-5:]
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-4, atol=1e-6)


def test_all_count_alike_or_the_latest_most(T: Any) -> None:
    model, swa = T.nn.Linear(1, 1, bias=False), T.optim.swa_utils
    alike, latest = (
        swa.AveragedModel(model),
        swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.5)),
    )
    for value in (1.0, 2.0, 6.0):
        T.nn.init.constant_(model.weight, value)
        alike.update_parameters(model)
        latest.update_parameters(model)
    assert (
        alike.module.weight.item() == 3
        and latest.module.weight.item() == 3.75
        and alike.n_averaged.item() == 3
    )
    assert alike(T.ones(1, 1)).item() == 3 and list(alike.state_dict()) == [
        "n_averaged",
        "module.weight",
    ]


def test_statistics_are_computed_anew(T: Any) -> None:
    model = small_model(T).eval()
    batches = [T.ones(4, 3), (T.arange(12.0).reshape(4, 3), "label")]
    model[1].running_mean.fill_(9.0)
    T.optim.swa_utils.update_bn(batches, model)
    means = [model[0](b[0] if isinstance(b, tuple) else b).mean(0) for b in batches]
    assert T.allclose(model[1].running_mean, (means[0] + means[1]) / 2, atol=1e-6)
    assert (
        model[1].momentum == 0.1 and not model.training and model[1].num_batches_tracked.item() == 2
    )


def test_refusals(T: Any) -> None:
    swa = T.optim.swa_utils
    with pytest.raises(
        ValueError,
        match=r"Invalid decay value 1.5 provided. Please provide a value in \[0,1\] range.",
    ):
        swa.get_ema_multi_avg_fn(1.5)
    with pytest.raises(
        AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"
    ):
        swa.AveragedModel(
            T.nn.ReLU(), avg_fn=swa.get_swa_avg_fn(), multi_avg_fn=swa.get_swa_multi_avg_fn()
        )
