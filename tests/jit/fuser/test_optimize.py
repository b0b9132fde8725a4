"""`jit.optimize`: functions, decorators, modules in evaluation and in training, and what cannot be
scripted.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.jit.fuser import fuser


def formula(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x) + torch.tanh(y)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.norm(self.conv(x))).mean([2, 3]))


def unscriptable(x: Any, *rest: Any) -> Any:
    return x * 2 + len(rest)


def test_a_function() -> None:
    fast = torch.jit.optimize(formula)
    x, y = torch.randn(5, 4), torch.randn(4)
    with fuser(threshold=0, synchronous=True):
        # a sum: its terms may cancel
        assert torch.allclose(fast(x, y), formula(x, y), rtol=1e-6, atol=1e-6)
        assert fast(y=y, x=x).shape == (5, 4)


def test_a_decorator() -> None:
    @torch.jit.optimize(example_inputs=(torch.ones(3),))
    def doubled(x: Any) -> Any:
        return x + x

    assert doubled(torch.ones(2)).tolist() == [2, 2]
    assert torch.jit.optimize(formula, example_inputs=(torch.ones(3), torch.ones(3)))(
        torch.ones(1), torch.ones(1)
    ).shape == (1,)


def test_a_module_in_evaluation_mode_is_frozen() -> None:
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(2, 3, 8, 8)
    fast = torch.jit.optimize(net)
    np.testing.assert_allclose(fast(x).numpy(), net(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert "aten::batch_norm" not in {n.kind() for n in fast.graph.nodes()}
    assert not list(fast.parameters())


def test_a_module_in_training_mode_learns() -> None:
    torch.manual_seed(0)
    net, x = Net().train(), torch.randn(2, 3, 8, 8)
    fast = torch.jit.optimize(net)
    with fuser(threshold=0, synchronous=True):
        fast(x).sum().backward()
    grads = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net(x).sum().backward()
    for a, b in zip(grads, [p.grad for p in net.parameters()]):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_scripted_is_traced_at_its_first_call() -> None:
    fast = torch.jit.optimize(unscriptable)
    with pytest.warns(UserWarning, match="unscriptable could not be scripted.*example_inputs"):
        assert fast(torch.ones(2)).tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fast(torch.zeros(3)).tolist() == [0, 0, 0]
    assert fast.__name__ == "unscriptable"


def test_what_is_no_function() -> None:
    with pytest.raises(
        TypeError, match="jit.optimize expects a function or an nn.Module, but got int"
    ):
        torch.jit.optimize(3)
