"""Which function of the device stands for which loop of the CPU (`REGISTER_DISPATCH` in `aten/src/ATen/native/cuda/*.cu`).

A host function hands `TensorIterator` a loop, `np.add` or `losses.mse_loop`, and knows nothing of devices. Here is what it means
on this one.

How the real one differs: each operator has a stub, `add_stub`, a table of function pointers by type of device, and both backends
enter their loops there.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np

from internals.aten.native import activations as act
from internals.aten.native import activations_backward as act_backward
from internals.aten.native import activations_composed as act_composed
from internals.aten.native import clamping, loops, losses, losses_backward
from internals.aten.native import pointwise_ternary as choice
from internals.aten.native.special import error_functions, gamma_functions, logarithms
from internals.core.dtype import BOOL, FLOATING, dtype

from ..kernels import functors as f
from ..kernels import functors_nn as nn
from ..language import DeviceFunction

# fmt: off
ANY = {
    # Arithmetic
    loops.copy:                     f.copy,
    loops.ones:                     f.one,
    np.add:                         f.add,
    np.subtract:                    f.sub,
    np.multiply:                    f.mul,
    np.divide:                      f.div,
    loops.add_scaled:               f.add_scaled,
    loops.subtract_scaled:          f.sub_scaled,
    loops.floor_divide:             f.floor_divide,
    loops.trunc_divide:             f.trunc_divide,
    loops.remainder:                f.remainder,
    loops.fmod:                     f.fmod,
    loops.negative:                 f.neg,
    np.absolute:                    f.absolute,
    loops.sign:                     f.sign,
    np.maximum:                     f.maximum,
    np.minimum:                     f.minimum,
    np.fmax:                        f.fmax,
    np.fmin:                        f.fmin,
    np.arctan2:                     f.atan2,
    np.hypot:                       f.hypot,
    np.copysign:                    f.copysign,
    np.power:                       f.pow,
    loops.power:                    f.pow,
    np.square:                      f.square,
    loops.cube:                     f.cube,
    np.reciprocal:                  f.reciprocal,
    loops.complex_reciprocal:       f.reciprocal,
    loops.inverse_square:           f.inverse_square,
    loops.inverse_root:             f.rsqrt,
    # Comparisons, logic
    np.equal:                       f.eq,
    np.not_equal:                   f.ne,
    np.less:                        f.lt,
    np.less_equal:                  f.le,
    np.greater:                     f.gt,
    np.greater_equal:               f.ge,
    np.logical_and:                 f.logical_and,
    np.logical_or:                  f.logical_or,
    np.logical_xor:                 f.logical_xor,
    np.logical_not:                 f.logical_not,
    np.isnan:                       f.isnan,
    # Exponentials, roots, trigonometry
    np.exp:                         f.exp,
    np.expm1:                       f.expm1,
    np.log:                         f.log,
    np.log1p:                       f.log1p,
    np.log2:                        f.log2,
    np.log10:                       f.log10,
    logarithms.xlogy_loop:          f.xlogy,
    np.sqrt:                        f.sqrt,
    loops.rsqrt:                    f.rsqrt,
    np.sin:                         f.sin,
    np.cos:                         f.cos,
    np.tan:                         f.tan,
    np.arcsin:                      f.asin,
    np.arccos:                      f.acos,
    np.arctan:                      f.atan,
    np.sinh:                        f.sinh,
    np.cosh:                        f.cosh,
    np.tanh:                        f.tanh,
    np.arcsinh:                     f.asinh,
    np.arccosh:                     f.acosh,
    np.arctanh:                     f.atanh,
    loops.erf:                      f.erf,
    error_functions.erfc_loop:      f.erfc,
    gamma_functions.log_gamma:      f.lgamma,
    loops.sigmoid:                  f.sigmoid,
    # Rounding
    np.floor:                       f.floor,
    np.ceil:                        f.ceil,
    np.trunc:                       f.trunc,
    np.rint:                        f.rint,
    loops.frac:                     f.frac,
    loops.round_after_point:        f.round_after_point,
    loops.round_before_point:       f.round_before_point,
    # Bounds and choices
    clamping.between:               f.clamp,
    clamping.between_numbers:       f.clamp,
    clamping.at_least:              f.at_least,
    clamping.at_most:               f.at_most,
    choice.select:                  f.where,
    choice.mask_over:               f.masked,
    choice.lerp:                    f.lerp,
    choice.add_product:             f.addcmul,
    choice.add_quotient:            f.addcdiv,
    # Activations
    act.relu_loop:                  nn.relu,
    act.silu_loop:                  nn.silu,
    act.leaky_loop:                 nn.leaky_relu,
    act.elu_loop:                   nn.elu,
    act.gelu_erf_loop:              nn.gelu,
    act.gelu_tanh_loop:             nn.gelu_tanh,
    act.softplus_loop:              nn.softplus,
    act.decay_loop:                 nn.decay,
    act.log_sigmoid_loop:           nn.log_sigmoid,
    act_composed.hardsigmoid_loop:  nn.hardsigmoid,
    act_composed.hardswish_loop:    nn.hardswish,
    act_composed.mish_loop:         nn.mish,
    act_composed.hardshrink_loop:   nn.hardshrink,
    act_composed.softshrink_loop:   nn.softshrink,
    act_composed.threshold_loop:    nn.threshold,
    act_composed.gated_loop:        nn.gated,
    # Their slopes
    act_backward.threshold_loop:    nn.threshold_backward,
    act_backward.hardtanh_loop:     nn.hardtanh_backward,
    act_backward.leaky_loop:        nn.leaky_relu_backward,
    act_backward.elu_loop:          nn.elu_backward,
    act_backward.elu_result_loop:   nn.elu_backward_result,
    act_backward.gelu_erf_loop:     nn.gelu_backward,
    act_backward.gelu_tanh_loop:    nn.gelu_tanh_backward,
    act_backward.silu_loop:         nn.silu_backward,
    act_backward.softplus_loop:     nn.softplus_backward,
    act_backward.log_sigmoid_loop:  nn.log_sigmoid_backward,
    act_backward.hardsigmoid_loop:  nn.hardsigmoid_backward,
    act_backward.hardswish_loop:    nn.hardswish_backward,
    act_backward.mish_loop:         nn.mish_backward,
    act_backward.logit_loop:        nn.logit_backward,
    act_backward.shrink_loop:       nn.hardshrink_backward,
    act_backward.glu_half_loop:     nn.glu_half_backward,
    act_backward.glu_gate_loop:     nn.glu_gate_backward,
    act_backward.sigmoid_loop:      nn.sigmoid_backward,
    act_backward.tanh_loop:         nn.tanh_backward,
    # Losses and their slopes
    losses.mse_loop:                nn.mse,
    losses.smooth_l1_loop:          nn.smooth_l1,
    losses.huber_loop:              nn.huber,
    losses.cross_entropy_loop:      nn.binary_cross_entropy,
    losses_backward.mse_loop:       nn.mse_backward,
    losses_backward.smooth_l1_loop: nn.smooth_l1_backward,
    losses_backward.huber_loop:     nn.huber_backward,
    losses_backward.cross_entropy_loop: nn.binary_cross_entropy_backward,
}
"""What the loops of the CPU are called on the device."""

INTEGERS = {
    loops.floor_divide:             f.int_floor_divide,
    loops.trunc_divide:             f.int_trunc_divide,
    loops.remainder:                f.int_remainder,
    loops.fmod:                     f.int_fmod,
    loops.integer_power:            f.int_power,
    np.bitwise_and:                 f.bitwise_and,
    np.bitwise_or:                  f.bitwise_or,
    np.bitwise_xor:                 f.bitwise_xor,
    np.invert:                      f.bitwise_not,
}
"""What integers and bools do in their own way; all else as the other numbers do."""

BOOLS = {np.invert: f.logical_not}
# fmt: on


def base(loop: Any) -> Any:
    """The loop itself, without the numbers that `partial` gave it and without `in_single` around it."""
    if loop.__class__ is partial:
        loop = loop.func
    while hasattr(loop, "__wrapped__"):
        loop = loop.__wrapped__
    return loop


def functor(loop: Any, common: dtype) -> DeviceFunction:
    """The function of the device for `loop`, computing in `common`. Raises NotImplementedError if there is none."""
    if common.category == BOOL and loop in _BOOLS:
        return _BOOLS[loop]
    if common.category < FLOATING and loop in _INTEGERS:
        return _INTEGERS[loop]
    if loop not in _ANY:
        name = getattr(loop, "__name__", str(loop))
        raise NotImplementedError(f"the loop '{name}' has no CUDA kernel; internals/cuda/native/loops.py lists those that do")
    return _ANY[loop]


def operands_of(loop: Any) -> int:
    """How many elements the loop takes: its arguments before `out`. The numbers that belong to it come after."""
    if isinstance(loop, np.ufunc):
        return loop.nin
    return parameters_of(loop).index("out")


def numbers_of(loop: Any) -> list[str]:
    """The names of the numbers that belong to the loop."""
    return [] if isinstance(loop, np.ufunc) else parameters_of(loop)[operands_of(loop) + 1 :]


def parameters_of(loop: Any) -> list[str]:
    return [p.name for p in inspect.signature(loop).parameters.values() if p.kind is not p.VAR_POSITIONAL]


_ANY, _INTEGERS, _BOOLS = ({base(loop): function for loop, function in table.items()} for table in (ANY, INTEGERS, BOOLS))
