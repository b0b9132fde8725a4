"""The short way through `TensorIterator`, for the call that most calls are: contiguous floats of one dtype.

Nothing has to be decided when their geometry is one, or one only repeats the other. `unary(np.exp, x)` and `binary(np.add, a, b)`
allocate, loop, and return; for every other kind of call, and for tensors large enough for machine code, they do what they stand
for: `TensorIterator(...).run(loop)`.

How the real one differs: a C++ `TensorIterator` has the same short cut inside (`fast_set_up`); building one costs nothing there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from internals.core.float_errors import quiet, restore
from internals.core.geometry import Geometry
from internals.core.scalar import checked
from internals.core.tensor_impl import array, empty
from internals.machine_code.settings import settings

from .tensor_iterator import TensorIterator, compiled

_NUMBERS = frozenset((float, int, bool, complex))


def unary(loop: Callable[..., Any], x: Any, out: Any = None, promote: str = "float") -> Any:
    """`loop(x)` elementwise; `promote` as in `TensorIterator`."""
    g = x._geometry.without_grad
    if out is not None or not g.fast or g.numel >= settings.least:
        return TensorIterator((x,), out, promote).run(loop)
    result = empty(g)
    a = x._array
    token = quiet()
    try:
        loop(array(x) if a is None else a, out=array(result))
    finally:
        restore(token)
    return result


def binary(loop: Callable[..., Any], a: Any, b: Any, out: Any = None, promote: str = "common") -> Any:
    """`loop(a, b, out)` elementwise; `a` and `b` are tensors, or one of them is a number and `loop` a numpy ufunc."""
    g = _usual(a, b, out)
    if g is None or g.numel >= settings.least:
        return TensorIterator((a, b), out, promote, None, True).run(loop)
    result = empty(g) if out is None else out
    token = quiet()
    try:
        loop(a if a.__class__ in _NUMBERS else array(a), b if b.__class__ in _NUMBERS else array(b), out=array(result))
    finally:
        restore(token)
    return result


def takes_scaled(a: Any, b: Any, alpha: Any, out: Any) -> bool:
    """Whether `scaled` is meant for these arguments: what the update of an optimizer looks like, `p.add_(grad, alpha=-lr)`."""
    if alpha.__class__ is not float or a.__class__ in _NUMBERS or b.__class__ in _NUMBERS:
        return False
    g = a._geometry.without_grad
    same = g.takes_floats and g.fast and b._geometry.without_grad is g
    return same and (out is None or (out is a and a._storage is not b._storage))


def scaled(loop: Any, a: Any, b: Any, alpha: float, out: Any) -> Any:
    """`loop(a, alpha * b)` elementwise, a numpy ufunc; new, or in `a`. Raises RuntimeError for an alpha out of range."""
    g = a._geometry.without_grad
    scale = alpha if -3e38 < alpha < 3e38 else checked(alpha, g.dtype)
    result = empty(g) if out is None else out
    if g.numel >= settings.least and compiled().run_scaled(loop, a, b, scale, result):
        return result
    token = quiet()
    try:
        loop(array(a), array(b) * scale, array(result))
    finally:
        restore(token)
    return result


def _usual(a: Any, b: Any, out: Any) -> Geometry | None:
    """The geometry of the result when nothing has to be decided, and `out` is None or `a`, and written to where it is read."""
    kind = b.__class__
    if kind is float or kind is int:
        g = None if a.__class__ in _NUMBERS else a._geometry.without_grad
    elif (kind := a.__class__) is float or kind is int:
        g = None if b.__class__ in _NUMBERS else b._geometry.without_grad
    else:
        x, y = getattr(a, "_geometry", None), getattr(b, "_geometry", None)
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
    """The larger of two geometries if the smaller only has to be repeated to fit it, or is one number repeated already."""
    for small, large in ((b, a), (a, b)):
        if a.dtype is b.dtype and a.keys == b.keys and large.fast:
            pairs = zip(reversed(small.sizes), reversed(large.sizes))
            fits = small.fast and len(small.sizes) <= len(large.sizes) and all(n in (1, m) for n, m in pairs)
            if fits or (small.sizes == large.sizes and not any(small.strides)):
                return large
    return None
