"""The bits of integers and bools: & | ^, and shifts (`aten/src/ATen/native/BinaryOps.cpp`).

For bools, & | ^ are and, or, exclusive or, and shifts raise NotImplementedError, as all operators
here do for floating and complex dtypes. Shifting by more bits than there are, or by a negative
number, shifts every bit out: the result is 0, or -1 for a negative number shifted right.

How the real one differs: C++ leaves such shifts undefined, so its loops test for them; numpy's do,
too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.tensor_iterator import TensorIterator
from internals.core.dtype import FLOATING
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

from .real import run_integral

# self · 2**other; bits that do not fit are cut off.
bitwise_left_shift = partial(run_integral, "lshift_cpu", np.left_shift)


# self / 2**other rounded down: the sign is shifted in.
bitwise_right_shift = partial(run_integral, "rshift_cpu", np.right_shift)


def _bits(
    kernel: str,
    loop: Callable[..., Any],
    self: object,
    other: Scalar | Tensor,
    out: Tensor | None = None,
) -> Any:
    """The result of `loop`. Raises NotImplementedError unless both are integers or bools."""
    it = TensorIterator((self, other), out)
    if it.common_dtype.category >= FLOATING:
        raise not_implemented(kernel, it.common_dtype)
    return it.run(loop)


# The bits that are 1 in both.
bitwise_and = partial(_bits, "bitwise_and_cpu", np.bitwise_and)
# The bits that are 1 in either.
bitwise_or = partial(_bits, "bitwise_or_cpu", np.bitwise_or)
# The bits that differ.
bitwise_xor = partial(_bits, "bitwise_xor_cpu", np.bitwise_xor)
