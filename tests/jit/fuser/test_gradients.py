"""The backward of a fused group is a fused group: gradients of first and second order, with
broadcasting and without.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.autograd import gradcheck, gradgradcheck
from internals.jit.fuser import fuser, kernels_of
from tests.jit.fuser.support import assert_same

pytestmark = pytest.mark.sampled(1 / 4)

F = torch.nn.functional


def gate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x) + torch.tanh(y)


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((x * y + x) * 0.5 - y) * x + 1


def activations(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.gelu(x * y, approximate="tanh") * F.silu(y) - F.softplus(x)


def choices(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where(x > y, x.exp(), y * y) / (1 + x * x).sqrt()


def scaled_weights(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * torch.exp(y * 0.5) + torch.log(y * y + 1)


FUNCTIONS = [gate, chain, activations, choices, scaled_weights]
SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((), (3,))]


def leaf(shape: Any, dtype: Any = torch.float64) -> Any:
    return torch.randn(shape, dtype=dtype).requires_grad_()


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_of_first_and_second_order(f: Any, shapes: Any) -> None:
    torch.manual_seed(0)
    compiled, inputs = torch.jit.script(f), [leaf(s) for s in shapes]
    with fuser(threshold=0, synchronous=True):
        assert gradcheck(compiled, inputs)
        assert gradgradcheck(compiled, inputs)


@pytest.mark.parametrize("shapes", SHAPES[:3], ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(f: Any, shapes: Any) -> None:
    """Forward and backward are one kernel each, for each shape that something of theirs has."""
    torch.manual_seed(0)
    compiled = torch.jit.script(f)
    a, b = (leaf(s, torch.float32) for s in shapes)
    u, v = (t.detach().clone().requires_grad_() for t in (a, b))
    kernels = kernels_of(lambda: compiled(a, b).sum().backward())
    assert all(k.tier == "numba" for k in kernels) and 2 <= len(kernels) <= 5
    f(u, v).sum().backward()
    for t, w in ((a, u), (b, v)):
        np.testing.assert_allclose(t.grad.numpy(), w.grad.numpy(), rtol=2e-5, atol=2e-6)


def test_a_graph_of_the_backward_pass() -> None:
    """Where gradients are recorded the backward runs as a graph that autograd knows."""
    compiled = torch.jit.script(chain)
    x, y = leaf((3,)), leaf((3,))
    with fuser(threshold=0, synchronous=True):
        (g,) = torch.autograd.grad(compiled(x, y).sum(), x, create_graph=True)
        assert g.requires_grad
        (h,) = torch.autograd.grad(g.sum(), x)
    expected = torch.autograd.grad(
        torch.autograd.grad(chain(x, y).sum(), x, create_graph=True)[0].sum(), x
    )[0]
    np.testing.assert_allclose(h.numpy(), expected.numpy(), rtol=1e-12)


def test_gradients_that_are_not_there() -> None:
    def two(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = torch.tanh(x * y) * x
        return a * a, torch.exp(y) * y + y

    compiled = torch.jit.script(two)
    x, y = leaf((3,)), leaf((3,))
    with fuser(threshold=0, synchronous=True):
        compiled(x, y)[1].sum().backward()
    assert x.grad is None or not x.grad.any()
    expected = y.detach().clone().requires_grad_()
    two(x.detach(), expected)[1].sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), expected.grad.numpy(), rtol=1e-12)


def test_inference_mode_and_no_grad() -> None:
    compiled, x = torch.jit.script(gate), torch.randn(3, 4)
    with fuser(threshold=0, synchronous=True):
        with torch.inference_mode():
            assert compiled(x, x).is_inference()
        with torch.no_grad():
            result = compiled(x.clone().requires_grad_(), x)
    assert not result.requires_grad
    assert_same(result, gate(x, x), ulps=64)


# A function, and its gradient in PyTorch at the numbers where it has none, or one for each side.
KINKS = {
    "F.relu(x)": ((0.0, 0), (-0.0, 0), (1e-40, 1), (-1e-40, 0)),
    "F.relu6(x)": ((0.0, 0), (6.0, 0), (5.0, 1)),
    "F.hardtanh(x, -1.0, 1.5)": ((-1.0, 0), (1.5, 0), (1.0, 1), (2.0, 0)),
    "F.leaky_relu(x, 0.25)": ((0.0, 0.25), (-0.0, 0.25), (1.0, 1)),
    "F.elu(x, 2.0)": ((0.0, 2), (-0.0, 2), (1.0, 1)),
    "F.threshold(x, 0.5, 3.0)": ((0.5, 0), (0.75, 1)),
    "F.hardshrink(x, 0.5)": ((-0.5, 0), (0.5, 0), (0.75, 1)),
    "F.softshrink(x, 0.5)": ((-0.5, 0), (0.5, 0), (0.75, 1)),
    "F.hardsigmoid(x)": ((-3.0, 0), (3.0, 0), (0.0, 1 / 6)),
    "F.hardswish(x)": ((-3.0, 0), (3.0, 1), (0.0, 0.5)),
    "F.softplus(x, 2.0, 4.0)": ((2.0, 0.9820137619972229), (2.5, 1)),
    "x.clamp(-0.5, 1.5)": ((-0.5, 1), (1.5, 1), (2.0, 0)),
    "torch.clamp_min(x, 0.25)": ((0.25, 1), (0.0, 0)),
    "torch.clamp_max(x, 0.25)": ((0.25, 1), (1.0, 0)),
    "torch.maximum(x, y)": ((0.0, 0.5), (1.0, 1), (-1.0, 0)),
    "torch.minimum(x, y)": ((0.0, 0.5), (1.0, 0), (-1.0, 1)),
    "x.abs()": ((0.0, 0), (-0.0, 0), (-1.0, -1)),
    "x.sqrt()": ((0.0, torch.inf),),
    "x.pow(0.5)": ((0.0, torch.inf),),
    "x.pow(2.0)": ((0.0, 0),),
    "x.pow(0.0)": ((0.0, 0),),
    "x.rsqrt()": ((0.0, -torch.inf),),
    "x.log()": ((0.0, torch.inf),),
    "x.sign()": ((0.0, 0),),
    "x.frac()": ((1.0, 1),),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("expression", KINKS)
def test_gradients_at_kinks(expression: str, tmp_path: Path) -> None:
    """As PyTorch has them: operator by operator, and where forward and backward are a kernel
    each.
    """
    source = tmp_path / "kink.py"
    source.write_text(
        "import internals as torch\nF = torch.nn.functional\n\n"
        f"def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n    return {expression} * 1.0 "
        "+ y\n"
    )
    eager = runpy.run_path(str(source))["f"]
    numbers, gradients = zip(*KINKS[expression])
    for f in (eager, torch.jit.script(eager)):
        with fuser(threshold=0, synchronous=True):
            for dtype in (torch.float32, torch.float64):
                x = torch.tensor(numbers, dtype=dtype, requires_grad=True)
                for _ in range(3):
                    x.grad = None
                    f(x, torch.zeros_like(x)).sum().backward()
                    np.testing.assert_allclose(x.grad.numpy(), gradients, rtol=1e-6)
