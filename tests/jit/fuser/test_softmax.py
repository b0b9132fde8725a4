"""Groups with softmax in them: one kernel that goes over each row, and what the operators still
do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.autograd import gradcheck
from internals.jit.fuser import fuser, last_kernels
from tests.jit.fuser.support import both, close


def text(name: str, dim: int = -1, outputs: str = "%e") -> str:
    return f"""graph(%x : Tensor, %m : Tensor):
  %1 : int = prim::Constant[value=1]()
  %half : float = prim::Constant[value=0.5]()
  %dim : int = prim::Constant[value={dim}]()
  %none : NoneType = prim::Constant()
  %a : Tensor = aten::mul(%x, %half)
  %b : Tensor = aten::add(%a, %m, %1)
  %c : Tensor = aten::{name}(%b, %dim, %none)
  %d : Tensor = aten::mul(%c, %x)
  %e : Tensor = aten::add(%d, %b, %1)
  return ({outputs})"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "sizes",
    [
        ((5, 7), (7,)),
        ((2, 3, 40), (3, 1)),
        ((9,), ()),
        ((3, 1), (3, 1)),
        ((2, 3, 4), (2, 1, 4)),
        ((1, 1000), (1,)),
    ],
)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_one_kernel_over_rows(name: str, sizes: Any, dtype: Any) -> None:
    torch.manual_seed(0)
    fused, unfused, kernels = both(text(name), *(torch.randn(s, dtype=dtype) for s in sizes))
    assert len(kernels) == 1 and kernels[0].tier == "numba" and f"{name}(" in kernels[0].source
    close(fused, unfused)


def test_what_lies_before_and_between_may_be_outputs() -> None:
    fused, unfused, kernels = both(
        text("softmax", outputs="%b, %c, %e"), torch.randn(4, 6), torch.randn(6)
    )
    assert len(kernels) == 1
    close(fused, unfused)


def test_special_values() -> None:
    x = torch.tensor(
        [
            [np.inf, 0.0, 1.0],
            [-np.inf, 0.0, 1.0],
            [np.nan, 0.0, 1.0],
            [1e30, -1e30, 0.0],
            [-np.inf] * 3,
        ]
    )
    for name in ("softmax", "log_softmax"):
        close(*both(text(name, outputs="%c"), x, torch.zeros(1))[:2])


@pytest.mark.parametrize("dim", [0, 1])
def test_other_dimensions_are_left_to_the_operator(dim: int) -> None:
    fused, unfused, kernels = both(text("softmax", dim), torch.randn(2, 3, 4), torch.randn(4))
    assert all("softmax(" not in k.source.replace("aten::softmax(", "") for k in kernels)
    close(fused, unfused)


def test_rows_in_another_order_are_left_to_the_operator() -> None:
    close(*both(text("softmax", 1), torch.randn(4, 3).t(), torch.randn(4))[:2])


def test_two_of_them() -> None:
    twice = text("softmax").replace(
        "return (%e)", "%f : Tensor = aten::log_softmax(%e, %dim, %none)\n  return (%f)"
    )
    close(*both(twice, torch.randn(4, 6), torch.randn(6))[:2])


def test_a_kernel_is_plain_python() -> None:
    x, m = torch.randn(3, 5), torch.randn(5)
    (fused,), _, (kernel,) = both(text("softmax"), x, m)
    out = np.zeros(15, np.float32)
    arrays = {"x": x.numpy().ravel(), "m": m.numpy()}
    kernel.function(0, 3, *[arrays[i.name] for i in kernel.inputs], out, *kernel.sizes_and_strides)
    np.testing.assert_allclose(out.reshape(3, 5), fused.numpy(), rtol=2e-6)


def test_attention_weights_learn() -> None:
    def weights(q: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q * 0.125 + mask, -1) * 2.0

    compiled = torch.jit.script(weights)
    with fuser(threshold=0, synchronous=True):
        inputs = [
            torch.randn(3, 4, dtype=torch.float64).requires_grad_(),
            torch.randn(4, dtype=torch.float64).requires_grad_(),
        ]
        assert gradcheck(compiled, inputs)


def test_the_gradient_of_a_softmax_is_a_kernel_over_rows() -> None:
    compiled = torch.jit.script(sharpened)
    x = torch.randn(3, 4, requires_grad=True)
    with fuser(threshold=0, synchronous=True):
        y = compiled(x)
        (gradient,) = torch.autograd.grad((y * y).sum(), x)
    assert "row_sum(" in last_kernels()[-1].source
    y = sharpened(x)
    (expected,) = torch.autograd.grad((y * y).sum(), x)
    close([gradient], [expected])


def sharpened(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 0.125, -1) * 2.0
