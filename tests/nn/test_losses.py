"""Loss functions, one_hot and cosine_similarity: side by side with PyTorch, and against plain
formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals.nn import functional as F
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, examples, to_numpy

ELEMENTWISE = cases("""
    F.mse_loss(x(2, 3), x(2, 3)R)
    F.mse_loss(x(2, 3, dtype="float64"), x(2, 3)R)
    F.mse_loss(x(2, 3, dtype="float16"), x(2, 3, dtype="float16")R)
    F.mse_loss(x(2, 3, dtype="int64"), x(2, 3)R)
    F.mse_loss(x(2, 3), x(3)R)
    F.mse_loss(x(4, 6)[::2, ::2], x(3, 2).t()R)
    F.mse_loss(x(0), x(0)R)
    F.mse_loss(x(2, 3), x(2, 3), weight=x(2, 3)R)
    F.mse_loss(x(), x()R)
    F.l1_loss(x(2, 3), x(2, 3)R)
    F.l1_loss(x(2, 3, dtype="complex64"), x(2, 3, dtype="complex64")R)
    F.l1_loss(x(2, 3), x(2, 3), weight=x(2, 3)R)
    F.smooth_l1_loss(x(2, 3), x(2, 3)R)
    F.smooth_l1_loss(x(2, 3), x(2, 3), beta=0.3R)
    F.smooth_l1_loss(x(2, 3), x(2, 3), beta=0R)
    F.smooth_l1_loss(x(2, 3), x(2, 3, dtype="float64")R)
    F.huber_loss(x(2, 3), x(2, 3)R)
    F.huber_loss(x(2, 3), x(2, 3), delta=0.3R)
    F.huber_loss(x(2, 3), x(2, 3, dtype="float64")R)
    F.huber_loss(x(2, 3), x(2, 3), weight=x(2, 3)R)
    F.binary_cross_entropy(x.uniform(2, 3), x.uniform(2, 3)R)
    F.binary_cross_entropy(x.uniform(2, 3), x.uniform(2, 3), x(3)R)
    F.binary_cross_entropy(x.of([0.0, 1, 0, 1]), x.of([0.0, 1, 1, 0])R)
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3)R)
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3), x(3)R)
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3), pos_weight=x.uniform(3)R)
    F.binary_cross_entropy_with_logits(x.of([100.0, -100, inf]), x.of([0.0, 1, 1])R)
    F.binary_cross_entropy_with_logits(x(2), x.uniform(2, dtype="float64")R)
    F.kl_div(x(2, 3), x.uniform(2, 3)R)
    F.kl_div(x(2, 3), x(2, 3), log_target=TrueR)
    F.kl_div(x(2, 3), x.uniform(3)R)
    F.kl_div(x(2), x.of([0.0, 0.5])R)
