"""What tests of all operators have to know about random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Stream, TensorSpec, n, related, shape, uniform


def _rates(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    rates = np.asarray(s.choice([0.0, 0.3, 4.0, 20.0, 300.0], sizes))
    return {
        "self": TensorSpec(rates.astype(s.choice(["float32", "float64", "float16"]))),
        "generator": None,
    }


def _trials(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    kind = str(s.choice(["float32", "float64"]))
    trials = np.asarray(s.choice([-1.0, 0.0, 3.0, 40.0, 1000.0], sizes)).astype(kind)
    chances = uniform(s, related(s, sizes))
    return {
        "count": TensorSpec(trials),
        "prob": TensorSpec(chances.values.astype(kind)),
        "generator": None,
    }


def _bent(s: Stream) -> dict[str, Any]:
    return {
        "lambd": [0.5, 2.0, -1.0][n(s, 0, 3)],
        "mean": 0.5,
        "std": [0.5, 2.0, 0.0][n(s, 0, 3)],
        "median": -1.5,
        "sigma": [0.5, 2.0, 0.0][n(s, 0, 3)],
        "p": [0.01, 0.4, 1.0][n(s, 0, 3)],
        "generator": None,
    }


def _moments(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "mean": related(s, sizes),
        "std": related(s, sizes),
        "size": list(sizes),
        "generator": None,
    }


def _like(s: Stream) -> dict[str, Any]:
    low = n(s, -3, 2)
    return {"self": shape(s), "low": low, "high": low + n(s), "generator": None}


def narrow(v: dict[str, Any]) -> bool:
    return v["self"].values.dtype in (np.int8, np.uint8, np.int16)


RECIPES = {
    "poisson": _rates,
    "binomial": _trials,
    **dict.fromkeys(["exponential_", "log_normal_", "cauchy_", "geometric_"], _bent),
    "normal": _moments,
    **dict.fromkeys(["rand_like", "randn_like", "randint_like"], _like),
}

KNOWN = [
    (
        "normal_functional",
        lambda v: not v["self"].values.size,
        "PyTorch does not look at the dtype of nothing",
    ),
    ("geometric_", lambda v: v["p"] == 0.01 and narrow(v), "more than the dtype holds"),
]

_DRAWN = "what is drawn does not change smoothly with the parameters"
NOT_SAMPLED = {
    "poisson|binomial": _DRAWN,
    "exponential_|log_normal_|cauchy_|geometric_": "random numbers, and a gradient of zero",
}

_HIGH = "a tensor `high` has to be on the CPU"
NOT_COMPARED = {"randint_like.Tensor": _HIGH, "randint_like.Tensor_generator": _HIGH}
