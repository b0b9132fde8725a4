"""Who runs when: queues of tasks, engines that run them, and a clock (the GPU's front end, in 200
lines).

A stream is a queue: its tasks run one after the other. A task also waits for the tasks it was told
to wait for (events), and for its engine. A device has three: one for kernels, one for copies to the
device, one for copies from it. Copy engines run one copy at a time. The kernel engine has as many
slots as the device has multiprocessors; a kernel starts when one is free, and takes one for each of
its blocks if there are so many. So small kernels of different streams run side by side, and a large
one keeps the others waiting.

Nothing happens until the clock moves. The clock is the host's: each driver call costs some
microseconds, and waiting for a task moves it to that task's end. `advance(to)` then starts and
finishes, in order of simulated time, everything that falls before `to`. A task takes effect when it
ends; whoever looks at its result before that sees what was there before.

Mirrors nothing in PyTorch: it stands for the hardware.

How the real one differs: blocks, not kernels, are dealt out to multiprocessors, several to each; a
stream's priority also counts between the blocks of kernels that run already; copies may be split;
and a task's effects trickle in while it runs.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

Action = Callable[[], None]


@dataclass(eq=False, slots=True)
class Task:
    """One piece of queued work. `start` and `end` (nanoseconds) are known once it was started;
    `done`: it took effect.
    """

    name: str
    kind: str  # "kernel", "h2d", "d2h", "d2d", "memset", "event" or "wait"
    device: int
    stream: int
    action: Action | None = None
    duration: int = 0
    engine: str | None = None  # "kernels", "h2d", "d2h"
    slots: int = 1
    after: tuple[Task, ...] = ()
    nbytes: int = 0
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    correlation: int = 0
    enqueued: int = 0
    start: int | None = None
    end: int | None = None
    done: bool = False


@dataclass(eq=False, slots=True)
class Queue:
    """A stream: tasks that were not started, and when the last started one ends."""

    device: int
    handle: int
    priority: int = 0
    tasks: deque[Task] = field(default_factory=deque)
    last: Task | None = None  # the newest task, started or not
    free_at: int = 0


class Engine:
    """What runs tasks, `slots` at a time (a task may take several)."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._running: list[tuple[int, int]] = []  # (end, slots)

    def free(self, moment: int) -> int:
        return self.slots - sum(n for end, n in self._running if end > moment)

    def earliest(self, ready: int) -> int:
        """The first moment from `ready` on at which a slot is free."""
        moment = ready
        for end, _ in sorted(self._running):
            if self.free(moment):
                break
            moment = max(moment, end)
        return moment

    def occupy(self, start: int, end: int, wanted: int) -> None:
        """From `start` to `end` a task holds `wanted` slots, or as many as are free."""
        taken = min(wanted, self.free(start))
        self._running = [(e, n) for e, n in self._running if e > start]
        self._running.append((end, taken))


class Schedule:
    """The clock `now`, all queues and engines. `execute` is called with each task as it ends, in
    order of simulated time.
    """

    def __init__(
        self, engines: dict[tuple[int, str], Engine], execute: Callable[[Task], None]
    ) -> None:
        self.now = 0
        self.engines = engines
        self.queues: dict[tuple[int, int], Queue] = {}
        self._execute = execute
        self._busy: dict[Queue, None] = {}  # queues with tasks that were not started
        self._running: list[tuple[int, int, Task]] = []  # a heap of started tasks, by end
        self._started = 0

    def enqueue(self, task: Task) -> Task:
        """Put a task at the end of its stream."""
        queue = self.queues[task.device, task.stream]
        task.enqueued = self.now
        queue.tasks.append(task)
        queue.last = task
        self._busy[queue] = None
        return task

    def spend(self, nanoseconds: int) -> None:
        """The host is busy; meanwhile the device goes on."""
        self.now += nanoseconds
        self.advance(self.now)

    def wait_for(self, task: Task) -> None:
        """The host waits until `task` is done."""
        while not task.done:
            self.advance(self._next_moment())
        assert task.end is not None
        self.now = max(self.now, task.end)
        self.advance(self.now)

    def advance(self, to: float) -> None:
        """Start and finish everything whose time comes no later than `to`."""
        while True:
            start, queue = self._next_start()
            if self._running and self._running[0][0] <= min(to, start):
                self._finish()
            elif queue is not None and start <= to:
                self._start(queue, int(start))
            else:
                return

    def pending(self, device: int) -> list[Task]:
        """The newest task of each stream of a device that is not done."""
        return [
            q.last
            for q in self.queues.values()
            if q.device == device and q.last is not None and not q.last.done
        ]

    def _next_moment(self) -> float:
        moment = min(self._running[0][0] if self._running else inf, self._next_start()[0])
        if moment == inf:
            raise RuntimeError("a simulated device waits for something that was never queued")
        return moment

    def _next_start(self) -> tuple[float, Queue | None]:
        """When the next task can start, and in which stream. Of several, the most urgent, then the
        one queued first.
        """
        best: tuple[float, int, int] = (inf, 0, 0)
        chosen = None
        for queue in self._busy:
            task = queue.tasks[0]
            start = self._ready(task, queue)
            if start is None:
                continue
            if task.engine is not None:
                start = self.engines[task.device, task.engine].earliest(start)
            key = (start, queue.priority, task.enqueued)
            if key < best:
                best, chosen = key, queue
        return best[0], chosen

    @staticmethod
    def _ready(task: Task, queue: Queue) -> int | None:
        """When nothing but its engine holds the task up; None if that is not known yet."""
        ready = max(task.enqueued, queue.free_at)
        for other in task.after:
            if other.end is None:
                return None
            ready = max(ready, other.end)
        return ready

    def _start(self, queue: Queue, start: int) -> None:
        task = queue.tasks.popleft()
        if not queue.tasks:
            del self._busy[queue]
        task.start, task.end = start, start + task.duration
        queue.free_at = task.end
        if task.engine is not None:
            self.engines[task.device, task.engine].occupy(start, task.end, task.slots)
        self._started += 1
        heapq.heappush(self._running, (task.end, self._started, task))

    def _finish(self) -> None:
        task = heapq.heappop(self._running)[2]
        task.done = True
        task.after = ()
        self._execute(task)
        task.action = None
