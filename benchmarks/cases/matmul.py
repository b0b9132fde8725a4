"""Products of square matrices: numpy's BLAS against PyTorch's, and what we add to either."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.harness import Absent, Call, Case

TITLE = "Products of matrices"
ABOUT = (
    "Square float32 matrices, one thread, the processor's time. Ours is numpy's BLAS (OpenBLAS in "
    "its wheels), PyTorch's is MKL and more."
)
SIZES = (64, 128, 256, 512, 1024, 2048)
GOAL = 1.25


def cases() -> list[Case]:
    """One for each size; the largest only with --full."""
    return [
        Case(
            f"{n} x {n} @ {n} x {n}",
            partial(sides_of, n),
            reference=partial(reference_of, n),
            goals={"torch": GOAL},
            clock="cpu",
            rounds=60,
            full=n > 1024,
        )
        for n in SIZES
    ]


def sides_of(n: int) -> dict[str, Call | Absent]:
    arrays = matrices(n)
    return {
        **peers.eager(lambda T, a, b: a @ b, arrays),
        "numpy": peers.in_numpy(lambda a, b: a @ b, arrays),
    }


def reference_of(n: int) -> np.ndarray:
    a, b = (m.astype(np.float64) for m in matrices(n))
    return a @ b


def matrices(n: int) -> list[np.ndarray]:
    stream = np.random.default_rng(0)
    return [stream.standard_normal((n, n), np.float32) for _ in range(2)]
