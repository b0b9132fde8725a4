"""What is done to each element, as device functions: one line an operation (`aten/src/ATen/native/cuda/*Kernel.cu`, `Math.cuh`).

`kernels/elementwise.py` walks over memory, and one of these is its `op`. They take numbers of the dtype `T` that is computed in
(half precision computes in single) and may give any number: the kernel converts what comes out. Numbers that belong to the
operation, such as `alpha`, follow after the operands.

A literal like 1 is an int64 to numba, and float32 times int64 gives float64: so constants are written T(1).

How the real one differs: the same lines, as C++ lambdas in `gpu_kernel(iter, [=] GPU_LAMBDA (scalar_t a, scalar_t b) {...})`;
`exp` and its kind are the same functions of NVIDIA's libdevice.
"""

from __future__ import annotations

import math

from ..language import DeviceFunction, device_function, template

T = template("T")

# fmt: off
# Arithmetic. For bools the result is converted back to bool, which makes + an "or" and * an "and".
copy          = device_function(lambda a:           a)
one           = device_function(lambda a:           T(1))
add           = device_function(lambda a, b:        a + b)
sub           = device_function(lambda a, b:        a - b)
mul           = device_function(lambda a, b:        a * b)
div           = device_function(lambda a, b:        a / b)
add_scaled    = device_function(lambda a, b, alpha: a + b * alpha)
sub_scaled    = device_function(lambda a, b, alpha: a - b * alpha)
neg           = device_function(lambda a:           -a)
absolute      = device_function(lambda a:           abs(a))
sign          = device_function(lambda a:           T(1) if a > T(0) else T(-1) if a < T(0) else T(0))
maximum       = device_function(lambda a, b:        a if a > b or a != a else b)  # a != a: NaN
minimum       = device_function(lambda a, b:        a if a < b or a != a else b)
fmax          = device_function(lambda a, b:        b if a != a or a < b else a)
fmin          = device_function(lambda a, b:        b if a != a or a > b else a)
atan2         = device_function(lambda a, b:        math.atan2(a, b))
hypot         = device_function(lambda a, b:        math.hypot(a, b))
copysign      = device_function(lambda a, b:        math.copysign(a, b))
pow           = device_function(lambda a, exponent: math.pow(a, exponent))
square        = device_function(lambda a:           a * a)
cube          = device_function(lambda a:           a * a * a)
reciprocal    = device_function(lambda a:           T(1) / a)
inverse_square = device_function(lambda a:          T(1) / (a * a))

# Comparisons, logic, bits
eq            = device_function(lambda a, b: a == b)
ne            = device_function(lambda a, b: a != b)
lt            = device_function(lambda a, b: a < b)
le            = device_function(lambda a, b: a <= b)
gt            = device_function(lambda a, b: a > b)
ge            = device_function(lambda a, b: a >= b)
logical_and   = device_function(lambda a, b: a != T(0) and b != T(0))
logical_or    = device_function(lambda a, b: a != T(0) or b != T(0))
logical_xor   = device_function(lambda a, b: (a != T(0)) != (b != T(0)))
logical_not   = device_function(lambda a:    a == T(0))
bitwise_and   = device_function(lambda a, b: a & b)
bitwise_or    = device_function(lambda a, b: a | b)
bitwise_xor   = device_function(lambda a, b: a ^ b)
bitwise_not   = device_function(lambda a:    ~a)
isnan         = device_function(lambda a:    a != a)

# Exponentials, roots, trigonometry
exp           = device_function(lambda a: math.exp(a))
expm1         = device_function(lambda a: math.expm1(a))
log           = device_function(lambda a: math.log(a))
log1p         = device_function(lambda a: math.log1p(a))
log2          = device_function(lambda a: math.log2(a))
log10         = device_function(lambda a: math.log10(a))
sqrt          = device_function(lambda a: math.sqrt(a))
rsqrt         = device_function(lambda a: T(1) / math.sqrt(a))
sin           = device_function(lambda a: math.sin(a))
cos           = device_function(lambda a: math.cos(a))
tan           = device_function(lambda a: math.tan(a))
asin          = device_function(lambda a: math.asin(a))
acos          = device_function(lambda a: math.acos(a))
atan          = device_function(lambda a: math.atan(a))
sinh          = device_function(lambda a: math.sinh(a))
cosh          = device_function(lambda a: math.cosh(a))
tanh          = device_function(lambda a: math.tanh(a))
asinh         = device_function(lambda a: math.asinh(a))
acosh         = device_function(lambda a: math.acosh(a))
atanh         = device_function(lambda a: math.atanh(a))
erf           = device_function(lambda a: math.erf(a))
erfc          = device_function(lambda a: math.erfc(a))
lgamma        = device_function(lambda a: math.lgamma(a))
xlogy         = device_function(lambda a, b: T(0) if a == T(0) and b == b else a * math.log(b))
sigmoid       = device_function(lambda a: T(1) / (T(1) + math.exp(-a)))

