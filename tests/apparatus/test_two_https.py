"""The two servers: what they answer, in which order, what they do with nonsense. On the virtual
clock, so times are exact.
"""

from __future__ import annotations

import asyncio
import itertools

import pytest

pytest.importorskip("h2", reason="the extra `serving` is not installed")
pytest.importorskip("h11", reason="the extra `serving` is not installed")
import h2.connection
import h2.events
import h2.settings

from apparatus.two_https import Ask, Link, Recording, Request, Response, exchange, work
from apparatus.two_https.clock import run
from apparatus.two_https.frames import PREFACE, FrameReader
from apparatus.two_https.http1 import Http1
from apparatus.two_https.http2 import Http2
from apparatus.two_https.http2_client import Http2Client
from apparatus.two_https.recording import Recorder
from apparatus.two_https.wire import Wire, connect, listen

INITIAL_WINDOW_SIZE = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
ASKS = [Ask("slow", ms=100, size=40_000), Ask("a", ms=10), Ask("b", ms=20), Ask("c", ms=5)]


def done(recording: Recording) -> list[float | None]:
    return [course.done for course in recording]


def test_http1_finishes_at_the_prefix_sums() -> None:
    recording = exchange(ASKS, over="http/1.1")
    assert recording.order() == ["slow", "a", "b", "c"]
    assert done(recording) == [100, 110, 130, 135]
    assert [course.behind for course in recording] == ["", "slow", "a", "b"]
    assert [course.status for course in recording] == [200] * 4
    assert recording["slow"].body == b"slow " * 8000 and len(recording["c"].body) == 100


@pytest.mark.parametrize(
    ("ahead", "begun"), [(1, [0, 100, 110, 130]), (2, [0, 0, 100, 100]), (4, [0, 0, 0, 0])]
)
def test_pipelined_answers_keep_their_order_however_far_the_server_works_ahead(
    ahead: int, begun: list[float]
) -> None:
    recording = exchange(ASKS, over="http/1.1", pipelined=True, ahead=ahead)
    assert recording.order() == ["slow", "a", "b", "c"]
    assert [course.sent for course in recording] == [0, 0, 0, 0]
    assert [course.begun for course in recording] == begun
    assert min(t for t in done(recording) if t is not None) == 100


@pytest.mark.parametrize(
    ("connections", "order"),
    [(2, ["a", "b", "c", "slow"]), (3, ["a", "c", "b", "slow"]), (6, ["c", "a", "b", "slow"])],
)
def test_more_connections_help_as_far_as_they_go(connections: int, order: list[str]) -> None:
    recording = exchange(ASKS, over="http/1.1", connections=connections)
    assert recording.order() == order
    assert recording.connections == min(connections, len(ASKS))


def test_http2_finishes_in_the_order_of_the_work() -> None:
    recording = exchange(ASKS)
    assert recording.order() == ["c", "a", "b", "slow"]
    assert done(recording) == [100, 10, 20, 5]
    assert [course.stream for course in recording] == [1, 3, 5, 7]
    assert all(course.waited == 0 for course in recording)


def test_both_answer_the_same() -> None:
    one, two = exchange(ASKS, over="http/1.1"), exchange(ASKS)
    assert [(c.name, c.status, c.body) for c in one] == [(c.name, c.status, c.body) for c in two]


def test_the_order_is_the_same_with_a_real_clock() -> None:
    asks = [Ask("slow", ms=400), Ask("a", ms=150), Ask("b", ms=5)]
    assert exchange(asks, over="http/1.1", virtual=False).order() == ["slow", "a", "b"]
    assert exchange(asks, virtual=False).order() == ["b", "a", "slow"]


def test_large_answers_take_turns() -> None:
    recording = exchange([Ask(name, size=40_000) for name in "abc"], window=1 << 20)
    assert [p.name for p in recording.of_kind("DATA", sent=False)] == list("abcabcabc")
    assert [p.nbytes - 9 for p in recording.of_kind("DATA", sent=False)] == [16384] * 6 + [7232] * 3


def test_requests_are_made_when_they_are_due() -> None:
    asks = [Ask("late", ms=10, at=50), Ask("early", ms=30)]
    for over in ("http/1.1", "http/2"):
        recording = exchange(asks, over=over)
        assert [c.asked for c in recording] == [50, 0] and done(recording) == [60, 30]


def test_a_reader_who_is_late_holds_up_his_own_stream() -> None:
    asks = [Ask("film", size=200_000, read_at=500), Ask("mail", ms=10, size=20_000)]
    recording = exchange(asks)
    assert done(recording) == [500, 10]
    before = [p for p in recording.of_kind("DATA", sent=False) if p.name == "film" and p.time < 500]
    assert sum(p.nbytes - 9 for p in before) == 65_535  # one window


def test_or_everybody_if_the_connection_is_given_back_only_when_read() -> None:
    asks = [Ask("film", size=200_000, read_at=500), Ask("mail", ms=10, size=20_000)]
    recording = exchange(asks, share="read")
    assert done(recording) == [500, 500]
    assert recording["mail"].ready == 10 and recording["mail"].body == (b"mail " * 4000)


def test_headers_shrink_over_http2() -> None:
    headers = (
        ("user-agent", "a browser of these days" * 4),
        ("cookie", "session=" + "0123456789abcdef" * 8),
    )
    asks = [Ask(f"image{n}") for n in range(10)]
    one = exchange(asks, over="http/1.1", headers=headers).of_kind("head", sent=True)
    two = exchange(asks, headers=headers).of_kind("HEADERS", sent=True)
    assert len(one) == len(two) == 10
    assert one[0].nbytes == one[9].nbytes > 250 and two[9].nbytes < 40 < two[0].nbytes
    assert headers[1] in two[9].headers  # all there, though


def test_a_handler_that_raises_answers_500() -> None:
    async def broken(request: Request) -> Response:
        if request.name == "bad":
            raise KeyError("weights")
        return await work(request)

    for over in ("http/1.1", "http/2"):
        recording = exchange([Ask("good"), Ask("bad"), Ask("after")], over=over, handler=broken)
        assert [c.status for c in recording] == [200, 500, 200]
        assert recording["bad"].body == b"KeyError: 'weights'\n"


@pytest.mark.parametrize(
    "query", ["ms=x", "ms=-1", "bytes=1.5", "bytes=99999999999", "ms=1e9", "ms=nan"]
)
def test_work_refuses_what_it_cannot_do(query: str) -> None:
    response = run(work(Request("GET", f"/a?{query}")))
    assert response.status == 400


