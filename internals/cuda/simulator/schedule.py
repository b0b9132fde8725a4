"""Decides when the tasks of a simulated device run: queues of tasks, engines that run them, and a
clock (the GPU's front end, in 200 lines).

A stream is a queue: its tasks run one after the other. A task also waits for the tasks in `after`
(events), and for its engine. A device has three engines: one for kernels, one for copies to the
device, one for copies from it. A copy engine runs one copy at a time. The kernel engine has a slot
for each multiprocessor. A kernel starts when a slot is free, and takes one for each of its blocks,
or as many as are free. So small kernels of different streams run side by side, and a large one
keeps the others waiting.

Nothing happens until the clock moves. The clock is the host's: each driver call costs some
microseconds, and waiting for a task moves it to that task's end. `advance(to)` then starts and
finishes, in order of simulated time, everything up to `to`. A task takes effect when it ends; a
read of its result before that sees the old contents.

Mirrors nothing in PyTorch: it stands for the hardware.

How the real one differs: it assigns blocks, not kernels, to multiprocessors, several to each; the
priority of a stream also counts between blocks of kernels that run already; copies may be split;
and a task's effects become visible little by little while it runs.
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
    """A piece of queued work. Times are nanoseconds; `start` and `end` are known once it started.
    `done`: whether it took effect.
    """

    name: str
    kind: str  # "kernel", "h2d", "d2h", "d2d", "memset", "event" or "wait"
    device: int
    stream: int
    action: Action | None = None
    duration: int = 0
    engine: str | None = None  # "kernels", "h2d", "d2h"
    slots: int = 1  # the slots of its engine that it wants
    after: tuple[Task, ...] = ()  # tasks of other streams that must end first
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
    """A stream. `tasks` are those not yet started; `free_at` is the end of the last one started."""

    device: int
    handle: int
    priority: int = 0
    tasks: deque[Task] = field(default_factory=deque)
    last: Task | None = None  # the newest task, started or not
    free_at: int = 0


class Engine:
    """A part of a device that runs tasks on `slots` slots; a task may take several."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._running: list[tuple[int, int]] = []  # (end, slots)

    def free(self, moment: int) -> int:
        """The number of slots that are free at `moment`."""
        return self.slots - sum(n for end, n in self._running if end > moment)

    def earliest(self, ready: int) -> int:
        """The first moment from `ready` on at which a slot is free."""
        moment = ready
        for end, _ in sorted(self._running):  # slots become free only when a task ends
            if self.free(moment):
                break
            moment = max(moment, end)
        return moment

    def occupy(self, start: int, end: int, wanted: int) -> None:
        """Let a task hold `wanted` slots, or as many as are free, from `start` to `end`."""
        taken = min(wanted, self.free(start))
        self._running = [(e, n) for e, n in self._running if e > start]
        self._running.append((end, taken))


class Schedule:
    """The clock `now`, all queues by (device, stream), all engines by (device, name). `execute` is
    called with each task when it ends, in order of simulated time.
    """

    def __init__(
        self, engines: dict[tuple[int, str], Engine], execute: Callable[[Task], None]
    ) -> None:
        self.now = 0
        self.engines = engines
        self.queues: dict[tuple[int, int], Queue] = {}
        self._execute = execute
        self._busy: dict[Queue, None] = {}  # an ordered set: queues with tasks not yet started
        self._running: list[tuple[int, int, Task]] = []  # a heap of started tasks, by end
        self._started = 0  # how many: it orders tasks that end at the same moment

    def enqueue(self, task: Task) -> Task:
        """Put a task at the end of its stream."""
        queue = self.queues[task.device, task.stream]
        task.enqueued = self.now
        queue.tasks.append(task)
        queue.last = task
        self._busy[queue] = None
        return task

    def spend(self, nanoseconds: int) -> None:
        """Move the clock on by the time that the host is busy; the devices go on meanwhile."""
        self.now += nanoseconds
        self.advance(self.now)

    def wait_for(self, task: Task) -> None:
        """Move the clock to the end of `task`, if that is later. Raises RuntimeError if it can
        never start.
        """
        while not task.done:  # its end is known only when everything before it has started
            self.advance(self._next_moment())
        assert task.end is not None
        self.now = max(self.now, task.end)
        self.advance(self.now)

    def advance(self, to: float) -> None:
        """Start and finish everything whose time comes no later than `to`."""
        while True:
            start, queue = self._next_start()
            # at the same moment an end comes before a start, which must see its effect
            if self._running and self._running[0][0] <= min(to, start):
                self._finish()
            elif queue is not None and start <= to:
                self._start(queue, int(start))
            else:
                return

    def pending(self, device: int) -> list[Task]:
        """For each stream of a device its newest task, unless that is done."""
        return [
            q.last
            for q in self.queues.values()
            if q.device == device and q.last is not None and not q.last.done
        ]

    def _next_moment(self) -> float:
        """The time of the next end or start of a task. Raises RuntimeError if there is none."""
        moment = min(self._running[0][0] if self._running else inf, self._next_start()[0])
        if moment == inf:
            raise RuntimeError("a simulated device waits for something that was never queued")
        return moment

    def _next_start(self) -> tuple[float, Queue | None]:
        """The time at which the next task can start, and its stream; inf and None if there is none.
        At the same time the more urgent stream comes first (the lower number), then the task that
        was queued first.
        """
        best: tuple[float, int, int] = (inf, 0, 0)
        chosen = None
        for queue in self._busy:
            task = queue.tasks[0]
            start = self._ready(task, queue)
            if start is None:  # it waits for a task that has not started itself
                continue
            if task.engine is not None:
                start = self.engines[task.device, task.engine].earliest(start)
            key = (start, queue.priority, task.enqueued)
            if key < best:
                best, chosen = key, queue
        return best[0], chosen

    @staticmethod
    def _ready(task: Task, queue: Queue) -> int | None:
        """The time from which the task waits for nothing but its engine; None if that is not known
        yet.
        """
        ready = max(task.enqueued, queue.free_at)
        for other in task.after:
            if other.end is None:
                return None
            ready = max(ready, other.end)
        return ready

    def _start(self, queue: Queue, start: int) -> None:
        """Start the first task of a queue. From now on its end is known."""
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
        """End the running task that ends first: it takes effect."""
        task = heapq.heappop(self._running)[2]
        task.done = True
        task.after = ()  # with `action` below: a finished task keeps no other task and no memory
        self._execute(task)
        task.action = None
