"""The short way through `TensorIterator`, for the call that most calls are: contiguous floats of one geometry, a new result.

Nothing has to be decided then. `unary(np.exp, x)` and `binary(np.add, a, b)` allocate, loop, and return; for every other kind of
call they do what they stand for: `TensorIterator(...).run(loop)`.

How the real one differs: a C++ `TensorIterator` has the same short cut inside (`fast_set_up`); building one costs nothing there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.core.float_errors import quiet, restore
from internals.core.scalar import checked
from internals.core.tensor_impl import array, empty

from .tensor_iterator import TensorIterator

_NUMBERS = frozenset((float, int, bool, complex))


def unary(loop: Callable[..., Any], x: Any, out: Any = None, promote: str = "float") -> Any:
    """`loop(x)` elementwise; `promote` as in `TensorIterator`."""
    g = x._geometry.without_grad
    if out is not None or not g.fast:
        return TensorIterator((x,), out, promote).run(loop)
    result = empty(g)
    a = x._array
    token = quiet()
    try:
        loop(array(x) if a is None else a, out=array(result))
    finally:
        restore(token)
    return result


def binary(loop: Any, a: Any, b: Any, out: Any = None, promote: str = "common") -> Any:
    """`loop(a, b)` elementwise, a numpy ufunc; `a` and `b` are tensors or numbers."""
    kind = b.__class__
    if out is None and kind is a.__class__ and kind not in _NUMBERS:
        g = a._geometry.without_grad
        if g.takes_floats and g.fast and b._geometry.without_grad is g:
            result = empty(g)
            x, y = a._array, b._array
            token = quiet()
            try:
                loop(array(a) if x is None else x, array(b) if y is None else y, array(result))
            finally:
                restore(token)
            return result
    elif out is None and (kind is float or kind is int) and a.__class__ not in _NUMBERS:
        g = a._geometry.without_grad
        if g.takes_floats and g.fast:
            result = empty(g)
            token = quiet()
            try:
                loop(array(a), b, array(result))
            finally:
                restore(token)
            return result
    return TensorIterator((a, b), out, promote, None, True).run(loop)


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
    scale = checked(alpha, g.dtype)
    result = empty(g) if out is None else out
    token = quiet()
    try:
        loop(array(a), array(b) * scale, array(result))
    finally:
        restore(token)
    return result
