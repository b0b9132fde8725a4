"""Memory that was given back while other streams still work on it (`CUDACachingAllocator.cpp`:
insert_events, process_events).

Work on a stream runs in order, so memory that belongs to a stream can be handed out again to the
same stream at once: its next owner queues work *behind* everything that used it before. Other
streams are not part of this order. `record_stream` tells the allocator that one of them uses the
block too. When the block is given back, a mark (an event) is recorded on each such stream; the
block is free when the device has passed all of them.

Marks are kept in one queue for each stream and queried in order, at every allocation. The first
mark that was not passed ends the search in its queue: those behind it cannot have been passed
either.

How the real one differs: it takes its CUDA events from a pool, since making one costs more than
recording it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from .blocks import Stream
from .segments import StreamEvent


class Waiting(Protocol):
    """A block that can wait: it counts its marks that are still outstanding."""

    events: int


W = TypeVar("W", bound=Waiting)


class PendingEvents(Generic[W]):
    """Outstanding marks and the blocks that wait for them.

    `record(device, stream)` makes a mark; `completed(block)` is called when the last mark of a
    block was passed; `one_queue`: all streams share a queue, as in 1.0.1.
    """

    __slots__ = ("queues", "record", "completed", "one_queue")

    def __init__(
        self,
        record: Callable[[int, int], StreamEvent],
        completed: Callable[[W], None],
        one_queue: bool = False,
    ) -> None:
        self.queues: dict[Hashable, deque[tuple[StreamEvent, W]]] = {}
        self.record, self.completed, self.one_queue = record, completed, one_queue

    def __bool__(self) -> bool:
        return bool(self.queues)

    def insert(self, block: W, streams: set[Stream]) -> None:
        """Let `block` wait for everything queued so far on `streams`."""
        # the list records every mark before the loop counts any: if that fails, nothing has changed
        for stream, event in [(stream, self.record(*stream)) for stream in sorted(streams)]:
            block.events += 1
            self.queues.setdefault(None if self.one_queue else stream, deque()).append(
                (event, block)
            )

    def process(self) -> None:
        """Remove the marks that were passed, without waiting."""
        for key in list(self.queues):
            queue = self.queues[key]
            while queue and queue[0][0].query():
                self._passed(queue)
            if not queue:
                del self.queues[key]

    def synchronize(self) -> None:
        """Wait for all marks and remove them."""
        for queue in list(self.queues.values()):
            while queue:
                queue[0][0].synchronize()
                self._passed(queue)
        self.queues.clear()

    def blocks(self) -> list[W]:
        """The blocks that wait, each once, though it may have a mark in several queues."""
        return list(
            {id(block): block for queue in self.queues.values() for _, block in queue}.values()
        )

    def _passed(self, queue: deque[tuple[StreamEvent, W]]) -> None:
        """Remove the first mark of a queue, and complete its block if that was the last one."""
        _, block = queue.popleft()
        block.events -= 1
        if block.events == 0:
            self.completed(block)
