"""Exponential, log-normal and Cauchy numbers (`aten/src/ATen/native/cpu/DistributionTemplates.h`:
`exponential_kernel`, ...).

A uniform number u is put through the inverse of the distribution function, -log(1 - u) / lambda or
median + sigma tan(pi (u - 1/2)); a log-normal number is exp of a normal one. All are drawn in
double precision.

They agree with PyTorch 2.13 up to the last bit of a double, and mostly bit for bit in float32.

How the real one differs: on Intel processors `exponential_` takes one number from the generator as
a seed, and draws the rest from a stream of MKL, so its numbers differ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from internals.core.generator import Generator, uniform64
from internals.core.tensor_impl import Array, Tensor

from . import transformations as draw
from .checks import check_cauchy, check_exponential, check_log_normal
from .filling import on_cpu, store


def exponential_(self: Tensor, lambd: float, generator: Generator | None) -> Any:
    """Waiting times for an event that happens `lambd` times per unit of time on average. Raises
    RuntimeError unless lambd > 0.
    """
    check_exponential(self, lambd)
    return store(
        self,
        lambda n: draw.exponential(on_cpu(generator), n) / lambd,
        "random.exponential",
        generator,
        lambd,
    )


def log_normal_(self: Tensor, mean: float, std: float, generator: Generator | None) -> Any:
    """exp of a normal number with this mean and deviation. Raises RuntimeError unless std > 0."""
    check_log_normal(self, std)
    return store(self, lambda n: _exp(draw.normal_serial(on_cpu(generator), n) * std + mean))


def cauchy_(self: Tensor, median: float, sigma: float, generator: Generator | None) -> Any:
    """Numbers with tails so heavy that they have no mean. Raises RuntimeError unless sigma > 0."""
    check_cauchy(self, sigma)
    return store(
        self, lambda n: median + sigma * np.tan(math.pi * (uniform64(on_cpu(generator), n) - 0.5))
    )


def _exp(x: Array) -> Any:
    """exp, infinite without a warning where it overflows."""
    with np.errstate(over="ignore"):
        return np.exp(x)
