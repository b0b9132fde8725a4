"""Backward on the device gives what it gives on the CPU, for every differentiable operator: values,
dtypes, devices.

A seeded sample of the operators; all of them, several times, with INTERNALS_TEST_FULL=1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.tensor_impl import TensorImpl, array
from tests.autograd.gradient_samples import Sample, samples
from tests.autograd.test_gradcheck_ops import NAMES, differentiable, suitable
from tests.cuda.operator_calls import CUDA, is_random, moved
from tests.support import full

COUNT = 5 if full() else 1
# the result, the indices are where they must be
BOUND = {"aten::to.device", "aten::tensor_split.tensor_indices_or_sections"}
COMPARED = [n for n in NAMES if n not in BOUND]
SAMPLE = (
    COMPARED if full() else sorted(np.random.default_rng(6).choice(COMPARED, 120, replace=False))
)


@pytest.mark.parametrize("name", SAMPLE, ids=[n.removeprefix("aten::") for n in SAMPLE])
def test_backward(name: str) -> None:
    op = dispatcher.operators[name]
    for sample in samples(op, differentiable(name), COUNT, suitable):
        expected = gradients(sample, lambda t: t)
        got = gradients(sample, lambda t: moved(t.detach(), CUDA))
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            assert (a is None) == (b is None), f"{sample}\n{a} against {b}"
            if b is None:
                continue
            assert a.device is CUDA and a.dtype is b.dtype and a.shape == b.shape, (
                f"{sample}\n{a} against {b}"
            )
            if not is_random(op):
                np.testing.assert_allclose(
                    array(a.cpu()), array(b), 1e-6, 1e-8, err_msg=repr(sample)
                )


def gradients(sample: Sample, move: Callable[[Any], Any]) -> list[Any]:
    """The gradients of the sample's inputs, with respect to all outputs, for random gradients of
    those.
    """
    inputs = [move(t).detach().requires_grad_() for t in sample.inputs()]
    function = sample.function(on_device(sample.op, move))
    result = function(*inputs)
    outputs = [
        t
        for t in (result if isinstance(result, (list, tuple)) else [result])
        if getattr(t, "grad_fn", None)
    ]
    stream = np.random.default_rng(0)
    upstream = [
        move(internals.tensor(stream.standard_normal(tuple(t.shape)), dtype=t.dtype))
        for t in outputs
    ]
    return (
        list(internals.autograd.grad(outputs, inputs, upstream, allow_unused=True))
        if outputs
        else []
    )


def on_device(op: OperatorHandle, move: Callable[[Any], Any]) -> Callable[..., Any]:
    """`op` with those of its tensors that are not there yet moved."""

    def moved_one(value: Any) -> Any:
        if isinstance(value, list):
            return [moved_one(v) for v in value]
        return (
            move(value)
            if isinstance(value, TensorImpl)
            and value.device.type == "cpu"
            and not value.requires_grad
            else value
        )

    return lambda *values: op(*map(moved_one, values))
