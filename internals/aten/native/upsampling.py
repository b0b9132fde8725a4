"""The operators of resampling, as PyTorch names them
(`aten/src/ATen/native/UpSample{Nearest,Linear,Trilinear,Bicubic}*.cpp`).

There is an operator for each filter and number of dimensions. All of them call `resample`, which
infers the number of dimensions from the number of scales. For each operator there is one for its
gradient (`_backward`), and a form that takes scale factors (`_vec`), which `interpolate` calls.
Nearest and bilinear for images are in `resampling.py`.

How the real one differs: each has a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor

from .resampling import resample, resample_backward
from .resampling_checks import sizes_and_scales


def with_factors(
    name: str, dims: int, input: Tensor, output_size: Sequence[int] | None, *how: Any
) -> Any:
    """Operator `name` with an output size or scale factors. `how` is `align_corners`, if the
    operator has that, and the scale factors, or None.
    """
    *align_corners, scale_factors = how
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, dims)
    return getattr(ops, name)(input, sizes, *align_corners, *scales)


upsample_nearest1d = upsample_nearest3d = partial(resample, "nearest")
_upsample_nearest_exact1d = _upsample_nearest_exact2d = partial(resample, "exact")
_upsample_nearest_exact3d = _upsample_nearest_exact1d
upsample_linear1d = upsample_trilinear3d = partial(resample, "linear")
upsample_bicubic2d = partial(resample, "cubic")
_upsample_bilinear2d_aa = partial(resample, "linear_aa")
_upsample_bicubic2d_aa = partial(resample, "cubic_aa")
_upsample_lanczos2d_aa = partial(resample, "lanczos_aa")

upsample_nearest1d_backward = upsample_nearest3d_backward = partial(resample_backward, "nearest")
_upsample_nearest_exact1d_backward = partial(resample_backward, "exact")
_upsample_nearest_exact2d_backward = _upsample_nearest_exact1d_backward
_upsample_nearest_exact3d_backward = _upsample_nearest_exact1d_backward
upsample_linear1d_backward = upsample_trilinear3d_backward = partial(resample_backward, "linear")
upsample_bicubic2d_backward = partial(resample_backward, "cubic")
_upsample_bilinear2d_aa_backward = partial(resample_backward, "linear_aa")
_upsample_bicubic2d_aa_backward = partial(resample_backward, "cubic_aa")
_upsample_lanczos2d_aa_backward = partial(resample_backward, "lanczos_aa")

upsample_nearest1d_vec = partial(with_factors, "upsample_nearest1d", 1)
upsample_nearest2d_vec = partial(with_factors, "upsample_nearest2d", 2)
upsample_nearest3d_vec = partial(with_factors, "upsample_nearest3d", 3)
_upsample_nearest_exact1d_vec = partial(with_factors, "_upsample_nearest_exact1d", 1)
_upsample_nearest_exact2d_vec = partial(with_factors, "_upsample_nearest_exact2d", 2)
_upsample_nearest_exact3d_vec = partial(with_factors, "_upsample_nearest_exact3d", 3)
upsample_linear1d_vec = partial(with_factors, "upsample_linear1d", 1)
upsample_bilinear2d_vec = partial(with_factors, "upsample_bilinear2d", 2)
upsample_trilinear3d_vec = partial(with_factors, "upsample_trilinear3d", 3)
upsample_bicubic2d_vec = partial(with_factors, "upsample_bicubic2d", 2)
_upsample_bilinear2d_aa_vec = partial(with_factors, "_upsample_bilinear2d_aa", 2)
_upsample_bicubic2d_aa_vec = partial(with_factors, "_upsample_bicubic2d_aa", 2)
_upsample_lanczos2d_aa_vec = partial(with_factors, "_upsample_lanczos2d_aa", 2)
