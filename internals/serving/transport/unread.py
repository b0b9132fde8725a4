"""Limits the memory of responses that clients have not read yet.

A response stays in the server until its client can receive it, because of HTTP/2's flow control; a
client that sends requests but reads nothing can receive nothing. All such responses together may
take `most` bytes. Above that, a connection with an unread response gets no other one: its requests
are refused before anything is computed. A connection that has read everything is served as usual.
So there are at most `most` bytes and one more response for each connection, and clients that do not
read cannot block those that do.

How the real one differs: Triton has no such limit. gRPC in C++ can limit its memory
(`ResourceQuota`), but not by connection.
"""

from __future__ import annotations

from collections import Counter

from ..errors import QueueFull

COPIES = 2  # of a response: ours, and gRPC's


class Unread:
    """Counts unread bytes: `check` before computing, `hold` a response, and `release` it after it
    has been sent or dropped. `most` is the limit for all connections together.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.together = 0
        self.of: Counter[str] = Counter()  # bytes, by connection

    def check(self, connection: str, nbytes: int = 0) -> None:
        """Raises QueueFull for a connection with unread responses if `nbytes` more would exceed the
        limit.
        """
        if self.together + COPIES * nbytes > self.most and connection in self.of:
            raise QueueFull(
                f"clients have not read {self.together} bytes of answers, {self.of[connection]} of "
                "them this connection: "
                f"read them first"
            )

    def hold(self, connection: str, nbytes: int) -> None:
        """Counts a response as unread. Raises QueueFull as `check` does."""
        self.check(connection, nbytes)
        self.together += COPIES * nbytes
        self.of[connection] += COPIES * nbytes

    def release(self, connection: str, nbytes: int) -> None:
        """Counts a response as read; `nbytes` are those of `hold`."""
        if not nbytes:
            return
        self.together -= COPIES * nbytes
        self.of[connection] -= COPIES * nbytes
        if not self.of[connection]:
            del self.of[connection]
