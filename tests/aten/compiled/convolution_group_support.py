"""Modules with convolutions for `optimize_for_inference`, and what it made of them."""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals import Tensor, nn
from internals.aten.compiled.convolution import choice as choosing
from internals.aten.compiled.convolution.algorithms import Depthwise, Direct
from internals.jit.ir import all_nodes
from internals.jit.runtime import convolution_group

GROUP = "prim::ConvolutionGroup"


def one_candidate_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every layer, as what is tested is not how the best is found."""
    monkeypatch.setattr(
        choosing,
        "candidates",
        lambda p: (
            [Depthwise(1)]
            if p.depthwise and p.x.lanes > 1
            else [Direct(1, min(2, p.out.sizes[3]), 1)]
        ),
    )
    monkeypatch.setattr(choosing, "RUNS", 1)
    monkeypatch.setattr(choosing, "_evict", lambda threads: None)
    monkeypatch.setattr(choosing.cache, "read", lambda key, kind: None)
    monkeypatch.setattr(choosing.cache, "write", lambda key, kind, payload: None)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(x))
        y += x
        y = self.relu(y)
        return self.fc(torch.flatten(self.pool(y), 1))


def made(module: nn.Module, *, seed: int = 0) -> Any:
    """The module in evaluation mode with running statistics that are not 0 and 1."""
    torch.manual_seed(seed)
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_()
            m.running_var.uniform_(0.5, 2.0)
    return module.eval()


def kinds(graph: Any) -> list[str]:
    return [n.kind() for n in all_nodes(graph.block()) if n.kind() != "prim::Constant"]


def groups(module: Any) -> list[Any]:
    return [n for n in all_nodes(module.graph.block()) if n.kind() == GROUP]


def networks(module: Any) -> list[Any]:
    """What has been built for a module's groups."""
    return [n for g in groups(module) for n in convolution_group.group_of(g).networks.values()]


def assert_close(a: Any, b: Any, most: float = 1e-5) -> None:
    assert a.shape == b.shape and a.dtype is b.dtype
    a, b = a.detach(), b.detach()
    if not a.numel():
        return
    assert float((a - b).abs().max()) <= most * max(1.0, float(b.abs().max()))
