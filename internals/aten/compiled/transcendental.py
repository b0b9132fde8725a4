"""Operators with exp, log, tanh, erf or sin in them, as functions of one element (`aten/src/ATen/native/cpu/Activation.cpp`).

The GPU's functions for the same operators (`internals/cuda/kernels/functors_nn.py`) call `math.exp`, which is NVIDIA's there.
Here that would be the C library's, one number at a time; so these are written with `vector_math`, and the loop over them stays a
vector loop.

How the real one differs: as in `loops`; gelu has one more, oneDNN's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.native import activations as act
from internals.aten.native import activations_backward as act_backward
from internals.aten.native import activations_composed as act_composed
from internals.aten.native import loops
from internals.machine_code import inline, template
from internals.machine_code import vector_math as vm
from internals.machine_code.vector_math import erf, exp, expm1, log1p, minimum, sigmoid, tanh

T = template("T")

# fmt: off
# Pieces
decay         = inline(lambda x:                              exp(-abs(x)))
softplus_of   = inline(lambda x:                              (x if x > T(0) else T(0)) + log1p(decay(x)))
tanh_inner    = inline(lambda x:                              T(0.7978845608028654) * (x + T(0.044715) * x * x * x))
gaussian_cdf  = inline(lambda x:                              T(0.5) * (T(1) + erf(x * T(0.7071067811865476))))
gaussian_pdf  = inline(lambda x:                              exp(x * x * T(-0.5)) * T(0.3989422804014327))  # 1 / sqrt(2 pi)
silu_slope    = inline(lambda x, gate:                        gate * (T(1) + x * (T(1) - gate)))

# Activations
gelu          = inline(lambda x:                              x * T(0.5) * (T(1) + erf(x * T(0.7071067811865476))))
gelu_tanh     = inline(lambda x:                              x * T(0.5) * (T(1) + tanh(tanh_inner(x))))
silu          = inline(lambda x:                              x * sigmoid(x))
gated         = inline(lambda x, gate:                        x * sigmoid(gate))
elu           = inline(lambda x, bottom, top, rate:           expm1(x * rate) * bottom if x < T(0) else x * top)
softplus      = inline(lambda x, beta, threshold:             x if x * beta > threshold else log1p(exp(x * beta)) / beta)
log_sigmoid   = inline(lambda x:                              minimum(x, T(0)) - log1p(decay(x)))
mish          = inline(lambda x:                              x * tanh(softplus_of(x)))

# Their slopes
silu_backward      = inline(lambda g, x:                      g * silu_slope(x, sigmoid(x)))
elu_backward       = inline(lambda g, x, bottom, top, rate:   g * (rate * bottom * exp(x * rate) if x <= T(0) else top))
softplus_backward  = inline(lambda g, x, beta, threshold:     g if x * beta > threshold else g * sigmoid(x * beta))
gelu_backward      = inline(lambda g, x:                      g * (gaussian_cdf(x) + x * gaussian_pdf(x)))
mish_slope         = inline(lambda x, t, s:                   t + x * s * (T(1) - t * t))
mish_backward      = inline(lambda g, x:                      g * mish_slope(x, tanh(softplus_of(x)), sigmoid(x)))
glu_to_gate        = inline(lambda g, x, s:                   g * ((T(1) - s) * s * x))
glu_half_backward  = inline(lambda g, gate:                   g * sigmoid(gate))
glu_gate_backward  = inline(lambda g, x, gate:                glu_to_gate(g, x, sigmoid(gate)))

# fmt: on


@inline
def gelu_tanh_backward(g: Any, x: Any) -> Any:
    square = x * x
    t = tanh(T(0.7978845608028654) * x * (T(1) + T(0.044715) * square))
    slope = (T(1) - t * t) * T(0.7978845608028654) * (T(1) + T(0.134145) * square)
    return g * (T(0.5) * (T(1) + t + x * slope))


# fmt: off
QUICK_IN_NUMPY: dict[Any, Any] = {
    np.floor:                       vm.floor,
    np.ceil:                        vm.ceil,
    np.trunc:                       vm.trunc,
    np.rint:                        vm.round,
}
SLOW_IN_NUMPY: dict[Any, Any] = {
    np.exp:                         vm.exp,
    np.exp2:                        vm.exp2,
    np.expm1:                       vm.expm1,
    np.log:                         vm.log,
    np.log2:                        vm.log2,
    np.log10:                       vm.log10,
    np.log1p:                       vm.log1p,
    np.sin:                         vm.sin,
    np.cos:                         vm.cos,
    np.tan:                         vm.tan,
    np.arcsin:                      vm.asin,
    np.arccos:                      vm.acos,
    np.arctan:                      vm.atan,
    np.arctan2:                     vm.atan2,
    np.sinh:                        vm.sinh,
    np.cosh:                        vm.cosh,
    np.tanh:                        vm.tanh,
    loops.sigmoid:                  vm.sigmoid,
    loops.erf:                      vm.erf,
    loops.frac:                     vm.frac,
    loops.fmod:                     vm.fmod,
    loops.remainder:                vm.remainder,
    act.gelu_erf_loop:              gelu,
    act.gelu_tanh_loop:             gelu_tanh,
    act.silu_loop:                  silu,
    act.elu_loop:                   elu,
    act.softplus_loop:              softplus,
    act.decay_loop:                 decay,
    act.log_sigmoid_loop:           log_sigmoid,
    act_composed.mish_loop:         mish,
    act_composed.gated_loop:        gated,
    act_backward.silu_loop:         silu_backward,
    act_backward.elu_loop:          elu_backward,
    act_backward.softplus_loop:     softplus_backward,
    act_backward.gelu_erf_loop:     gelu_backward,
    act_backward.gelu_tanh_loop:    gelu_tanh_backward,
    act_backward.mish_loop:         mish_backward,
    act_backward.glu_half_loop:     glu_half_backward,
    act_backward.glu_gate_loop:     glu_gate_backward,
}
# fmt: on
