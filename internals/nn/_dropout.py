"""Dropout of whole channels (`feature_dropout` in `aten/src/ATen/native/Dropout.cpp`).

Neighbouring pixels of a feature map say nearly the same; zeroing single ones hides little. So one coin is thrown for each
channel of each sample: the noise has shape (N, C, 1, 1, ...) and is broadcast over the rest.

How the real one differs: there are three-dimensional and alpha variants too.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals._generated import functions as F


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of (N, C, L) or (C, L) with probability `p`, divide the others by 1 - p."""
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    if input.dim() == 3:
        return _feature_dropout(input, p, training, inplace)
    if inplace:
        _feature_dropout(input.unsqueeze(0), p, training, True)
        return input
    return _feature_dropout(input.unsqueeze(0), p, training, False).squeeze(0)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of (N, C, H, W) with probability `p`, divide the others by 1 - p.

    Three dimensions count as (N, C, L), with a warning. Raises ValueError unless 0 <= p <= 1.
    """
    _check_probability(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d "
            "exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional "
            "batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
            "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _feature_dropout(input, p, training, inplace)


def _feature_dropout(input: Any, p: float, training: bool, inplace: bool) -> Any:
    return F.feature_dropout_(input, p, training) if inplace else F.feature_dropout(input, p, training)


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
