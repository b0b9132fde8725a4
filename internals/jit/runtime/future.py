"""`fork` and `wait`: asynchronous tasks of a script (`aten/src/ATen/core/ivalue_inl.h`,
`struct Future`).

`fut = jit.fork(f, x)` starts `f(x)` in a thread of its own and returns at once; `jit.wait(fut)`
returns its result, or raises its error. The thread has the grad mode of the one that forked it.

How the real one differs: forks share a pool of threads, and an interpreter that waits is suspended
instead of blocking one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from internals.core.grad_mode import is_grad_enabled, set_grad_mode


class Future:
    """A value that is being computed."""

    def __init__(self) -> None:
        self._finished = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether the computation has ended, with a value or an error."""
        return self._finished.is_set()

    def wait(self) -> Any:
        """The value. Blocks until it is there; raises the error of the computation."""
        self._finished.wait()
        if self._error is not None:
            raise self._error
        return self._value

    value = wait

    def set_result(self, value: Any) -> None:
        self._value = value
        self._finished.set()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._finished.set()


def wait(future: Future) -> Any:
    """The value of a future, as `Future.wait`."""
    return future.wait()


def fork(function: Callable[..., Any], *inputs: Any, **named: Any) -> Future:
    """Start `function(*inputs, **named)` in a thread. Returns the future of its result."""
    future, recording = Future(), is_grad_enabled()

    def run() -> None:
        set_grad_mode(recording)
        try:
            future.set_result(function(*inputs, **named))
        except BaseException as error:
            future.set_exception(error)
        finally:
            set_grad_mode(True)

    threading.Thread(target=run, daemon=True).start()
    return future
