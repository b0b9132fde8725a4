"""Residual networks (`torchvision/models/resnet.py`): each block adds its result to its input.

That sum is the whole idea (He et al. 2015, https://arxiv.org/abs/1512.03385): a block that is not
needed can learn to add nothing, and in the backward pass the gradient reaches early layers
undiminished through the sums, so that networks of a hundred layers still train.

How the real one differs: torchvision has deeper and wider variants too, and can download trained
weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from internals import Tensor, nn
from internals.models._blocks import no_weights

Norm = Callable[..., nn.Module]


class ResNet(nn.Module):
    """Images `(N, 3, H, W)` to scores `(N, num_classes)`: a stem, four stages of blocks, an average
    over all pixels, `fc`.

    `layers` has the number of blocks of each stage. Every stage but the first halves height and
    width, or keeps them and dilates its filters (`replace_stride_with_dilation`, three bools; only
    with `Bottleneck`). Raises ValueError when there are not three. Source:
    `torchvision.models.resnet.ResNet`.
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: list[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        dilate = (
            [False, False, False]
            if replace_stride_with_dilation is None
            else replace_stride_with_dilation
        )
        if len(dilate) != 3:
            raise ValueError(
                f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}"
            )
        self._norm_layer: Norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group

        # the stem: H and W to a quarter, by the stride of the convolution and of the pooling
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))  # (N, 64, H / 4, W / 4)
        x = self.layer1(x)  # (N, 64 e, H / 4, W / 4), where e is block.expansion
        x = self.layer2(x)  # (N, 128 e, H / 8, W / 8)
        x = self.layer3(x)  # (N, 256 e, H / 16, W / 16)
        x = self.layer4(x)  # (N, 512 e, H / 32, W / 32)
        x = self.avgpool(x)  # (N, 512 e, 1, 1)
        return self.fc(torch.flatten(x, 1))

    def _make_layer(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        """One stage of `blocks` blocks. If the first changes size or channels, its input passes
        through a 1x1 convolution (`downsample`), so that it can be added to the result.
        """
        first_dilation = self.dilation
        if dilate:  # the filters see as far as with the stride, but no pixel is skipped
            self.dilation *= stride
            stride = 1
        outplanes = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != outplanes:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, outplanes, stride), self._norm_layer(outplanes)
            )
        width = (self.groups, self.base_width)
        stage = [
            block(
                self.inplanes, planes, stride, downsample, *width, first_dilation, self._norm_layer
            )
        ]
        self.inplanes = outplanes
        for _ in range(1, blocks):
            stage.append(block(outplanes, planes, 1, None, *width, self.dilation, self._norm_layer))
        return nn.Sequential(*stage)

    def _initialize(self, zero_init_residual: bool) -> None:
        """He's normal weights. With `zero_init_residual` the last norm of each block has weight
        zero, so that the block starts by passing on its input.
        """
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        for m in self.modules():
            if zero_init_residual and isinstance(m, (BasicBlock, Bottleneck)):
                last = m.bn3 if isinstance(m, Bottleneck) else m.bn2
                if last.weight is not None:
                    nn.init.constant_(last.weight, 0)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a residual connection around them, for ResNet-18 and -34.

    Raises ValueError for other groups or widths, NotImplementedError for a dilation: only
    `Bottleneck` has these.
    """

    expansion = 1  # output channels / planes

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 1x1 convolution to fewer channels, a 3x3 one on these, and a 1x1 one to four times as many;
    for ResNet-50 and deeper.

    The stride is in the 3x3 convolution, as in torchvision ("ResNet v1.5"); in the paper it is in
    the first 1x1 convolution.
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


def resnet18(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-18: 11,689,512 parameters. `kwargs` go to `ResNet`; ValueError for `weights`, which
    are not downloaded.
    """
    no_weights(weights)
    return ResNet(BasicBlock, [2, 2, 2, 2], **kwargs)


def resnet34(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-34: 21,797,672 parameters. `kwargs` go to `ResNet`; ValueError for `weights`, which
    are not downloaded.
    """
    no_weights(weights)
    return ResNet(BasicBlock, [3, 4, 6, 3], **kwargs)


def resnet50(*, weights: None = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-50: 25,557,032 parameters. `kwargs` go to `ResNet`; ValueError for `weights`, which
    are not downloaded.
    """
    no_weights(weights)
    return ResNet(Bottleneck, [3, 4, 6, 3], **kwargs)


def conv3x3(
    in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1
) -> nn.Conv2d:
    """A 3x3 convolution without bias (the normalization after it has one) that keeps the size, up
    to the stride.
    """
    return nn.Conv2d(
        in_planes,
        out_planes,
        3,
        stride,
        padding=dilation,
        dilation=dilation,
        groups=groups,
        bias=False,
    )


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """A 1x1 convolution without bias: a matrix product over the channels, at every pixel."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)
