"""The negative log likelihood and cross entropy on the device."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.nn import functional as F
from tests.cuda.comparing import (
    FLOATS,
    compare,
    compare_gradients,
    no_fallback,
    same,
    same_error,
    values,
)

REDUCTIONS = ("none", "sum", "mean")


def classes(shape: tuple[int, ...], n: int, ignored: int | None = None) -> Any:
    t = (values(shape, "int64", 3) + 3) % n
    return t if ignored is None else t.masked_fill(values(shape, "int64", 4) > 2, ignored)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("shape", [(6, 5), (2, 5, 3, 2), (2, 5, 3), (40, 3)])
def test_matrices_and_images(
    shape: tuple[int, ...], ignored: int, reduction: str, dtype: str
) -> None:
    def loss(x: Any, t: Any, weight: Any) -> Any:
        return F.nll_loss(x, t, weight, ignore_index=ignored, reduction=reduction)

    x, t = values(shape, dtype), classes((shape[0], *shape[2:]), shape[1], ignored)
    for weight in (None, values((shape[1],), dtype, 7).abs()):
        compare(loss, x, t, weight, tolerance={"float16": 5e-3}.get(dtype))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(6, 5), (2, 5, 3, 2)])
def test_gradients(shape: tuple[int, ...], reduction: str) -> None:
    x, weight = values(shape, "float64"), values((shape[1],), "float64", 7).abs()
    t, some = (
        classes((shape[0], *shape[2:]), shape[1]),
        classes((shape[0], *shape[2:]), shape[1], 1),
    )
    compare_gradients(lambda x, t: F.nll_loss(x, t, ignore_index=1, reduction=reduction), x, some)
    compare_gradients(
        lambda x, t: F.nll_loss(x, t, weight.to(x.device), ignore_index=1, reduction=reduction),
        x,
        some,
    )
    compare_gradients(
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, reduction=reduction), x, t
    )


def test_many_targets_are_shared_out_between_blocks() -> None:
    compare(F.nll_loss, values((9000, 2)), classes((9000,), 2))


def test_one_sample_and_none() -> None:
    compare(F.nll_loss, values((5,)), internals.tensor(3))
    compare(F.nll_loss, values((4, 5)).t(), classes((5,), 4))
    compare(
        lambda x, t: F.nll_loss(x, t),
        internals.zeros(0, 3),
        internals.zeros(0, dtype=internals.int64),
    )
    compare(
        lambda x, t: F.nll_loss(x, t, ignore_index=0),
        values((3, 2)),
        internals.zeros(3, dtype=internals.int64),
    )
    compare(F.nll_loss, values((5, 4)), classes((5,), 4).to(internals.uint8))


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
def test_a_target_that_is_no_class_is_found_by_the_kernel() -> None:
    x, t = values((3, 4)).cuda(), internals.tensor([0, 4, 1]).cuda()
    for reduction in REDUCTIONS:
        with pytest.raises(RuntimeError, match="device-side assert triggered"):
            F.nll_loss(x, t, reduction=reduction)
            internals.cuda.synchronize()
        with pytest.raises(RuntimeError, match="device-side assert triggered"):
            F.nll_loss(x, t, x[0].contiguous(), reduction=reduction)
            internals.cuda.synchronize()


def test_errors() -> None:
    same_error(F.nll_loss, values((3, 4)), classes((2,), 4))
    same_error(F.nll_loss, values((3, 4)), classes((3,), 4).to(internals.int32))
    same_error(F.nll_loss, values((3, 4), "int64"), classes((3,), 4))
    same_error(F.nll_loss, values((3, 4)), classes((3,), 4), values((5,)))
    same_error(F.nll_loss, values((3, 4)), classes((3,), 4), values((4,), "float64"))


def test_a_training_step_needs_no_fallback() -> None:
    x, t = values((6, 8)), classes((6,), 5)
    results = []
    for device in ("cpu", "cuda"):
        internals.manual_seed(0)
        model = internals.nn.Linear(8, 5).to(device)
        with no_fallback():
            loss = F.cross_entropy(model(x.to(device)), t.to(device))
            loss.backward()
        results.append([loss, *[p.grad for p in model.parameters()]])
    same(results[1], results[0])
