"""Groups for tests: made from a line for each node, run fused (however small) and operator by
operator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import internals as torch
from internals.jit.fuser import FusedKernel, fuser, kernels_of
from internals.jit.fuser.compiled_group import CompiledGroup
from internals.jit.ir import Node
from internals.jit.ir.parser import parse_ir


def group(text: str) -> Node:
    """A `prim::FusionGroup` with this subgraph: "graph(%x : Tensor): ..."."""
    inner = parse_ir(text)
    outer = type(inner)()
    inputs = [outer.addInput(_name(v)).setType(v.type()) for v in inner.inputs()]
    node = outer.insertNode(
        outer.create("prim::FusionGroup", inputs, len(inner.outputs())).g_("Subgraph", inner)
    )
    for v, w in zip(node.outputs(), inner.outputs()):
        v.setType(w.type()).setDebugName(_name(w))
        outer.registerOutput(v)
    return node


def _name(v: Any) -> str:
    """The name of a value, "" if it has a number only."""
    return "" if v.debugName().isdigit() else v.debugName()


def both(text: str, *arguments: Any) -> tuple[list[Any], list[Any], list[FusedKernel]]:
    """The outputs of a group fused and unfused, and its kernels. AssertionError if it cannot be
    fused.
    """
    node = group(text)
    compiled = CompiledGroup(node)
    kernels = kernels_of(compiled, *arguments)
    assert all(k.state == "ready" for k in kernels), [k.reason for k in kernels]
    with fuser(threshold=0, synchronous=True):
        fused = compiled(*arguments)
    with fuser(enabled=False):
        unfused = compiled(*arguments)
    several = len(node.outputs()) > 1
    return list(fused) if several else [fused], list(unfused) if several else [unfused], kernels


def assert_same(a: Any, b: Any, ulps: int = 0) -> None:
    """Same dtype, sizes, strides, and elements; floats may differ by `ulps` units in the last
    place. NaN is NaN, -0 is 0.
    """
    assert (a.dtype, a.shape, a.stride(), a.requires_grad) == (
        b.dtype,
        b.shape,
        b.stride(),
        b.requires_grad,
    )
    x, y = a.numpy(), b.numpy()
    if x.dtype.kind != "f" or not ulps:
        np.testing.assert_array_equal(x, y)
        return
    np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
    finite = np.isfinite(x) & np.isfinite(y)
    np.testing.assert_array_equal(x[~finite & ~np.isnan(x)], y[~finite & ~np.isnan(y)])
    apart = np.abs(_ordinal(x[finite]) - _ordinal(y[finite]))
    assert apart.max(initial=0) <= ulps, f"{apart.max()} units in the last place apart"


def close(fused: Any, unfused: Any) -> None:
    """Same dtypes, sizes and strides, and elements up to the rounding of sums that are added up in
    another order.
    """
    for a, b in zip(fused, unfused):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        tolerance = 2e-6 if a.dtype is torch.float32 else 1e-14
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


def _ordinal(x: Any) -> Any:
    """Floats counted from 0, so that neighbours differ by 1."""
    bits = (
        np.ascontiguousarray(x)
        .view(np.dtype(f"i{x.itemsize}"))
        .astype(np.int64 if x.itemsize < 8 else object)
    )
    low = -(1 << (8 * x.itemsize - 1))
    return np.where(bits < 0, low - bits, bits) if bits.size else bits


def tensor(a: Any, dtype: Any = None) -> Any:
    return torch.tensor(a, dtype=dtype)
