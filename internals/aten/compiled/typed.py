"""Kernels that are templates over one dtype `T`: their machine code for the dtype of a tensor.

How the real one differs: `AT_DISPATCH_FLOATING_TYPES` instantiates such a template for each dtype when the library is built.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.machine_code.language import Kernel

from .ready import ready

FLOATS = (dt.float32, dt.float64)


@cache
def typed(kernel: Kernel, signature: str, dtype: dtype) -> Any:
    """The machine code of `kernel` with T bound; in `signature`, T stands for its type. None where numpy has to serve."""
    number: Any = dtype.np
    return ready(kernel.bind(T=number.type), signature.replace("T", np.dtype(number).str[1:]))
