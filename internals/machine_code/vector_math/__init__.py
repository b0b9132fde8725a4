"""exp, log, sin and the rest for kernels, in arithmetic that a vectorised loop can do on all its
lanes at once.

The C library's exp takes one number and returns one: a loop that calls it cannot be vectorised, and
takes twenty times as long. The functions here consist of additions, multiplications and selects,
without a branch, so LLVM's vectoriser turns a loop over one exponential into one over sixteen at a
time. They are templates over `T`, float32 or float64, and run as plain Python too:

    from internals.machine_code.vector_math import erf

    @kernel
    def gelu(begin, end, x, out):
        for i in range(begin, end):
            out[i] = T(0.5) * x[i] * (T(1) + erf(x[i] * T(0.7071067811865476)))

`FUNCTIONS` has a line for each: the largest error seen (in units of the last place: 0.5 is correct
rounding), and how it works. NaN, infinities, signed zeros and denormal results are those of IEEE's
functions. PyTorch's eager kernels return the same, except where SLEEF reaches its limits early:
there sigmoid(-90) is 0 and cosh(89) is inf, here they are numbers. For float64, `pow` is the C
library's, one number at a time, as `fmod` is for both; sin, cos and tan of float64 are computed one
number at a time unless the CPU has AVX-512.

    bits                         casts, signs, powers of two
    polynomials                  tables of coefficients, written out as multiplications and
                                 additions
    exponential, logarithm       exp exp2 expm1 tanh sigmoid sinh cosh, log log2 log10 log1p
    trigonometric, payne_hanek   sin cos tan
    inverse_trigonometric        asin acos atan atan2
    error_function, powers       erf erfc, pow sqrt
    rounding                     floor ceil trunc round fmod copysign

How the real one differs: ATen calls SLEEF, or Intel's VML where it was built with MKL
(`aten/src/ATen/cpu/vec/vec512`, `vml.h`). glibc has such functions as well, `libmvec`, and a call
with the attribute `vector-function-abi-variant` reaches them on Linux; they are as accurate (4
ulp), and about as fast.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .error_function import erf, erfc
from .exponential import cosh, exp, exp2, expm1, sigmoid, sinh, tanh
from .inverse_trigonometric import acos, asin, atan, atan2
from .logarithm import log, log1p, log2, log10
from .powers import pow, sqrt
from .rounding import ceil, copysign, floor, fmod, round, trunc
from .trigonometric import cos, sin, tan


class VectorFunction(NamedTuple):
    """A function of this package: the largest errors seen in either precision, in units of the last
    place, and how it works.
    """

    function: Any
    arity: int
    float32: float
    float64: float
    how: str

    @property
    def name(self) -> str:
        """The function's name, as in C's library."""
        return str(self.function.name)


# fmt: off
FUNCTIONS = tuple(VectorFunction(*line) for line in (
    #              arguments  float32  float64
    (exp,          1,         1.0,     1.0,     "2^k, polynomial"),
    (exp2,         1,         1.1,     1.1,     "2^k, polynomial"),
    (expm1,        1,         1.6,     1.9,     "2^k, polynomial"),
    (tanh,         1,         2.6,     2.6,     "expm1, one division"),
    (sigmoid,      1,         2.4,     2.3,     "exp, one division"),
    (sinh,         1,         2.2,     2.4,     "expm1, one division"),
    (cosh,         1,         1.5,     1.5,     "exp, one division"),
    (log,          1,         1.0,     1.2,     "exponent, atanh series"),
    (log2,         1,         1.7,     1.6,     "exponent, atanh series"),
    (log10,        1,         1.9,     1.9,     "exponent, atanh series"),
    (log1p,        1,         1.5,     1.6,     "log, corrected rounding"),
    (sin,          1,         2.0,     2.8,     "Payne-Hanek, polynomial"),
    (cos,          1,         2.0,     2.8,     "Payne-Hanek, polynomial"),
    (tan,          1,         0.6,     4.6,     "Payne-Hanek, sin / cos"),
    (asin,         1,         2.4,     2.3,     "half angle, polynomial"),
    (acos,         1,         1.3,     1.3,     "half angle, polynomial"),
    (atan,         1,         2.2,     2.4,     "difference angle, polynomial"),
    (atan2,        2,         2.2,     2.4,     "difference angle, polynomial"),
    (erf,          1,         2.6,     2.6,     "two polynomials, exp"),
    (erfc,         1,         4.6,     4.3,     "scaled polynomial, exp"),
    (pow,          2,         0.6,     0.6,     "float64; C library"),
    (sqrt,         1,         0.5,     0.5,     "one instruction"),
    (floor,        1,         0.0,     0.0,     "one instruction"),
    (ceil,         1,         0.0,     0.0,     "one instruction"),
    (trunc,        1,         0.0,     0.0,     "one instruction"),
    (round,        1,         0.0,     0.0,     "one instruction"),
    (copysign,     2,         0.0,     0.0,     "two masks"),
    (fmod,         2,         0.0,     0.0,     "the C library"),
))
# fmt: on

__all__ = ["FUNCTIONS", "VectorFunction", *[line.name for line in FUNCTIONS]]
