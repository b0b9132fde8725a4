"""Layers of nothing: the calls of the tables of layers, with 0 for one size or another of what goes
in, forward and backward.

What comes out, sizes, dtypes and numbers, or what is refused, and in which words, is as in PyTorch.
Without PyTorch: whatever is refused is refused by a check.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import numpy as np
import pytest

import internals
from tests.answers import answer
from tests.nn.layers import FILES, run
from tests.support import first_line, is_of_type, outcome

SIZES = re.compile(r"(?:\bx|\.labels|\.uniform|\bmask|\bpadding)\((\d+(?:, \d+)*)")

# Calls that differ, and why.
KNOWN = {
    r"nn\.GroupNorm.*": (
        "without pixels the mean is 0 / 0 in PyTorch, and times nothing still NaN in the weight's "
        "gradient"
    ),
    r"nn\.(PixelShuffle|PixelUnshuffle)\(.*": (
        "PyTorch's pixel_unshuffle of nothing is a copy, of the wrong sizes"
    ),
    r"nn\.ChannelShuffle\(.*": "PyTorch's gradient asks for 0 groups",
    r"nn\.MultiMarginLoss\(.*": "PyTorch's loss of no rows is what was in the memory",
    r"nn\.CrossEntropyLoss\(\) .*softmax.*": "which error comes first",
}


def layer_cases() -> list[str]:
    found: dict[str, None] = {}
    for name in FILES:
        for value in vars(importlib.import_module(f"tests.nn.{name}")).values():
            if (
                isinstance(value, list)
                and value
                and all(isinstance(line, str) and ">>" in line for line in value)
            ):
                found.update(dict.fromkeys(value))
    return list(found)


def emptied(case: str) -> Iterator[str]:
    """The case with a 0: at one place of all inputs, then at one place of one input."""
    build, call = case.split(">>")
    inputs = [m.span(1) for m in SIZES.finditer(call)]
    lengths = [call[a:b].count(",") + 1 for a, b in inputs]
    for place in range(max(lengths, default=0)):
        for chosen in (
            [*range(len(inputs))],
            *([i] for i in range(len(inputs)) if len(inputs) > 1),
        ):
            text = call
            for a, b in (inputs[i] for i in reversed(chosen) if place < lengths[i]):
                sizes = call[a:b].split(", ")
                text = text[:a] + ", ".join([*sizes[:place], "0", *sizes[place + 1 :]]) + text[b:]
            if text != call:
                yield f"{build}>>{text}"


CASES = layer_cases()


@pytest.mark.parametrize("case", CASES)
def test_what_is_refused_is_refused_by_a_check(case: str) -> None:
    for empty in emptied(case):
        _, error = outcome(lambda call=empty: run(internals, call, True, True))
        if error is not None:
            assert type(error) in (RuntimeError, ValueError, IndexError, AssertionError), (
                f"{empty}: {error!r}"
            )


@pytest.mark.sampled(0.1)
@pytest.mark.parametrize("case", CASES)
def test_as_pytorch(case: str) -> None:
    if any(re.match(pattern, case) for pattern in KNOWN):
        pytest.skip("known to differ")
    for empty in emptied(case):
        for training in (True, False):
            ours, error = outcome(
                lambda call=empty, mode=training: run(internals, call, mode, mode)
            )
            theirs, expected = outcome(lambda call=empty, mode=training: as_pytorch(call, mode))
            if expected is not None:
                assert error is not None and is_of_type(error, expected), (
                    f"{empty}: {error!r} against {expected!r}"
                )
                assert first_line(error) == first_line(expected), empty
                continue
            assert error is None, f"{empty}: {error!r}"
            assert {k: (a.shape, a.dtype) for k, a in ours.items()} == {
                k: (a.shape, a.dtype) for k, a in theirs.items()
            }, empty
            for name in ours:
                np.testing.assert_allclose(
                    ours[name], theirs[name], rtol=1e-3, atol=1e-3, err_msg=f"{empty}: {name}"
                )


def as_pytorch(call: str, mode: bool) -> dict[str, np.ndarray]:
    found = answer(lambda torch: run(torch, call, mode, mode), about=(call, mode), family="layers")
    return {name: t.numpy() for name, t in found.items()}


def test_samples_of_no_rows() -> None:
    weights = internals.zeros(0, 4)
    for replacement in (False, True):
        for n in (1, 2):
            drawn = internals.multinomial(weights, n, replacement)
            assert drawn.shape == (0, n) and drawn.dtype is internals.int64


def test_every_layer_is_emptied() -> None:
    assert len(CASES) > 300 and sum(len(list(emptied(case))) for case in CASES) > 1200
    assert all(any(re.match(pattern, case) for case in CASES) for pattern in KNOWN)
