"""A sum is written over one of its operands, if that operand is not needed any more.

In `y = y + x` the old y is garbage as soon as the sum exists. If only this script refers to it, the
sum can be written into its memory: no memory is allocated, no tensor is made, and none is freed,
which for small tensors is most of the work. numpy does the same with the intermediate results of
`a + b + c` ("temporary elision").

Whether the tensor is used elsewhere cannot be read off the graph. It may be an argument, which the
caller keeps; or an element of a list; or share its memory with a view. But each of these holds a
reference to the tensor, or to its storage, and Python counts references. So the graph says that
this is the last use of the value, and the counts say that there is no other reference. Everything
unusual (memory borrowed from numpy, a version counter, gradients to be recorded, an observed
allocator) takes the ordinary path.

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
# numpy raises these, if told to, after all elements are written: the result is complete
_float_errors = (RuntimeWarning, FloatingPointError)


def reusing(function: Function, loop: Callable[..., Any], second: bool = False) -> Function:
    """Returns `function` of two tensors, with a fast path: numpy's `loop` writes the result over
    the first operand (the second if `second`), where that is safe.
    """

    # `call` and `call_second` are written out twice: one more call would cost more than is gained.
    def call(a: Tensor, b: Tensor) -> Any:
        if a.__class__ is Tensor and getrefcount(a) == ALONE and not hot.off:
            g, storage = a._geometry, a._storage
            if (
                g.fast
                and b._geometry is g  # geometries are shared: same sizes, strides and dtype
                and getrefcount(storage) == HELD_ALONE  # no view has this memory
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
    """The number of references that a function sees to an object that its caller holds in one
    variable: the caller's, its own, and `getrefcount`'s. It is measured, as it differs between
    versions of Python.
    """

    def see(thing: object) -> int:
        return getrefcount(thing)

    thing = object()
    return see(thing)


def count_held() -> int:
    """The number of references to an object that one attribute and one variable hold."""
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
