"""Which function of one element stands for which loop (`REGISTER_DISPATCH` in `aten/src/ATen/native/cpu/*Kernel.cpp`).

The functions are those of the GPU's kernels (`internals/cuda/native/loops.py`), where they do with the four operations,
comparisons and square roots: these give the same bits everywhere. Those with exp and its kind are in `transcendental`. The name
of the list that a loop is in says what is gained, which decides from how many elements on it is compiled: numpy's own loops for
one operation are as quick as any on one thread, and what takes numpy several passes pays early.

How the real one differs: each operator has a stub, a table of function pointers by instruction set.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from internals.aten.native import activations as act
from internals.aten.native import activations_backward as act_backward
from internals.aten.native import activations_composed as act_composed
from internals.aten.native import clamping, loops, losses, losses_backward
from internals.aten.native import pointwise_ternary as choice
from internals.cuda.native.loops import ANY as ON_THE_DEVICE
from internals.cuda.templates import DeviceFunction

from . import transcendental

QUICK_IN_NUMPY = (
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.square, np.sqrt, np.reciprocal, np.absolute,
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.isnan, loops.copy, loops.negative,
)  # fmt: skip
"""What numpy does in one pass, with vector instructions."""

SLOW_IN_NUMPY = (
    loops.add_scaled, loops.subtract_scaled, loops.sign, loops.cube, loops.inverse_square, loops.rsqrt,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
    # Bounds and choices
    clamping.between, clamping.between_numbers, clamping.at_least, clamping.at_most,
    choice.select, choice.mask_over, choice.lerp, choice.add_product, choice.add_quotient,
    # Activations
    act.relu_loop, act.leaky_loop, act_composed.hardsigmoid_loop, act_composed.hardswish_loop, act_composed.hardshrink_loop,
    act_composed.softshrink_loop, act_composed.threshold_loop,
    # Their slopes
    act_backward.threshold_loop, act_backward.hardtanh_loop, act_backward.leaky_loop, act_backward.elu_result_loop,
    act_backward.sigmoid_loop, act_backward.tanh_loop, act_backward.log_sigmoid_loop,
    act_backward.hardsigmoid_loop, act_backward.hardswish_loop, act_backward.shrink_loop, act_backward.logit_loop,
    # Losses and their slopes
    losses.mse_loop, losses.smooth_l1_loop, losses.huber_loop, losses_backward.mse_loop, losses_backward.huber_loop,
)  # fmt: skip
"""What takes it several passes, or branches."""

NOT_INTEGERS = frozenset({np.divide, np.sqrt, np.reciprocal, np.isnan})
INTEGERS_TOO = frozenset(
    {
        loops.add_scaled, loops.subtract_scaled, loops.sign, loops.cube, np.logical_and, np.logical_or, np.logical_xor,
        np.logical_not, clamping.between, clamping.between_numbers, clamping.at_least, clamping.at_most, choice.select,
        choice.mask_over, act.relu_loop,
    }
)  # fmt: skip
BOOLS_TOO = frozenset(
    {
        np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.equal, np.not_equal, np.less, np.less_equal, np.greater,
        np.greater_equal, np.maximum, np.minimum, loops.copy, choice.select, choice.mask_over,
    }
)  # fmt: skip
"""What bools do as other numbers do. Arithmetic they do differently: 1 + 1 is 1."""


def base(loop: Any) -> Any:
    """The loop itself, without the numbers that `partial` gave it and without `in_single` around it."""
    return _unwrapped(loop.func if loop.__class__ is partial else loop)


@cache
def _unwrapped(loop: Any) -> Any:
    while hasattr(loop, "__wrapped__"):
        loop = loop.__wrapped__
    return loop


def functor(loop: Any, computed_in: np.dtype[Any]) -> DeviceFunction | None:
    """The function for `loop` (as `base` gives it) computing in this dtype, None if there is none."""
    return _BY_KIND.get(computed_in.kind, {}).get(loop)


def is_quick_in_numpy(loop: Any) -> bool:
    return loop in QUICK_IN_NUMPY or loop in transcendental.QUICK_IN_NUMPY


_FUNCTIONS = {
    **{loop: ON_THE_DEVICE[loop] for loop in (*QUICK_IN_NUMPY, *SLOW_IN_NUMPY)},
    **transcendental.QUICK_IN_NUMPY,
    **transcendental.SLOW_IN_NUMPY,
}
_ALL = {base(loop): function for loop, function in _FUNCTIONS.items()}
_INTEGERS = {base(loop) for loop in (frozenset(QUICK_IN_NUMPY) - NOT_INTEGERS) | INTEGERS_TOO}
_BOOLS = {base(loop) for loop in BOOLS_TOO}
_BY_KIND = {
    "f": _ALL,
    "i": {loop: function for loop, function in _ALL.items() if loop in _INTEGERS},
    "u": {loop: function for loop, function in _ALL.items() if loop in _INTEGERS},
    "b": {loop: function for loop, function in _ALL.items() if loop in _BOOLS},
}
