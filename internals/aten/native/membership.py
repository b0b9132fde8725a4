"""The test whether elements are in a set: `isin` (`aten/src/ATen/native/TensorCompare.cpp`).

Both sides are promoted to one dtype first, and numpy's `isin` answers for all elements at once.

How the real one differs: for few `test_elements` it compares every pair, else it sorts. If the
elements are not unique, `assume_unique=True` gives wrong answers there; here it changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.set_output import set_output
from internals.aten.tensor_iterator import number
from internals.core.dtype import BOOL, COMPLEX, SCALAR_TYPE_NAME, bool_, dtype
from internals.core.promotion import result_type
from internals.core.tensor_impl import Tensor, TensorImpl, array


def isin(
    elements: Tensor,
    test_elements: Tensor,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Any:
    """Whether each of `elements` is among `test_elements` (or is not, if `invert`), as a bool
    tensor of the sizes of `elements`; either may be a number.

    Raises RuntimeError for complex and bool, and for an `out` that is not bool.
    """
    for x in (elements, test_elements):
        d = result_type((x,))
        if d.category in (BOOL, COMPLEX):
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {SCALAR_TYPE_NAME[d]}"
            )
    result = set_output(getattr(elements, "shape", ()), bool_, out)
    common = result_type((elements, test_elements))
    array(result)[...] = np.isin(
        _values(elements, common), _values(test_elements, common), invert=invert
    )
    return result


def _values(x: float | Tensor, d: dtype) -> Any:
    """A tensor as an array, or a number as one of numpy's, of dtype `d`."""
    return array(x).astype(d.np) if isinstance(x, TensorImpl) else number(x, d)
