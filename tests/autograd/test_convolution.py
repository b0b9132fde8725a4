"""Gradients of convolution, pooling, padding, resampling and unfolding beside PyTorch's, and
gradients of those.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.autograd.gradcheck import gradcheck, gradgradcheck
from internals.nn import functional as F
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases

CONVOLUTIONS = cases("""
    F.conv2d(x(2, 3, 5, 6), x(4, 3, 3, 2))
    F.conv2d(x(2, 3, 5, 6), x(4, 3, 3, 2), x(4))
    F.conv2d(x(2, 3, 7, 6), x(4, 3, 3, 2), x(4), stride=2)
    F.conv2d(x(2, 3, 5, 6), x(4, 3, 3, 3), x(4), padding=1)
    F.conv2d(x(2, 3, 5, 6), x(4, 3, 3, 3), x(4), padding="same")
    F.conv2d(x(2, 3, 5, 6), x(4, 3, 2, 4), x(4), padding="same")
    F.conv2d(x(2, 3, 7, 8), x(4, 3, 3, 2), x(4), stride=(2, 1), padding=(1, 2), dilation=(1, 2))
    F.conv2d(x(2, 4, 7, 8), x(6, 2, 3, 2), x(6), stride=(2, 1), padding=(1, 2), dilation=(2, 1),
        groups=2)
    F.conv2d(x(2, 4, 6, 6), x(4, 1, 3, 3), x(4), padding=1, groups=4)
    F.conv2d(x(2, 4, 6, 6), x(8, 1, 3, 3), padding=1, groups=4, stride=2)
    F.conv2d(x(3, 5, 6), x(4, 3, 3, 2), x(4))
    F.conv2d(x.strided(2, 3, 5, 6), x.strided(4, 3, 3, 2))
    F.conv2d(x(2, 3, 5, 5), x(4, 3, 1, 1), x(4))
    F.conv2d(x(2, 3, 5, 6, dtype="float32"), x(4, 3, 3, 2, dtype="float32"), x(4, dtype="float32"))
    F.conv2d(x(2, 3, 5, 6).detach(), x(4, 3, 3, 2), x(4))
    F.conv2d(x(2, 3, 5, 6), x(4, 3, 3, 2).detach())
    F.conv2d(x(2, 3, 5, 6).detach(), x(4, 3, 3, 2).detach(), x(4))
    F.conv1d(x(2, 3, 7), x(4, 3, 3), x(4), stride=2, padding=1)
    F.conv1d(x(2, 4, 7), x(4, 2, 3), groups=2, dilation=2)
    F.conv1d(x(3, 7), x(4, 3, 3), padding="same")
    F.conv_transpose2d(x(2, 3, 4, 5), x(3, 4, 3, 2), x(4))
    F.conv_transpose2d(x(2, 3, 4, 5), x(3, 4, 3, 2), x(4), stride=2, padding=1, output_padding=1)
    F.conv_transpose2d(x(2, 4, 4, 5), x(4, 3, 3, 2), x(6), stride=(2, 3), output_padding=(1, 2),
        groups=2, dilation=(2, 1))
    F.conv_transpose2d(x(3, 4, 5), x(3, 4, 3, 2))
""")

POOLINGS = cases("""
    F.max_pool2d(x(2, 3, 6, 6), 2)
    F.max_pool2d(x(3, 6, 6), 2)
    F.max_pool2d(x(2, 3, 7, 6), 3, stride=2, padding=1)
    F.max_pool2d(x(2, 3, 7, 6), (3, 2), stride=1, dilation=2)
    F.max_pool2d(x(2, 3, 7, 7), 2, ceil_mode=True)
    F.max_pool2d(x.coarse(2, 3, 6, 6), 3, stride=1)
    F.max_pool2d(x(2, 3, 6, 6), 2, return_indices=True)[0]
    F.avg_pool2d(x(2, 3, 6, 6), 2)
    F.avg_pool2d(x(3, 7, 6), (3, 2), stride=(2, 1), padding=1)
    F.avg_pool2d(x(2, 3, 7, 7), 3, stride=2, padding=1, count_include_pad=False)
    F.avg_pool2d(x(2, 3, 7, 7), 2, ceil_mode=True)
    F.avg_pool2d(x(2, 3, 7, 7), 2, divisor_override=3)
    F.adaptive_avg_pool2d(x(2, 3, 7, 5), (3, 2))
    F.adaptive_avg_pool2d(x(3, 7, 5), 4)
    F.adaptive_avg_pool2d(x(2, 3, 7, 5), 1)
    F.adaptive_avg_pool2d(x(3, 7, 5), (1, 1))
