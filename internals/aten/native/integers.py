"""Common divisors and multiples (`aten/src/ATen/native/BinaryOps.cpp`: `gcd`, `lcm`).

How the real one differs: Euclid's algorithm is written out there (`calc_gcd`); numpy has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .real import integral


def gcd(self: Any, other: Any, out: Any = None) -> Any:
    """The greatest common divisor, never negative; gcd(0, 0) is 0. Raises NotImplementedError unless integers."""
    return integral("gcd_cpu", np.gcd, self, other, out=out)


def lcm(self: Any, other: Any, out: Any = None) -> Any:
    """The least common multiple, never negative; 0 if either is 0. Raises NotImplementedError unless integers."""
    return integral("lcm_cpu", np.lcm, self, other, out=out)
