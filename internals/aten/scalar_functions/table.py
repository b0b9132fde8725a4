"""The table of scalar functions: each elementwise operator as a formula for one element.

    name = scalar(formula, numpy's loop for it, the dtypes it is for)

`T` is the dtype that is computed in (half precision computes in single). A constant is written
T(0.5), since a bare 0.5 is a double, and would turn float32 into float64. `g` is the gradient of
the result; keyword-only arguments are numbers that belong to the operator, like a slope. `quick`
marks what numpy does in one pass. The other facts are explained at `ScalarFunction`.

Conditions are joined by & and |, and a choice is `a if c else b`. So a formula has no branches, a
processor can compute several elements at once, and the same formula works on whole arrays: small
tensors use it where no loop of numpy's is named (`on_arrays.py`).

A line here is a kernel for every backend. An operator that has nothing to check names it as its
kernel in `native_functions`: `scalar.logcosh`.

How the real one differs: the same lines are lambdas in `aten/src/ATen/native/cpu/*Kernel.cpp`, and
once more in `native/cuda/*.cu`.
"""

from __future__ import annotations

import math
from functools import partial
from math import inf
from typing import Any

import numpy as np

from internals.aten.native import loops
from internals.core.scalar import Scalar
from internals.machine_code.records import Element
from internals.machine_code.templates import Template

from .entry import ScalarFunction

T: Any = Template("T")
scalar: Any = ScalarFunction
quick: Any = partial(ScalarFunction, quick=True)

SQRT_HALF = math.sqrt(0.5)  # the nearest double, as C's M_SQRT1_2; 1 / sqrt(2) is one bit less
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
NORMAL_DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)
EPSILON = float(np.float32(1e-12))  # a float in C++, also for doubles

# fmt: off
# Functions that every backend has itself
exp      = scalar(None, np.exp)
exp2     = scalar(None, np.exp2)
expm1    = scalar(None, np.expm1)
log      = scalar(None, np.log)
log1p    = scalar(None, np.log1p)
log2     = scalar(None, np.log2)
log10    = scalar(None, np.log10)
sqrt     = quick(None, np.sqrt)
sin      = scalar(None, np.sin)
cos      = scalar(None, np.cos)
tan      = scalar(None, np.tan)
asin     = scalar(None, np.arcsin)
acos     = scalar(None, np.arccos)
atan     = scalar(None, np.arctan)
atan2    = scalar(None, np.arctan2)
sinh     = scalar(None, np.sinh)
cosh     = scalar(None, np.cosh)
tanh     = scalar(None, np.tanh)
asinh    = scalar(None, np.arcsinh)
acosh    = scalar(None, np.arccosh)
atanh    = scalar(None, np.arctanh)
hypot    = scalar(None, np.hypot)
copysign = scalar(None, np.copysign)
erf      = scalar(None, loops.erf)
erfc     = scalar(None, compiled=False)
lgamma   = scalar(None)
pow      = scalar(None, np.power, compiled=False)
pow.made_by(loops.power)
floor    = quick(None, np.floor)
ceil     = quick(None, np.ceil)
trunc    = quick(None, np.trunc)

# Bits
bitwise_and = quick(lambda a, b: a & b, np.bitwise_and, "ib")
bitwise_or  = quick(lambda a, b: a | b, np.bitwise_or,  "ib")
bitwise_xor = quick(lambda a, b: a ^ b, np.bitwise_xor, "ib")

# Comparisons and logic
eq          = quick(lambda a, b: a == b, np.equal,         "fib")
ne          = quick(lambda a, b: a != b, np.not_equal,     "fib")
lt          = quick(lambda a, b: a < b,  np.less,          "fib")
le          = quick(lambda a, b: a <= b, np.less_equal,    "fib")
gt          = quick(lambda a, b: a > b,  np.greater,       "fib")
ge          = quick(lambda a, b: a >= b, np.greater_equal, "fib")
isnan       = quick(lambda a: a != a,    np.isnan,         "fib")
isinf       = quick(lambda a: abs(a) == T(inf), np.isinf)
isfinite    = quick(lambda a: abs(a) < T(inf), np.isfinite)
logical_not = scalar(lambda a: a == T(0), np.logical_not, "fib")
logical_and = scalar(lambda a, b: (a != T(0)) & (b != T(0)), np.logical_and, "fib", bitwise_and)
logical_or  = scalar(lambda a, b: (a != T(0)) | (b != T(0)), np.logical_or, "fib", bitwise_or)
logical_xor = scalar(lambda a, b: (a != T(0)) != (b != T(0)), np.logical_xor, "fib", ne)
bitwise_not = quick(lambda a: ~a, np.invert, "ib", logical_not)

