"""Gradients of the losses beside PyTorch's, reductions, weights, ignored classes and all; and
gradients of those.
"""

from __future__ import annotations

import pytest

import internals
from tests.autograd.gradients_beside import Leaves, check_gradients, expression
from tests.side_by_side import cases, ours
from tests.support import outcome

REDUCTIONS = {"mean": "", "sum": ", reduction='sum'", "none": ", reduction='none'"}

ELEMENTWISE = cases("""
    F.mse_loss(x(2, 3), x(2, 3)R)
    F.mse_loss(x(2, 3), x(3)R)
    F.mse_loss(x.strided(2, 3), x(2, 3)R)
    F.mse_loss(x(2, 3), x(2, 3), weight=x(2, 3)R)
    F.mse_loss(x(2, 3, dtype="float32"), x(2, 3, dtype="float32")R)
    F.mse_loss(x(), x()R)
    F.mse_loss(x(0), x(0)R)
    F.l1_loss(x(2, 3), x(2, 3)R)
    F.l1_loss(x.coarse(2, 3), x.coarse(2, 3)R)
    F.smooth_l1_loss(x(2, 3), x(2, 3)R)
    F.smooth_l1_loss(x(2, 3), x(3), beta=0.3R)
    F.smooth_l1_loss(x.coarse(2, 3), x.coarse(2, 3)R)
    F.smooth_l1_loss(x(2, 3), x(2, 3), beta=0R)
    F.huber_loss(x(2, 3), x(2, 3)R)
    F.huber_loss(x(2, 3), x(2, 3), delta=0.3R)
    F.huber_loss(x.coarse(2, 3), x.coarse(2, 3)R)
    F.binary_cross_entropy(x.uniform(2, 3), x.uniform(2, 3)R)
    F.binary_cross_entropy(x.uniform(2, 3), x.uniform(2, 3), x(3).detach()R)
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3)R)
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3), x(3).detach()R)
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3), pos_weight=x.uniform(3).detach()R)
    F.binary_cross_entropy_with_logits(x(2, 3) * 30, x.uniform(2, 3),
        pos_weight=x.uniform(3).detach()R)
    F.kl_div(x(2, 3), x.uniform(2, 3)R)
    F.kl_div(x(2, 3), x(2, 3), log_target=TrueR)
    F.kl_div(x(2, 2), x.of([[0.0, 0.5], [0.25, 0.0]])R)
""")

CLASSES = cases("""
    F.nll_loss(x(4, 3), x.labels(4, classes=3)R)
    F.nll_loss(x(3), x.labels(classes=3)R)
    F.nll_loss(x(4, 3), x.labels(4, classes=3), x.uniform(3).detach()R)
    F.nll_loss(x(4, 3), x.index(0, -100, 2, -100)R)
    F.nll_loss(x(4, 3), x.index(0, 1, 2, 1), x.uniform(3).detach(), ignore_index=1R)
    F.nll_loss(x.strided(4, 3), x.labels(4, classes=3)R)
    F.nll_loss(x(2, 3, 4), x.labels(2, 4, classes=3)R)
    F.nll_loss(x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3), x.uniform(3).detach(), ignore_index=2R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3)R)
    F.cross_entropy(x(3), x.labels(classes=3)R)
    F.cross_entropy(x(4, 3, dtype="float32"), x.labels(4, classes=3)R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3), x.uniform(3).detach()R)
    F.cross_entropy(x(4, 3), x.index(0, 1, 2, 1), ignore_index=1R)
    F.cross_entropy(x(2, 3, 4), x.labels(2, 4, classes=3)R)
    F.cross_entropy(x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3), x.uniform(3).detach()R)
    F.cross_entropy(x(4, 3), x.labels(4, classes=3), label_smoothing=0.2R)
    F.cross_entropy(x(4, 3), x.index(0, 1, 2, 1), x.uniform(3).detach(), ignore_index=1,
        label_smoothing=0.2R)
    F.cross_entropy(x(3), x.uniform(3)R)
    F.cross_entropy(x(4, 3), x.uniform(4, 3)R)
    F.cross_entropy(x(4, 3), x.uniform(4, 3), x.uniform(3).detach(), label_smoothing=0.1R)
""")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("line", ELEMENTWISE)
def test_elementwise(line: str, reduction: str) -> None:
    check_gradients(expression(line.replace("R)", REDUCTIONS[reduction] + ")")))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("line", CLASSES)
def test_classes(line: str, reduction: str) -> None:
    """With probabilities as targets PyTorch divides in C++ (DivBackward1), we in Python
    (DivBackward0).
    """
    probabilities = (
        "F.cross_entropy" in line and "x.uniform(4, 3)" in line or "x(3), x.uniform(3)" in line
    )
    check_gradients(
        expression(line.replace("R)", REDUCTIONS[reduction] + ")")), names=not probabilities
    )


@pytest.mark.parametrize("line", cases("""
    F.nll_loss(x(4, 3), x.labels(4, classes=3), x.uniform(3))
    F.cross_entropy(x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3), x.uniform(3))
    F.binary_cross_entropy(x.uniform(2, 3), x.uniform(2, 3), x(3))
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3), x(3))
    F.binary_cross_entropy_with_logits(x(2, 3), x.uniform(2, 3), pos_weight=x.uniform(3))
    F.batch_norm(x(4, 3), x(3), None, training=True)
    F.batch_norm(x(4, 3), x(3), x.uniform(3))
"""))  # fmt: skip
def test_weights_have_no_gradients(line: str) -> None:
    """To ask for them is an error, in both libraries, and not a gradient that is silently
    missing.
    """
    assert "not differentiable with respect to argument" in str(
        outcome(lambda: expression(line)(internals, Leaves(ours())))[1]
    )
    check_gradients(expression(line), message=True)


@pytest.mark.parametrize("line", cases("""
    F.kl_div(x(2, 3), x.uniform(2, 3), reduction="batchmean")
    F.cosine_similarity(x(2, 3), x(2, 3))
    F.cosine_similarity(x(2, 3), x(3), dim=-1)
    F.cosine_similarity(x(2, 3), x(2, 3), eps=10.0)
"""))  # fmt: skip
def test_others(line: str) -> None:
    check_gradients(expression(line))
