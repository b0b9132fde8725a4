"""Layer, group and batch normalization on the device, forward and backward."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals import nn
from internals._generated import ops
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

TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-10}


def parameters(n: int, dtype: str, seed: int = 5) -> list[Any]:
    return [values((n,), dtype, seed), values((n,), dtype, seed + 1)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", [1, 5, 16, 40, 300])
def test_layer_norm(columns: int, dtype: str) -> None:
    x, (weight, bias) = values((3, 2, columns), dtype), parameters(columns, dtype)
    for w in (weight, None):
        for b in (bias, None):
            compare(
                lambda x, w, b: ops.native_layer_norm(x, [columns], w, b, 1e-5),
                x,
                w,
                b,
                tolerance=TOLERANCE[dtype],
            )


def test_layer_norm_over_several_dimensions_and_of_any_layout() -> None:
    x, w = values((4, 3, 5)), values((3, 5), seed=3)
    compare(lambda x, w: ops.native_layer_norm(x, [3, 5], w, None, 1e-3), x, w)
    compare(
        lambda x, w: ops.native_layer_norm(x, [3, 5], w, None, 1e-3),
        x.permute(2, 1, 0)[:, :, 1:].transpose(0, 2),
        w,
    )
    compare(lambda x: ops.native_layer_norm(x, [5], None, None, 1e-3), internals.zeros(0, 5))
    compare(lambda x: ops.native_layer_norm(x, [0], None, None, 1e-3), internals.zeros(2, 0))


@pytest.mark.parametrize("columns", [3, 40])
def test_gradients_of_layer_norm(columns: int) -> None:
    x, (w, b) = values((2, 7, columns), "float64"), parameters(columns, "float64")
    compare_gradients(lambda x, w, b: F.layer_norm(x, (columns,), w, b), x, w, b)
    compare_gradients(lambda x, w: F.layer_norm(x, (columns,), w), x.transpose(0, 1), w)
    compare_gradients(lambda x, b: F.layer_norm(x, (columns,), None, b), x, b)
    compare_gradients(lambda x: F.layer_norm(x, (columns,)), x)
    y = values((4, columns), "float16")
    compare_gradients(
        lambda x, w, b: F.layer_norm(x, (columns,), w, b), y, w.half(), b.half(), tolerance=0.05
    )


def test_the_gradient_of_a_parameter_that_layer_norm_does_not_have() -> None:
    def backward(mask: list[bool]) -> Any:
        return lambda g, mean, w, b: ops.native_layer_norm_backward(
            g, g, [3], mean, mean, w, b, mask
        )

    g, mean, w = internals.ones(2, 3), internals.ones(2, 1), internals.ones(3)
    same_error(backward([True, True, True]), g, mean, w, None)
    same_error(backward([False, False, True]), g, mean, w, None)
    same_error(backward([False, True, False]), g, mean, None, w)


def test_weights_of_a_tall_matrix_are_summed_by_many_blocks() -> None:
    x, (w, b) = values((600, 3), "float64"), parameters(3, "float64")
    compare_gradients(lambda x, w, b: F.layer_norm(x, (3,), w, b), x, w, b)


def test_double_backward_of_layer_norm() -> None:
    gradients = []
    for device in ("cpu", "cuda"):
        x = values((3, 6), "float64").to(device).requires_grad_()
        w = values((6,), "float64", 2).to(device).requires_grad_()
        (g,) = internals.autograd.grad(F.layer_norm(x, (6,), w).pow(2).sum(), x, create_graph=True)
        gradients.append(internals.autograd.grad(g.pow(2).sum(), [x, w]))
    same(gradients[1], gradients[0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "groups"), [((2, 4, 3, 5), 2), ((3, 6), 3), ((2, 6, 7), 1), ((1, 4, 20), 4)]
)
def test_group_norm(shape: tuple[int, ...], groups: int, dtype: str) -> None:
    x, (w, b) = values(shape, dtype), parameters(shape[1], dtype)
    compare(lambda x, w, b: F.group_norm(x, groups, w, b), x, w, b, tolerance=TOLERANCE[dtype])
    compare(lambda x: F.group_norm(x, groups), x, tolerance=TOLERANCE[dtype])
    if dtype == "float64":
        compare_gradients(lambda x, w, b: F.group_norm(x, groups, w, b), x, w, b)
        compare_gradients(lambda x: F.group_norm(x, groups), x)
    if len(shape) == 4:
        nhwc = x.contiguous(memory_format=internals.channels_last)
        result = compare(
            lambda x, w, b: F.group_norm(x, groups, w, b), nhwc, w, b, tolerance=TOLERANCE[dtype]
        )
        assert result.is_contiguous(memory_format=internals.channels_last)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (3, 4, 2, 3), (2, 3, 2, 2, 2), (300, 2)])
def test_batch_norm(shape: tuple[int, ...], dtype: str) -> None:
    channels = shape[1]
    x, (w, b) = values(shape, dtype), parameters(channels, dtype)
    for training in (True, False):
        statistics = [values((channels,), dtype, 8), values((channels,), dtype, 9).abs() + 1]
        moved = [t.cuda() for t in statistics]
        arguments = (training, 0.1, 1e-5)
        with no_fallback():
            result = ops.native_batch_norm(x.cuda(), w.cuda(), b.cuda(), *moved, *arguments)
        same(result, ops.native_batch_norm(x, w, b, *statistics, *arguments), TOLERANCE[dtype])
        same(moved, statistics, TOLERANCE[dtype])


@pytest.mark.parametrize("shape", [(4, 3), (3, 4, 2, 3), (300, 2)])
@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_batch_norm(shape: tuple[int, ...], training: bool) -> None:
    channels = shape[1]
    x, (w, b) = values(shape, "float64"), parameters(channels, "float64")
    mean, var = internals.zeros(channels).double(), internals.full((channels,), 2.0).double()

    def normalized(x: Any, w: Any = None, b: Any = None) -> Any:
        return F.batch_norm(x, mean.to(x.device).clone(), var.to(x.device).clone(), w, b, training)

    compare_gradients(normalized, x, w, b)
    compare_gradients(normalized, x)
    if len(shape) == 4:
        nhwc = x.contiguous(memory_format=internals.channels_last)
        compare_gradients(normalized, nhwc, w, b)
        assert normalized(nhwc.cuda()).is_contiguous(memory_format=internals.channels_last)


def test_modules_on_the_device() -> None:
    x = values((4, 6, 3, 3))
    for module in (nn.BatchNorm2d(6), nn.GroupNorm(3, 6), nn.LayerNorm([3, 3])):
        expected = module(x)
        fresh = type(module)(
            *{nn.BatchNorm2d: (6,), nn.GroupNorm: (3, 6), nn.LayerNorm: ([3, 3],)}[type(module)]
        )
        same(fresh.cuda()(x.cuda()), expected, 2e-5)


def test_single_parameters_for_half_input() -> None:
    x, (w, b) = values((3, 20), "float16"), parameters(20, "float32")
    result = compare(
        lambda x, w, b: ops.native_layer_norm(x, [20], w, b, 1e-5), x, w, b, tolerance=2e-2
    )
    assert result[1].dtype is internals.float32


def test_copies_in_row_major_order_live_until_the_launch() -> None:
    """Input, gradient and weight are all copied first; memory of the first copy must not be given
    to the last.
    """
    x, w = values((2, 4, 6), "float64").transpose(1, 2), values((1,), "float64").expand(4) + 1
    compare(lambda x, w: F.layer_norm(x, (4,), w[:1].expand(4)), x, w)
    compare(lambda x, w: F.group_norm(x.transpose(1, 2)[..., ::2], 2, w[:1].expand(4)), x, w)
    compare(
        lambda g, y: ops._softmax_backward_data(g, y, 1, internals.float64),
        x,
        x.transpose(1, 2).softmax(1).transpose(1, 2),
    )


def test_errors() -> None:
    same_error(lambda x: F.layer_norm(x, (4,)), values((3, 5)))
    same_error(lambda x, w: F.layer_norm(x, (5,), w), values((3, 5)), values((4,)))
    same_error(lambda x: F.layer_norm(x, (5,)), values((3, 5), "int64"))
    same_error(lambda x: F.group_norm(x, 2), values((3, 5)))
    same_error(lambda x: F.batch_norm(x, None, None), values((3, 5)))
