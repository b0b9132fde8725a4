"""Losses as modules: side by side with PyTorch, and by what must hold of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals import nn
from internals.nn import functional as F
from tests.nn.layers import layer_tests
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, examples, to_numpy

CASES = cases("""
    nn.L1Loss() >> m(x(3, 4), x(3, 4))
    nn.L1Loss(reduction="none") >> m(x(3, 4), x(3, 4))
    nn.L1Loss(size_average=False) >> m(x(3, 4), x(3, 4))
    nn.MSELoss() >> m(x(3, 4), x(3, 4))
    nn.MSELoss(reduction="sum") >> m(x(3, 4), x(4))
    nn.MSELoss(reduce=False) >> m(x(3, 4), x(3, 4))
    nn.SmoothL1Loss() >> m(x(3, 4), x(3, 4))
    nn.SmoothL1Loss(reduction="sum", beta=0.3) >> m(x(3, 4), x(3, 4))
    nn.SmoothL1Loss(beta=0) >> m(x(3, 4), x(3, 4))
    nn.HuberLoss() >> m(x(3, 4), x(3, 4))
    nn.HuberLoss("none", 0.3) >> m(x(3, 4), x(3, 4))
    nn.NLLLoss() >> m(x(3, 4), x.labels(3, classes=4))
    nn.NLLLoss(x_weight(4), ignore_index=1) >> m(x(5, 4), x.labels(5, classes=4))
    nn.NLLLoss(reduction="none") >> m(x(2, 4, 3, 5), x.labels(2, 3, 5, classes=4))
    nn.CrossEntropyLoss() >> m(x(3, 4), x.labels(3, classes=4))
    nn.CrossEntropyLoss(x_weight(4)) >> m(x(3, 4), x.labels(3, classes=4))
    nn.CrossEntropyLoss(label_smoothing=0.2) >> m(x(3, 4), x.labels(3, classes=4))
    nn.CrossEntropyLoss(x_weight(4), label_smoothing=0.2, reduction="sum")
        >> m(x(3, 4), x.labels(3, classes=4))
    nn.CrossEntropyLoss(ignore_index=0, reduction="none")
        >> m(x(2, 4, 5), x.labels(2, 5, classes=4))
    nn.CrossEntropyLoss() >> m(x(3, 4), x(3, 4).softmax(1))
    nn.CrossEntropyLoss() >> m(x(4), x.labels(classes=4))
    nn.KLDivLoss() >> m(x(3, 4).log_softmax(1), x(3, 4).softmax(1))
    nn.KLDivLoss(reduction="batchmean") >> m(x(3, 4).log_softmax(1), x(3, 4).softmax(1))
    nn.KLDivLoss(reduction="none", log_target=True)
        >> m(x(3, 4).log_softmax(1), x(3, 4).log_softmax(1))
    nn.BCELoss() >> m(x.uniform(3, 4), x.uniform(3, 4))
    nn.BCELoss(x_weight(4), reduction="sum") >> m(x.uniform(3, 4), x.uniform(3, 4))
    nn.BCEWithLogitsLoss() >> m(x(3, 4), x.uniform(3, 4))
    nn.BCEWithLogitsLoss(pos_weight=x_weight(4)) >> m(x(3, 4), x.uniform(3, 4))
    nn.BCEWithLogitsLoss(x_weight(4), reduction="none") >> m(x(3, 4), x.uniform(3, 4))
    nn.PoissonNLLLoss() >> m(x(3, 4), x.uniform(3, 4))
    nn.PoissonNLLLoss(False, True, reduction="sum") >> m(x.uniform(3, 4), x.uniform(3, 4) + 2)
    nn.GaussianNLLLoss() >> m(x(3, 4), x(3, 4), x.uniform(3, 4))
    nn.GaussianNLLLoss(full=True, reduction="none") >> m(x(3, 4), x(3, 4), x.uniform(3))
    nn.GaussianNLLLoss(eps=0.5) >> m(x(3, 4), x(3, 4), x.uniform(3, 1))
    nn.GaussianNLLLoss() >> m(x(3, 4), x(3, 4), 0.5)
    nn.HingeEmbeddingLoss() >> m(x(2, 3), x.of([[1, -1, 1], [-1, -1, 1]]))
    nn.HingeEmbeddingLoss(0.2, reduction="none") >> m(x(2, 3), x.of([[1, -1, 1], [-1, -1, 1]]))
    nn.MarginRankingLoss() >> m(x(4), x(4), x.of([1, -1, 1, -1]))
    nn.MarginRankingLoss(0.5, reduction="sum") >> m(x(4), x(4), x.of([1, -1, 1, -1]))
    nn.CosineEmbeddingLoss() >> m(x(3, 4), x(3, 4), x.of([1, -1, 1]))
    nn.CosineEmbeddingLoss(0.3, reduction="none") >> m(x(3, 4), x(3, 4), x.of([1, -1, -1]))
    nn.SoftMarginLoss() >> m(x(2, 3), x.of([[1, -1, 1], [-1, -1, 1]]))
    nn.TripletMarginLoss() >> m(x(3, 4), x(3, 4), x(3, 4))
    nn.TripletMarginLoss(2.0, 1.0, swap=True, reduction="none") >> m(x(3, 4), x(3, 4), x(3, 4))
