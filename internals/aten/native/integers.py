"""Common divisors and multiples (`aten/src/ATen/native/BinaryOps.cpp`: `gcd`, `lcm`).

How the real one differs: Euclid's algorithm is written out there (`calc_gcd`); numpy has it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .real import run_integral

# The greatest common divisor, never negative; gcd(0, 0) is 0. Raises NotImplementedError unless
# integers.
gcd = partial(run_integral, "gcd_cpu", np.gcd)


# The least common multiple, never negative; 0 if either is 0. Raises NotImplementedError unless
# integers.
lcm = partial(run_integral, "lcm_cpu", np.lcm)
