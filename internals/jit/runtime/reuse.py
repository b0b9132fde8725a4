"""A sum written over one of its addends, when nobody will look at that again.

In `y = y + x` the old y is garbage as soon as the sum exists. If it is this script's alone, the sum
may as well be written into it: no memory is asked for, no tensor is made, none is freed, which for
small tensors is most of the work. numpy does the same with the intermediate results of `a + b + c`
("temporary elision").

Whether somebody else has the tensor cannot be read off the graph. It may be an argument, the
caller's; or an element of a list; or share its memory with a view. But then somebody holds a
reference to it, or to its storage, and Python counts those. So the graph says that the value is
used for the last time, the counts say that it is nobody else's, and everything unusual (memory that
was borrowed from numpy, a version counter, gradients to be recorded, somebody watching the
allocator) takes the ordinary way.

How the real one differs: the JIT never does this; the fuser goes further, and never makes the
intermediate tensors at all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from internals import Tensor
from internals.core.allocator import drop_reference
from internals.core.hot import hot

Function = Callable[[Any, Any], Any]
# raised, if the user wants that, when the result is complete
_float_errors = (RuntimeWarning, FloatingPointError)


def reusing(function: Function, loop: Callable[..., Any], second: bool = False) -> Function:
    """`function` of two tensors, which may write the result over the first (or the second), by
    numpy's `loop`.
    """

    def call(a: Tensor, b: Tensor) -> Any:
        if a.__class__ is Tensor and getrefcount(a) == ALONE and not hot.off:
            g, storage = a._geometry, a._storage
            if (
                g.fast
                and b._geometry is g
                and getrefcount(storage) == HELD_ALONE
                and storage._resizable
                and storage._data.deleter is not drop_reference  # no slice looks at it
                and a._version_counter is None
                and a._autograd_meta is None
            ):
                x, y = a._array, b._array
                if x is not None and y is not None:
                    try:
                        loop(x, y, x)
                    except _float_errors:
                        pass
                    return a
        return function(a, b)

    def call_second(a: Tensor, b: Tensor) -> Any:
        if b.__class__ is Tensor and getrefcount(b) == ALONE and not hot.off:
            g, storage = b._geometry, b._storage
            if (
                g.fast
                and a._geometry is g
                and getrefcount(storage) == HELD_ALONE
                and storage._resizable
                and storage._data.deleter is not drop_reference  # no slice looks at it
                and b._version_counter is None
                and b._autograd_meta is None
            ):
                x, y = a._array, b._array
                if x is not None and y is not None:
                    try:
                        loop(x, y, y)
                    except _float_errors:
                        pass
                    return b
        return function(a, b)

    return call_second if second else call


def count_alone() -> int:
    """How many references a function sees of what its caller holds in one variable: that one, its
    own, `getrefcount`'s.
    """

    def see(thing: object) -> int:
        return getrefcount(thing)

    thing = object()
    return see(thing)


def count_held() -> int:
    """The same for what one attribute of another object holds."""
    holder = _Holder()
    thing = holder.thing
    return getrefcount(thing)


class _Holder:
    __slots__ = ("thing",)

    def __init__(self) -> None:
        self.thing = object()


ALONE, HELD_ALONE = count_alone(), count_held()
LOOPS = {
    "+": (operator.add, np.add),
    "-": (operator.sub, np.subtract),
    "*": (operator.mul, np.multiply),
}
INTO_FIRST = {symbol: reusing(*functions) for symbol, functions in LOOPS.items()}
INTO_SECOND = {symbol: reusing(*functions, second=True) for symbol, functions in LOOPS.items()}
