"""Modules and autograd together: a small residual network, trained from the same seed, has the same
losses in PyTorch.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import internals
from tests.answers import answer
from tests.nn.support import make_leaf
from tests.support import assert_same


def train(T: Any) -> tuple[list[float], Any]:
    """The losses and gradient norms of five steps, and what the network says afterwards."""
    nn, F = T.nn, T.nn.functional

    class Block(T.nn.Module):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(n, n, 3, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(n)

        def forward(self, x: Any) -> Any:
            return F.relu(self.bn(self.conv(x)) + x)

    class Net(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(1, 4, 3)
            self.blocks = nn.ModuleList([Block(4) for _ in range(2)])
            self.head = nn.Sequential(
                nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(4), nn.Linear(4, 3)
            )

        def forward(self, x: Any) -> Any:
            x = self.stem(x)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    T.manual_seed(0)
    net = Net()
    x, y = T.randn(8, 1, 6, 6), T.randint(0, 3, (8,))
    told = []
    for _ in range(5):
        loss = F.cross_entropy(net(x), y)
        net.zero_grad()
        loss.backward()
        told += [loss.item(), nn.utils.clip_grad_norm_(net.parameters(), 1.0).item()]
        with T.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
    return told, net.eval()(x)


def test_losses_fall() -> None:
    told, _ = train(internals)
    losses = told[::2]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.7 * losses[0]


def test_losses_are_pytorchs() -> None:
    (ours, said), (theirs, expected) = train(internals), answer(train, family="layers")
    assert_same(internals.tensor(ours), np.array(theirs, np.float32))
    assert_same(said.detach(), expected, rtol=1e-4, atol=1e-5)


def test_gradients_follow_a_conversion(T: Any) -> None:
    leaf, x = make_leaf(T)(), T.ones(3)
    leaf(x).sum().backward()
    grad = leaf.weight.grad
    leaf.double()
    assert leaf.weight.grad is grad and grad.dtype is T.float64
    leaf(x.double()).sum().backward()
    assert leaf.weight.grad.tolist() == [[2, 2, 2]] * 2 and leaf.weight.grad.dtype is T.float64


def test_frozen_and_shared_parameters(T: Any) -> None:
    leaf = make_leaf(T)()
    leaf.bias.requires_grad_(False)
    (leaf(T.ones(3)) + leaf(T.ones(3))).sum().backward()
    assert leaf.weight.grad.tolist() == [[2, 2, 2]] * 2 and leaf.bias.grad is None


def test_a_copy_has_gradients_of_its_own(T: Any) -> None:
    leaf = make_leaf(T)()
    leaf(T.ones(3)).sum().backward()
    other = copy.deepcopy(leaf)
    assert not any(p.grad is not None for p in other.parameters())
    other(T.ones(3)).sum().backward()
    assert (
        other.weight.grad.tolist() == leaf.weight.grad.tolist()
        and other.weight.grad is not leaf.weight.grad
    )


def test_loading_and_initializing_leave_no_history(T: Any) -> None:
    leaf = make_leaf(T)()
    leaf.load_state_dict(make_leaf(T)().state_dict())
    T.nn.init.normal_(leaf.weight)
    assert leaf.weight.grad_fn is None and leaf.weight.is_leaf and leaf.weight._version > 0
    keep = leaf.state_dict(keep_vars=True)
    assert keep["weight"] is leaf.weight and not leaf.state_dict()["weight"].requires_grad
    result = T.zeros(2, 3, requires_grad=True) * 1
    assert T.nn.Parameter(result).is_leaf and result.grad_fn is not None
