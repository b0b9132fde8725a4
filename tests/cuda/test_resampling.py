"""Unfold, fold, and images in other sizes on the device beside the CPU's."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.core import dtype as dt
from internals.nn import functional as F
from tests.cuda.beside_cpu import compare, compare_gradients, moved, random_tensor

FLOATS = [dt.float32, dt.float64, dt.float16]


@pytest.mark.parametrize("dtype", [*FLOATS, dt.int64], ids=lambda d: d.name)
@pytest.mark.parametrize(
    "options", [{}, {"padding": 1, "stride": 2}, {"dilation": (1, 2), "padding": (0, 2)}]
)
def test_unfold_and_fold(dtype: dt.dtype, options: dict[str, Any]) -> None:
    x = random_tensor((2, 2, 5, 4), dtype)
    columns = compare(F.unfold, x, (3, 2), **options).cpu()
    if dtype.is_floating_point:
        compare(F.fold, columns, (5, 4), (3, 2), **options)
        compare(
            F.fold, columns.transpose(1, 2).contiguous().transpose(1, 2), (5, 4), (3, 2), **options
        )
        compare_gradients(lambda x: F.unfold(x, (3, 2), **options), x)
        compare_gradients(lambda c: F.fold(c, (5, 4), (3, 2), **options), columns)


def test_unfold_without_batch_and_through_strides() -> None:
    compare(F.unfold, random_tensor((2, 4, 4)), 2)
    compare(F.unfold, random_tensor((4, 4, 2, 1)).permute(3, 2, 1, 0), 2)
    compare(F.fold, random_tensor((8, 9)), (4, 4), 2)


SIZES = [(4, 6), (8, 12), (3, 5), (7, 11), (1, 1), (13, 2)]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("size", SIZES)
def test_nearest(dtype: dt.dtype, size: tuple[int, int]) -> None:
    x = random_tensor((2, 2, 4, 6), dtype)
    compare(F.interpolate, x, size=size, mode="nearest")
    compare_gradients(lambda x: F.interpolate(x, size=size, mode="nearest"), x)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("align_corners", [False, True])
def test_bilinear(dtype: dt.dtype, size: tuple[int, int], align_corners: bool) -> None:
    x = random_tensor((2, 2, 4, 6), dtype)
    compare(F.interpolate, x, size=size, mode="bilinear", align_corners=align_corners)
    compare_gradients(
        lambda x: F.interpolate(x, size=size, mode="bilinear", align_corners=align_corners), x
    )


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("scale", [0.6, 1.5, (2.0, 0.75)])
def test_scale_factors(mode: str, scale: Any) -> None:
    for recompute in (None, True):
        options = {"scale_factor": scale, "mode": mode, "recompute_scale_factor": recompute}
        compare(F.interpolate, random_tensor((1, 2, 5, 7)), **options)
        compare_gradients(
            lambda x, options=options: F.interpolate(x, **options), random_tensor((1, 2, 5, 7))
        )


def test_a_dimension_that_keeps_its_size_keeps_its_pixels() -> None:
    """Whatever the scale factor says: 1.3 times 3 is 3."""
    options = {"scale_factor": (1.3, 2.0), "mode": "bilinear"}
    x = random_tensor((1, 1, 3, 4))
    assert compare(F.interpolate, x, **options)[..., 1, 0].item() == x[..., 1, 0].item()
    compare_gradients(lambda x: F.interpolate(x, **options), x)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(3, 3), (3, 1), (5, 4), (7, 8)])
def test_bilinear_mixes_a_pixel_that_has_no_share_all_the_same(
    size: tuple[int, int], align_corners: bool
) -> None:
    """Nothing of infinity is NaN: there are such pixels when corners are on corners. Nearest mixes
    nothing.
    """
    x = random_tensor((1, 2, 5, 4))
    x[0, 0, 2, 1], x[0, 1, 4, 3] = float("inf"), float("-inf")
    mixed = compare(F.interpolate, x, size=size, mode="bilinear", align_corners=align_corners)
    assert mixed.isnan().any() or not align_corners
    assert not compare(F.interpolate, x, size=size, mode="nearest").isnan().any()


def test_bytes_and_memory_formats() -> None:
    compare(F.interpolate, random_tensor((1, 2, 3, 4), dt.uint8), size=(5, 5), mode="nearest")
    x = random_tensor((1, 3, 4, 4)).contiguous(memory_format=internals.channels_last)
    for mode in ("nearest", "bilinear"):
        compare(F.interpolate, x, size=(5, 6), mode=mode)
        compare_gradients(lambda x, mode=mode: F.interpolate(x, size=(5, 6), mode=mode), x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.unfold(x, 6),
        lambda x: F.unfold(x, 0),
        lambda x: F.fold(x[0], (9, 9), 2),
        lambda x: F.fold(x[0, 0], (4, 4), 2),
        lambda x: F.interpolate(x, size=(0, 2)),
    ],
)
def test_the_same_errors_as_on_the_cpu(call: Any) -> None:
    x = random_tensor((1, 2, 4, 4))
    with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as expected:
        call(x)
    with pytest.raises(expected.type) as got:
        call(moved(x))
    assert str(got.value) == str(expected.value)
