"""A gradient is the same whether the other arguments want one or not.

Nodes compute what is asked for: each formula has ways that are gone only when another argument is
constant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.dispatcher import dispatcher
from tests.aten.op_tensors import TensorSpec
from tests.autograd.gradient_samples import Sample, samples
from tests.autograd.test_gradcheck_ops import NAMES, differentiable, outputs, suitable
from tests.support import to_numpy

SEVERAL = [name for name in NAMES if len(differentiable(name)) > 1]


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", SEVERAL, ids=[name.removeprefix("aten::") for name in SEVERAL])
def test_each_is_the_same_alone(name: str) -> None:
    for sample in samples(dispatcher.operators[name], differentiable(name), 2, suitable):
        for second in (False, True):
            together = gradients(sample, second)
            for argument in sample.names:
                alone = gradients(replace(sample, names=(argument,)), second)
                for got, expected in zip(alone[argument], together[argument]):
                    said = f"{sample}: gradient of {argument}"
                    if got is None or expected is None:
                        assert got is expected, said
                    else:
                        pair = to_numpy(got.detach()), to_numpy(expected.detach())
                        np.testing.assert_allclose(*pair, 1e-9, 1e-12, err_msg=said)


def gradients(sample: Sample, create_graph: bool) -> dict[str, list[Any]]:
    """For each argument the gradients of its tensors, of a fixed sum of all outputs."""
    stream = np.random.default_rng(3)
    inputs = sample.inputs()
    found = [o for o in outputs(sample.function(), inputs) if o.requires_grad]
    weights = [internals.tensor(stream.uniform(-1, 1, tuple(o.shape))).to(o.dtype) for o in found]
    got = list(
        internals.autograd.grad(
            found, inputs, weights, create_graph=create_graph, allow_unused=True
        )
    )
    tensors = {
        name: v if isinstance(v := sample.values[name], list) else [v] for name in sample.names
    }
    return {
        name: [got.pop(0) for spec in specs if isinstance(spec, TensorSpec)]
        for name, specs in tensors.items()
    }
