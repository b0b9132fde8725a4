"""Answers that clients have not taken yet, so that they cannot fill the memory.

An answer stays with the server until its client has room for it: HTTP/2's flow control sees to
that, and a client that asks but does not read has room for nothing. All such answers together may
take `most` bytes. When they do, whoever still owes the reading of an answer gets no other one: it
is refused, before anything is computed for it. Whoever has read everything is served as ever. So
there are at most `most` bytes and one answer for each connection, and those who do not read cannot
spoil it for those who do.

Mirrors nothing in Triton, where `TRITONSERVER_ResponseAllocator` takes what it is asked for.

How the real one differs: gRPC in C++ can bound its memory itself (`ResourceQuota`), but not by
asking who is to blame.
"""

from __future__ import annotations

from collections import Counter

from ..errors import QueueFull

COPIES = 2  # ours, and the one that gRPC makes of it


class Unread:
    """`check` before computing, `hold` an answer, `release` it when it has been sent, or will never
    be.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.together = 0
        self.of: Counter[str] = Counter()  # bytes, by connection

    def check(self, connection: str, nbytes: int = 0) -> None:
        """Raises QueueFull for a connection that holds answers back while there is room for no
        more.
        """
        if self.together + COPIES * nbytes > self.most and connection in self.of:
            raise QueueFull(
                f"clients have not read {self.together} bytes of answers, {self.of[connection]} of "
                "them this connection: "
                f"read them first"
            )

    def hold(self, connection: str, nbytes: int) -> None:
        self.check(connection, nbytes)
        self.together += COPIES * nbytes
        self.of[connection] += COPIES * nbytes

    def release(self, connection: str, nbytes: int) -> None:
        if not nbytes:
            return
        self.together -= COPIES * nbytes
        self.of[connection] -= COPIES * nbytes
        if not self.of[connection]:
            del self.of[connection]
