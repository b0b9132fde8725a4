"""The switch between the three ways through an operator.

- The *reference path* is the one to read: `Dispatcher.call`, the kernels of the keys one after the
  other, `TensorIterator`, numpy's loop, and `Allocator.allocate`, step by step. Whatever it
  computes, the other two compute as well.
- The *fast lane* (`_generated/fast_lane.py`, and the key set → kernel memo of the generated
  operators) skips the steps of which nothing can be seen from outside. It is open while `hot.off`
  is 0.
- *Compiled loops* take numpy's place for large tensors. They are open while `hot.readers` is 0.

How the real one differs: PyTorch needs no such switch. Its layers are C++ and the compiler inlines
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Hot:
    """`off` counts the reasons to walk through the layers; `readers`, those among them that want
    nothing else.

    A key guard, a replaced kernel or allocator, a recording of what is called: these want every
    layer to be asked, and the same bits and the same speed in the loop below.
    """

    __slots__ = ("off", "readers")

    def __init__(self) -> None:
        self.off = self.readers = 0

    @contextmanager
    def detour(self) -> Iterator[None]:
        """Every call in this block walks through the layers."""
        self.off += 1
        try:
            yield
        finally:
            self.off -= 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Every call in this block takes the reference path, and no other."""
        self.readers += 1
        try:
            with self.detour():
                yield
        finally:
            self.readers -= 1


hot = Hot()
