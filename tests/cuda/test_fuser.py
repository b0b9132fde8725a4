"""Fusion groups on the device: one kernel for a group, the results of its operators, and its
PTX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.cuda.ptx import PtxUnavailable
from internals.jit.fuser import FusedKernel, kernels_of
from internals.jit.fuser.compiled_group import CompiledGroup
from tests.jit.fuser.support import group

CHAIN = """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::sigmoid(%a)
  %c : Tensor = aten::add(%b, %x, %1)
  return (%c)"""
CHOICES = """graph(%x : Tensor, %y : Tensor):
  %h : float = prim::Constant[value=0.5]()
  %a : Tensor = aten::gt(%x, %y)
  %b : Tensor = aten::floor(%x)
  %c : Tensor = aten::where(%a, %b, %y)
  %d : Tensor = aten::mul(%c, %h)
  %e : Tensor = aten::relu(%d)
  %f : Tensor = aten::gelu(%e, %m)
  return (%a, %f)""".replace("  %a", '  %m : str = prim::Constant[value="tanh"]()\n  %a', 1)
PIECES = """graph(%x : Tensor, %y : Tensor):
  %a : Tensor, %b : Tensor = prim::ConstantChunk[chunks=2, dim=1](%x)
  %c : Tensor = aten::mul(%a, %b)
  %e : Tensor = prim::FusedConcat[dim=1](%c, %y, %a)
  return (%e)"""
LAYOUTS = {
    "dense": ((2, 6), (2, 6), lambda x, y: (x, y)),
    "broadcast": ((2, 6), (6,), lambda x, y: (x, y)),
    "column": ((2, 6), (2, 1), lambda x, y: (x, y)),
    "transposed": ((6, 2), (2, 6), lambda x, y: (x.t(), y)),
    "gaps": ((2, 12), (2, 6), lambda x, y: (x[:, ::2], y)),
    "number": ((2, 6), (), lambda x, y: (x, y)),
    "cube": ((3, 2, 2), (2, 1), lambda x, y: (x.transpose(0, 2), y)),
}


def fused_and_not(text: str, *arguments: Any) -> tuple[list[Any], list[Any], list[FusedKernel]]:
    """The outputs on the device, fused, and those on the CPU."""
    node = group(text)
    found: list[Any] = []
    compiled = CompiledGroup(node)
    kernels = kernels_of(
        lambda *given: found.append(compiled(*given)), *[a.cuda() for a in arguments]
    )
    expected = CompiledGroup(node).unfused(*arguments)
    return _list(found[0]), _list(expected), kernels


def _list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", [CHAIN, CHOICES], ids=["chain", "choices"])
def test_one_kernel_gives_what_the_operators_give(text: str, layout: str) -> None:
    x, y, arrange = LAYOUTS[layout]
    torch.manual_seed(0)
    fused, expected, kernels = fused_and_not(text, *arrange(torch.randn(x), torch.randn(y)))
    assert [k.tier for k in kernels] == ["cuda"]
    for a, b in zip(fused, expected):
        assert (a.device.type, a.dtype, a.shape, a.stride()) == (
            "cuda",
            b.dtype,
            b.shape,
            b.stride(),
        )
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-6, atol=1e-6)


def test_chunks_and_a_cat() -> None:
    fused, expected, kernels = fused_and_not(PIECES, torch.randn(3, 4), torch.randn(3, 1))
    assert len(kernels) == 2, "one for each size among the parts"
    np.testing.assert_array_equal(fused[0].cpu().numpy(), expected[0].numpy())


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "bool"])
def test_other_dtypes(dtype: str) -> None:
    text = CHAIN.replace("aten::sigmoid(%a)", "aten::mul(%a, %y)")
    x = torch.arange(6).to(getattr(torch, dtype))
    fused, expected, kernels = fused_and_not(text, x, x)
    assert kernels[0].tier == "cuda"
    np.testing.assert_array_equal(fused[0].cpu().numpy(), expected[0].numpy())
    assert fused[0].dtype is expected[0].dtype


def test_tensors_of_two_devices_are_left_to_the_operators() -> None:
    compiled = CompiledGroup(group(CHAIN))
    x, number = torch.ones(3, device="cuda"), torch.tensor(2.0)
    assert not kernels_of(compiled, x, number)
    assert compiled(x, number).device.type == "cuda"


def test_the_text_of_a_kernel() -> None:
    *_, (kernel,) = fused_and_not(CHAIN, torch.randn(2, 3), torch.randn(3))
    assert kernel.source.startswith(
        "def fused_mul_sigmoid_add(n, x, y, out, size1, x_stride0, x_stride1, y_stride0, "
        "y_stride1, "
    )
    body = kernel.source.partition("\n")[2]
    assert (
        body
        == """    i = cuda.grid(1)
    while i < n:
        i1 = i % size1
        i0 = i // size1
        x_at = uint64(i0 * x_stride0 + i1 * x_stride1)
        y_at = uint64(i0 * y_stride0 + i1 * y_stride1)
        out_at = uint64(i0 * out_stride0 + i1 * out_stride1)
        x2 = x[x_at]
        y2 = y[y_at]
        a = x2 * y2     # %a = aten::mul(%x, %y)
        b = sigmoid(a)  # %b = aten::sigmoid(%a)
        c = b + x2      # %c = aten::add(%b, %x, %1)
        out[out_at] = c
        i += cuda.gridsize(1)
"""
    )


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("text", [CHAIN, CHOICES, PIECES], ids=["chain", "choices", "pieces"])
def test_groups_compile_to_ptx(text: str) -> None:
    """Also those that run on the CPU."""
    kernels = kernels_of(CompiledGroup(group(text)), torch.randn(2, 4), torch.randn(2, 1))
    for kernel in kernels:
        try:
            found = kernel.ptx
        except PtxUnavailable as why:
            pytest.skip(str(why))
        counts = found.counts()
        assert counts["ld.global"] % len(kernel.inputs) == 0 < counts["ld.global"], (
            "some for each turn of an unrolled loop"
        )
        assert counts["st.global"] % len(kernel.outputs) == 0 < counts["st.global"]
        assert found.name == kernel.name


def test_a_compiled_function_on_the_device() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x * y + x)

    x, y = torch.randn(2, 4), torch.randn(4)
    a, b = (t.cuda().requires_grad_() for t in (x, y))
    compiled = torch.jit.script(f)
    kernels = kernels_of(lambda: compiled(a, b).sum().backward())
    assert {k.tier for k in kernels} == {"cuda"}
    u, v = (t.clone().requires_grad_() for t in (x, y))
    f(u, v).sum().backward()
    np.testing.assert_allclose(a.grad.cpu().numpy(), u.grad.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b.grad.cpu().numpy(), v.grad.numpy(), rtol=1e-5, atol=1e-6)
