"""The one kernel of the Autograd key, and those that are written out for operators of every day:
they record the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as torch
from codegen.hot import HOT
from internals.autograd.kernel import recording
from internals.autograd.node import Node
from internals.autograd.saved_variable import SavedVariable
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import KernelFunction, OperatorHandle, dispatcher
from tests.autograd.gradient_samples import Sample, samples
from tests.autograd.test_gradcheck_ops import differentiable, suitable

KEY = DispatchKey.Autograd


@pytest.mark.parametrize("name", sorted(HOT - {"_reshape_alias"}))  # which believes any strides
def test_what_is_written_out_records_what_the_kernel_for_all_does(name: str) -> None:
    op = dispatcher.operators[f"aten::{name}"]
    written = op.kernels[KEY].function()
    assert written.__module__ == "internals._generated.autograd_kernels"
    compared = 0
    for sample in samples(op, differentiable(op.name), 4, suitable):
        inputs = sample.inputs()
        outputs = called(op, written, sample, inputs)
        node = next((t.grad_fn for t in outputs if t.grad_fn is not None), None)
        if node is None:
            continue
        again = called(op, recording(op, type(node)), sample, inputs)
        for mine, theirs in zip(outputs, again, strict=True):
            assert np.array_equal(mine.detach().numpy(), theirs.detach().numpy(), equal_nan=True)
            assert mine.requires_grad == theirs.requires_grad
            assert described(mine.grad_fn) == described(theirs.grad_fn), sample
        compared += 1
    assert compared


def called(op: OperatorHandle, kernel: Any, sample: Sample, inputs: list[Any]) -> list[Any]:
    """The results of a call that this kernel records."""
    old = op.register(KEY, KernelFunction(kernel, takes_keys=True))
    try:
        result = sample.function()(*inputs)
    finally:
        op.unregister(KEY, old)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def described(node: Node | None) -> Any:
    """All that a node knows."""
    if node is None:
        return None
    edges = [(type(to).__name__, nr) for to, nr in node.next_edges]
    kept = {slot: value(getattr(node, slot)) for slot in node.record.kept}
    return type(node), edges, node.input_metadata, kept


def value(kept: Any) -> Any:
    if isinstance(kept, list):
        return [value(v) for v in kept]
    if not isinstance(kept, SavedVariable):
        return kept
    number = getattr(kept, "output_nr", None)
    return type(kept), kept.data.detach().numpy().tolist(), kept.saved_version, number


def test_what_is_filled_in_is_saved_when_it_is_filled() -> None:
    x, noise = torch.full((8,), -1.0, requires_grad=True), torch.zeros(8)
    out = torch.ops.aten.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    assert noise.all() and out.grad_fn._saved_noise.equal(noise)
    out.sum().backward()
    assert x.grad.equal(noise)


def test_what_is_not_needed_is_not_kept() -> None:
    x, y, z = torch.ones(3), torch.full((3,), 2.0, requires_grad=True), torch.full((3,), 3.0)
    node = torch.addcmul(x, y, z).grad_fn
    assert node._saved_tensor1 is None and node._saved_tensor2.equal(z)


def test_the_kernel_for_all_leaves_alone_what_nobody_differentiates() -> None:
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert not torch.hypot(x, x).requires_grad
    assert not torch.hypot(x.detach(), x.detach()).requires_grad


def test_the_kernel_for_all_records_writes() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        x.cosh_()
    y = x * 1
    assert type(y.cosh_().grad_fn).__name__ == "CoshBackward0" and y._version == 1
    z = x.sinh().eq_(1.0)
    z.sum().backward()
    assert x.grad.equal(torch.zeros(3))