""")
REDUCTIONS = {"mean": "", "sum": ", reduction='sum'", "none": ", reduction='none'"}

CLASSES = cases("""
    F.nll_loss(x(4, 3), x.labels(4, classes=3)R)
    F.nll_loss(x(3), x.labels(classes=3)R)
    F.nll_loss(x(3).detach(), x.labels(1, classes=3)R)
    F.nll_loss(x(4, 3), x.labels(4, classes=3), x(3)R)
    F.nll_loss(x(4, 3), x.of([0, -100, 2, -100], "int64")R)
    F.nll_loss(x(4, 3), x.of([0, 1, 2, 1], "int64"), x(3), ignore_index=1R)
    F.nll_loss(x(2, 3), x.of([-100, -100], "int64")R)
    F.nll_loss(x(2, 3), x.of([1, 0], "uint8")R)
    F.nll_loss(x(4, 3, dtype="float16"), x.labels(4, classes=3)R)
    F.nll_loss(x(3, 4).t(), x.labels(4, classes=3)R)
    F.nll_loss(x(0, 3), x.labels(0, classes=3)R)
    F.nll_loss(x(2, 3, 4), x.labels(2, 4, classes=3)R)
    F.nll_loss(x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3)R)
    F.nll_loss(x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3), x(3), ignore_index=2R)
    F.nll_loss(x(2, 3, 4, 5, 2), x.labels(2, 4, 5, 2, classes=3), x(3)R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3)R)
    F.cross_entropy(x(3), x.labels(classes=3)R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3), x(3)R)
    F.cross_entropy(x(2, 3, 4), x.labels(2, 4, classes=3)R)
    F.cross_entropy(x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3), x.uniform(3)R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3), label_smoothing=0.2R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3), x.uniform(3), label_smoothing=0.2R)
    F.cross_entropy(x(2, 3, 4), x.labels(2, 4, classes=3), x.uniform(3), ignore_index=1,
        label_smoothing=0.1R)
    F.cross_entropy(x(3), x.labels(classes=3), label_smoothing=1.0R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3), label_smoothing=-0.1R)
    F.cross_entropy(x(3), x.uniform(3)R)
    F.cross_entropy(x(4, 3), x.uniform(4, 3)R)
    F.cross_entropy(x(4, 3), x.uniform(4, 3), x(3)R)
    F.cross_entropy(x(2, 3, 4), x.uniform(2, 3, 4), x(3), label_smoothing=0.3R)
    F.cross_entropy(x(4, 3), x.uniform(4, 3, dtype="float64")R)
    F.cross_entropy(x(0, 3), x.uniform(0, 3)R)
    F.cross_entropy(x(4, 3) * 1000, x.labels(4, classes=3)R)
""")

MORE = cases("""
    F.kl_div(x(2, 3), x.uniform(2, 3), reduction="batchmean")
    F.kl_div(x(), x.uniform(), reduction="batchmean")
    F.mse_loss(x(2, 3), x(2, 3), size_average=False)
    F.mse_loss(x(2, 3), x(2, 3), None, False)
    F.mse_loss(x(2, 3), x(2, 3), True, True)
    F.nll_loss(x(4, 3), x.labels(4, classes=3), None, False)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3), reduce=False)
    F.kl_div(x(2, 3), x.uniform(2, 3), size_average=False)
    F.l1_loss(x(2, 3, dtype="int64"), x(2, 3, dtype="int64"), reduction="sum")
    F.one_hot(x.labels(5, classes=4))
    F.one_hot(x.labels(2, 3, classes=4), 6)
    F.one_hot(x.labels(classes=4))
    F.one_hot(x.of([], "int64"), 3)
    F.cosine_similarity(x(4, 3), x(4, 3))
    F.cosine_similarity(x(4, 3), x(3), dim=-1)
    F.cosine_similarity(x(4, 1, 3), x(5, 3), dim=2, eps=0.5)
    F.cosine_similarity(x(4, 3), x(4, 3, dtype="float64"), 0)
    F.cosine_similarity(x(4, 3, dtype="int64"), x(4, 3))
    F.cosine_similarity(x.of([[0.0, 0]]), x.of([[1.0, 2]]))
    T.cosine_similarity(x(4, 3), x(4, 3))
    T.binary_cross_entropy_with_logits(x(2), x.uniform(2), None, None, 1)
    T.kl_div(x(2), x.uniform(2), 0)