""")

MOVES = cases("""
    F.pad(x(2, 3), (1, 2))
    F.pad(x(2, 3, 4), (1, -2, -1, 3), value=2.0)
    F.pad(x.strided(2, 3), (0, 1, 1, 0))
    F.interpolate(x(2, 3, 4, 5), size=(8, 10))
    F.interpolate(x(2, 3, 4, 5), size=(3, 7))
    F.interpolate(x(2, 3, 4, 5), scale_factor=1.5)
    F.interpolate(x(2, 3, 4, 5), scale_factor=2, mode="bilinear")
    F.interpolate(x(2, 3, 3, 5), scale_factor=(1.3, 2), mode="bilinear")
    F.interpolate(x(2, 3, 4, 5), size=(3, 7), mode="bilinear")
    F.interpolate(x(2, 3, 4, 5), size=(9, 7), mode="bilinear", align_corners=True)
    F.interpolate(x(2, 3, 4, 5), size=(3, 2), mode="area")
    F.unfold(x(2, 3, 5, 6), (2, 3))
    F.unfold(x(3, 5, 6), (2, 3), dilation=(1, 2), padding=1, stride=(2, 1))
""")

OTHER_NODES = cases("""
    F.pad(x(2, 3, 4, 5), (1, 2, 1, 1), mode="reflect")
    F.pad(x(2, 3, 4, 5), (1, 2, 1, 1), mode="replicate")
    F.pad(x(2, 3, 4, 5), (1, 2, 1, 1), mode="circular")
    F.pad(x(2, 3, 4), (2, 1), mode="reflect")
    F.pad(x(2, 3, 4), (1, -1), mode="replicate")
""")


@pytest.mark.parametrize("line", CONVOLUTIONS)
def test_convolutions(line: str) -> None:
    tolerance = 1e-3 if "float32" in line else 1e-9
    check_gradients(expression(line), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("line", POOLINGS)
def test_poolings(line: str) -> None:
    check_gradients(expression(line))


@pytest.mark.parametrize("line", MOVES)
def test_moves(line: str) -> None:
    check_gradients(expression(line))


@pytest.mark.parametrize("line", OTHER_NODES)
def test_other_nodes(line: str) -> None:
    """The other modes of padding are one `index_select` a dimension here, so their nodes have other
    names than PyTorch's.
    """
    check_gradients(expression(line), names=False, second=False)


def test_no_images() -> None:
    """PyTorch's second derivatives of a convolution of nothing are None instead of zeros."""
    check_gradients(expression("F.conv2d(x(0, 3, 5, 6), x(4, 3, 3, 2), x(4))"), second=False)


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("transposed", [False, True])
def test_four_times(transposed: bool) -> None:
    """The convolution and its two gradients are closed under differentiation: the third and fourth
    derivatives are right too.
    """
    internals.manual_seed(0)
    convolve = F.conv_transpose2d if transposed else F.conv2d
    x = internals.randn(1, 2, 3, 3, dtype=internals.float64, requires_grad=True)
    w = internals.randn(2, 1, 2, 2, dtype=internals.float64, requires_grad=True)

    def second(x: Any, w: Any) -> Any:
        y = convolve(x, w, None, stride=2, padding=1, groups=2).tanh()
        first = internals.autograd.grad(y.sum(), (x, w), create_graph=True)
        return internals.autograd.grad([g.square().sum() for g in first], (x, w), create_graph=True)

    assert gradcheck(second, (x, w))
    assert gradgradcheck(second, (x, w))
