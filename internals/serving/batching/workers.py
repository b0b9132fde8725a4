"""The threads that run batches, so that the event loop stays free to hear of new requests.

One queue, `workers` threads; a job is a function without arguments. The threads are daemons: a
model that never comes back must not keep the process from ending once the operator's patience
(`grace`) is over.

Mirrors `TritonModelInstance::TritonBackendThread`.

How the real one differs: `concurrent.futures.ThreadPoolExecutor` would do, but waits for its
threads when the interpreter exits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Workers:
    """`submit(job)` runs the job in one of the threads, first come first served. `stop()` lets them
    end after what is queued.
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
            del job  # or its tensors would live until the next one comes
