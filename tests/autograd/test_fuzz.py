"""Random programs, run by `internals` and by real PyTorch from the same source: values, versions,
nodes, gradients.

Seeded; 2000 programs with INTERNALS_TEST_FULL=1.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.tensor_impl import TensorImpl, from_array
from tests.answers import answer
from tests.autograd.programs import Shape, program
from tests.support import first_line, full, outcome, to_numpy

BATCH = 20
BATCHES = 100 if full() else 5


@pytest.mark.parametrize("batch", range(BATCHES))
def test_programs_like_pytorch(batch: int) -> None:
    ran = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        source, leaves = program(np.random.default_rng(seed))
        ours, our_error = outcome(partial(everything, internals, source, leaves, seed))
        theirs, their_error = asked(source, leaves, seed)
        complaint = compare(ours, our_error, theirs, their_error)
        assert not complaint, f"program {seed}: {complaint}\n{source}"
        ran += their_error is None
    assert ran > BATCH / 3, "too few of the programs run to be a test"


def asked(source: str, leaves: list[Shape], seed: int) -> Any:
    def ask(torch: Any) -> Any:
        return outcome(partial(everything, torch, source, leaves, seed))

    found, error = answer(ask, about=(source, leaves), family="autograd")
    return found, error and error.error()


def everything(lib: Any, source: str, leaves: list[Shape], seed: int) -> dict[str, Any]:
    """All variables of the program, its gradients, and the gradients of those, each either a value
    or the error it raised.
    """
    stream = np.random.default_rng(seed + 1)
    numpy_to = from_array if lib is internals else lib.tensor
    x = [numpy_to(np.asarray(stream.uniform(-1.5, 1.5, s))).requires_grad_() for s in leaves]
    scope: dict[str, Any] = {}
    exec(compile(source, "<program>", "exec"), scope)
    variables: dict[str, Any] = scope["run"](lib, x)
    found: dict[str, Any] = dict(variables)
    for name, t in variables.items():
        found[f"{name}: requires_grad, is_leaf, version, grad_fn"] = (
            t.requires_grad,
            t.is_leaf,
            t._version,
            node_name(t),
        )
    parts = [t for t in variables.values() if t.requires_grad]
    weights = [numpy_to(np.asarray(stream.uniform(-1, 1, tuple(t.shape)))) for t in parts]
    loss = sum((t * w).sum() for t, w in zip(parts, weights))
    first = lib.autograd.grad(loss, x, create_graph=True, allow_unused=True)
    found.update({f"gradient {i}": g for i, g in enumerate(first)})
    square = sum((g * g).sum() for g in first if g is not None)
    second = (
        lib.autograd.grad(square, x, retain_graph=True, allow_unused=True)
        if square.requires_grad
        else ()
    )
    found.update({f"second gradient {i}": g for i, g in enumerate(second)})
    loss.backward()
    found.update(
        {
            f"{name}.grad": t.grad
            for name, t in variables.items()
            if name[0] == "x" or t.retains_grad
        }
    )
    return found


def node_name(t: Any) -> str | None:
    # torch::autograd::CopySlices
    return None if t.grad_fn is None else t.grad_fn.name().rpartition("::")[2]


def compare(
    ours: Any, our_error: Exception | None, theirs: Any, their_error: Exception | None
) -> str:
    """What differs, or nothing."""
    if (our_error is None) != (their_error is None):
        return f"we: {our_error!r}, torch: {their_error!r}"
    if our_error is not None and their_error is not None:
        message = first_line(their_error)
        ours = first_line(our_error)
        if (
            "is output 0 of AsStrided," in message
        ):  # the result of an in-place operator on a view; we name that operator
            message, ours = (re.sub(r"which is output \d of \w+,", "", m) for m in (message, ours))
        same = isinstance(our_error, type(their_error)) and ours == message
        return "" if same else f"we: {our_error!r}, torch: {their_error!r}"
    for name, expected in theirs.items():
        got = ours[name]
        if isinstance(got, TensorImpl):
            a, b = to_numpy(got), None if expected is None else expected.numpy(force=True)
            if b is None or a.shape != b.shape or not np.allclose(a, b, 1e-8, 1e-8, equal_nan=True):
                return f"{name} is {got}, for torch {expected}"
        elif got != expected and not (
            isinstance(expected, tuple) and expected[3] == "ReshapeAliasBackward0"
        ):
            return f"{name} is {got}, for torch {expected}"
    return ""
