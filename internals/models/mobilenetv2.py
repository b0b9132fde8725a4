"""MobileNet V2 (`torchvision/models/mobilenetv2.py`): a network for phones, with 3.5 million
parameters.

Its block is an inverted bottleneck (Sandler et al. 2018, https://arxiv.org/abs/1801.04381): the
residual connection joins the narrow ends. The wide middle is cheap because its 3x3 convolution is
depthwise: `groups` equals the number of channels, so each channel is filtered by itself and only
the 1x1 convolutions around it mix channels.

How the real one differs: torchvision can download trained weights, and has a quantized version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from internals import Tensor, nn
from internals.models._blocks import Conv2dNormActivation, no_weights

# For each stage: expansion of the middle, output channels at width_mult 1, number of blocks, stride
# of the first block.
SETTING = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
]


class MobileNetV2(nn.Module):
    """Images `(N, 3, H, W)` to scores `(N, num_classes)`.

    `width_mult` scales the channels of all stages, which stay multiples of `round_nearest`. Raises
    ValueError for an `inverted_residual_setting` whose rows are not four numbers as in `SETTING`.
    Source: `torchvision.models.mobilenetv2.MobileNetV2`.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        block = InvertedResidual if block is None else block
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        setting = SETTING if inverted_residual_setting is None else inverted_residual_setting
        if len(setting) == 0 or len(setting[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {setting}"
            )

        channels = make_divisible(32 * width_mult, round_nearest)
        self.last_channel = make_divisible(1280 * max(1.0, width_mult), round_nearest)
        # The stem halves the image; the blocks follow, then a 1x1 convolution to `last_channel`.
        features: list[nn.Module] = [
            Conv2dNormActivation(3, channels, stride=2, norm_layer=norm, activation_layer=nn.ReLU6)
        ]
        for expand_ratio, width, blocks, first_stride in setting:
            out = make_divisible(width * width_mult, round_nearest)
            for i in range(blocks):
                stride = first_stride if i == 0 else 1
                features.append(
                    block(channels, out, stride, expand_ratio=expand_ratio, norm_layer=norm)
                )
                channels = out
        features.append(
            Conv2dNormActivation(
                channels, self.last_channel, 1, norm_layer=norm, activation_layer=nn.ReLU6
            )
        )
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes)
        )
        self._initialize()

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)  # (N, last_channel, H / 32, W / 32)
        x = nn.functional.adaptive_avg_pool2d(x, (1, 1))  # (N, last_channel, 1, 1)
        return self.classifier(torch.flatten(x, 1))

    def _initialize(self) -> None:
        """He's normal weights for convolutions, norms as the identity, a small last layer."""
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.zeros_(m.bias)


class InvertedResidual(nn.Module):
    """Widen with a 1x1 convolution (unless `expand_ratio` is 1), filter each channel by itself,
    and narrow with a 1x1 convolution.

    No activation follows the last one: on few channels a ReLU would lose too much. The input is
    added where its shape is that of the output. Raises ValueError for a stride other than 1 and 2.
    """

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        hidden = int(round(inp * expand_ratio))
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(
                Conv2dNormActivation(inp, hidden, 1, norm_layer=norm, activation_layer=nn.ReLU6)
            )
        layers += [
            # depthwise: one 3x3 filter for each channel
            Conv2dNormActivation(
                hidden,
                hidden,
                stride=stride,
                groups=hidden,
                norm_layer=norm,
                activation_layer=nn.ReLU6,
            ),
            nn.Conv2d(hidden, oup, 1, 1, 0, bias=False),  # 1x1: narrow again
            norm(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        self.out_channels = oup

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


def mobilenet_v2(*, weights: None = None, progress: bool = True, **kwargs: Any) -> MobileNetV2:
    """MobileNet V2: 3,504,872 parameters. `kwargs` go to `MobileNetV2`; ValueError for `weights`,
    which are not downloaded.
    """
    no_weights(weights)
    return MobileNetV2(**kwargs)


def make_divisible(channels: float, divisor: int) -> int:
    """The multiple of `divisor` closest to `channels`, at least `divisor`, and at least 90 % of
    `channels`.
    """
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded
