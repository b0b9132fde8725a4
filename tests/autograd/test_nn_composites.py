"""Gradients of what nn.functional makes of other functions, beside PyTorch's.

Where PyTorch has an operator of its own (glu, mish, celu, ...) and we a few, the recorded nodes
have other names.
"""

from __future__ import annotations

import pytest

import internals
from internals.nn import functional as F
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases

SAME_NODES = cases("""
    F.selu(x(3, 4))
    F.rms_norm(x(3, 4), (4,), x(4))
    F.rms_norm(x(3, 4), (4,))
    F.instance_norm(x(2, 3, 5), weight=x(3), bias=x(3))
    F.bilinear(x(4, 2), x(4, 3), x(5, 2, 3), x(5))
    F.fold(x(2, 12, 12), (4, 5), (2, 2))
    F.fold(x(12, 6), (6, 6), (3, 2), dilation=(2, 1), padding=(1, 0), stride=2)
    F.max_pool1d(x(2, 3, 8), 2)
    F.avg_pool1d(x(2, 3, 8), 3, stride=2, padding=1)
    F.adaptive_avg_pool1d(x(2, 3, 8), 3)
    F.adaptive_avg_pool1d(x(2, 3, 8), 1)
    F.cosine_embedding_loss(x(4, 3), x(4, 3), x.of([1.0, -1, 1, -1]).detach())
    F.gaussian_nll_loss(x(4, 3), x(4, 3), x.uniform(4, 3))
    F.hinge_embedding_loss(x(4), x.of([1.0, -1, 1, -1]).detach())
    F.margin_ranking_loss(x(4), x(4), x.of([1.0, -1, 1, -1]).detach())
    F.poisson_nll_loss(x(4), x.uniform(4))
    F.triplet_margin_loss(x(4, 3), x(4, 3), x(4, 3))
""")

OTHER_NODES = cases("""
    F.glu(x(3, 4))
    F.glu(x(4, 3), 0)
    F.celu(x(3, 4), 2.0)
    F.mish(x(3, 4))
    F.prelu(x(2, 3, 4), x(3))
    F.prelu(x(2, 3, 4), x(1))
    F.hardswish(x(3, 4) * 4)
    F.pairwise_distance(x(4, 3), x(4, 3))
    F.conv_transpose1d(x(2, 3, 5), x(3, 4, 3), x(4), stride=2)
    F.soft_margin_loss(x(4), x.of([1.0, -1, 1, -1]).detach())
""")

# The second derivative is zero: PyTorch says so with a tensor (or not at all, for hardsigmoid), we
# with None.
STRAIGHT = cases("""
    F.hardshrink(x(3, 4))
    F.softshrink(x(3, 4))
    F.threshold(x(3, 4), 0.2, 0.7)
    F.hardsigmoid(x(3, 4) * 4)
""")


@pytest.mark.parametrize("line", SAME_NODES)
def test_same_nodes(line: str) -> None:
    check_gradients(expression(line), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("line", OTHER_NODES)
def test_other_nodes(line: str) -> None:
    check_gradients(expression(line), names=False, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("line", STRAIGHT)
def test_straight_lines(line: str) -> None:
    check_gradients(expression(line), names=False, second=False)


def test_dropout_of_channels() -> None:
    """A channel is kept or not as a whole; its gradient too."""
    internals.manual_seed(0)
    x = internals.ones(8, 4, 3, 3, requires_grad=True)
    y = F.dropout2d(x, 0.5)
    y.backward(internals.ones_like(y))
    assert internals.equal(x.grad, y.detach())
    assert set(x.grad.sum((2, 3)).flatten().tolist()) == {0.0, 18.0}
