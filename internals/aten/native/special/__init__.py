"""Functions of mathematics beyond the elementary ones (`aten/src/ATen/native/Math.h`,
`UnaryOps.cpp`, `BinaryOps.cpp`).

error_functions.py         erfc, erfinv, erfcx; the normal distribution: ndtr, ndtri, log_ndtr
gamma_functions.py         lgamma, digamma, polygamma, mvlgamma, igamma, zeta
bessel_functions.py        Bessel's functions of orders 0 and 1, modified, scaled, spherical; Airy's
orthogonal_polynomials.py  Chebyshev's, Hermite's, Laguerre's, Legendre's
logarithms.py              sums of exponentials, entropy, x log y, logit

Nearly all are scipy's loops, run by a `TensorIterator`. They have no kernels for the GPU.

How the real one differs: they are C++ there, most of them taken from Cephes, as scipy's are.
"""
