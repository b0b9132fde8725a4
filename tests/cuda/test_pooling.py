"""Poolings on the device beside the CPU's: windows of all kinds, dtypes, memory formats, NaN, and
gradients.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.core import dtype as dt
from internals.nn import functional as F
from tests.cuda.beside_cpu import compare, compare_gradients, moved, random_tensor

WINDOWS: list[tuple[Any, dict[str, Any]]] = [
    (2, {}),
    ((2, 3), {"stride": 1}),
    (3, {"stride": 2, "padding": 1}),
    (3, {"stride": (1, 2), "padding": (1, 0), "ceil_mode": True}),
    (2, {"stride": 3, "ceil_mode": True}),
]


@pytest.mark.parametrize(
    "dtype", [dt.float32, dt.float16, dt.float64, dt.int64, dt.uint8], ids=lambda d: d.name
)
@pytest.mark.parametrize(
    "kernel, options", [*WINDOWS, (2, {"dilation": 2}), (3, {"dilation": (2, 1), "padding": 1})]
)
def test_max_pool(dtype: dt.dtype, kernel: Any, options: dict[str, Any]) -> None:
    """Values and places; ints have many equal maxima, of which the first counts."""
    x = random_tensor((2, 2, 5, 6), dtype)
    compare(F.max_pool2d, x, kernel, return_indices=True, **options)
    if dtype.is_floating_point:
        compare_gradients(lambda x: F.max_pool2d(x, kernel, **options), x)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float16, dt.float64], ids=lambda d: d.name)
@pytest.mark.parametrize(
    "kernel, options",
    [*WINDOWS, (3, {"padding": 1, "count_include_pad": False}), ((2, 3), {"divisor_override": 5})],
)
def test_avg_pool(dtype: dt.dtype, kernel: Any, options: dict[str, Any]) -> None:
    x = random_tensor((2, 2, 5, 6), dtype)
    compare(F.avg_pool2d, x, kernel, **options)
    compare_gradients(lambda x: F.avg_pool2d(x, kernel, **options), x)


@pytest.mark.parametrize("size", [(1, 2), (2, 3), (5, 6), (7, 8), (3, 1)])
def test_adaptive_avg_pool(size: tuple[int, int]) -> None:
    x = random_tensor((2, 2, 5, 6))
    compare(F.adaptive_avg_pool2d, x, size)
    compare(F.adaptive_avg_pool2d, x.half(), size)
    compare_gradients(lambda x: F.adaptive_avg_pool2d(x, size), x)


def test_without_batch_with_an_empty_one_and_through_strides() -> None:
    for x in (
        random_tensor((2, 4, 5)),
        random_tensor((0, 2, 4, 5)),
        random_tensor((4, 5, 2, 2)).permute(3, 2, 0, 1),
    ):
        compare(F.max_pool2d, x, 2, return_indices=True)
        compare(F.avg_pool2d, x, 2)
        compare(F.adaptive_avg_pool2d, x, (2, 3))
        compare_gradients(lambda x: F.max_pool2d(x, 2), x)
        compare_gradients(lambda x: F.avg_pool2d(x, 2), x)
        compare_gradients(lambda x: F.adaptive_avg_pool2d(x, (2, 3)), x)


def test_channels_last_stays_so() -> None:
    x = random_tensor((2, 3, 4, 4)).contiguous(memory_format=internals.channels_last)
    for function in (
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    ):
        got = compare(function, x)
        assert got.is_contiguous(memory_format=internals.channels_last) and not got.is_contiguous()
        compare_gradients(function, x)


def test_nan_and_windows_without_anything() -> None:
    x = random_tensor((1, 1, 4, 6))
    x[0, 0, 1, 1] = x[0, 0, 1, 3] = x[0, 0, 2, 3] = float("nan")
    x[0, 0, 2:, 4:] = -float("inf")
    compare(F.max_pool2d, x, 2, return_indices=True)
    compare(F.max_pool2d, x, 3, stride=1, padding=1, return_indices=True)


def test_gradients_of_windows_that_overlap_add_up() -> None:
    x = internals.zeros(1, 1, 3, 3)
    x[0, 0, 1, 1] = 1
    on_device = x.cuda().requires_grad_()
    F.max_pool2d(on_device, 2, stride=1).sum().backward()
    assert on_device.grad.cpu()[0, 0].tolist() == [[0, 0, 0], [0, 4, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.max_pool2d(x, 7),
        lambda x: F.max_pool2d(x, 2, padding=2),
        lambda x: F.max_pool2d(x[0, 0], 2),
        lambda x: F.max_pool2d(x.bool(), 2),
        lambda x: F.avg_pool2d(x, 2, divisor_override=0),
        lambda x: F.avg_pool2d(x, 0),
        lambda x: F.avg_pool2d(x[0, 0], 2),
        lambda x: F.adaptive_avg_pool2d(x, (-1, 2)),
        lambda x: F.adaptive_avg_pool2d(x.long(), (3, 2)),
    ],
)
def test_the_same_errors_as_on_the_cpu(call: Any) -> None:
    x = random_tensor((1, 2, 4, 4))
    with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as expected:
        call(x)
    with pytest.raises(expected.type) as got:
        call(moved(x))
    assert str(got.value) == str(expected.value)
