"""Settings of a thread: the executor that runs its plans, and whether they are optimised
(`getGraphExecutorOptimize` of `torch/csrc/jit/runtime/graph_executor.cpp`).

    with jit.executor("interpreter"): fn(x)            # bytecode instead of emitted Python
    with jit.optimized_execution(False): fn(x)         # one plan for all arguments, only the passes
                                                       # that are needed to run

How the real one differs: there is only one executor; `optimized_execution` is a setting of the
thread as well.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

EXECUTORS = ("emitted", "interpreter")


class Settings(threading.local):
    """The settings of the current thread; the class attributes are the defaults."""

    executor: str = "emitted"
    optimize: bool = True


class Changed:
    """`changed.threads` counts the `with` blocks that change settings, in all threads. While it is
    0, executors need not look at the settings: reading a thread-local is slow.
    """

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads = 0


settings = Settings()
changed = Changed()
_lock = threading.Lock()


@contextmanager
def executor(name: str) -> Iterator[None]:
    """Run compiled functions of this thread, inside the `with` block, by the executor `name`:
    "emitted" (the default) or "interpreter". Raises ValueError for any other name.
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
    """Let this thread, inside the `with` block, optimise graphs before it runs them, or not."""
    before, settings.optimize = settings.optimize, bool(should_optimize)
    with _other_settings():
        try:
            yield
        finally:
            settings.optimize = before


@contextmanager
def _other_settings() -> Iterator[None]:
    """Count this thread among those with other settings."""
    with _lock:
        changed.threads += 1
    try:
        yield
    finally:
        with _lock:
            changed.threads -= 1
