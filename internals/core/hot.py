"""The switch between the short way through the layers and the readable one.

Generated code takes short cuts where nothing can be seen from outside: no dispatch-key guard is active, nobody traces the
dispatcher or records the allocator, no kernel was overridden. `hot.paused()` says "somebody is looking": while it is
active every call walks through `Dispatcher.call` and `Allocator.allocate`, step by step.

How the real one differs: PyTorch needs no such switch. Its layers are C++ and the compiler inlines them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Hot:
    """`hot.off` counts the reasons to take the long way; the short cuts are open while it is 0."""

    __slots__ = ("off",)

    def __init__(self) -> None:
        self.off = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.off += 1
        try:
            yield
        finally:
            self.off -= 1


hot = Hot()
