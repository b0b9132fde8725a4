"""Compiled convolution kernels against the ordinary operators in float64: direct, depthwise,
Winograd, over sizes and strides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from internals.aten.compiled.convolution import winograd
from internals.aten.compiled.convolution.algorithms import Depthwise, Direct, Winograd
from internals.aten.compiled.convolution.layers import (
    AveragePool,
    Convolution,
    Flatten,
    Linear,
    MaxPool,
    Sum,
)
from tests.aten.compiled.convolution_support import convolution, error, exact, numbers, run
from tests.support import examples

CASES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "3x3": ((1, 32, 7, 9), {"outputs": 48, "kernel": (3, 3), "padding": (1, 1)}),
    "planar": (
        (2, 3, 9, 8),
        {"outputs": 16, "kernel": (3, 3), "padding": (1, 1), "stride": (2, 2)},
    ),
    "planar, odd channels out": ((1, 5, 6, 6), {"outputs": 7, "kernel": (3, 3)}),
    "channels not in sixteens": (
        (2, 20, 5, 6),
        {"outputs": 37, "kernel": (3, 3), "padding": (1, 1)},
    ),
    "1x1": ((2, 40, 5, 5), {"outputs": 24, "kernel": (1, 1)}),
    "1x1 strided": ((1, 16, 7, 6), {"outputs": 16, "kernel": (1, 1), "stride": (2, 2)}),
    "one row of kernel": ((1, 17, 6, 6), {"outputs": 16, "kernel": (1, 3), "padding": (0, 1)}),
    "dilated": (
        (1, 16, 9, 9),
        {"outputs": 16, "kernel": (3, 3), "padding": (2, 2), "dilation": (2, 2)},
    ),
    "stride and dilation differ": (
        (1, 16, 11, 12),
        {"outputs": 16, "kernel": (2, 3), "padding": (1, 2), "stride": (3, 1), "dilation": (1, 2)},
    ),
    "two groups": (
        (1, 32, 5, 5),
        {"outputs": 32, "kernel": (3, 3), "padding": (1, 1), "groups": 2},
    ),
    "groups of odd size": (
        (2, 21, 5, 5),
        {"outputs": 42, "kernel": (3, 3), "padding": (1, 1), "groups": 7},
    ),
    "more channels for each group": (
        (1, 20, 5, 5),
        {"outputs": 40, "kernel": (3, 3), "groups": 20},
    ),
    "no bias": ((1, 16, 4, 4), {"outputs": 16, "kernel": (3, 3), "bias": False}),
    "whole picture": ((3, 16, 3, 3), {"outputs": 16, "kernel": (3, 3)}),
}


@pytest.mark.parametrize("sizes, given_", CASES.values(), ids=CASES)
def test_direct(sizes: tuple[int, ...], given_: dict[str, Any]) -> None:
    layer = convolution(sizes[1], **given_)
    x = numbers(*sizes)
    assert error(run([layer], x)[0], exact(layer, x)) < 1e-6


@pytest.mark.parametrize(
    "tile",
    [
        Direct(2, 3, 1),
        Direct(1, 4, 2),
        Direct(2, 2, 3),
        Direct(1, 4, 2, True),
        Direct(1, 4, 2, False, 4096),
    ],
    ids=str,
)
def test_tiles_that_do_not_divide(tile: Direct) -> None:
    """7 rows of 9 pixels and 4 blocks: the last tiles begin early, in every direction."""
    layer = convolution(16, 64, (3, 3), padding=(1, 1))
    x = numbers(2, 16, 7, 9)
    assert error(run([layer], x, algorithm=tile)[0], exact(layer, x)) < 1e-6


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels", [16, 24])
def test_depthwise(channels: int, stride: int) -> None:
    layer = convolution(
        channels,
        channels,
        (3, 3),
        channels,
        stride=(stride, stride),
        padding=(1, 1),
        low=0.0,
        high=6.0,
    )
    x = numbers(2, channels, 9, 11)
    assert error(run([layer], x, algorithm=Depthwise(4))[0], exact(layer, x)) < 1e-6


@pytest.mark.parametrize("kernel, dilation", [((5, 3), (1, 1)), ((3, 3), (2, 3)), ((1, 1), (1, 1))])
def test_depthwise_kernels(kernel: tuple[int, int], dilation: tuple[int, int]) -> None:
    layer = convolution(16, 16, kernel, 16, padding=(2, 2), dilation=dilation)
    x = numbers(1, 16, 12, 11)
    assert error(run([layer], x, algorithm=Depthwise(4))[0], exact(layer, x)) < 1e-6


@pytest.mark.parametrize(
    "algorithm", [Direct(1, 2, 1), Winograd(2, 2, 1, 4, 1), Winograd(4, 2, 1, 2, 1)], ids=str
)
def test_residual_and_bounds(algorithm: Any) -> None:
    layer = convolution(16, 16, (3, 3), padding=(1, 1))
    x, other = numbers(1, 16, 8, 8), numbers(1, 16, 8, 8)
    layers = [
        Convolution((0,), 2, layer.weight, layer.bias, padding=(1, 1)),
        Sum((2, 1), 3),
        Sum((3,), 4, low=0.0, high=25.0),
    ]
    expected = np.clip(exact(layer, x, other), 0, 25)
    assert error(run(layers, x, other, algorithm=algorithm)[0], expected) < 5e-6


# Winograd


@pytest.mark.parametrize("m", [2, 4])
def test_the_matrices_of_winograd_are_exact(m: int) -> None:
    """In fractions, y = Aᵀ[(G w) * (Bᵀ x)] is the convolution, for any numbers."""
    back, g, forth = winograd.matrices(m)
    x = [Fraction(int(n)) for n in np.random.default_rng(m).integers(-9, 10, m + 2)]
    w = [Fraction(int(n)) for n in np.random.default_rng(m + 1).integers(-9, 10, 3)]

    def times(matrix: Any, v: list[Fraction]) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, v)), Fraction(0)) for row in matrix]

    y = times(back, [a * b for a, b in zip(times(g, w), times(forth, x))])
    assert y == [sum((w[k] * x[i + k] for k in range(3)), Fraction(0)) for i in range(m)]


WINOGRAD = {
    "F(2, 3), all tiles": (Winograd(2, 2, 1, 12, 1), (1, 16, 6, 8), 16),
    "F(2, 3), groups of tiles that overlap": (Winograd(2, 2, 1, 5, 1), (2, 20, 7, 9), 37),
    "F(2, 3), slices": (Winograd(2, 2, 1, 5, 3), (1, 16, 7, 9), 50),
    "F(4, 3)": (Winograd(4, 2, 1, 4, 1), (1, 16, 8, 8), 16),
    "F(4, 3), odd sizes, slices": (Winograd(4, 2, 1, 4, 2), (2, 33, 9, 14), 40),
    "F(4, 3), two blocks": (Winograd(4, 2, 2, 4, 1), (1, 32, 9, 14), 48),
    "F(4, 3), two blocks, slices": (Winograd(4, 2, 2, 4, 2), (1, 32, 9, 14), 80),
}


@pytest.mark.parametrize("algorithm, sizes, outputs", WINOGRAD.values(), ids=WINOGRAD)
@pytest.mark.parametrize("padding", [0, 1])
def test_winograd(algorithm: Winograd, sizes: tuple[int, ...], outputs: int, padding: int) -> None:
    layer = convolution(sizes[1], outputs, (3, 3), padding=(padding, padding))
    x = numbers(*sizes)
    bound = 1e-6 if algorithm.m == 2 else 3e-6
    assert error(run([layer], x, algorithm=algorithm)[0], exact(layer, x)) < bound


@pytest.mark.parametrize("m, most", [(2, 1e-6), (4, 3e-6)])
def test_winograd_is_almost_as_exact_for_many_channels(m: int, most: float) -> None:
    layer = convolution(256, 16, (3, 3), padding=(1, 1))
    x = np.maximum(numbers(1, 256, 8, 8), 0)  # after a relu, sums do not cancel
    assert error(run([layer], x, algorithm=Winograd(m, 2, 1, 4, 1))[0], exact(layer, x)) < most


# Everything else


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(
    "kernel, stride, padding, dilation",
    [(3, 2, 1, 1), (2, 2, 0, 1), (3, 1, 1, 2), ((2, 3), (1, 2), (1, 0), 1)],
)
def test_max_pool(kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> None:
    import internals

    def pair(v: Any) -> tuple[int, int]:
        return v if isinstance(v, tuple) else (v, v)

    x = numbers(2, 20, 9, 10) - 3  # mostly negative: zeros of a border must not win
    x[0, 3, 4, 4] = np.nan
    layer = MaxPool((0,), 1, pair(kernel), pair(stride), pair(padding), pair(dilation), ceil_mode)
    expected = internals.nn.functional.max_pool2d(
        internals.from_numpy(x), kernel, stride, padding, dilation, ceil_mode
    ).numpy()
    np.testing.assert_array_equal(run([layer], x)[0], expected)


@pytest.mark.parametrize(
    "kernel, stride, padding",
    [((2, 2), (2, 2), (0, 0)), ((3, 3), (1, 1), (1, 1)), (None, (1, 1), (0, 0))],
)
def test_average_pool(kernel: Any, stride: Any, padding: Any) -> None:
    import internals

    x = numbers(2, 20, 6, 6)
    args = internals.from_numpy(x.astype(np.float64)), kernel or 6, stride, padding
    expected = internals.nn.functional.avg_pool2d(*args).numpy()
    assert error(run([AveragePool((0,), 1, kernel, stride, padding)], x)[0], expected) < 1e-6


@pytest.mark.parametrize("sizes", [(5, 20), (3, 6, 2, 3)])
def test_linear_flattens(sizes: tuple[int, ...]) -> None:
    x = numbers(*sizes)
    rows = x.reshape(len(x), -1)
    weight, bias = numbers(21, rows.shape[1]), numbers(21)
    layers = [Flatten((0,), 1), Linear((1,), 2, weight, bias, low=0.0)]
    expected = np.maximum(rows.astype(np.float64) @ weight.T.astype(np.float64) + bias, 0)
    assert error(run(layers, x)[0], expected) < 1e-6


@pytest.mark.parametrize("sizes", [(7, 32), (2, 3, 32), (2, 3, 20)])
def test_linear_of_rows_with_residual(sizes: tuple[int, ...]) -> None:
    x, weight, other = numbers(*sizes), numbers(48, sizes[-1]), numbers(*sizes[:-1], 48)
    layers = [
        Linear((0,), 2, weight, None),
        Sum((1, 2), 3),
        Linear((3,), 4, weight.T.copy(), None, high=9.0),
    ]
    expected = (x.astype(np.float64) @ weight.T + other) @ weight
    middle, last = run(layers, x, other, outputs=[3, 4])
    assert error(middle, x.astype(np.float64) @ weight.T + other) < 1e-6
    assert error(last, np.minimum(expected, 9)) < 1e-5


@pytest.mark.parametrize("wanted", [False, True])
def test_a_flattened_value_keeps_the_memory_it_shares(wanted: bool) -> None:
    """Two layers come between a picture and the layer that reads it flattened; they must not take
    its buffer. The same when it is returned flattened.
    """
    x = numbers(1, 16, 4, 4)
    w = [numbers(16, 16, 1, 1) for _ in range(3)]
    first = Convolution((0,), 1, w[0], None)
    between = [Convolution((1,), 3, w[1], None), Convolution((3,), 4, w[2], None)]
    weight = numbers(16, 256)
    layers = [
        first,
        Flatten((1,), 2),
        *between,
        *([] if wanted else [Linear((2,), 5, weight, None)]),
    ]
    found = run(layers, x, outputs=[4, 2] if wanted else [4, 5])[1]
    rows = exact(first, x).reshape(1, -1)
    assert error(found, rows if wanted else rows @ weight.T.astype(np.float64)) < 1e-5


def test_several_inputs_and_outputs() -> None:
    """A value that is wanted is not overwritten by one that comes later, and an input may be read
    by several layers.
    """
    first = convolution(16, 16, (3, 3), padding=(1, 1))
    second = convolution(16, 16, (1, 1))
    x, other = numbers(1, 16, 5, 6), numbers(1, 16, 5, 6)
    layers = [
        Convolution((0,), 2, first.weight, first.bias, padding=(1, 1)),
        Convolution((2,), 3, second.weight, second.bias),
        Sum((3, 1), 4),
        Sum((4, 0), 5, low=0.0),
    ]
    middle, last = run(layers, x, other, outputs=[2, 5])
    expected = exact(first, x)
    assert error(middle, expected) < 1e-6
    assert error(last, np.maximum(exact(second, expected) + other + x, 0)) < 1e-6


def test_an_input_may_be_an_output() -> None:
    """Pictures of few channels lie as they came only where nobody wants them in blocks."""
    x, layer = numbers(2, 3, 6, 5), convolution(3, 20, (3, 3), padding=(1, 1))
    y, same = run([layer], x, outputs=[1, 0])
    assert error(y, exact(layer, x)) < 1e-5
    assert np.array_equal(same, x)


def test_nan_and_infinity_go_where_they_belong() -> None:
    layer = convolution(16, 16, (3, 3), padding=(1, 1), low=0.0)
    x = numbers(1, 16, 8, 8)
    x[0, 2, 4, 4], x[0, 5, 0, 0] = np.nan, np.inf
    got = run([layer], x)[0]
    assert np.isnan(got[0, :, 3:6, 3:6]).all()
    assert np.isnan(got[0, :, 6:, :]).sum() == 0
    assert np.isin(got[0, :, 0, 0], [0, np.inf]).all()


def test_running_again_gives_the_same_and_leaves_borders_zero() -> None:
    layers = [convolution(16, 16, (3, 3), padding=(1, 1))]
    layers.append(Convolution((1,), 2, layers[0].weight, layers[0].bias, padding=(1, 1)))
    from internals.aten.compiled.convolution.network import Network
    from tests.aten.compiled.convolution_support import using

    network = Network(layers, [2], [(1, 16, 6, 6)], 1, chooser=using())
    x, y = numbers(1, 16, 6, 6), numbers(1, 16, 6, 6)
    once = network.run([x])[0]
    assert not np.array_equal(network.run([y])[0], once)
    np.testing.assert_array_equal(network.run([x])[0], once)


@given(
    st.integers(1, 2), st.integers(1, 40), st.integers(1, 40), st.integers(3, 12),
    st.integers(3, 12), st.sampled_from([(1, 1), (3, 3), (2, 3)]), st.integers(1, 3),
    st.integers(0, 2), st.integers(1, 2),
)  # fmt: skip
@examples(25)
def test_any_sizes(
    n: int, channels: int, outputs: int, height: int, width: int, kernel: tuple[int, int],
    stride: int, padding: int, dilation: int,
) -> None:  # fmt: skip
    layer = convolution(
        channels,
        outputs,
        kernel,
        stride=(stride, stride),
        padding=(padding, padding),
        dilation=(dilation, dilation),
    )
    reach = [dilation * (k - 1) + 1 for k in kernel]
    if height + 2 * padding < reach[0] or width + 2 * padding < reach[1]:
        return
    x = numbers(n, channels, height, width)
    assert error(run([layer], x)[0], exact(layer, x)) < 1e-6


@given(
    st.integers(1, 8), st.integers(1, 6), st.integers(1, 4), st.integers(3, 9), st.integers(1, 2)
)
@examples(15)
def test_any_groups(groups: int, inputs: int, outputs: int, size: int, stride: int) -> None:
    layer = convolution(
        groups * inputs, groups * outputs, (3, 3), groups, stride=(stride, stride), padding=(1, 1)
    )
    x = numbers(1, groups * inputs, size, size)
    assert error(run([layer], x)[0], exact(layer, x)) < 1e-6


@given(
    st.sampled_from([2, 4]),
    st.integers(16, 40),
    st.integers(1, 40),
    st.integers(4, 13),
    st.integers(4, 13),
    st.integers(2, 6),
)
@examples(20)
def test_any_winograd(
    m: int, channels: int, outputs: int, height: int, width: int, tiles: int
) -> None:
    layer = convolution(channels, outputs, (3, 3), padding=(1, 1))
    x = numbers(1, channels, height, width)
    tiles = min(tiles, -(-height // m) * -(-width // m))
    algorithm = Winograd(m, min(2, tiles), 1, tiles, 1)
    assert error(run([layer], x, algorithm=algorithm)[0], exact(layer, x)) < 5e-6
