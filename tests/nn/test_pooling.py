"""Pooling, padding, resampling and unfolding against their definitions in numpy (test_nn_windows
compares with PyTorch).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals.nn import functional as F
from tests.side_by_side import ours
from tests.support import assert_same, examples, to_numpy


@st.composite
def windows(draw: Any) -> tuple[tuple[int, ...], tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Sizes (N, C, H, W) with a kernel, a stride and a padding that fit."""
    kernel = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    padding = draw(st.integers(0, kernel[0] // 2)), draw(st.integers(0, kernel[1] // 2))
    sizes = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(3, 7)),
        draw(st.integers(3, 7)),
    )
    return sizes, kernel, stride, padding


def each_window(a: Any, kernel: Any, stride: Any, padding: Any, fill: float) -> Any:
    """Every window of the last two dimensions, flattened: (N, C, rows, columns, elements)."""
    a = np.pad(a, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=fill)
    rows, columns = ((n - k) // s + 1 for n, k, s in zip(a.shape[2:], kernel, stride))
    out = [
        [
            a[
                :,
                :,
                i * stride[0] : i * stride[0] + kernel[0],
                j * stride[1] : j * stride[1] + kernel[1],
            ]
            for j in range(columns)
        ]
        for i in range(rows)
    ]
    return np.moveaxis(np.array(out), (0, 1), (2, 3)).reshape(*a.shape[:2], rows, columns, -1)


@given(windows())
@examples(30)
def test_max_pool_and_its_indices(case: tuple[Any, ...]) -> None:
    sizes, kernel, stride, padding = case
    t = ours()(*sizes, dtype="float64")
    values, indices = F.max_pool2d(t, kernel, stride, padding, return_indices=True)
    assert_same(values, each_window(to_numpy(t), kernel, stride, padding, -np.inf).max(-1))
    flat = to_numpy(t).reshape(*sizes[:2], -1)
    picked = np.take_along_axis(flat, to_numpy(indices).reshape(*sizes[:2], -1), 2)
    np.testing.assert_array_equal(picked.reshape(values.shape), to_numpy(values))
    assert_same(F.max_pool2d(t, kernel, stride, padding), to_numpy(values))


@given(windows())
@examples(30)
def test_avg_pool(case: tuple[Any, ...]) -> None:
    sizes, kernel, stride, padding = case
    t = ours()(*sizes, dtype="float64")
    total = each_window(to_numpy(t), kernel, stride, padding, 0).sum(-1)
    inside = each_window(np.ones(sizes), kernel, stride, padding, 0).sum(-1)
    assert_same(F.avg_pool2d(t, kernel, stride, padding), total / (kernel[0] * kernel[1]))
    assert_same(F.avg_pool2d(t, kernel, stride, padding, count_include_pad=False), total / inside)
    assert_same(F.avg_pool2d(t, kernel, stride, padding, divisor_override=3), total / 3)


def test_ceil_mode_adds_the_window_that_hangs_over() -> None:
    t = ours().of(np.arange(25).reshape(1, 5, 5), "float64")
    assert F.max_pool2d(t, 2).tolist() == [[[6, 8], [16, 18]]]
    assert F.max_pool2d(t, 2, ceil_mode=True).tolist() == [[[6, 8, 9], [16, 18, 19], [21, 23, 24]]]
    assert F.avg_pool2d(t, 2, ceil_mode=True).tolist()[0][2] == [20.5, 22.5, 24]


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 9), st.integers(1, 9))
@examples(30)
def test_adaptive_avg_pool(h: int, w: int, rows: int, columns: int) -> None:
    t = ours()(2, h, w, dtype="float64")
    a = to_numpy(t)
    expected = [
        [
            a[
                :,
                i * h // rows : -(-(i + 1) * h // rows),
                j * w // columns : -(-(j + 1) * w // columns),
            ].mean((1, 2))
            for j in range(columns)
        ]
        for i in range(rows)
    ]
    assert_same(F.adaptive_avg_pool2d(t, (rows, columns)), np.moveaxis(np.array(expected), 2, 0))