# Arithmetic; + of two bools is "or", and * is "and"
copy        = quick(lambda a: a, loops.copy, "fib")
one         = quick(lambda a: T(1), loops.ones, "fib")
add         = quick(lambda a, b: a + b, np.add, "fib", bitwise_or)
sub         = quick(lambda a, b: a - b, np.subtract, "fi")
mul         = quick(lambda a, b: a * b, np.multiply, "fib", bitwise_and)
div         = quick(lambda a, b: a / b, np.divide)
add_scaled  = scalar(lambda a, b, *, alpha: a + b * alpha, loops.add_scaled, "fi")
sub_scaled  = scalar(lambda a, b, *, alpha: a - b * alpha, loops.subtract_scaled, "fi")
neg         = quick(lambda a: -a, loops.negative, "fi")
absolute    = quick(lambda a: abs(a), np.absolute, "fib", copy)
sign        = scalar(lambda a: T(1) if a > T(0) else T(-1) if a < T(0) else T(0), loops.sign, "fi")
maximum     = quick(lambda a, b: a if (a > b) | (a != a) else b, np.maximum, "fib", bitwise_or)
minimum     = quick(lambda a, b: a if (a < b) | (a != a) else b, np.minimum, "fib", bitwise_and)
fmax        = scalar(lambda a, b: b if (a != a) | (a < b) else a, np.fmax, compiled=False)
fmin        = scalar(lambda a, b: b if (a != a) | (a > b) else a, np.fmin, compiled=False)
square      = quick(lambda a: a * a, np.square, "fib", copy)
cube        = scalar(lambda a: a * a * a, loops.cube, "fi")
reciprocal  = quick(lambda a: T(1) / a, np.reciprocal)
rsqrt       = scalar(lambda a: T(1) / sqrt(a), loops.rsqrt)
rsqrt.made_by(loops.inverse_root)
inverse_square = scalar(lambda a: T(1) / (a * a), loops.inverse_square)
addcmul     = scalar(lambda a, b, c, *, value: a + value * b * c, None, "fi")
addcdiv     = scalar(lambda a, b, c, *, value: a + value * b / c)
xlogy       = scalar(lambda a, b: T(0) if (a == T(0)) & (b == b) else a * log(b), compiled=False)
sigmoid     = scalar(lambda a: T(1) / (T(1) + exp(-a)), loops.sigmoid)

# Bounds and choices
at_least    = scalar(lambda a, *, low: maximum(a, low), None, "fi")
at_most     = scalar(lambda a, *, high: minimum(a, high), None, "fi")
clamp       = scalar(lambda a, *, low, high: minimum(maximum(a, low), high), None, "fi")
clamp_tensors = scalar(lambda a, low, high: minimum(maximum(a, low), high), None, "fi")
where       = scalar(lambda condition, a, b: a if condition else b, None, "fib")
masked      = scalar(lambda mask, a, value: value if mask else a, None, "fib")
# fmt: on


@scalar
def lerp(start: Element, end: Element, weight: Element):
    """start + weight * (end - start), computed from the nearer end: so a weight of 0 gives exactly
    `start`, and 1 exactly `end`."""
    from_end = end - (end - start) * (T(1) - weight)
    return start + weight * (end - start) if abs(weight) < T(0.5) else from_end