def test_impossible_wishes_are_refused() -> None:
    for arguments, message in (
        ({"over": "http/3"}, "over must be one of"),
        ({"connections": 2}, "HTTP/2 has one connection"),
        ({"over": "http/1.1", "connections": 0}, "between 1 and 64"),
        ({"over": "http/1.1", "share": "read"}, "HTTP/1.1 has none"),
        ({"over": "http/1.1", "ahead": 0}, "at least 1"),
        ({"share": "never"}, "share must be"),
        ({"window": -1}, "a window has between"),
    ):
        with pytest.raises(ValueError, match=message):
            exchange(ASKS, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a name of its own"):
        exchange([Ask("a"), Ask("a")])
    with pytest.raises(KeyError, match="no request is called 'z'"):
        exchange([Ask("a")])["z"]


def test_nothing_asked_nothing_done() -> None:
    for over in ("http/1.1", "http/2"):
        assert exchange([], over=over).order() == []


# by hand, over a socket


def talk(serve: object, *sent: bytes) -> bytes:
    """All that a server says to these bytes until it, or the client half a second later, closes."""

    async def main() -> bytes:
        heard = b""
        async with listen(serve) as server:  # type: ignore[arg-type]
            wire = await connect(server.port)
            for data in sent:
                wire.write(data)
                await asyncio.sleep(0.01)
            asyncio.get_running_loop().call_later(0.5, wire.close)
            while data := await wire.read():
                heard += data
        return heard

    return run(main())


def test_http1_is_text() -> None:
    heard = talk(Http1(work), b"GET /hello?bytes=12 HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = heard.partition(b"\r\n\r\n")
    assert (
        head.splitlines()[0] == b"HTTP/1.1 200 OK"
        and b"content-length: 12" in head.lower()
        and body == b"hello hello "
    )


def test_http1_bytes_may_come_in_any_portions() -> None:
    text = (
        b"POST /a?bytes=3 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345GET /b?bytes=3 "
        b"HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    whole = talk(Http1(work), text)
    assert whole.count(b"HTTP/1.1 200 OK") == 2
    assert talk(Http1(work), *(text[n : n + 1] for n in range(len(text)))) == whole


def test_http1_head_and_close() -> None:
    heard = talk(
        Http1(work),
        b"HEAD /a?bytes=50 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /b?bytes=2 HTTP/1.0\r\n\r\n",
    )
    first, second = heard.split(b"\r\n\r\n", 1)
    assert b"content-length: 50" in first.lower() and second.endswith(b"\r\n\r\nb ")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # no Host
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000, b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 1001, b"413"),
    ],
)
def test_http1_nonsense_is_answered_and_ends_the_connection(
    text: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apparatus.two_https.http1.BODY_AT_MOST", 1000)
    heard = talk(Http1(work), text)
    assert heard.startswith(b"HTTP/1.1 " + status), heard[:80]
    assert heard.count(b"HTTP/1.1") == 1


def test_http2_nonsense_ends_the_connection() -> None:
    # no preface: SETTINGS, and nothing more
    assert talk(Http2(work), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")[3] == 4
    # a PING has 8 bytes
    heard = talk(Http2(work), PREFACE + bytes.fromhex("000003 06 00 00000000 010203"))
    assert [f.name for f in FrameReader(from_client=False).feed(heard)][-1] == "GOAWAY"


def test_http2_takes_more_than_a_window_of_a_request() -> None:
    """What was read is promised again, for the stream and for the connection."""

    async def main() -> bytes:
        async with listen(Http2(echo)) as server:
            wire = await connect(server.port)
            line = h2.connection.H2Connection()
            line.initiate_connection()
            line.send_headers(
                1, [(":method", "POST"), (":scheme", "http"), (":authority", "x"), (":path", "/")]
            )
            left, heard = 200_000, b""
            while True:
                while left and (size := min(left, line.local_flow_control_window(1), 16_384)):
                    left -= size
                    line.send_data(1, bytes(size), end_stream=not left)
                wire.write(line.data_to_send())
                for event in line.receive_data(await wire.read()):
                    heard += getattr(event, "data", None) or b""
                    if isinstance(event, h2.events.StreamEnded):
                        return heard

    async def echo(request: Request) -> Response:
        return Response(b"%d" % len(request.body))

    assert run(main()) == b"200000"


def test_http2_sends_what_fits_a_window_even_if_that_is_one_byte() -> None:
    async def main() -> list[int]:
        async with listen(Http2(greet)) as server:
            wire = await connect(server.port)
            line = h2.connection.H2Connection()
            line.local_settings = h2.settings.Settings(initial_values={INITIAL_WINDOW_SIZE: 1})
            line.initiate_connection()
            asked = [(":method", "GET"), (":scheme", "http"), (":authority", "x"), (":path", "/")]
            line.send_headers(1, asked, end_stream=True)
            sizes: list[int] = []
            while True:
                wire.write(line.data_to_send())
                for event in line.receive_data(await wire.read()):
                    if isinstance(event, h2.events.DataReceived):
                        sizes.append(len(event.data))
                        if len(sizes) < len("hello"):
                            line.increment_flow_control_window(1, 1)
                    if isinstance(event, h2.events.StreamEnded):
                        return sizes

    async def greet(request: Request) -> Response:
        return Response(b"hello")

    assert run(asyncio.wait_for(main(), 5)) == [1] * 5


def test_a_server_that_leaves_before_it_answered_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    read, times = Wire.read, itertools.count()

    async def read_a_few_times(wire: Wire) -> bytes:
        assert next(times) < 10, "reading goes on at the end"
        return await read(wire)

    async def silent(wire: Wire) -> None:
        await wire.read()

    async def main() -> None:
        async with listen(silent) as server:
            asks = [Ask("first")]
            client = Http2Client(Recorder(Recording("http/2"), asks, lambda: 0.0))
            await client.open(server.port)
            client.send(asks[0])
            await client.receive(1)

    monkeypatch.setattr(Wire, "read", read_a_few_times)
    with pytest.raises(
        ConnectionError, match=r"the server closed before \['first'\] were complete"
    ):
        run(main())


def test_clients_that_vanish_leave_the_server_working() -> None:
    async def main() -> bytes:
        async with listen(Http2(work)) as server, listen(Http1(work)) as other:
            for port in (server.port, other.port):
                for text in (b"", b"GET /x?ms=5000 HTTP/1.1\r\nHost: x\r\n\r\n", PREFACE):
                    wire = await connect(port)
                    wire.write(text)
                    await asyncio.sleep(0.001)
                    wire.close()
            wire = await connect(other.port)
            wire.write(b"GET /still?bytes=5 HTTP/1.1\r\nHost: x\r\n\r\n")
            return await wire.read()

    assert run(main()).endswith(b"\r\n\r\nstill")


# the line between


def test_a_link_takes_its_time() -> None:
    recording = exchange([Ask("a", ms=5, size=1000)], over="http/1.1", link=Link(delay=20))
    assert recording["a"].begun == 60  # a round trip for the handshake, then one way
    assert done(recording) == [85]


def test_a_link_has_a_rate_and_keeps_every_byte_in_order() -> None:
    link = Link(delay=3, rate=100, lose=7, resend=50)
    asks = [Ask(f"r{n}", size=3_000 + n) for n in range(5)]
    for how in ({"over": "http/2"}, {"over": "http/1.1", "connections": 3}):
        recording = exchange(asks, link=link, **how)  # type: ignore[arg-type]
        assert [len(c.body) for c in recording] == [3_000 + n for n in range(5)]
        assert all(c.body.startswith(c.name.encode()) for c in recording)
        down = [s for s in link.segments if s.down]
        assert sum(s.nbytes for s in down) == recording.nbytes(sent=False)
        assert sum(s.lost for s in down) == 1
        assert max(s.arrived for s in down) >= sum(s.nbytes for s in down) / 100


def test_a_lost_segment_holds_back_its_own_connection_only() -> None:
    asks = [Ask(name, size=20_000) for name in "abcd"]
    link = Link(delay=10, rate=1000, lose=20, resend=200)
    one = exchange(asks, link=link, window=1 << 20)
    assert [s.held > 0 for s in link.segments if s.down][-1] and one.order()[0] == "a"
    late_over_2 = sum(c.done is not None and c.done > 200 for c in one)
    four = exchange(asks, over="http/1.1", connections=4, link=link)
    late_over_1 = sum(c.done is not None and c.done > 200 for c in four)
    assert (late_over_2, late_over_1) == (4, 1)
