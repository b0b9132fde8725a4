"""Functions of vision and the rarer poolings: values and errors beside PyTorch, and against what
must hold of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from internals.nn import functional as F
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, to_numpy

GRIDS = [
    f"F.grid_sample(x(2, 3, 4, 5), x(2, 6, 7, 2), '{mode}', '{padding}', {align})"
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for align in (False, True)
] + [
    f"F.grid_sample(x(2, 3, 4, 5, 2), x(2, 3, 4, 2, 3), '{mode}', '{padding}', {align})"
    for mode in ("bilinear", "nearest")
    for padding in ("zeros", "border", "reflection")
    for align in (False, True)
]

CASES = GRIDS + cases("""
    # points exactly on elements, on edges, between two for nearest, and nowhere
    F.grid_sample(x(1, 1, 3, 3), x.of([[[[-1, -1], [0, 0], [1, 1], [0.5, -0.5], [-1.0, 0.3]]]]),
        align_corners=True)
    F.grid_sample(x(1, 1, 3, 3), x.of([[[[-1, -1], [0, 0], [1, 1], [0.5, -0.5], [-1.0, 0.3]]]]),
        "nearest", "border", False)
    F.grid_sample(x(1, 1, 3, 3), x.of([[[[1e6, -1e6], [30.5, -7.25], [3, -3]]]]),
        padding_mode="reflection", align_corners=False)
    F.grid_sample(x(1, 1, 1, 1), x(1, 2, 3, 2), padding_mode="reflection", align_corners=True)
    F.grid_sample(x(1, 2, 3, 4, dtype="float64"), x(1, 2, 3, 2, dtype="float64"), "bicubic",
        align_corners=False)
    F.grid_sample(x(0, 2, 3, 4), x(0, 2, 3, 2), align_corners=False)
    F.grid_sample(x(2, 0, 3, 4), x(2, 2, 3, 2), align_corners=False)
    F.grid_sample(x(2, 2, 3, 4), x(2, 0, 3, 2), align_corners=False)
    F.grid_sample(x(2, 2, 3, 4), x(2, 2, 3, 2))
    F.grid_sample(x(2, 2, 3, 4), x(2, 2, 3, 2), "trilinear")
    F.grid_sample(x(2, 2, 3, 4), x(2, 2, 3, 2), padding_mode="circular")
    F.grid_sample(x(2, 2, 3, 4, 5), x(2, 2, 3, 2, 3), "bicubic", align_corners=False)
    F.grid_sample(x(2, 2, 3, 4), x(1, 2, 3, 2), align_corners=False)
    F.grid_sample(x(2, 2, 3, 4), x(2, 2, 3, 3), align_corners=False)
    F.grid_sample(x(2, 2, 0, 4), x(2, 2, 3, 2), align_corners=False)
    F.grid_sample(x(2, 2, 3, 4, dtype="int64"), x(2, 2, 3, 2, dtype="int64"), align_corners=False)
    F.affine_grid(x(2, 2, 3), (2, 3, 4, 5), False)
    F.affine_grid(x(2, 2, 3), [2, 3, 4, 5], True)
    F.affine_grid(x(2, 2, 3), [2, 3, 1, 5], True)
    F.affine_grid(x(2, 3, 4, dtype="float64"), (2, 1, 3, 4, 2), align_corners=False)
    F.affine_grid(x(2, 2, 3), (2, 3, 4, 5))
    F.affine_grid(x(2, 2, 3), (2, 3, 0, 5), False)
    F.affine_grid(x(2, 2, 3), (2, 3, 4), False)
    F.affine_grid(x(2, 2, 4), (2, 3, 4, 5), False)
    F.affine_grid(x(2, 2, 3, dtype="int64"), (2, 3, 4, 5), False)
    F.max_pool3d(x(2, 2, 4, 4, 4, dtype="int64"), 2, return_indices=True)
    F.max_pool3d(x.of([[[[nan, 1], [2, nan]], [[3, 4], [5, 6]]]]), 2, 1, 1, return_indices=True)
    F.max_pool3d(x.of([[[[1, 1], [1, 1]], [[1, 1], [1, 1]]]]), (1, 2, 2), return_indices=True)
    F.max_pool3d(x.of([[[[-inf, -inf], [-inf, -inf]], [[1, 1], [1, -inf]]]]), (1, 2, 2), 1,
        (0, 1, 1), return_indices=True)
    F.max_pool3d_with_indices(x(0, 2, 4, 4, 4), 2)
    F.max_pool3d(x(2, 0, 4, 4, 4), 2)
    F.avg_pool3d(x(2, 2, 4, 4, 4, dtype="int64"), 2)
    F.avg_pool3d(x(2, 2, 2, 4, 4), 3, 1, 1)
    F.avg_pool3d(x(2, 2, 4, 4, 4), 2, divisor_override=0)
    F.adaptive_avg_pool3d(x(2, 2, 4, 5, 6), (None, 2, 3))
    F.adaptive_avg_pool3d(x(2, 4, 5, 6), (0, 2, 3))
    F.adaptive_avg_pool3d(x(2, 4, 5, 6), -1)
    F.max_unpool1d(x(2, 3), x.of([[0, 3, 4], [1, 2, 5]], "int64"), 2)
    F.max_unpool2d(x(1, 2, 2), x.of([[[0, 3], [5, 3]]], "int64"), 2, 1)
    F.max_unpool2d(x(1, 2, 2), x.of([[[0, 3], [5, 6]]], "int32"), 2)
    F.max_unpool3d(x(1, 1, 2, 2), x.of([[[[0, 3], [5, 33]]]], "int64"), 2)
    F.max_unpool3d(x(1, 1, 2, 2), x.of([[[[0, 3], [5, 1]]]], "int64"), 2, (2, 0, 2))
    F.lp_pool2d(x(1, 2, 4, 4), 3, 2)
    F.lp_pool1d(x(2, 6), 2, 3, ceil_mode=True)
    F.local_response_norm(x(0, 3, 4), 2)
    F.upsample_nearest(x(1, 2, 3, 4), scale_factor=2)
    F.upsample_bilinear(x(1, 2, 3, 4), (5, 6))
    F.upsample(x(1, 2, 3, 4), scale_factor=2, mode="bicubic", align_corners=True)
    F.conv_tbc(x(5, 2, 3), x(2, 3, 4), x(4), 1)
    F.conv_tbc(x(5, 2, 3, dtype="int64"), x(2, 3, 4, dtype="int64"), x(4, dtype="int64"))
    F.conv_tbc(x(5, 2, 3), x(2, 4, 4), x(4))
    F.conv_tbc(x(1, 2, 3), x(3, 3, 4), x(4))
    F.native_channel_shuffle(x(2, 6, 3), 2)
    F.celu_(x(3, 4), 0.5)
    F.selu_(x(3, 4))
    F.threshold_(x(3, 4), 0.1, 7)
    F.rrelu_(x(3, 4), 0.1, 0.5)
    F.rrelu(x(3, 4), training=False, inplace=True)
    F.rrelu(x(3), 0.3, 0.1, True)
    F.prelu(x.of(-2.0), x.of([0.25]))
    F.prelu(x(3), x(1, dtype="float64"))
