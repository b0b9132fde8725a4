"""Every layer on the device gives what it gives on the CPU: outputs, buffers and gradients, by the
tables of tests/test_nn_*.py.

A seeded sample of the cases; all of them with INTERNALS_TEST_FULL=1.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import internals as torch
from tests.nn.layers import Recorded, namespace, tensors
from tests.nn.test_layers import CASES as LAYERS
from tests.nn.test_loss_modules import CASES as LOSSES
from tests.nn.test_recurrent import CASES as RECURRENT
from tests.nn.test_transformer import CASES as TRANSFORMERS
from tests.side_by_side import Inputs, ours
from tests.support import full

CASES = [*LAYERS, *LOSSES, *RECURRENT, *TRANSFORMERS]
SAMPLE = CASES if full() else sorted(np.random.default_rng(19).choice(CASES, 70, replace=False))
# those draw numbers when they train
RANDOM = r"[Dd]ropout|RReLU|Transformer|MultiheadAttention|fractional|0\.4, True"


class Moved(Inputs):
    """Inputs on a device."""

    def __init__(self, where: str) -> None:
        made = ours().from_numpy
        super().__init__(lambda a: made(a).to(where))


def run(case: str, where: str, training: bool) -> dict[str, Any]:
    """Everything of one case on a device: outputs, buffers afterwards, gradients."""
    build, call = (part.strip() for part in case.split(">>"))
    x = Recorded(Moved(where), requires_grad=True)
    names = namespace(torch) | {"x": x}
    for maker in ("x_weight", "mask", "padding", "causal"):
        names[maker] = lambda *args, make=names[maker]: make(*args).to(where)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(2013)
        m = eval(build, names).to(where).train(training)
        outputs = tensors(eval(call, names | {"m": m}))
        found = {f"output {i}": t for i, t in enumerate(outputs)}
        found |= {f"buffer {k}": v for k, v in m.named_buffers()}
        backward([t for t in outputs if t.requires_grad])
        found |= {f"gradient {k}": p.grad for k, p in m.named_parameters() if p.grad is not None}
        found |= {
            f"gradient of input {i}": t.grad for i, t in enumerate(x.made) if t.grad is not None
        }
    return found


def backward(outputs: list[Any]) -> None:
    weights = [np.cos(np.arange(t.numel())).reshape(tuple(t.shape)) for t in outputs]
    torch.autograd.backward(
        outputs, [torch.tensor(w, dtype=t.dtype, device=t.device) for w, t in zip(weights, outputs)]
    )


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("case", SAMPLE)
def test_as_on_the_cpu(case: str, training: bool) -> None:
    found, expected = run(case, "cuda", training), run(case, "cpu", training)
    assert list(found) == list(expected)
    for name, b in expected.items():
        a = found[name]
        assert a.is_cuda and a.dtype is b.dtype and a.shape == b.shape, name
        if training and re.search(RANDOM, case):
            continue
        b = b.detach().numpy()
        scale = max(1, np.abs(b).max(initial=1e-3, where=np.isfinite(b)))
        tolerance = 1e-2 if "float16" in case else 5e-5
        np.testing.assert_allclose(
            a.detach().cpu().numpy(), b, rtol=1e-3, atol=tolerance * scale, err_msg=name
        )
