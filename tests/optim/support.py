"""Parameters and gradients to optimize with, the same numbers for either library."""

from __future__ import annotations

from typing import Any

import numpy as np

SHAPES = [(3, 4), (5,), ()]
KINDS = [
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "NAdam",
    "RAdam",
    "Adamax",
    "Adadelta",
    "Rprop",
    "ASGD",
]


def parameters(library: Any, dtype: str, seed: int = 0) -> list[Any]:
    stream = np.random.default_rng(seed)
    values = [np.asarray(stream.standard_normal(shape), dtype) for shape in SHAPES]
    return [library.tensor(v).requires_grad_() for v in values]


def set_gradients(library: Any, params: list[Any], seed: int) -> None:
    """A gradient of random numbers for every parameter but, every third time, the second."""
    stream = np.random.default_rng(1000 + seed)
    for i, p in enumerate(params):
        grad = stream.standard_normal(tuple(p.shape)) * 0.5
        skip = i == 1 and seed % 3 == 0
        p.grad = None if skip else library.tensor(np.asarray(grad), dtype=p.dtype)
