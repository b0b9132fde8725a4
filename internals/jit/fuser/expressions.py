"""What each loop of the eager operators is for one element, as an expression of Python.

The tables are those of the CUDA backend (`internals/cuda/native/loops.py`) spelled out. `{a}`, `{b}`, `{c}` are the operands,
already of the dtype that is computed in, other names the numbers that belong to the loop, and T(0.5) a constant of that dtype;
the functions are those of `internals/machine_code/vector_math`. The operations and their order are those of the eager loops, so
that +, -, *, / and comparisons give the same bits.

How the real one differs: 1.0.1's table has C expressions for NVRTC and for gcc, `1.f / (1.f + expf(-${0}))`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.native import activations as act
from internals.aten.native import activations_backward as slope
from internals.aten.native import activations_composed as composed
from internals.aten.native import clamping, loops
from internals.aten.native import pointwise_ternary as choice
from internals.core.dtype import BOOL, FLOATING, dtype
from internals.cuda.native.loops import base

from .row_steps import normalized
from .steps import NotFusable

# fmt: off
ANY: dict[Any, str] = {
    # Arithmetic
    loops.copy:                  "{a}",
    loops.ones:                  "T(1)",
    np.add:                      "{a} + {b}",
    np.subtract:                 "{a} - {b}",
    np.multiply:                 "{a} * {b}",
    loops.add_scaled:            "{a} + {b} * {alpha}",
    loops.subtract_scaled:       "{a} - {b} * {alpha}",
    loops.negative:              "-{a}",
    np.absolute:                 "abs({a})",
    np.square:                   "{a} * {a}",
    loops.cube:                  "{a} * {a} * {a}",
    loops.sign:                  "sign({a})",
    np.maximum:                  "maximum({a}, {b})",
    np.minimum:                  "minimum({a}, {b})",
    choice.add_product:          "{a} + {value} * {b} * {c}",

    # Comparisons, logic, choices
    np.equal:                    "{a} == {b}",
    np.not_equal:                "{a} != {b}",
    np.less:                     "{a} < {b}",
    np.less_equal:               "{a} <= {b}",
    np.greater:                  "{a} > {b}",
    np.greater_equal:            "{a} >= {b}",
    np.logical_and:              "({a} != T(0)) & ({b} != T(0))",
    np.logical_or:               "({a} != T(0)) | ({b} != T(0))",
    np.logical_xor:              "({a} != T(0)) != ({b} != T(0))",
    np.logical_not:              "{a} == T(0)",
    np.isnan:                    "{a} != {a}",
    np.isinf:                    "abs({a}) == T(inf)",
    np.isfinite:                 "abs({a}) < T(inf)",
    choice.select:               "{b} if {a} else {c}",
    choice.mask_over:            "{c} if {a} else {b}",
    clamping.between:            "minimum(maximum({a}, {b}), {c})",
    clamping.between_numbers:    "minimum(maximum({a}, {low}), {high})",
    clamping.at_least:           "maximum({a}, {low})",
    clamping.at_most:            "minimum({a}, {high})",
    act.relu_loop:               "maximum({a}, T(0))",
    composed.threshold_loop:     "{value} if {a} <= {threshold} else {a}",
    slope.threshold_loop:        "T(0) if {b} <= {threshold} else {a}",
    slope.hardtanh_loop:         "T(0) if ({b} <= {low}) | ({b} >= {high}) else {a}",
}

FLOATS: dict[Any, str] = {
    np.divide:                   "{a} / {b}",
    np.reciprocal:               "T(1) / {a}",
    loops.inverse_square:        "T(1) / ({a} * {a})",
    loops.inverse_root:          "T(1) / sqrt({a})",
    loops.rsqrt:                 "T(1) / sqrt({a})",
    loops.floor_divide:          "floor_divide({a}, {b})",
    loops.trunc_divide:          "trunc({a} / {b})",
    loops.remainder:             "remainder({a}, {b})",
    loops.fmod:                  "fmod({a}, {b})",
    np.power:                    "pow({a}, {b})",
    loops.power:                 "pow({a}, {exponent})",
    np.arctan2:                  "atan2({a}, {b})",
    choice.add_quotient:         "{a} + {value} * {b} / {c}",
    choice.lerp:                 "lerp({a}, {b}, {c})",

    normalized:                  "({a} - {b}) * {c}",

    # Exponentials, roots, trigonometry, rounding
    np.sqrt:                     "sqrt({a})",
    np.exp:                      "exp({a})",
    np.expm1:                    "expm1({a})",
    np.log:                      "log({a})",
    np.log1p:                    "log1p({a})",
    np.log2:                     "log2({a})",
    np.sin:                      "sin({a})",
    np.cos:                      "cos({a})",
    np.tan:                      "tan({a})",
    np.arcsin:                   "asin({a})",
    np.arccos:                   "acos({a})",
    np.arctan:                   "atan({a})",
    np.sinh:                     "sinh({a})",
    np.cosh:                     "cosh({a})",
    np.tanh:                     "tanh({a})",
    loops.erf:                   "erf({a})",
    loops.sigmoid:               "sigmoid({a})",
    np.floor:                    "floor({a})",
    np.ceil:                     "ceil({a})",
    np.trunc:                    "trunc({a})",
    np.rint:                     "round_even({a})",
    loops.frac:                  "{a} - trunc({a})",
    loops.round_after_point:     "round_even({a} * {scale}) / {scale}",
    loops.round_before_point:    "round_even({a} / {scale}) * {scale}",

    # Activations
    act.silu_loop:               "{a} * sigmoid({a})",
    composed.gated_loop:         "{a} * sigmoid({b})",
    act.leaky_loop:              "{a} if {a} > T(0) else {a} * {slope}",
    act.elu_loop:                "expm1(minimum({a}, T(0)) * {rate}) * {bottom} if {a} < T(0) else {a} * {top}",
    act.gelu_erf_loop:           "{a} * T(0.5) * (T(1) + erf({a} * T(0.7071067811865475)))",
    act.gelu_tanh_loop:
        "{a} * T(0.5) * (T(1) + tanh(T(0.7978845608028654) * ({a} + T(0.044715) * {a} * {a} * {a})))",
    act.softplus_loop:
        "{a} if {a} * {beta} > {threshold} else log1p(exp({a} * {beta})) / {beta}",
    act.decay_loop:              "exp(-abs({a}))",
    act.log_sigmoid_loop:        "minimum({a}, T(0)) - log1p(exp(-abs({a})))",
    composed.hardsigmoid_loop:   "minimum(maximum({a} + T(3), T(0)), T(6)) / T(6)",
    composed.hardswish_loop:     "{a} * minimum(maximum({a} + T(3), T(0)), T(6)) / T(6)",
    composed.mish_loop:          "{a} * tanh(maximum({a}, T(0)) + log1p(exp(-abs({a}))))",
    composed.hardshrink_loop:    "T(0) if ({a} >= -{lambd}) & ({a} <= {lambd}) else {a}",
    composed.softshrink_loop:    "{a} - minimum(maximum({a}, -{lambd}), {lambd})",

    # Their slopes, times the gradient {a}
    slope.sigmoid_loop:          "{a} * ((T(1) - {b}) * {b})",
    slope.tanh_loop:             "{a} * (T(1) - {b} * {b})",
    slope.leaky_loop:            "{a} if {b} > T(0) else {a} * {slope}",
    slope.elu_loop:
        "{a} * ({rate} * {bottom} * exp(minimum({b}, T(0)) * {rate}) if {b} <= T(0) else {top})",
    slope.elu_result_loop:       "{a} * ({rate} * ({b} + {bottom}) if {b} <= T(0) else {top})",
    slope.silu_loop:             "{a} * (sigmoid({b}) * (T(1) + {b} * (T(1) - sigmoid({b}))))",
    slope.softplus_loop:         "{a} * (T(1) if {b} * {beta} > {threshold} else sigmoid({b} * {beta}))",
    slope.log_sigmoid_loop:      "{a} * ((T(1) if {b} < T(0) else {c}) / (T(1) + {c}))",
    slope.gelu_tanh_loop:        "gelu_tanh_backward({a}, {b})",
    slope.gelu_erf_loop:
        "{a} * (T(0.5) * (T(1) + erf({b} * T(0.7071067811865475))) + {b} * (exp({b} * {b} * T(-0.5)) * T(0.3989422804014327)))",
}

INTEGERS: dict[Any, str] = {
    np.bitwise_and:              "{a} & {b}",
    np.bitwise_or:               "{a} | {b}",
    np.bitwise_xor:              "{a} ^ {b}",
    np.invert:                   "~{a}",
}

BOOLS: dict[Any, str] = {
    **INTEGERS,
    np.add:                      "{a} | {b}",
    np.multiply:                 "{a} & {b}",
    np.maximum:                  "{a} | {b}",
    np.minimum:                  "{a} & {b}",
    np.square:                   "{a}",
    np.absolute:                 "{a}",
    np.invert:                   "{a} == T(0)",
    np.logical_and:              "{a} & {b}",
    np.logical_or:               "{a} | {b}",
    np.logical_xor:              "{a} != {b}",
}
# fmt: on

_TABLES = [{base(loop): text for loop, text in table.items()} for table in (ANY, FLOATS, INTEGERS, BOOLS)]


def expression(loop: Any, common: dtype) -> str:
    """The template for `loop` on elements of dtype `common`. Raises NotFusable for a loop that is not in the tables."""
    anything, floats, integers, bools = _TABLES
    own = bools if common.category == BOOL else integers if common.category < FLOATING else floats
    name = base(loop)
    found = own.get(name) or anything.get(name)
    if found is None:
        raise NotFusable(
            f"the loop {getattr(name, '__name__', name)} for {common.name} is not in the tables of expressions"
        )
    return found
