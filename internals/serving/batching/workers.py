"""The threads that run batches, so that the event loop stays free to accept requests.

There is one queue for `workers` threads; a job is a function without arguments. The threads are
daemons: a model that never returns must not keep the process from ending after the time for a
clean stop (`grace`).

Mirrors `TritonModelInstance::TritonBackendThread`.

`concurrent.futures.ThreadPoolExecutor` waits for its threads when the interpreter exits, so it
cannot be used here.

How the real one differs: Triton has one thread for each instance of a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Workers:
    """Runs jobs in `count` threads, in the order of `submit(job)`. After `stop()` the threads end
    when the queue is empty.
    """

    def __init__(self, count: int, name: str) -> None:
        self.count = count
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        for i in range(count):
            threading.Thread(target=self._work, name=f"{name}-{i}", daemon=True).start()

    def submit(self, job: Callable[[], None]) -> None:
        self.jobs.put(job)

    def stop(self) -> None:
        for _ in range(self.count):
            self.jobs.put(None)

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            job()
            del job  # else its tensors would stay in memory until the next job comes
