"""Dropout of whole channels, and after selu (`torch/nn/functional.py`,
`aten/src/ATen/native/Dropout.cpp`).

Neighbouring pixels of a feature map are strongly correlated, so zeroing single ones hides little.
Instead, each channel of each sample is kept or dropped as a whole: the noise has shape
(N, C, 1, 1, ...) and is broadcast over the rest. Alpha dropout sets elements to selu's lowest value
instead of 0, and restores mean and variance.

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings

from internals._generated import functions as F
from internals._tensor import Tensor


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of (N, C, L) or (C, L) with probability `p`, divide the others by 1 - p."""
    _check_probability(p)
    if input.dim() != 2 and input.dim() != 3:
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    if input.dim() == 3:
        return _feature_dropout(input, p, training, inplace)
    # (C, L): the operator needs a batch dimension, or it would take L for the channels' positions
    if inplace:
        _feature_dropout(input.unsqueeze(0), p, training, True)
        return input
    return _feature_dropout(input.unsqueeze(0), p, training, False).squeeze(0)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of (N, C, H, W) with probability `p`, divide the others by 1 - p.

    Three dimensions count as (N, C, L), with a warning. Raises ValueError unless 0 <= p <= 1.
    """
    _check_probability(p)
    if input.dim() != 3 and input.dim() != 4:
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and "
            "will result in an error in a future release. To retain the behavior and silence "
            "this warning, please use dropout instead. Note that dropout2d exists to provide "
            "channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and "
            "an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    # for old programs 3-D input is (N, C, L), while 4-D input of dropout3d is (C, D, H, W)
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
            "dropout behavior is desired - input is interpreted as shape (N, C, L), where C is "
            "the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _feature_dropout(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of (N, C, D, H, W) or (C, D, H, W) with probability `p`, divide the others
    by 1 - p.

    Warns for other numbers of dimensions. Raises ValueError unless 0 <= p <= 1.
    """
    _check_probability(p)
    if input.dim() != 4 and input.dim() != 5:
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated and "
            "will result in an error in a future release. To retain the behavior and silence "
            "this warning, please use dropout instead. Note that dropout3d exists to provide "
            "channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and "
            "an optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    if input.dim() == 5:
        return _feature_dropout(input, p, training, inplace)
    if inplace:
        return _feature_dropout(input.unsqueeze_(0), p, training, True).squeeze_(0)
    return _feature_dropout(input.unsqueeze(0), p, training, False).squeeze(0)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Set each element to selu's lowest value with probability `p`, and restore mean and variance.

    Raises ValueError unless 0 <= p <= 1.
    """
    _check_probability(p)
    if inplace:
        return F.alpha_dropout_(input, p, training)
    return F.alpha_dropout(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, ...)."""
    _check_probability(p)
    if inplace:
        return F.feature_alpha_dropout_(input, p, training)
    return F.feature_alpha_dropout(input, p, training)


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if inplace:
        return F.feature_dropout_(input, p, training)
    return F.feature_dropout(input, p, training)


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