""")

ERRORS = cases("""
    F.nll_loss(x(2, 3), x.labels(3, classes=3))
    F.nll_loss(x(3), x.labels(2, classes=3))
    F.nll_loss(x(2, 3), x.of([0, 3], "int64"))
    F.nll_loss(x(2, 3), x.of([0, -1], "int64"))
    F.nll_loss(x(2, 3), x.of([0, 1], "int32"))
    F.nll_loss(x(2, 3), x(2))
    F.nll_loss(x(2, 3), x.labels(2, classes=3), x(2))
    F.nll_loss(x(2, 3), x.labels(2, classes=3), x(3, 1))
    F.nll_loss(x(2, 3), x.labels(2, classes=3), x(3, dtype="float64"))
    F.nll_loss(x(2, 3), x.labels(1, 2, classes=3))
    F.nll_loss(x(2, 3), x.labels(classes=3))
    F.nll_loss(x(), x.labels(classes=3))
    F.nll_loss(x(2, 3, 4), x.labels(2, 3, classes=3))
    F.nll_loss(x(2, 3, 4, 5), x.labels(2, 5, 4, classes=3))
    F.nll_loss(x(2, 3, 4, 5), x.labels(2, 4, classes=3))
    F.nll_loss(x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3) + 3)
    F.nll_loss(x(2, 3, dtype="int64"), x.labels(2, classes=3))
    F.nll_loss(x(2, 3), x.labels(2, classes=3), reduction="x")
    F.cross_entropy(x(2, 3), x.uniform(3, 2))
    F.cross_entropy(x(2, 3), x(2, 3, dtype="int64"))
    F.cross_entropy(x(2, 3), x.labels(2, classes=3), label_smoothing=1.1)
    F.cross_entropy(x(2, 3), x.uniform(2, 3), ignore_index=1)
    F.cross_entropy(x(2, 3), x.uniform(2, 3), x(2))
    F.cross_entropy(x(2, 3), x.labels(2, classes=3), x(2), label_smoothing=0.1)
    F.cross_entropy(x(2, 3), x.labels(1, classes=3))
    F.cross_entropy(x(), x.labels(classes=1))
    F.mse_loss(x(2, 3), x(2))
    F.mse_loss(x(2, 3, dtype="int64"), x(2, 3, dtype="int64"))
    F.mse_loss(x(2, 3, dtype="complex64"), x(2, 3, dtype="complex64"))
    F.mse_loss(x(2, 3), x(2, 3), reduction="x")
    F.mse_loss(x(2, 3), x(2, 3), weight=x(3))
    F.mse_loss(x(2, 3), x(2, 3), weight=x(2, 3), reduction="x")
    F.l1_loss(x(2, 3, dtype="int64"), x(2, 3, dtype="int64"))
    F.smooth_l1_loss(x(2, 3), x(2, 3), beta=-1)
    F.smooth_l1_loss(x(2, 3, dtype="int64"), x(2, 3, dtype="int64"))
    F.huber_loss(x(2, 3), x(2, 3), delta=0)
    F.huber_loss(x(2, 3, dtype="int64"), x(2, 3, dtype="int64"))
    F.huber_loss(x(2, 3), x(2, 3), weight=x(2, 3), reduction="x")
    F.binary_cross_entropy(x.uniform(2) + 2, x.uniform(2))
    F.binary_cross_entropy(x.uniform(2) - 1, x.uniform(2))
    F.binary_cross_entropy(x.uniform(2) * nan, x.uniform(2))
    F.binary_cross_entropy(x.uniform(2), x.uniform(3))
    F.binary_cross_entropy(x.uniform(2), x.uniform(2, dtype="float64"))
    F.binary_cross_entropy(x(2, dtype="int64"), x(2, dtype="int64"))
    F.binary_cross_entropy(x.uniform(2), x(2, dtype="int64"))
    F.binary_cross_entropy_with_logits(x(2), x(3))
    F.binary_cross_entropy_with_logits(x(2, dtype="int64"), x(2, dtype="int64"))
    F.binary_cross_entropy_with_logits(x(2), x(2, dtype="int64"))
    F.kl_div(x(2, 3), x(2, 3, dtype="int64"))
    F.kl_div(x(2, 3), x(2, 3, dtype="complex64"))
    F.kl_div(x(2, 3), x(2, 3), reduction="x")
    F.one_hot(x.of([0, 2], "int64"), 2)
    F.one_hot(x.of([0, -1], "int64"))
    F.one_hot(x.of([0, 2], "int64"), 0)
    F.one_hot(x.of([0, 2], "int64"), -2)
    F.one_hot(x(2))
    F.one_hot(x.of([0, 2], "int32"))
    F.one_hot(x.of([], "int64"))
    F.cosine_similarity(x(2, 3), x(4))
    F.cosine_similarity(x(2, 3, dtype="int64"), x(2, 3, dtype="int64"))
    F.cosine_similarity(x(2, 3), x(2, 3), dim=2)
