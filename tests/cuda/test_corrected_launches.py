"""Errors about kernels that show wrong and right code: the right line runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as torch
import viz
from internals.cuda.language import cuda, kernel
from tests.core.test_corrected import both_lines


@kernel
def fill(out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1


def scope() -> dict[str, Any]:
    return {
        "torch": torch,
        "numpy": np,
        "t": torch.zeros(64),
        "fill": fill,
        "kernel": fill,
        "out": torch.zeros(64, device="cuda"),
        "viz": viz,
        "f": lambda x: x + 1,
        "x": torch.zeros(4, device="cuda"),
        "grid": 2,
        "block": 32,
    }


CASES = {
    "no configuration": ("fill(out)", RuntimeError),
    "one number": ("fill[32](out)", ValueError),
    "large block": ("kernel[2, 2048]", ValueError),
    "list": ("kernel[grid, block]([1, 2])", TypeError),
    "host tensor": ("kernel[grid, block](t)", RuntimeError),
    "simulated": ("numpy.from_dlpack(out)", BufferError),
    "viz.timeline": ("viz.timeline(f(out))", TypeError),
}


@pytest.mark.parametrize("case", CASES)
def test_the_wrong_line_raises_and_the_right_one_runs(case: str):
    both_lines(*CASES[case], scope)
