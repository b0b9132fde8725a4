"""Whole networks: the talk's ResNet-18, an MLP, a small convolutional network, a language model
that chooses its own length.
"""

from __future__ import annotations

from typing import Tuple

import internals as torch
from runtimes.corpus import BOTH, case, floats, ints

nn = torch.nn
F = torch.nn.functional


@case((floats(5, 10),), ways=BOTH, module=True)
def mlp():
    return nn.Sequential(
        nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3)
    )


@case((floats(2, 1, 28, 28),), ways=BOTH, module=True)
def digits():
    class Digits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
            self.conv2 = nn.Conv2d(4, 8, 3, stride=2)
            self.norm = nn.BatchNorm2d(8)
            self.fc = nn.Linear(8 * 6 * 6, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.relu(self.norm(self.conv2(x)))
            return F.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)

    return Digits().eval()


class Block(nn.Module):
    """A residual block as in ResNet-18; with stride, the short way has a convolution of its own."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, widths: Tuple[int, int, int, int], classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages = []
        before = widths[0]
        for i, width in enumerate(widths):
            stages.append(
                nn.Sequential(Block(before, width, 1 if i == 0 else 2), Block(width, width, 1))
            )
            before = width
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


@case((floats(1, 3, 32, 32),), ways=BOTH, module=True)
def small_resnet():
    return ResNet((4, 8, 12, 16), 10).eval()


@case((floats(1, 3, 224, 224),), ways=BOTH, module=True, large=True)
def resnet18():
    return ResNet((64, 128, 256, 512), 1000).eval()


@case((ints(1, 4), 3), (ints(1, 2), 6), module=True)
def language_model():
    class LanguageModel(nn.Module):
        """Goes on with a text, one token after the other, until it says token 0."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(7, 8)
            self.positions = nn.Embedding(16, 8)
            self.norm = nn.LayerNorm(8)
            self.mix = nn.Linear(8, 8)
            self.head = nn.Linear(8, 7, bias=False)

        def scores(self, tokens: torch.Tensor) -> torch.Tensor:
            x = self.embedding(tokens) + self.positions(torch.arange(tokens.size(1)))
            mean = x.cumsum(1) / torch.arange(1, tokens.size(1) + 1).view(1, -1, 1)
            return self.head(self.norm(x + F.gelu(self.mix(mean))))

        def forward(self, tokens: torch.Tensor, more: int) -> Tuple[torch.Tensor, int]:
            made = 0
            for _ in range(more):
                following = self.scores(tokens)[:, -1].argmax(-1, keepdim=True)
                tokens = torch.cat([tokens, following], dim=1)
                made += 1
                if int(following) == 0:
                    break
            return tokens, made

    return LanguageModel()
