"""Dropout: zero each element with probability p, scale the others up (`aten/src/ATen/native/Dropout.cpp`).

The expectation stays the same, so evaluation needs no correction. Composite: a random tensor of zeros and 1 / (1 - p) is made
and multiplied in, so the derivative is that of the product. The random numbers come from the default generator
(`manual_seed`).

How the real one differs: feature and alpha dropout share this function, and on GPUs a fused kernel makes mask and product at
once and remembers the mask.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops


def dropout(input: Any, p: float, train: bool) -> Any:
    """`input` with each element zeroed with probability `p` and the rest divided by 1 - p; unchanged unless `train`."""
    noise = _noise(input, p, train)
    return input if noise is None else input * noise


def dropout_(input: Any, p: float, train: bool) -> Any:
    """`dropout` in place."""
    noise = _noise(input, p, train)
    return input if noise is None else input.mul_(noise)


def _noise(input: Any, p: float, train: bool) -> Any:
    """What to multiply with, or None for nothing to do. Raises RuntimeError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or input.numel() == 0:
        return None
    if p == 1:
        return input.new_zeros([])
    keep = 1 - p
    return ops.empty_like(input, None, None, None, None, None).bernoulli_(keep).div_(keep)