""")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("text", ELEMENTWISE + CLASSES)
def test_values(text: str, reduction: str) -> None:
    half = {"rtol": 5e-3, "atol": 5e-3} if "float16" in text else {"rtol": 1e-4, "atol": 1e-5}
    check(expression(text.replace("R)", REDUCTIONS[reduction] + ")")), **half)


@pytest.mark.parametrize("text", MORE)
def test_more_values(text: str) -> None:
    check(expression(text), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    check(expression(text))


def _softmax(a: Any) -> Any:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_against_numpy() -> None:
    x = ours()
    a, b, p, q = (
        x(4, 3, dtype="float64"),
        x(4, 3, dtype="float64"),
        x.uniform(4, 3, dtype="float64"),
        x.uniform(4, 3, dtype="float64"),
    )
    na, nb, np_, nq = map(to_numpy, (a, b, p, q))
    d = na - nb
    expected = {
        F.mse_loss(a, b): (d**2).mean(),
        F.l1_loss(a, b): np.abs(d).mean(),
        F.smooth_l1_loss(a, b): np.where(np.abs(d) < 1, d**2 / 2, np.abs(d) - 0.5).mean(),
        F.huber_loss(a, b, delta=0.5): np.where(
            np.abs(d) <= 0.5, d**2 / 2, 0.5 * (np.abs(d) - 0.25)
        ).mean(),
        F.binary_cross_entropy(p, q): -(nq * np.log(np_) + (1 - nq) * np.log(1 - np_)).mean(),
        F.binary_cross_entropy_with_logits(a, q): -(
            nq * -np.log1p(np.exp(-na)) + (1 - nq) * (-na - np.log1p(np.exp(-na)))
        ).mean(),
        F.kl_div(a, q, reduction="batchmean"): (nq * (np.log(nq) - na)).sum() / 4,
    }
    for loss, value in expected.items():
        np.testing.assert_allclose(loss.item(), value, rtol=1e-10)


@given(st.data())
@examples(20)
def test_cross_entropy_is_the_mean_negative_log_of_the_right_probability(
    data: st.DataObject,
) -> None:
    n, c = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    x = ours()
    logits, target, weight = (
        x(n, c, dtype="float64"),
        x.labels(n, classes=c),
        x.uniform(c, dtype="float64"),
    )
    t, w = to_numpy(target), to_numpy(weight)
    right = -np.log(_softmax(to_numpy(logits))[np.arange(n), t])
    np.testing.assert_allclose(F.cross_entropy(logits, target).item(), right.mean(), rtol=1e-9)
    np.testing.assert_allclose(
        F.cross_entropy(logits, target, weight).item(), (right * w[t]).sum() / w[t].sum(), rtol=1e-9
    )
    one_hot = F.one_hot(target, c).double()
    np.testing.assert_allclose(F.cross_entropy(logits, one_hot).item(), right.mean(), rtol=1e-9)


def test_one_hot_and_cosine_similarity_against_numpy() -> None:
    x = ours()
    index = x.labels(6, classes=4)
    assert_same(F.one_hot(index, 4), np.eye(4, dtype=np.int64)[to_numpy(index)])
    a, b = x(5, 3, dtype="float64"), x(5, 3, dtype="float64")
    na, nb = to_numpy(a), to_numpy(b)
    assert_same(
        F.cosine_similarity(a, b),
        (na * nb).sum(1) / np.linalg.norm(na, axis=1) / np.linalg.norm(nb, axis=1),
    )


def test_legacy_arguments_warn() -> None:
    a, b = internals.zeros(2), internals.ones(2)
    with pytest.warns(
        UserWarning,
        match=(
            r"size_average and reduce args will be deprecated, please use reduction='sum' instead\."
        ),
    ):
        assert F.mse_loss(a, b, size_average=False).item() == 2
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert F.mse_loss(a, b, reduce=False).shape == (2,)


def test_sizes_that_only_broadcast_warn() -> None:
    with pytest.warns(
        UserWarning,
        match=(
            r"Using a target size \(internals.Size\(\[3\]\)\) that is different to the input size"
        ),
    ):
        F.mse_loss(internals.zeros(2, 3), internals.ones(3))


def test_kl_div_warns_that_mean_is_not_the_definition() -> None:
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(internals.zeros(2), internals.ones(2))