@pytest.mark.parametrize(
    "mode, numpy_mode", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=4))
@examples(15)
def test_pad_modes(mode: str, numpy_mode: Any, amounts: list[int]) -> None:
    t = ours()(1, 2, 3, 4)
    left, right, top, bottom = amounts
    expected = np.pad(to_numpy(t), [(0, 0), (0, 0), (top, bottom), (left, right)], mode=numpy_mode)
    assert_same(F.pad(t, amounts, mode), expected)


@given(st.lists(st.integers(-1, 2), min_size=4, max_size=4), st.floats(-2, 2, width=32))
@examples(20)
def test_constant_pad(amounts: list[int], value: float) -> None:
    t = ours()(3, 4)
    left, right, top, bottom = amounts
    a = np.pad(
        to_numpy(t),
        [(max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0))],
        constant_values=value,
    )
    rows, columns = (
        slice(max(-x, 0), n - max(-y, 0))
        for x, y, n in ((top, bottom, a.shape[0]), (left, right, a.shape[1]))
    )
    assert_same(F.pad(t, amounts, value=value), a[rows, columns])


def test_nearest_repeats_and_bilinear_mixes() -> None:
    t = ours()(1, 2, 3, 4)
    a = to_numpy(t)
    assert_same(F.interpolate(t, scale_factor=2), a.repeat(2, 2).repeat(2, 3))
    assert_same(F.interpolate(t, size=(3, 4), mode="bilinear"), a)
    row = ours().of([[[[0.0, 1.0]]]])
    assert F.interpolate(row, size=(1, 5), mode="bilinear", align_corners=True).tolist() == [
        [[[0, 0.25, 0.5, 0.75, 1]]]
    ]
    assert F.interpolate(row, size=(1, 4), mode="bilinear").tolist() == [[[[0, 0.25, 0.75, 1]]]]
    assert_same(
        F.interpolate(t, size=(1, 2), mode="area"), a.reshape(1, 2, 1, 3, 2, 2).mean((3, 5))
    )


@given(windows())
@examples(20)
def test_unfold(case: tuple[Any, ...]) -> None:
    sizes, kernel, stride, padding = case
    t = ours()(*sizes, dtype="float64")
    expected = np.moveaxis(each_window(to_numpy(t), kernel, stride, padding, 0), -1, 2)
    result = F.unfold(t, kernel, 1, padding, stride)
    assert_same(result, expected.reshape(sizes[0], sizes[1] * kernel[0] * kernel[1], -1))


def test_the_gradient_of_an_empty_batch() -> None:
    x = internals.zeros(0, 2, 4, 5).requires_grad_()
    internals.nn.functional.max_pool2d(x, 2).sum().backward()
    assert x.grad.shape == (0, 2, 4, 5)


@pytest.mark.parametrize(
    ("sizes", "dtype", "window", "words"),
    [
        # which is the kernel's size if none is given
        ((1, 1, 2, 2), "float32", ([0, 3],), "stride should not be zero"),
        ((3, 3), "bool", ([2, 2],), "non-empty 3D or 4D (batch mode) tensor expected for input"),
        (
            (1, 1, 2, 2),
            "bool",
            ([3, 3],),
            "Given input size: (1x2x2). Calculated output size: (1x0x0).",
        ),
        (
            (1, 2, 2, 2),
            "float32",
            ([0, 2, 1], [3, 1, 1]),
            "kernel size should be greater than zero, but got kT: 0 kH: 2 kW: 1",
        ),
        (
            (1, 2, 2, 2),
            "float32",
            ([1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 2, 2]),
            "dilation should be greater than zero, but got dilationT: 0 dilationH: 2 dilationW: 2",
        ),
    ],
)
def test_images_and_volumes_are_checked_in_one_order(
    sizes: Any, dtype: str, window: Any, words: str
) -> None:
    pool = F.max_pool2d if len(window[0]) == 2 else F.max_pool3d
    with pytest.raises(RuntimeError) as raised:
        pool(internals.ones(sizes, dtype=getattr(internals, dtype)), *window)
    assert str(raised.value).startswith(words)
