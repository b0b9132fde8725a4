"""Building blocks that several models share (`torchvision/ops/misc.py`): a convolution with its
normalization, and the multi-layer perceptron.

Both are `nn.Sequential`s, so the names in a `state_dict` are positions: `0.weight` belongs to the
convolution, `1.weight` to the norm.

How the real one differs: torchvision has 3-d convolutions, squeeze-excitation and frozen norms as
well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals import nn


class Conv2dNormActivation(nn.Sequential):
    """Convolution, normalization and activation of (N, in_channels, H, W).

    By default the stride alone changes H and W, and there is a bias only without a norm: batch norm
    would subtract it again.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm2d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        if padding is None:
            padding = (kernel_size - 1) // 2 * dilation  # keeps H and W at stride 1
        if bias is None:
            bias = norm_layer is None
        layers: list[nn.Module] = [
            nn.Conv2d(
                in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**in_place(inplace)))
        super().__init__(*layers)
        self.out_channels = out_channels


class MLP(nn.Sequential):
    """(..., in_channels) to (..., hidden_channels[-1]): linear layers with activations between.

    Each layer but the last is followed by a norm (if any), the activation and dropout; the last by
    dropout alone.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: list[int],
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        layers: list[nn.Module] = []
        for width in hidden_channels[:-1]:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(width))
            layers.append(activation_layer(**in_place(inplace)))
            layers.append(nn.Dropout(dropout, **in_place(inplace)))
            in_channels = width
        layers.append(nn.Linear(in_channels, hidden_channels[-1], bias=bias))
        layers.append(nn.Dropout(dropout, **in_place(inplace)))
        super().__init__(*layers)


def in_place(inplace: bool | None) -> dict[str, Any]:
    """The keyword argument for a layer that may overwrite its input.

    None passes no keyword, for layers that do not have it.
    """
    return {} if inplace is None else {"inplace": inplace}


def no_weights(weights: str | None) -> None:
    """Raise ValueError for anything but None, as nothing is downloaded here."""
    if weights is not None:
        raise ValueError(
            f"weights={weights!r}: trained weights are not downloaded here; make the model with "
            "weights=None and give it torchvision's with model.load_state_dict(state_dict)"
        )