# Rounding
floor         = device_function(lambda a: math.floor(a))
ceil          = device_function(lambda a: math.ceil(a))
trunc         = device_function(lambda a: math.trunc(a))
frac          = device_function(lambda a: a - math.trunc(a))

# Bounds and choices
clamp         = device_function(lambda a, low, high:      minimum(maximum(a, low), high))
at_least      = device_function(lambda a, low:            maximum(a, low))
at_most       = device_function(lambda a, high:           minimum(a, high))
where         = device_function(lambda condition, a, b:   a if condition else b)
masked        = device_function(lambda mask, a, value:    value if mask else a)
addcmul       = device_function(lambda a, b, c, value:    a + value * b * c)
addcdiv       = device_function(lambda a, b, c, value:    a + value * b / c)
# fmt: on


@device_function
def lerp(start, end, weight):
    """From whichever end is nearer, so that both ends are met exactly."""
    if abs(weight) < T(0.5):
        return start + weight * (end - start)
    return end - (end - start) * (T(1) - weight)


@device_function
def rint(a):
    """The nearest integer, the even one of two."""
    low = math.floor(a)
    above = a - low
    if above > T(0.5) or (above == T(0.5) and low != T(2) * math.floor(low / T(2))):
        low = low + T(1)
    return math.copysign(low, a)


# fmt: off
round_after_point  = device_function(lambda a, scale: rint(a * scale) / scale)
round_before_point = device_function(lambda a, scale: rint(a / scale) * scale)
# fmt: on


@device_function
def floor_divide(a, b):
    """a / b rounded down, for floats: from the remainder, so that it fits together with `remainder`."""
    if b == T(0):
        return a / b
    rest = math.fmod(a, b)
    quotient = (a - rest) / b
    if rest != T(0) and (rest < T(0)) != (b < T(0)):
        quotient = quotient - T(1)
    if quotient == T(0):
        return math.copysign(T(0), a / b)
    low = math.floor(quotient)
    return low + T(1) if quotient - low > T(0.5) else low


@device_function
def remainder(a, b):
    """What is left of a after division rounded down, for floats: it has the sign of b."""
    rest = math.fmod(a, b)
    return rest + b if rest != T(0) and (rest < T(0)) != (b < T(0)) else rest


# fmt: off
trunc_divide  = device_function(lambda a, b: math.trunc(a / b))
fmod          = device_function(lambda a, b: math.fmod(a, b))

# The same for integers. Python's // and % round down, C's round towards zero. A division by zero gives 0.
int_floor_divide = device_function(lambda a, b: a // b)
int_remainder    = device_function(lambda a, b: a % b)
# fmt: on


@device_function
def int_trunc_divide(a, b):
    quotient = a // b
    return quotient + 1 if a % b != 0 and (a < 0) != (b < 0) else quotient


@device_function
def int_fmod(a, b):
    rest = a % b
    return rest - b if rest != 0 and (a < 0) != (b < 0) else rest


@device_function
def int_power(a, exponent):
    """By repeated squaring, wrapping around; a negative power is 0 unless a is 1 or -1."""
    if exponent < 0:
        if a == 1:
            return T(1)
        if a + 1 == 0:
            return T(1) if exponent % 2 == 0 else a
        return T(0)
    power, rest = T(1), exponent
    while rest > 0:
        if rest % 2 == 1:
            power = T(power * a)
        a = T(a * a)
        rest = rest // 2
    return power


def named(functors: dict[str, object]) -> None:
    """A lambda has no name: let it have that of its line."""
    for name, value in functors.items():
        if isinstance(value, DeviceFunction) and value.name == "<lambda>":
            value.name = value.function.__name__ = name


named(globals())
