"""A clock that does not wait: sockets and bytes are real, only time is not.

    run(main())                   # `await asyncio.sleep(60)` in it takes no time, and afterwards
                                  # `loop.time()` is 60 later

Two servers are to be compared by *what waits for what*. With a real clock that shows, too, but each
run gives other numbers, and a busy machine gives bad ones. So the event loop here has a clock of
its own. Before it looks for sockets that can be read, it waits until all that was written has
arrived (`Ledger.settled`). Where nobody has anything to do then, the clock jumps to the next timer.
Computing costs no time on this clock. Where time is to pass, something sleeps: a handler, or a link
(link.py).

Trio's tests do the same with `trio.testing.MockClock(autojump_threshold=0)`.

How the real one differs: asyncio's loop hands the time until the next timer to the operating system
and sleeps there. It takes sockets in the order in which they become ready, here they are taken in
the order in which they were opened: then two runs agree.
"""

from __future__ import annotations

import asyncio
import fcntl
import selectors
import struct
import termios
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

    from .wire import Wire

T = TypeVar("T")
PATIENCE = 0.5  # real seconds for bytes to arrive; beyond that they are taken for lost
HANGS_AFTER = 5.0  # real seconds in which nothing happens and nobody waits for a time


def run(main: Coroutine[Any, Any, T], virtual: bool = True) -> T:
    """Runs a coroutine to its end on a loop and thread of its own, so that a notebook's own loop is
    no hindrance.

    Raises what `main` raises, and RuntimeError when everybody waits for somebody else (on the
    virtual clock only).
    """

    def here() -> T:
        with asyncio.Runner(
            loop_factory=VirtualLoop if virtual else asyncio.SelectorEventLoop
        ) as runner:
            return runner.run(main)

    with ThreadPoolExecutor(1, "two_https") as pool:
        return pool.submit(here).result()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, in seconds from 0."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.jumping = JumpingSelector(self.ledger)
        super().__init__(self.jumping)

    def time(self) -> float:
        return self.jumping.now


class JumpingSelector(selectors.DefaultSelector):
    """The system's selector; instead of waiting for a time it makes it that time."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.ledger, self.now = ledger, 0.0
        self._numbers = count()
        self._opened: dict[int, int] = {}  # file descriptor -> when it was registered

    def register(
        self, fileobj: FileDescriptorLike, events: int, data: Any = None
    ) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        self._opened[key.fd] = next(self._numbers)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._settled(idle=timeout != 0)
        if not ready and timeout is None:
            ready = super().select(HANGS_AFTER)
            if not ready:
                raise RuntimeError(
                    "nothing can happen any more: all wait for each other, and nobody for a time"
                )
        if not ready and timeout:
            self.now += timeout
        return sorted(ready, key=lambda found: self._opened[found[0].fd])

    def _settled(self, idle: bool) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready once all that is under way has arrived. `idle`: the loop has nothing else
        to do.
        """
        give_up = time.monotonic() + PATIENCE
        while True:
            ready = super().select(0)
            if self.ledger.settled(opening=idle and not ready) or time.monotonic() > give_up:
                return ready
            time.sleep(0.0002)


Address = tuple[str, int]


class Ledger:
    """Who has written how much to whom that has not been read: with it the loop knows whether
    something is still under way.
    """

    def __init__(self) -> None:
        self.wires: dict[tuple[Address, Address], Wire] = {}
        self.unread: dict[tuple[Address, Address], int] = {}  # (from, to) -> bytes
        self.connecting = 0

    def opened(self, wire: Wire) -> None:
        self.wires[wire.local, wire.peer] = wire

    def closed(self, wire: Wire) -> None:
        self.wires.pop((wire.local, wire.peer), None)
        self.unread.pop((wire.peer, wire.local), None)

    def wrote(self, wire: Wire, nbytes: int) -> None:
        self.unread[wire.local, wire.peer] = self.unread.get((wire.local, wire.peer), 0) + nbytes

    def read(self, wire: Wire, nbytes: int) -> None:
        self.unread[wire.peer, wire.local] -= nbytes

    def settled(self, opening: bool) -> bool:
        """Whether every byte that was written lies where its reader finds it and, if `opening`, no
        connection is half open.
        """
        return not (opening and self.connecting) and all(
            self._arrived(wire) for wire in self.wires.values()
        )

    def _arrived(self, wire: Wire) -> bool:
        expected = self.unread.get((wire.peer, wire.local), 0)
        sender = self.wires.get((wire.peer, wire.local))
        if sender is not None:
            # does not fit into the system's buffer yet
            expected -= sender.transport.get_write_buffer_size()
        return wire.transport.is_closing() or waiting_bytes(wire) >= expected


def waiting_bytes(wire: Wire) -> int:
    """How many bytes the system holds for the reader of this end (`FIONREAD`)."""
    number = wire.transport.get_extra_info("socket").fileno()
    if number < 0:
        return 0
    found: int = struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, bytes(4)))[0]
    return found
