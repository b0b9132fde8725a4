"""Dynamic batching: decides which requests wait, for how long, and when a batch starts.

A request joins the lane of its kind. A batch starts as soon as a worker is free and a lane is
ready: full (`max_batch` rows), or due (its first request has waited `max_delay`, or a deadline is
near). While all workers are busy the lanes simply grow, so under load batches fill by themselves
and no request waits for the delay.

The number of waiting requests is bounded (`max_queue`), and so are their bytes (`max_queue_bytes`).
One more is refused at once, so that its client can try another server instead of waiting in an
endless queue. A request whose client gives up, or whose deadline passes, leaves its lane before
anything is computed for it.

All of this runs in the event loop's thread, and needs no locks; only a batch itself runs in a
worker's thread.

Mirrors `DynamicBatchScheduler` of Triton (`core/src/dynamic_batch_scheduler.cc`).

How the real one differs: Triton has a thread per scheduler with a mutex and a condition variable,
preferred batch sizes, priorities and a timeout policy for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from internals import Tensor

from ..errors import DeadlineExceeded, ModelFailed, QueueFull, ServingError, Unavailable
from ..inference import InferRequest
from ..models.served_model import ServedModel
from ..observe.metrics import Metrics
from ..settings import Settings
from .execution import Execution, Outcome
from .lanes import Lane, Waiting, lane_key, rows_of
from .record import Recorder
from .workers import Workers

ALONE = "alone"  # the lane of requests without rows: each counts as a full batch


class Batcher:
    """The queue of one model. `await submit(request)` returns the outputs of the request's own
    rows.

    `report(event, **fields)` is called with "model_not_batched" and the reason. `recorder`, if set,
    is told of every event. A batcher must be used in one event loop only.
    """

    def __init__(
        self,
        model: ServedModel,
        settings: Settings,
        metrics: Metrics,
        report: Callable[..., Any] = lambda *a, **k: None,
    ) -> None:
        self.model, self.settings, self.metrics = model, settings, metrics
        self.max_batch = min(settings.max_batch, model.max_rows or settings.max_batch)
        executed = partial(metrics.execution, model.name, model.version)
        gave_up = partial(report, "model_not_batched", model=model.name, version=model.version)
        self.execution = Execution(
            model, executed, gave_up, batching=self.max_batch > 1 and model.batchable
        )
        self.workers = Workers(settings.workers, f"{model.name}-{model.version}")
        self.lanes: dict[object, Lane] = {}
        self.queued = self.queued_bytes = self.running = 0
        self.estimate = 0.0  # seconds that a batch takes, as a moving average
        self.draining = False
        self.idle = asyncio.Event()
        self.recorder: Recorder | None = None
        self._alarm: asyncio.TimerHandle | None = None

    async def submit(self, request: InferRequest) -> dict[str, Tensor]:
        """Waits for the batch that contains this request, and returns the request's outputs.

        Raises QueueFull, DeadlineExceeded, Unavailable while draining, or the model's error for
        this request. If the caller's task is cancelled, the request leaves its lane.
        """
        waiting = self._admit(request)
        alarm = None
        if request.deadline is not None:
            alarm = asyncio.get_running_loop().call_at(request.deadline, self._expire, waiting)
        try:
            return await waiting.future
        except asyncio.CancelledError:
            self._leave(waiting, "left")
            raise
        finally:
            if alarm is not None:
                alarm.cancel()

    async def drain(self) -> None:
        """Runs all waiting requests at once, and accepts no more. Returns after the last batch."""
        self.draining = True
        self._start_what_is_ready()
        if self.queued or self.running:
            await self.idle.wait()
        self.workers.stop()

    def _admit(self, request: InferRequest) -> Waiting:
        """Adds the request to its lane, or raises the reason why not."""
        loop = asyncio.get_running_loop()
        now, settings = loop.time(), self.settings
        rows = rows_of(request.inputs) if self.execution.batching else None
        nbytes = sum(t.nbytes for t in request.inputs.values())
        if self.draining:
            raise Unavailable(f"model '{self.model.name}' is being unloaded or replaced")
        # `max`: a request that alone exceeds the limit on bytes is accepted if the queue is empty.
        if self.queued >= settings.max_queue or self.queued_bytes + nbytes > max(
            settings.max_queue_bytes, nbytes
        ):
            if self.recorder:
                self.recorder.refused(now, rows or 1)
            raise QueueFull(
                f"{self.queued} requests ({self.queued_bytes} bytes) wait for model "
                f"'{self.model.name}' already: try again later"
            )
        due = now + settings.max_delay / 1000 if rows else now
        if request.deadline is not None:
            left = request.deadline - now
            if left <= 0:
                raise DeadlineExceeded("the deadline had passed when the request arrived")
            # Leave time for two batches, and at least half of the time to the deadline.
            due = min(due, now + max(min(left - 2 * self.estimate, left / 2), 0.0))
        waiting = Waiting(request, rows or self.max_batch, nbytes, now, due, loop.create_future())
        key = lane_key(request.inputs, settings.pad) if rows else ALONE
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = Lane(key)
        lane.add(waiting)
        self.queued += 1
        self.queued_bytes += nbytes
        self.idle.clear()
        if self.recorder:
            self.recorder.arrived(now, waiting, rows or 1)
        self._start_what_is_ready()
        return waiting

    def _start_what_is_ready(self) -> None:
        """Starts batches of the lanes that are ready, the one due earliest first, as long as
        workers are free. Sets an alarm for the next lane that will be due.
        """
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        loop = asyncio.get_running_loop()
        while self.lanes and self.running < self.settings.workers:
            now = loop.time()
            ready = [
                lane
                for lane in self.lanes.values()
                if self.draining or lane.ready(now, self.max_batch)
            ]
            if not ready:
                due = min(lane.due for lane in self.lanes.values())
                self._alarm = loop.call_at(due, self._start_what_is_ready)
                break
            self._start(min(ready, key=lambda lane: lane.due), now)
        self.metrics.queue(self.model.name, self.model.version, self.queued)
        if not self.queued and not self.running:
            self.idle.set()

    def _start(self, lane: Lane, now: float) -> None:
        """Gives a batch of a lane to a worker, or only removes requests that need no answer."""
        gone = [waiting for waiting in lane.line if waiting.future.done() or is_late(waiting, now)]
        # The loop was too busy for their alarms, or they were cancelled just now. The lane may not
        # be ready without them, so the caller checks it again.
        if gone:
            for waiting in gone:
                self._take_out(waiting, "left" if waiting.future.done() else "expired")
            return
        rows = (
            self.model.rows_to_run(min(lane.rows, self.max_batch))
            if self.execution.batching
            else self.max_batch
        )
        batch = lane.take(rows)
        if not lane.line:
            del self.lanes[lane.key]
        for waiting in batch:
            self._count_out(waiting)
            self.metrics.waited(self.model.name, self.model.version, now - waiting.arrived)
        number = -1
        if self.recorder:
            number = self.recorder.started(
                now, list(batch), [rows_of(waiting.request.inputs) or 1 for waiting in batch]
            )
        self.running += 1
        self.workers.submit(
            partial(self._run, batch, lane.key, number, now, asyncio.get_running_loop())
        )

    def _run(
        self,
        batch: list[Waiting],
        key: object,
        number: int,
        began: float,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Runs a batch, in a worker's thread, and hands the outcomes to the event loop."""
        outcomes = self._compute(batch, key)
        try:
            loop.call_soon_threadsafe(self._finish, batch, outcomes, number, began)
        except RuntimeError:  # the loop is closed: the server has stopped waiting
            pass

    def _compute(self, batch: list[Waiting], key: object) -> list[Outcome]:
        """An outcome for each request, whatever is raised: without this thread, the next batch
        would not be answered.
        """
        try:
            return self.execution.run([waiting.request.inputs for waiting in batch], key)
        except BaseException as error:
            return [ModelFailed(f"{type(error).__name__}: {error}") for _ in batch]

    def _finish(
        self, batch: list[Waiting], outcomes: list[Outcome], number: int, began: float
    ) -> None:
        """Answers the requests of a batch, in the event loop, and starts the next ones."""
        now = asyncio.get_running_loop().time()
        self.running -= 1
        self.estimate += (now - began - self.estimate) / 4
        for waiting, outcome in zip(batch, outcomes):
            if waiting.future.done():
                continue
            if isinstance(outcome, ServingError):
                waiting.future.set_exception(outcome)
            else:
                waiting.future.set_result(outcome)
        if self.recorder and number >= 0:
            self.recorder.finished(now, list(batch), number)
        self._start_what_is_ready()

    def _expire(self, waiting: Waiting) -> None:
        self._leave(waiting, "expired")

    def _leave(self, waiting: Waiting, why: Literal["left", "expired"]) -> None:
        """Removes a request from its lane, if it still waits, and sets the alarm anew."""
        if waiting.lane is not None:
            self._take_out(waiting, why)
            self._start_what_is_ready()

    def _take_out(self, waiting: Waiting, why: Literal["left", "expired"]) -> None:
        """Removes a waiting request; one that expired gets its error."""
        lane = waiting.lane
        assert lane is not None
        lane.remove(waiting)
        if not lane.line:
            del self.lanes[lane.key]
        self._count_out(waiting)
        if self.recorder:
            self.recorder.gone(asyncio.get_running_loop().time(), waiting, why)
        if why == "expired" and not waiting.future.done():
            waiting.future.set_exception(
                DeadlineExceeded("the deadline passed while the request waited")
            )

    def _count_out(self, waiting: Waiting) -> None:
        self.queued -= 1
        self.queued_bytes -= waiting.nbytes


def is_late(waiting: Waiting, now: float) -> bool:
    """Whether the deadline of a request has passed."""
    return waiting.request.deadline is not None and waiting.request.deadline <= now
