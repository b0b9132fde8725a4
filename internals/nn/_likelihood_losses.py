"""Losses that are negative log likelihoods of a distribution, or of paths
(`torch/nn/functional.py`).

Those of classes are in `_losses.py`.

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import math
from typing import Any

from internals._generated import functions as F
from internals._tensor import Tensor
from internals.functional.scripting import is_scripting
from internals.nn._reduction import get_enum, reduced, resolve


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor,
    blank: int = 0, reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """-log of the probability of `targets` under log-probabilities (T, N, C) or (T, C), summed over
    all paths that spell them once repetitions are merged and blanks removed.

    `targets` are (N, S), or concatenated. For the mean, each loss is divided by the length of its
    target first. Raises RuntimeError for lengths that do not fit.
    """
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity
    )


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
    size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """exp(input) - target * input if `log_input`, else input - target * log(input + eps).

    `full` adds Stirling's approximation of log(target!).
    """
    number = get_enum(resolve(reduction, size_average, reduce))
    return F.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """(log(var) + (input - target)² / var) / 2, with `var` at least `eps`; `full` adds the constant
    log(2π) / 2.

    Raises ValueError for a variance that is negative or does not fit.
    """
    if not is_scripting():
        var = _filled(var, input)
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        var = _fitted(var, input)
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not valid")
    # The value is clamped, but the derivative is that of `var`: clamp's own would be 0 below eps.
    var = var + (var.detach().clamp_min(eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target).square() / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _filled(var: Any, input: Tensor) -> Tensor:
    """The variances as a tensor: a Python float is the variance of every element."""
    return F.full_like(input, var) if isinstance(var, float) else var


def _fitted(var: Tensor, input: Tensor) -> Tensor:
    """`var` in a shape that broadcasts to `input`: one variance for the whole last dimension, or a
    single dimension of size 1. Raises ValueError for other shapes.
    """
    if input.size()[:-1] == var.size():
        return var.unsqueeze(-1)
    others = 0  # the sum of differing sizes is 1 if there is one, and it is 1
    if input.dim() == var.dim():
        for a, b in zip(input.size(), var.size()):
            if a != b:
                others += b
    if others != 1:
        raise ValueError("var is of incorrect size")
    return var
