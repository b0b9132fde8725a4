"""Activations, losses, and the slopes of both, as device functions (`aten/src/ATen/native/cuda/Activation*Kernel.cu`, `Loss.cu`).

Like `functors.py`, whose conventions hold here: `T` is the dtype that is computed in, `g` the gradient that arrives, and the
numbers that belong to the operation follow after the operands. The formulas are those of the CPU's loops.

How the real one differs: there each of these is a file with its kernel's launch around it, or a lambda in one.
"""

from __future__ import annotations

import math

from ..language import device_function, template
from .functors import maximum, minimum, named, sigmoid

T = template("T")

# fmt: off
# Pieces
sqrt_half     = device_function(lambda:                 T(0.7071067811865476))
tanh_factor   = device_function(lambda:                 T(0.7978845608028654))  # sqrt(2 / pi)
tanh_inner    = device_function(lambda x:               tanh_factor() * (x + T(0.044715) * x * x * x))
decay         = device_function(lambda x:               math.exp(-abs(x)))
relu6_of      = device_function(lambda x:               minimum(maximum(x, T(0)), T(6)))
elu_slope     = device_function(lambda x, bottom, rate: rate * bottom * math.exp(x * rate))
hardswish_slope = device_function(lambda g, x:          g * (x / T(3) + T(0.5)) if x < T(3) else g)

# Activations
relu          = device_function(lambda x:                    maximum(x, T(0)))
silu          = device_function(lambda x:                    x * sigmoid(x))
gated         = device_function(lambda x, gate:              x * sigmoid(gate))
leaky_relu    = device_function(lambda x, slope:             x if x > T(0) else x * slope)
elu           = device_function(lambda x, bottom, top, rate: math.expm1(x * rate) * bottom if x < T(0) else x * top)
gelu          = device_function(lambda x:                    x * T(0.5) * (T(1) + math.erf(x * sqrt_half())))
gelu_tanh     = device_function(lambda x:                    x * T(0.5) * (T(1) + math.tanh(tanh_inner(x))))
log_sigmoid   = device_function(lambda x:                    minimum(x, T(0)) - math.log1p(decay(x)))
hardsigmoid   = device_function(lambda x:                    relu6_of(x + T(3)) / T(6))
hardswish     = device_function(lambda x:                    x * relu6_of(x + T(3)) / T(6))
mish          = device_function(lambda x:                    x * math.tanh(maximum(x, T(0)) + math.log1p(decay(x))))
hardshrink    = device_function(lambda x, lambd:             T(0) if x >= -lambd and x <= lambd else x)
softshrink    = device_function(lambda x, lambd:             x - minimum(maximum(x, -lambd), lambd))
threshold     = device_function(lambda x, threshold, value:  value if x <= threshold else x)
softplus      = device_function(lambda x, beta, threshold:   x if x * beta > threshold else math.log1p(math.exp(x * beta)) / beta)

# Their slopes
threshold_backward   = device_function(lambda g, x, threshold:       T(0) if x <= threshold else g)
hardtanh_backward    = device_function(lambda g, x, low, high:       T(0) if x <= low or x >= high else g)
leaky_relu_backward  = device_function(lambda g, x, slope:           g if x > T(0) else g * slope)
elu_backward         = device_function(lambda g, x, bottom, top, rate: g * (elu_slope(x, bottom, rate) if x <= T(0) else top))
elu_backward_result  = device_function(lambda g, y, bottom, top, rate: g * (rate * (y + bottom) if y <= T(0) else top))
silu_backward        = device_function(lambda g, x:                  g * (sigmoid(x) * (T(1) + x * (T(1) - sigmoid(x)))))
softplus_backward    = device_function(lambda g, x, beta, threshold: g if x * beta > threshold else g * sigmoid(x * beta))
log_sigmoid_backward = device_function(lambda g, x, decay:           g * ((T(1) if x < T(0) else decay) / (T(1) + decay)))
sigmoid_backward     = device_function(lambda g, y:                  g * ((T(1) - y) * y))
tanh_backward        = device_function(lambda g, y:                  g * (T(1) - y * y))
hardsigmoid_backward = device_function(lambda g, x:                  g / T(6) if x > T(-3) and x < T(3) else T(0))
hardswish_backward   = device_function(lambda g, x:                  T(0) if x <= T(-3) else hardswish_slope(g, x))
hardshrink_backward  = device_function(lambda g, x, lambd:           T(0) if x >= -lambd and x <= lambd else g)
glu_half_backward    = device_function(lambda g, gate:               g * sigmoid(gate))
glu_gate_backward    = device_function(lambda g, x, gate:            g * ((T(1) - sigmoid(gate)) * sigmoid(gate) * x))

# Losses, and their slopes times the gradient that arrives, which is scaled by 1/n for a mean
mse                  = device_function(lambda x, y:                  (x - y) * (x - y))
mse_backward         = device_function(lambda g, x, y, scale:        (x - y) * (g * scale))
# fmt: on


@device_function
def gelu_backward(g, x):
    density = math.exp(x * x * T(-0.5)) * T(0.3989422804014327)  # 1 / sqrt(2 pi)
    return g * (T(0.5) * (T(1) + math.erf(x * sqrt_half())) + x * density)


@device_function
def gelu_tanh_backward(g, x):
    t = math.tanh(tanh_inner(x))
    slope = (T(1) - t * t) * tanh_factor() * (T(1) + T(3) * T(0.044715) * x * x)
    return g * (T(0.5) * (T(1) + t + x * slope))


@device_function
def mish_backward(g, x):
    t, s = math.tanh(maximum(x, T(0)) + math.log1p(decay(x))), sigmoid(x)
    return g * (t + x * s * (T(1) - t * t))


@device_function
def logit_backward(g, x, low, beyond):
    return beyond if x < low or x > T(1) - low else g / (x * (T(1) - x))


@device_function
def smooth_l1(x, y, beta):
    z = abs(x - y)
    return T(0.5) * z * z / beta if z < beta else z - T(0.5) * beta


@device_function
def smooth_l1_backward(g, x, y, beta, scale):
    d = x - y
    return (T(1) if d >= beta else T(-1) if d <= -beta else d / beta) * (g * scale)


@device_function
def huber(x, y, delta):
    z = abs(x - y)
    return T(0.5) * z * z if z <= delta else delta * (z - T(0.5) * delta)


@device_function
def huber_backward(g, x, y, delta, scale):
    return minimum(maximum(x - y, -delta), delta) * (g * scale)


@device_function
def binary_cross_entropy(x, y):
    # Compiled code heeds assertions only with numba's debug=True.
    assert T(0) <= x <= T(1), "all elements of input should be between 0 and 1"
    floor = T(-100)
    return (y - T(1)) * maximum(math.log1p(-x), floor) - y * maximum(math.log(x), floor)


@device_function
def binary_cross_entropy_backward(g, x, y, scale):
    epsilon = T(9.999999960041972e-13)  # 1e-12 as a float, also for doubles
    return (x - y) / maximum((T(1) - x) * x, epsilon) * (g * scale)


named(globals())
