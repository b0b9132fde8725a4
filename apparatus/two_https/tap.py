"""A tap on a line: a proxy between a client and a server that are not ours, which keeps a copy of
every byte.

    with Tap("127.0.0.1:8001") as tap:
        ...                                       # a client that calls tap.address
    for sent, frame in tap.frames():
        print("->" if sent else "<-", frame)

That is how one sees what gRPC says: its client and its server are C++, and have no hooks for it.

How the real one differs: tcpdump and Wireshark copy packets on their way, without being asked to
connect. With TLS they and a proxy see noise, unless the client gives its keys away
(`SSLKEYLOGFILE`).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType

from .frames import Frame, FrameReader
from .wire import LOOPBACK


class Tap:
    """Listens on a free port of loopback (`address`) and connects to `target`, "host:port", for
    everyone who comes.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f'the target of a tap is "host:port", got {target!r}')
        self._target = (host, int(port))
        self._lock = threading.Lock()
        self._heard: list[tuple[int, bool, bytes]] = []  # connection, sent by the client, bytes
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((LOOPBACK, 0))
        self.address = f"{LOOPBACK}:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Tap:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all connections. What was heard stays."""
        for s in [self._listener, *self._sockets]:
            with suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()
        for thread in self._threads:
            thread.join(5)

    def bytes_heard(self, sent: bool, connection: int = 1) -> bytes:
        """All bytes of one direction of a connection; they are counted from 1."""
        with self._lock:
            return b"".join(data for c, s, data in self._heard if (c, s) == (connection, sent))

    def frames(self, connection: int = 1) -> Iterator[tuple[bool, Frame]]:
        """The HTTP/2 frames of a connection in the order in which they came by, with who sent them:
        True is the client.
        """
        readers = {sent: FrameReader(from_client=sent) for sent in (True, False)}
        with self._lock:
            heard = list(self._heard)
        for number, sent, data in heard:
            if number == connection:
                for frame in readers[sent].feed(data):
                    yield sent, frame

    def _start(self, function: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=function, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        connection = 0
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(self._target, 5)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                connection += 1
                self._sockets += [client, server]
                self._start(self._pass_on, client, server, connection, True)
                self._start(self._pass_on, server, client, connection, False)

    def _pass_on(
        self, source: socket.socket, target: socket.socket, connection: int, sent: bool
    ) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                with self._lock:
                    self._heard.append((connection, sent, data))
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
