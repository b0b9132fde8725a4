"""The clock that jumps, the frames, the tap."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("h2", reason="the extra `serving` is not installed")
pytest.importorskip("h11", reason="the extra `serving` is not installed")

import hpack

from apparatus.two_https import Ask, exchange, work
from apparatus.two_https.clock import run
from apparatus.two_https.frames import PREFACE, Frame, FrameReader
from apparatus.two_https.http1 import Http1
from apparatus.two_https.tap import Tap
from apparatus.two_https.wire import connect, listen, running


def test_an_hour_passes_at_once() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        await asyncio.gather(asyncio.sleep(3600), asyncio.sleep(1800))
        return loop.time()

    assert run(main()) == pytest.approx(3600)


def test_the_clock_does_not_jump_while_bytes_are_under_way() -> None:
    """A megabyte does not fit into a socket at once; it must be there before a timer of a
    millisecond goes off.
    """

    async def main() -> int:
        got = asyncio.get_running_loop().create_future()

        async def count(wire) -> None:
            total = 0
            while total < 1_000_000:
                total += len(await wire.read())
            got.set_result(total)

        async with listen(count) as server:
            wire = await connect(server.port)
            wire.write(bytes(1_000_000))
            await asyncio.sleep(0.001)
            assert got.done()
            wire.close()
        return got.result()

    assert run(main()) == 1_000_000


def test_times_are_exact_and_the_same_each_time() -> None:
    asks = [Ask(f"r{n}", ms=7 * n % 5, size=30_000) for n in range(12)]
    first, second = (exchange(asks, over="http/1.1", connections=5) for _ in range(2))
    assert first == second
    first, second = (exchange(asks) for _ in range(2))
    assert first == second and first.pieces == second.pieces


def test_waiting_for_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apparatus.two_https.clock.HANGS_AFTER", 0.05)

    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="nothing can happen any more"):
        run(main())


def test_errors_come_through_and_a_running_loop_is_no_hindrance() -> None:
    async def fails() -> None:
        raise LookupError("this one")

    async def inside() -> None:
        with pytest.raises(LookupError, match="this one"):
            run(fails())

    asyncio.run(inside())
    with pytest.raises(ConnectionRefusedError):
        run(connect(1))


# frames


def test_nine_bytes_of_header() -> None:
    (frame,) = FrameReader(from_client=False).feed(
        bytes.fromhex("000008 06 01 00000000") + b"12345678"
    )
    assert (frame.name, frame.flag_names, frame.stream, frame.payload) == (
        "PING",
        ("ACK",),
        0,
        b"12345678",
    )
    assert str(frame) == "PING, connection, 8 bytes ACK" and frame.nbytes == 17


def test_settings_and_windows_have_numbers() -> None:
    reader = FrameReader(from_client=False)
    settings, update = reader.feed(
        bytes.fromhex(
            "00000c 04 00 00000000 0004 00100000 00ff 00000007 000004 08 00 00000003 80000010"
        )
    )
    assert settings.settings == {"INITIAL_WINDOW_SIZE": 1 << 20, "SETTING_0xff": 7}
    assert update.increment == 16 and str(update) == "WINDOW_UPDATE, stream 3, 4 bytes, +16"


def test_headers_with_padding_priority_and_continuation() -> None:
    block = hpack.Encoder().encode([(":path", "/x"), ("accept", "*/*")])
    padded = bytes([3]) + bytes(5) + block[:4] + bytes(3)
    frames = [Frame(1, 0x28, 1, padded), Frame(9, 0x4, 1, block[4:])]
    first, second = FrameReader(from_client=False).feed(b"".join(f.raw for f in frames))
    assert first.flag_names == ("PADDED", "PRIORITY") and first.content == block[:4]
    assert second.name == "CONTINUATION" and second.headers == ((":path", "/x"), ("accept", "*/*"))


@given(
    st.lists(
        st.builds(
            Frame,
            st.integers(0, 255),
            st.integers(0, 255),
            st.integers(0, 2**31 - 1),
            st.binary(max_size=50),
        ),
        max_size=6,
    ),
    st.lists(st.integers(1, 30), min_size=1),
)
def test_frames_come_out_as_they_went_in_whatever_the_portions(
    frames: list[Frame], portions: list[int]
) -> None:
    data, reader, found = (
        PREFACE + b"".join(f.raw for f in frames),
        FrameReader(from_client=True),
        [],
    )
    while data:
        size = portions[len(data) % len(portions)]
        found += reader.feed(data[:size])
        data = data[size:]
    assert [(f.kind, f.flags, f.stream, f.payload) for f in found] == [
        (f.kind, f.flags, f.stream, f.payload) for f in frames
    ]
    for frame in found:
        str(frame), frame.content, frame.settings, frame.name  # whatever is in them


def test_another_preface_is_refused() -> None:
    with pytest.raises(ValueError, match="HTTP/2 begins with"):
        list(FrameReader(from_client=True).feed(b"GET / HTTP/1.1\r\n"))


def test_pieces_are_the_bytes_on_the_wire() -> None:
    recording = exchange([Ask("a", size=30_000), Ask("b", size=10)])
    for sent in (True, False):
        raw = b"".join(p.raw for p in recording.of_kind(sent=sent))
        assert len(raw) == recording.nbytes(sent=sent)
        assert [f.name for f in FrameReader(sent).feed(raw)] == [
            p.kind for p in recording.of_kind(sent=sent) if p.kind != "PREFACE"
        ]


# the tap


def test_a_tap_hears_both_and_changes_nothing() -> None:
    async def main() -> tuple[bytes, Tap]:
        async with listen(Http1(work)) as server:
            with Tap(f"127.0.0.1:{server.port}") as tap:
                port = int(tap.address.split(":")[1])
                wire = await connect(port)
                wire.write(b"GET /hi?bytes=6 HTTP/1.1\r\nHost: x\r\n\r\n")
                heard = await wire.read()
                wire.close()
                return heard, tap

    heard, tap = run(main(), virtual=False)
    assert heard.endswith(b"\r\n\r\nhi hi ") and tap.bytes_heard(sent=False) == heard
    assert tap.bytes_heard(sent=True).startswith(b"GET /hi")
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(tap.address.split(":")[1])), 1)


def test_a_server_for_clients_that_know_nothing_of_asyncio() -> None:
    with running(Http1(work)) as port:
        with socket.create_connection(("127.0.0.1", port), 5) as line:
            line.sendall(b"GET /hi?bytes=6 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert line.recv(4096).endswith(b"\r\n\r\nhi hi ")
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 1)
    with pytest.raises(KeyError), running(Http1(work)):
        raise KeyError("the block's own error comes through")


def test_a_tap_on_nothing() -> None:
    with pytest.raises(ValueError, match='"host:port"'):
        Tap("8001")
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    with Tap(f"127.0.0.1:{port}") as tap:
        client = socket.create_connection(("127.0.0.1", int(tap.address.split(":")[1])), 5)
        client.settimeout(5)
        assert client.recv(1) == b""
        client.close()
    assert list(tap.frames()) == []


def test_nothing_is_left_running() -> None:
    import threading

    before = set(threading.enumerate())
    exchange([Ask("a", ms=10)])
    with Tap("127.0.0.1:1"):
        pass
    limit = time.monotonic() + 5
    while set(threading.enumerate()) - before and time.monotonic() < limit:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()
