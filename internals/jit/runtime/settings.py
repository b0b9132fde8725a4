"""Which executor runs plans, and whether they are optimised: switches for the thread that sets them
(`getGraphExecutorOptimize` of `torch/csrc/jit/runtime/graph_executor.cpp`).

    with jit.executor("interpreter"): fn(x)            # bytecode instead of emitted Python
    with jit.optimized_execution(False): fn(x)         # one plan for all arguments, only the passes
                                                       # that are needed to run

How the real one differs: there is one executor, and `optimized_execution` is the thread's as well.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

EXECUTORS = ("emitted", "interpreter")


class Settings(threading.local):
    executor: str = "emitted"
    optimize: bool = True


class Changed:
    """`changed.threads` counts the threads with settings other than the usual: while it is 0,
    nobody needs to ask.
    """

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads = 0


settings = Settings()
changed = Changed()
_lock = threading.Lock()


@contextmanager
def executor(name: str) -> Iterator[None]:
    """Inside, this thread runs compiled functions with the executor `name`: "emitted" (the default)
    or "interpreter".
    """
    if name not in EXECUTORS:
        raise ValueError(f"executor is one of {', '.join(EXECUTORS)}, not {name!r}")
    before, settings.executor = settings.executor, name
    with _other_settings():
        try:
            yield
        finally:
            settings.executor = before


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Inside, this thread optimises graphs before it runs them, or does not."""
    before, settings.optimize = settings.optimize, bool(should_optimize)
    with _other_settings():
        try:
            yield
        finally:
            settings.optimize = before


@contextmanager
def _other_settings() -> Iterator[None]:
    with _lock:
        changed.threads += 1
    try:
        yield
    finally:
        with _lock:
            changed.threads -= 1
