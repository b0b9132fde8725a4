"""Compiles while the program goes on: one thread does the jobs, and ends when none is left.

On a terminal, the last line shows what is being compiled; in other places, such as a notebook,
nothing is shown.

How the real one differs: PyTorch 1.0.1 waits for the compiler at the first call; today's Inductor
can compile in other processes.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable

Job = tuple[str, Callable[[], None]]


class Background:
    """A queue of jobs and the thread that does them, one after the other. Jobs that still wait when
    the program ends are dropped.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Starts anew, without jobs. A forked process needs it: threads and the locks they hold do
        not go on in the child.
        """
        self.jobs: deque[Job] = deque()
        self.changed = threading.Condition()
        self.working = False

    def submit(self, title: str, job: Callable[[], None]) -> None:
        """Queues `job`, which handles its own errors. `title` is shown while it runs."""
        with self.changed:
            self.jobs.append((title, job))
            if not self.working:
                self.working = True
                threading.Thread(target=self._work, name="internals fuser").start()

    def wait(self) -> None:
        """Returns when all jobs are done."""
        with self.changed:
            self.changed.wait_for(lambda: not self.working)

    def _work(self) -> None:
        """The thread: does jobs until none is left, or until the main thread has ended."""
        while True:
            with self.changed:
                # deciding to end and taking a job happen under the lock, so that `submit` knows
                # whether it has to start a thread
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
    """Replaces the last line of a terminal by `text`."""
    stream = sys.stderr
    if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb":
        # \r goes to the start of the line, \x1b[K erases it
        stream.write(f"\r\x1b[K{text}")
        stream.flush()


background = Background()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.forget)
