"""Exercises of notebook 25: who waits behind whom, frames, and the bytes of a connection."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from exercises.exercise import Mistake, Wrong, exercise


@exercise(
    level=1,
    title="Who waits behind whom?",
    ask="""
        Three answers: `a` is ready after 100 ms, `b` after 10, `c` after 20. All are asked for at
        0 ms; sending takes no time. When is `b` *done*, that is, with the client,

        - over one connection of HTTP/1.1 on which all three are asked at once (pipelined), `a`
          first, and a server that works on all three at the same time;
        - over one connection of HTTP/1.1 on which a browser asks one after the other, `a` first:
          the server begins with a request when it is asked;
        - over two such connections: `a` on one, `b` and then `c` on the other;
        - over HTTP/2?""",
    start="""
        answer = {
            "pipelined": ...,
            "one after the other": ...,
            "two connections": ...,
            "HTTP/2": ...,
        }""",
    hints=(
        "An answer of HTTP/1.1 does not say to which question it belongs. So in which order must "
        "they come?",
        "Pipelined, the server works on all three at once; one after the other, it has not heard "
        "of `b` until `a` is done.",
    ),
    solution="""
        answer = {
            "pipelined": 100,
            "one after the other": 110,
            "two connections": 10,
            "HTTP/2": 10,
        }""",
    why=(
        "Head-of-line blocking: a ready answer waits behind one that is not. Frames say whose they "
        "are, so they need no order."
    ),
    mistakes=[
        Mistake(
            "Pipelining lets the quick ones overtake.",
            'answer = {"pipelined": 10, "one after the other": 110, "two connections": 10, '
            '"HTTP/2": 10}',
            "does not say whose it is",
        ),
        Mistake(
            "Pipelining changes nothing at all.",
            'answer = {"pipelined": 110, "one after the other": 110, "two connections": 10, '
            '"HTTP/2": 10}',
            "worked on it meanwhile",
        ),
        Mistake(
            "One after the other, only the order matters.",
            'answer = {"pipelined": 100, "one after the other": 100, "two connections": 10, '
            '"HTTP/2": 10}',
            "has not heard of",
        ),
        Mistake(
            "HTTP/2 shares one connection, so everything waits for the slowest.",
            'answer = {"pipelined": 100, "one after the other": 110, "two connections": 10, '
            '"HTTP/2": 100}',
            "frames of one stream",
        ),
    ],
)
def http_1(answer: dict[str, float]) -> str:
    from apparatus.two_https import Ask, exchange

    asks = [Ask("a", ms=100, size=1), Ask("b", ms=10, size=1), Ask("c", ms=20, size=1)]
    apart = exchange(asks, over="http/1.1", connections=2)["b"].done
    truth = {
        "pipelined": exchange(asks, over="http/1.1", pipelined=True, ahead=3)["b"].done,
        "one after the other": exchange(asks, over="http/1.1")["b"].done,
        "two connections": apart,
        "HTTP/2": exchange(asks)["b"].done,
    }
    if not isinstance(answer, dict) or answer.keys() != truth.keys():
        raise Wrong("the answer is the dict above, with milliseconds for each of its four keys")
    because = {
        "pipelined": (
            "an answer does not say whose it is, so b's has to wait for a's, although the server "
            "worked on it meanwhile"
        ),
        "one after the other": (
            "the server has not heard of b before a is done, and then needs its 10 ms"
        ),
        "two connections": "nothing stands before b on its connection",
        "HTTP/2": "frames of one stream do not wait for another's: b's 10 ms are all it needs",
    }
    for key, reason in because.items():
        if (
            not isinstance(answer[key], (int, float))
            or not abs(answer[key] - (truth[key] or 0)) < 0.5
        ):
            if answer[key] != answer[key] or isinstance(answer[key], str):
                raise Wrong(f"{key}: a number of milliseconds is wanted, not {answer[key]!r}")
            raise Wrong(f"{key}: not {answer[key]!r} ms; {reason}")
    return "asked of both servers, on a clock that jumps"


@exercise(
    level=2,
    title="Nine bytes",
    ask="""
        Every frame of HTTP/2 begins with nine bytes: the *length* of what follows them (3 bytes),
        the type (1), flags (1), and the stream (4 bytes, of which the highest bit is reserved and
        to be ignored). Numbers are big-endian. Write `header(data)` for at least nine bytes: the
        tuple (length, type, flags, stream).""",
    start="""
        def header(data):
            ...""",
    passes=("header",),
    hints=(
        "`int.from_bytes(data[a:b], 'big')`.",
        "The stream has 31 bits: `& 0x7FFFFFFF` takes the reserved one away.",
    ),
    solution="""
        def header(data):
            stream = int.from_bytes(data[5:9], "big") & 0x7FFFFFFF
            return int.from_bytes(data[:3], "big"), data[3], data[4], stream""",
    why=(
        "Three bytes of length allow 16 MiB; unless both sides agree on more, a frame has at most "
        "16,384 bytes."
    ),
    mistakes=[
        Mistake(
            "Numbers lie in memory as the processor writes them.",
            """
            def header(data):
                stream = int.from_bytes(data[5:9], "little") & 0x7FFFFFFF
                return int.from_bytes(data[:3], "little"), data[3], data[4], stream""",
            "highest byte first",
        ),
        Mistake(
            "All four bytes are the stream.",
            """
            def header(data):
                length, stream = int.from_bytes(data[:3], "big"), int.from_bytes(data[5:9], "big")
                return length, data[3], data[4], stream""",
            "reserved bit",
        ),
        Mistake(
            "A length says how long the whole frame is.",
            """
            def header(data):
                stream = int.from_bytes(data[5:9], "big") & 0x7FFFFFFF
                return int.from_bytes(data[:3], "big") - 9, data[3], data[4], stream""",
            "does not count the nine bytes",
        ),
        Mistake(
            "A length is four bytes, as everywhere.",
            """
            def header(data):
                stream = int.from_bytes(data[5:9], "big") & 0x7FFFFFFF
                return int.from_bytes(data[:4], "big"), data[3], data[4], stream""",
            "three bytes",
        ),
    ],
)
def http_2(header: Callable[[bytes], tuple[int, int, int, int]]) -> str:
    from apparatus.two_https import Ask, exchange

    sent = [
        p for p in exchange([Ask("x", size=40_000), Ask("y", size=3)]).of_kind(sent=False) if p.raw
    ]
    for data in (bytes([0, 1, 0, 8, 0, 0x81, 0, 0, 3]), *(piece.raw for piece in sent)):
        truth = (
            int.from_bytes(data[:3], "big"),
            data[3],
            data[4],
            int.from_bytes(data[5:9], "big") & 0x7FFFFFFF,
        )
        found = header(data)
        if not isinstance(found, (tuple, list)) or len(found) != 4:
            raise Wrong(
                f"a tuple of four numbers is wanted, (length, type, flags, stream), not {found!r}"
            )
        if tuple(found) == truth:
            continue
        seen = f"{data[:9].hex(' ')} is {truth}, not {found}"
        if found[3] == truth[3] + 2**31:
            raise Wrong(f"the reserved bit was counted: {seen}")
        if found[0] == truth[0] - 9:
            raise Wrong(f"the length does not count the nine bytes themselves: {seen}")
        if found[0] == int.from_bytes(data[:4], "big"):
            raise Wrong(f"the length has three bytes, the fourth is the type: {seen}")
        if found[0] == int.from_bytes(data[:3], "little"):
            raise Wrong(f"the network writes the highest byte first: {seen}")
        raise Wrong(seen)
    return f"the {len(sent)} frames of a real server, read"


@exercise(
    level=3,
    title="Frames out of a stream",
    ask="""
        TCP promises bytes in order, not messages: a `recv` may end in the middle of a frame, or
        hold several. Write a class `Reader` with `feed(data)`: it takes whatever bytes came, keeps
        what is incomplete for later, and returns the list of frames that are complete now, each a
        pair (stream, payload as `bytes`). The nine bytes before a payload are those of the exercise
        before. It is fed with what a real server of HTTP/2 sends, cut anywhere.""",
    start="""
        class Reader:
            def __init__(self):
                self.buffer = b""

            def feed(self, data):
                ...""",
    passes=("Reader",),
    hints=(
        "Put the new bytes behind those that were left. As long as a whole frame is there, take it "
        "off the front.",
        "A whole frame is there if the buffer has at least nine bytes, and nine more than its "
        "length says.",
    ),
    solution="""
        class Reader:
            def __init__(self):
                self.buffer = b""

            def feed(self, data):
                self.buffer += data
                frames = []
                while len(self.buffer) >= 9:
                    end = 9 + int.from_bytes(self.buffer[:3], "big")
                    if len(self.buffer) < end:
                        break
                    stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
                    frames.append((stream, self.buffer[9:end]))
                    self.buffer = self.buffer[end:]
                return frames""",
    why=(
        "Every protocol on TCP needs such a reader. Who forgets it has a program that works on "
        "loopback, and fails elsewhere."
    ),
    mistakes=[
        Mistake(
            "What was sent at once arrives at once.",
            """
            class Reader:
                def feed(self, data):
                    frames = []
                    while len(data) >= 9:
                        end = 9 + int.from_bytes(data[:3], "big")
                        frames.append((int.from_bytes(data[5:9], "big") & 0x7FFFFFFF, data[9:end]))
                        data = data[end:]
                    return frames""",
            "incomplete",
        ),
        Mistake(
            "One arrival is one frame.",
            """
            class Reader:
                def __init__(self):
                    self.buffer = b""

                def feed(self, data):
                    self.buffer += data
                    if len(self.buffer) < 9:
                        return []
                    end = 9 + int.from_bytes(self.buffer[:3], "big")
                    if len(self.buffer) < end:
                        return []
                    stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
                    frame = (stream, self.buffer[9:end])
                    self.buffer = self.buffer[end:]
                    return [frame]""",
            "several frames",
        ),
        Mistake(
            "What is left over belongs to nobody.",
            """
            class Reader:
                def feed(self, data):
                    frames = []
                    while len(data) >= 9:
                        end = 9 + int.from_bytes(data[:3], "big")
                        if len(data) < end:
                            break
                        frames.append((int.from_bytes(data[5:9], "big") & 0x7FFFFFFF, data[9:end]))
                        data = data[end:]
                    return frames""",
            "keep what is left",
        ),
        Mistake(
            "A frame without payload is no frame.",
            """
            class Reader:
                def __init__(self):
                    self.buffer = b""

                def feed(self, data):
                    self.buffer += data
                    frames = []
                    while len(self.buffer) > 9:
                        end = 9 + int.from_bytes(self.buffer[:3], "big")
                        if len(self.buffer) < end:
                            break
                        stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
                        frames.append((stream, self.buffer[9:end]))
                        self.buffer = self.buffer[end:]
                    return frames""",
            "empty payload",
        ),
        Mistake(
            "The whole connection is read from the beginning each time.",
            """
            class Reader:
                def __init__(self):
                    self.buffer = b""

                def feed(self, data):
                    self.buffer += data
                    rest, frames = self.buffer, []
                    while len(rest) >= 9:
                        end = 9 + int.from_bytes(rest[:3], "big")
                        if len(rest) < end:
                            break
                        frames.append((int.from_bytes(rest[5:9], "big") & 0x7FFFFFFF, rest[9:end]))
                        rest = rest[end:]
                    return frames""",
            "twice",
        ),
    ],
)
def http_3(Reader: Callable[[], Any]) -> str:
    from apparatus.two_https import Ask, exchange

    sent = [
        p.raw
        for p in exchange([Ask("x", size=40_000), Ask("y", size=3)]).of_kind(sent=False)
        if p.raw
    ]
    truth = [(int.from_bytes(raw[5:9], "big") & 0x7FFFFFFF, bytes(raw[9:])) for raw in sent]
    empty = b"\0\0\0\4\1\0\0\0\0"
    if (found := fed(Reader(), empty)) != [(0, b"")]:
        raise Wrong(f"nine bytes with the length 0 are a frame with an empty payload, not {found}")
    if len(found := fed(Reader(), empty * 3)) != 3:
        raise Wrong(
            f"three frames came at once; {len(found)} was returned. An arrival may hold several "
            "frames"
        )
    if fed(Reader(), max(sent, key=len)[:40]):
        raise Wrong("an incomplete frame was returned: its length says that more of it is to come")
    reader = Reader()
    if found := fed(reader, sent[0][:5]):
        raise Wrong(f"five bytes are no frame, but {found} was returned")
    if fed(reader, sent[0][5:]) != truth[:1]:
        raise Wrong(
            "a frame came in two pieces, and was not returned with the second: keep what is left "
            "for the next time"
        )
    if fed(reader, empty) != [(0, b"")]:
        raise Wrong("a frame was returned twice: what was returned has to leave the buffer")
    data, rng = b"".join(sent), random.Random(3)
    for _ in range(5):
        cuts = sorted({0, len(data), *(rng.randrange(len(data)) for _ in range(30))})
        reader, found = Reader(), []
        for a, b in zip(cuts, cuts[1:]):
            found += fed(reader, data[a:b])
        if any(short not in truth for short in found):
            raise Wrong(
                "an incomplete frame was returned: its length says that more of it is to come"
            )
        if found != truth:
            raise Wrong(
                f"{len(truth)} frames were sent, cut at {len(cuts) - 2} places, and {len(found)} "
                "were found"
            )
    return f"{len(truth)} frames, however they were cut"


def fed(reader: Any, data: bytes) -> list[tuple[int, bytes]]:
    """What a Reader returns for some bytes. A bytearray or a memoryview of a payload will do, and a
    generator of frames.
    """
    frames = reader.feed(data)
    if frames is None:
        raise Wrong(
            "feed returned None: it returns a list, which is empty as long as no frame is complete"
        )
    return [(stream, bytes(payload)) for stream, payload in frames]
