"""Losses that are negative log likelihoods of a distribution, or of paths (`torch/nn/functional.py`).

Those of classes are in `_losses.py`.

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import math
from typing import Any

from internals._generated import functions as F
from internals.nn._reduction import get_enum, resolve


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """-log of the probability that log-probabilities (T, N, C) or (T, C) spell `targets`, repetitions and blanks left out.

    `targets` are (N, S), or all in a row. A mean is one of losses that were divided by their target's length. Raises
    RuntimeError for lengths that do not fit.
    """
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """exp(input) - target * input, or input - target * log(input + eps); `full` adds Stirling's approximation of log(target!)."""
    number = get_enum(resolve(reduction, size_average, reduce))
    return F.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(log(var) + (input - target)² / var) / 2, `var` counting as at least `eps`; `full` adds the constant log(2π) / 2.

    Raises ValueError for a variance that is negative or does not fit.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = F.full_like(input, var)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(b for a, b in zip(input.shape, var.shape) if a != b) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var + (var.detach().clamp_min(eps) - var.detach())  # clamped for the value, not for the derivative
    loss = 0.5 * (var.log() + (input - target).square() / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss
