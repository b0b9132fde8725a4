"""Decides whether an operator of two operands may take the fast path, without a `TensorIterator`
(`fast_set_up` in `aten/src/ATen/TensorIterator.cpp`).

How the real one differs: a C++ `TensorIterator` decides it for any number of operands, once it has
been built.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from internals.core.geometry import Geometry
from internals.core.tensor_impl import Tensor

NUMBERS = frozenset((float, int, bool, complex))


def one_geometry(a: Any, b: Any, out: Tensor | None) -> Geometry | None:
    """The geometry of the result, if that is the one of both operands, contiguous and of floats;
    one of them may also be a number, or a tensor that only has to be repeated.

    `out` must be None or `a`, which is then overwritten element by element. None if any of this
    does not hold, and a `TensorIterator` has to decide.
    """
    kind = b.__class__
    if kind is float or kind is int:
        g = None if a.__class__ in NUMBERS else a._geometry.without_grad
    elif (kind := a.__class__) is float or kind is int:
        g = None if b.__class__ in NUMBERS else b._geometry.without_grad
    else:  # two tensors, or something that neither branch knows
        x, y = getattr(a, "_geometry", None), getattr(b, "_geometry", None)
        # a write to `out` must not change elements of b that have not been read
        if x is None or y is None or (out is not None and a is not b and a._storage is b._storage):
            return None
        g, other = x.without_grad, y.without_grad
        if g is not other:
            g = _broadcast(g, other)
    if g is None or not g.fast or not g.takes_floats:
        return None
    return g if out is None or (out is a and a._geometry.without_grad is g) else None


@lru_cache(maxsize=1 << 12)
def _broadcast(a: Geometry, b: Geometry) -> Geometry | None:
    """The larger of two geometries, if the smaller one only has to be repeated to fit it, or is a
    single number expanded to the same sizes; else None.
    """
    for small, large in ((b, a), (a, b)):
        if a.dtype is b.dtype and a.keys == b.keys and large.fast:
            pairs = zip(reversed(small.sizes), reversed(large.sizes))
            fits = (
                small.fast
                and len(small.sizes) <= len(large.sizes)
                and all(n in (1, m) for n, m in pairs)
            )
            if fits or (small.sizes == large.sizes and not any(small.strides)):
                return large
    return None