""")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_as_pytorch(case: str) -> None:
    check(expression(case), rtol=2e-4, atol=2e-5)


SEEDED = cases("""
    F.rrelu(x(30), 0.1, 0.5, True)
    F.rrelu(x(30, dtype="float64"), training=True)
    F.gumbel_softmax(x(4, 5))
    F.gumbel_softmax(x(4, 5), 0.3, True, dim=0)
    F.fractional_max_pool2d(x(2, 3, 6, 7), 2, 3, return_indices=True)
    F.fractional_max_pool2d(x(3, 6, 7, dtype="float64"), (3, 2), output_ratio=(0.4, 0.7))
    F.fractional_max_pool3d(x(2, 3, 5, 6, 7), 2, output_size=(2, 3, 3), return_indices=True)
    F.fractional_max_pool3d(x(2, 3, 5, 6, 7), 2, output_size=(1, 6, 5))
    F.fractional_max_pool2d(x(2, 3, 6, 7), 2)
    F.fractional_max_pool2d(x(2, 3, 6, 7), 3, 6)
""")


@pytest.mark.parametrize("case", SEEDED)
def test_random_numbers_as_pytorch(case: str) -> None:
    def seeded(T: Any, x: Any) -> Any:
        T.manual_seed(7)
        return expression(case)(T, x)

    check(seeded, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_the_grid_of_the_identity_gives_the_image(mode: str) -> None:
    image = ours()(2, 3, 4, 5)
    grid = F.affine_grid(internals.eye(2, 3).expand(2, 2, 3), image.shape, align_corners=True)
    sampled = F.grid_sample(image, grid, mode, "border", True)
    np.testing.assert_allclose(to_numpy(sampled), to_numpy(image), atol=1e-5)


def test_a_mirrored_grid_mirrors() -> None:
    image = ours()(1, 1, 2, 3)
    grid = F.affine_grid(
        internals.tensor([[[-1.0, 0, 0], [0, 1, 0]]]), image.shape, align_corners=False
    )
    np.testing.assert_allclose(
        to_numpy(F.grid_sample(image, grid, align_corners=False)),
        to_numpy(image)[..., ::-1],
        atol=1e-6,
    )


def test_unpooling_undoes_pooling() -> None:
    x = ours()(2, 3, 4, 6)
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    back = to_numpy(F.max_unpool2d(values, indices, 2))
    assert ((back == to_numpy(x)) | (back == 0)).all()
    assert_same(F.max_pool2d(internals.tensor(back.tolist()).abs(), 2), np.abs(to_numpy(values)))


def test_pooling_volumes_against_numpy() -> None:
    x = ours()(2, 3, 4, 6, 2)
    blocks = to_numpy(x).reshape(2, 3, 2, 2, 3, 2, 1, 2)
    assert_same(F.max_pool3d(x, 2), blocks.max((3, 5, 7)))
    np.testing.assert_allclose(
        to_numpy(F.avg_pool3d(x, 2)), blocks.mean((3, 5, 7)), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        to_numpy(F.lp_pool3d(x, 2, 2)), np.sqrt((blocks**2).sum((3, 5, 7))), rtol=1e-5, atol=1e-6
    )