""")
test_as_pytorch, test_gradients_as_pytorch = layer_tests(CASES, ("train",))
ERRORS = cases("""
    T.nn.HuberLoss(delta="1")
    T.nn.TripletMarginLoss(margin=0)
    T.nn.L1Loss(reduction="avg")(x(2), x(2))
    T.nn.BCELoss()(x.uniform(3), x.uniform(2))
    T.nn.BCEWithLogitsLoss()(x.uniform(3), x.uniform(2))
    T.nn.NLLLoss()(x(3, 4), x.labels(2, classes=4))
    T.nn.CrossEntropyLoss(weight=x(3))(x(3, 4), x.labels(3, classes=4))
    T.nn.GaussianNLLLoss()(x(3, 4), x(3, 4), x(2))
    T.nn.GaussianNLLLoss()(x(3, 4), x(3, 4), -1.0)
    T.nn.GaussianNLLLoss()(x(3, 4), x(3, 4), x.of([-1.0, 1.0, 1.0]))
    T.nn.GaussianNLLLoss(reduction="avg")(x(3), x(3), x.uniform(3))
    T.nn.PoissonNLLLoss(reduction="avg")(x(3), x(3))
    T.nn.MarginRankingLoss()(x(3), x(3, 1), x(3))
    T.nn.HingeEmbeddingLoss(reduction="avg")(x(3), x(3))
    T.nn.CosineEmbeddingLoss()(x(3), x(3), x(3))
    T.nn.CosineEmbeddingLoss()(x(3, 2), x(3, 2), x(3, 1))
    T.nn.CosineEmbeddingLoss()(x(3, 2), x(3, 2), x.of(1))
    T.nn.TripletMarginLoss()(x(3, 2), x(3), x(3))
    F.triplet_margin_loss(x(3), x(3), x(3), margin=-1)
""")


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    check(expression(text))


ELEMENTWISE: list[Any] = [
    nn.L1Loss,
    nn.MSELoss,
    nn.SmoothL1Loss,
    nn.HuberLoss,
    nn.SoftMarginLoss,
    nn.BCEWithLogitsLoss,
]


@given(st.sampled_from(ELEMENTWISE), st.integers(1, 4), st.integers(1, 5))
@examples(30)
def test_reductions_of_what_is_not_reduced(kind: Any, n: int, m: int) -> None:
    x = ours()
    a, b = x(n, m, dtype="float64"), x.uniform(n, m, dtype="float64")
    each = to_numpy(kind(reduction="none")(a, b))
    assert each.shape == (n, m)
    assert_same(kind()(a, b), each.mean())
    assert_same(kind(reduction="sum")(a, b), each.sum())


@given(st.integers(1, 5), st.integers(2, 6), st.floats(0, 0.9))
@examples(30)
def test_cross_entropy_against_numpy(n: int, classes: int, smoothing: float) -> None:
    x = ours()
    scores, labels = x(n, classes, dtype="float64"), x.labels(n, classes=classes)
    a = to_numpy(scores)
    logs = a - np.log(np.exp(a).sum(1, keepdims=True))
    soft = np.full((n, classes), smoothing / classes)
    soft[np.arange(n), to_numpy(labels)] += 1 - smoothing
    assert_same(
        nn.CrossEntropyLoss(label_smoothing=smoothing)(scores, labels), -(soft * logs).sum(1).mean()
    )


def test_class_weights_are_buffers() -> None:
    loss = nn.CrossEntropyLoss(weight=internals.tensor([1.0, 2.0]))
    assert list(loss.state_dict()) == ["weight"]
    assert list(nn.CrossEntropyLoss().state_dict()) == []
    assert not list(loss.parameters())


def test_words_of_old_warn() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False).reduction == "sum"


@given(st.integers(1, 4), st.integers(1, 5), st.sampled_from([1.0, 2.0, 3.0]))
@examples(20)
def test_triplets_against_numpy(n: int, m: int, p: float) -> None:
    x = ours()
    a, b, c = (x(n, m, dtype="float64") for _ in range(3))
    near, far = (
        np.linalg.norm(to_numpy(a) - to_numpy(other) + 1e-6, p, axis=1) for other in (b, c)
    )
    assert_same(
        F.triplet_margin_loss(a, b, c, p=p, reduction="none"), np.maximum(near - far + 1, 0)
    )
