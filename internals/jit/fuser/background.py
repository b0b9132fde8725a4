"""Compiling while the program goes on: one thread, which ends when nothing is left to do.

A terminal shows what it is at; anything else, a notebook's output for one, does not.

How the real one differs: 1.0.1 waits for the compiler at the first call; today's Inductor can
compile in other processes.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable

Job = tuple[str, Callable[[], None]]


class Background:
    """Jobs are done one after the other. What is waiting when the program ends is not done any
    more.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Nothing to do and no thread, as in a process that was forked off."""
        self.jobs: deque[Job] = deque()
        self.changed = threading.Condition()
        self.working = False

    def submit(self, title: str, job: Callable[[], None]) -> None:
        """Do `job()` soon; it deals with its own errors."""
        with self.changed:
            self.jobs.append((title, job))
            if not self.working:
                self.working = True
                threading.Thread(target=self._work, name="internals fuser").start()

    def wait(self) -> None:
        """Return when all jobs are done."""
        with self.changed:
            self.changed.wait_for(lambda: not self.working)

    def _work(self) -> None:
        while True:
            with self.changed:
                if not self.jobs or not threading.main_thread().is_alive():
                    self.jobs.clear()
                    self.working = False
                    self.changed.notify_all()
                    break
                title, job = self.jobs.popleft()
            _tell(f"internals.jit: compiling {title} ...")
            try:
                job()
            finally:
                _tell("")


def _tell(text: str) -> None:
    """Replace the last line of a terminal."""
    stream = sys.stderr
    if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb":
        stream.write(f"\r\x1b[K{text}")
        stream.flush()


background = Background()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.forget)