# fmt: off
# Quotients, remainders and powers of integers. Python's // and % round down, C's / towards zero.
int_floor_divide = scalar(lambda a, b: a // b)
int_remainder    = scalar(lambda a, b: a % b)
# fmt: on


@scalar
def int_trunc_divide(a: Element, b: Element):
    quotient = a // b  # rounded down: one too low if it is negative and not exact
    return quotient + 1 if a % b != 0 and (a < 0) != (b < 0) else quotient


@scalar
def int_fmod(a: Element, b: Element):
    rest = a % b  # has the sign of b; C's has that of a
    return rest - b if rest != 0 and (a < 0) != (b < 0) else rest


@partial(scalar, ufunc=loops.integer_power, dtypes="")
def int_power(a: Element, exponent: Element):
    """a^exponent by repeated squaring; overflow wraps around. A negative power is 0 unless a is 1
    or -1."""
    if exponent < 0:
        if a == 1:
            return T(1)
        if a + 1 == 0:
            return T(1) if exponent % 2 == 0 else a
        return T(0)
    power, rest = T(1), exponent
    # a is squared for each bit of the exponent, and multiplied in where the bit is set
    while rest > 0:
        if rest % 2 == 1:
            power = T(power * a)
        a = T(a * a)
        rest = rest // 2
    return power


# fmt: off
# Quotients and remainders of floats, and rounding
fmod         = scalar(None, loops.fmod, on_integers=int_fmod)
trunc_divide = scalar(lambda a, b: trunc(a / b), loops.trunc_divide, on_integers=int_trunc_divide)
frac         = scalar(lambda a: a - trunc(a), loops.frac)
round_after_point  = scalar(lambda a, *, scale: round(a * scale) / scale, loops.round_after_point)
round_before_point = scalar(lambda a, *, scale: round(a / scale) * scale, loops.round_before_point)
# fmt: on


@partial(scalar, ufunc=loops.remainder, on_integers=int_remainder)
def remainder(a: Element, b: Element):
    """The remainder of a / b with the quotient rounded down: it has the sign of b."""
    rest = fmod(a, b)
    return rest + b if (rest != T(0)) & ((rest < T(0)) != (b < T(0))) else rest


@partial(scalar, ufunc=loops.floor_divide, on_integers=int_floor_divide, compiled=False)
def floor_divide(a: Element, b: Element):
    """a / b rounded down, computed from the remainder, so that it agrees with `remainder`."""
    rest = fmod(a, b)
    quotient = (a - rest) / b
    lower = (rest != T(0)) & ((rest < T(0)) != (b < T(0)))
    quotient = quotient - T(1) if lower else quotient
    # the quotient is an integer but for its rounding error, which floor must not magnify
    low = floor(quotient)
    low = low + T(1) if quotient - low > T(0.5) else low
    whole = low if quotient != T(0) else copysign(T(0), a / b)
    return a / b if b == T(0) else whole


@partial(quick, ufunc=np.rint)
def round(a: Scalar):
    """The nearest integer; of two, the even one."""
    low = floor(a)
    above = a - low
    is_odd = low != T(2) * floor(low / T(2))
    nearest = low + T(1) if (above > T(0.5)) | ((above == T(0.5)) & is_odd) else low
    return copysign(nearest, a)  # -0.2 rounds to -0


# fmt: off
# Activations and their derivatives, the latter times the gradient g of the result
sigmoid_backward     = scalar(lambda g, y: g * ((T(1) - y) * y))
tanh_backward        = scalar(lambda g, y: g * (T(1) - y * y))

relu                 = scalar(lambda x: maximum(x, T(0)), None, "fi")
threshold_backward   = scalar(lambda g, x, *, threshold: T(0) if x <= threshold else g, None, "fi")
hardtanh_backward    = scalar(lambda g, x, *, low, high: T(0) if (x <= low) | (x >= high) else g)
leaky_relu           = scalar(lambda x, *, slope: x if x > T(0) else x * slope)
leaky_relu_backward  = scalar(lambda g, x, *, slope: g if x > T(0) else g * slope)
hardshrink           = scalar(lambda x, *, lambd: T(0) if (x >= -lambd) & (x <= lambd) else x)
hardshrink_backward  = scalar(lambda g, x, *, lambd: T(0) if (x >= -lambd) & (x <= lambd) else g)
softshrink           = scalar(lambda x, *, lambd: x - minimum(maximum(x, -lambd), lambd))
relu6                = scalar(lambda x: minimum(maximum(x, T(0)), T(6)))
hardsigmoid          = scalar(lambda x: relu6(x + T(3)) / T(6))
hardsigmoid_backward = scalar(lambda g, x: g / T(6) if (x > T(-3)) & (x < T(3)) else T(0))
hardswish            = scalar(lambda x: x * relu6(x + T(3)) / T(6))

silu                 = scalar(lambda x: x * sigmoid(x))
silu_slope           = scalar(lambda x, s: s * (T(1) + x * (T(1) - s)))
silu_backward        = scalar(lambda g, x: g * silu_slope(x, sigmoid(x)))
gated                = scalar(lambda x, gate: x * sigmoid(gate))
sigmoid_slope        = scalar(lambda s: (T(1) - s) * s)
gate_backward        = scalar(lambda g, x, gate: g * (sigmoid_slope(sigmoid(gate)) * x))
decay                = scalar(lambda x: exp(-abs(x)))
log_sigmoid          = scalar(lambda x: minimum(x, T(0)) - log1p(exp(-abs(x))))

gelu                 = scalar(lambda x: x * T(0.5) * (T(1) + erf(x * T(SQRT_HALF))))
normal_cdf           = scalar(lambda x: T(0.5) * (T(1) + erf(x * T(SQRT_HALF))))
normal_density       = scalar(lambda x: exp(x * x * T(-0.5)) * T(NORMAL_DENSITY_AT_0))
gelu_backward        = scalar(lambda g, x: g * (normal_cdf(x) + x * normal_density(x)))
gelu_inner           = scalar(lambda x: T(SQRT_2_OVER_PI) * (x + T(0.044715) * x * x * x))
gelu_tanh            = scalar(lambda x: x * T(0.5) * (T(1) + tanh(gelu_inner(x))))

softplus_of          = scalar(lambda x: maximum(x, T(0)) + log1p(exp(-abs(x))))
mish                 = scalar(lambda x: x * tanh(softplus_of(x)))
mish_slope           = scalar(lambda x, t, s: t + x * s * (T(1) - t * t))
mish_backward        = scalar(lambda g, x: g * mish_slope(x, tanh(softplus_of(x)), sigmoid(x)))
# fmt: on


@partial(scalar, dtypes="fi")
def threshold(x: Element, *, threshold: Element, value: Element):
    return value if x <= threshold else x


@scalar
def gelu_tanh_backward(g: Element, x: Element):
    square = x * x
    t = tanh(T(SQRT_2_OVER_PI) * x * (T(1) + T(0.044715) * square))
    slope = (T(1) - t * t) * T(SQRT_2_OVER_PI) * (T(1) + T(3) * T(0.044715) * square)
    return g * (T(0.5) * (T(1) + t + x * slope))


@scalar
def log_sigmoid_backward(g: Element, x: Element, decay: Element):
    return g * ((T(1) if x < T(0) else decay) / (T(1) + decay))


@scalar
def hardswish_backward(g: Element, x: Element):
    return T(0) if x <= T(-3) else g * (x / T(3) + T(0.5)) if x < T(3) else g


@scalar
def softplus(x: Element, *, beta: Element, threshold: Element):
    return x if x * beta > threshold else log1p(exp(x * beta)) / beta


@scalar
def softplus_backward(g: Element, x: Element, *, beta: Element, threshold: Element):
    return g if x * beta > threshold else g * sigmoid(x * beta)


@scalar
def elu(x: Element, *, bottom: Element, top: Element, rate: Element):
    return expm1(x * rate) * bottom if x < T(0) else x * top


@scalar
def elu_backward(g: Element, x: Element, *, bottom: Element, top: Element, rate: Element):
    return g * (rate * bottom * exp(x * rate) if x <= T(0) else top)


# for elu in place, whose argument is gone; in the exponential branch y + bottom is bottom * exp(..)
@scalar
def elu_backward_from_result(
    g: Element, y: Element, *, bottom: Element, top: Element, rate: Element
):
    return g * (rate * (y + bottom) if y <= T(0) else top)


@scalar
def logit_backward(g: Element, x: Element, *, low: Element, beyond: Element):
    return beyond if (x < low) | (x > T(1) - low) else g / (x * (T(1) - x))


# Losses. `scale` is 1 / n for a mean, else 1.
mse = scalar(lambda x, y: (x - y) * (x - y))
mse_backward = scalar(lambda g, x, y, *, scale: (x - y) * (g * scale))


@scalar
def smooth_l1(x: Element, y: Element, *, beta: Element):
    z = abs(x - y)
    return T(0.5) * z * z / beta if z < beta else z - T(0.5) * beta


@scalar
def smooth_l1_backward(g: Element, x: Element, y: Element, *, beta: Element, scale: Element):
    d = x - y
    return (T(1) if d >= beta else T(-1) if d <= -beta else d / beta) * (g * scale)


@scalar
def huber(x: Element, y: Element, *, delta: Element):
    z = abs(x - y)
    return T(0.5) * z * z if z <= delta else delta * (z - T(0.5) * delta)


@scalar
def huber_backward(g: Element, x: Element, y: Element, *, delta: Element, scale: Element):
    return minimum(maximum(x - y, -delta), delta) * (g * scale)


@partial(scalar, compiled=False)
def binary_cross_entropy(x: Element, y: Element):
    # Compiled code checks assertions only with numba's debug=True.
    assert T(0) <= x <= T(1), "all elements of input should be between 0 and 1"
    floor = T(-100)  # log(0) is -inf, and the loss should stay finite
    return (y - T(1)) * maximum(log1p(-x), floor) - y * maximum(log(x), floor)


@scalar
def binary_cross_entropy_backward(g: Element, x: Element, y: Element, *, scale: Element):
    return (x - y) / maximum((T(1) - x) * x, T(EPSILON)) * (g * scale)


def get(name: str) -> ScalarFunction:
    """The function of one element of that name. Raises KeyError if the table has none."""
    return _TABLE[name]


def entries() -> list[ScalarFunction]:
    """All lines of the table."""
    return list(_TABLE.values())


_TABLE = {name: entry for name, entry in globals().items() if isinstance(entry, ScalarFunction)}
for _name, _entry in _TABLE.items():
    _entry.name = _name
    if _entry.formula is not None:  # a lambda has no name: let it have that of its line
        _entry.formula.name = _entry.formula.function.__name__ = _name
