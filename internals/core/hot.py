"""The switch between the three paths through an operator.

- The *reference path* is the one to read: `Dispatcher.call`, the kernels of the keys one after the
  other, `TensorIterator`, numpy's loop, and `Allocator.allocate`, step by step. The other two paths
  compute the same.
- The *fast lane* (`_generated/fast_lane.py`, and the cache from key set to kernel of the generated
  operators) skips all steps that have no effect outside. It is open while `hot.off` is 0.
- *Compiled loops* take numpy's place for large tensors. They are open while `hot.readers` is 0.

How the real one differs: no such switch. Its layers are C++, and the compiler inlines them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Hot:
    """`off` counts the reasons to go through all layers, such as a key guard, a replaced kernel or
    allocator, or a recording of calls. The loop at the end of the path may still be a compiled one.
    `readers` counts those among the reasons that ask for numpy's loops too.
    """

    __slots__ = ("off", "readers")

    def __init__(self) -> None:
        self.off = self.readers = 0

    @contextmanager
    def detour(self) -> Iterator[None]:
        """A block in which every call goes through the layers."""
        self.off += 1
        try:
            yield
        finally:
            self.off -= 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A block in which every call takes the reference path, numpy's loops included."""
        self.readers += 1
        try:
            with self.detour():
                yield
        finally:
            self.readers -= 1


hot = Hot()
