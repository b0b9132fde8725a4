"""`viz.exchange`: lanes by time and by order, from recordings made here by hand, so without the
extra 'serving'.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, strategies as st

import viz
from tests.viz.support import assert_good, same_in_two_processes
from viz.canvas import Rect
from viz.rooms.exchange import PIECES, PIECES_AT_MOST


@dataclass
class Course:
    name: str
    asked: float = 0.0
    connection: int = 1
    stream: int = 1
    sent: float | None = None
    begun: float | None = None
    ready: float | None = None
    first: float | None = None
    done: float | None = None
    behind: str = ""


@dataclass
class Piece:
    number: int
    time: float
    connection: int
    sent: bool
    kind: str
    stream: int
    nbytes: int
    name: str = ""
    flags: tuple[str, ...] = ()


@dataclass
class Recording:
    courses: list[Course]
    pieces: list[Piece] = field(default_factory=list)
    over: str = "HTTP/2, one connection"
    connections: int = 1
    virtual: bool = True


def two() -> Recording:
    courses = [
        Course("slow", 0.0, 1, 1, 0.0, 2.0, 40.0, 41.0, 50.0),
        Course("quick", 0.0, 1, 3, 10.0, 10.0, 11.0, 12.0, 12.0, behind="slow"),
    ]
    pieces = [
        Piece(0, 0.0, 1, True, "PREFACE", 0, 24),
        Piece(1, 0.0, 1, True, "HEADERS", 1, 30, "slow", ("END_STREAM",)),
        Piece(2, 10.0, 1, True, "HEADERS", 3, 20, "quick"),
        Piece(3, 12.0, 1, False, "HEADERS", 3, 20, "quick"),
        Piece(4, 12.0, 1, False, "DATA", 3, 109, "quick", ("END_STREAM",)),
        Piece(5, 50.0, 1, False, "DATA", 1, 1009, "slow", ("END_STREAM",)),
        Piece(6, 50.0, 1, True, "TYPE_0x20", 0, 9),
    ]
    return Recording(courses, pieces)


def test_lanes_are_cut_where_something_changed() -> None:
    picture = viz.exchange(two())
    slow, quick = picture.lanes
    assert [(s.kind, s.start, s.end) for s in slow.stretches] == [
        ("waiting", 0, 2), ("working", 2, 40), ("ready", 40, 41), ("arriving", 41, 50),
    ]  # fmt: skip
    assert [(s.kind, s.start, s.end) for s in quick.stretches] == [
        ("queued", 0, 10), ("working", 10, 11), ("ready", 11, 12),
    ]  # fmt: skip
    assert (slow.outcome, quick.outcome, quick.where) == ("50 ms", "12 ms, behind slow", "stream 3")


def test_text_by_time() -> None:
    lines = viz.exchange(two()).text().splitlines()
    assert lines[:3] == [
        "exchange",
        "    HTTP/2, one connection: 2 requests, 2 answered, the last after 50 ms",
        "    83 bytes sent, 1,138 bytes received in 7 pieces",
    ]
    assert lines[3:5] == [
        "    slow   " + "--" + "#" * 46 + "+" + "=" * 11,
        "    quick  " + "." * 12 + "#+",
    ]
    assert lines[-2:] == [
        "    slow   stream 1  2 to 40       50 ms",
        "    quick  stream 3  10 to 11      12 ms, behind slow",
    ]


def test_text_by_order_has_a_column_for_each_piece() -> None:
    lines = viz.exchange(two(), by="order").text().splitlines()
    assert [line.split()[-3] for line in lines[3:6]] == ["p.....?", ".h...D.", "..hHD.."]
    assert "H HEADERS, D DATA, P PREFACE, ? TYPE_0x20; from the client in lower case" in lines[6]


def test_both_are_good_pictures_and_have_a_box_for_each_piece() -> None:
    for by in ("time", "order"):
        assert_good(viz.exchange(two(), by=by))
    boxes = [
        m
        for m in viz.exchange(two(), by="order").canvas().marks
        if isinstance(m, Rect) and "from the" in m.tip
    ]
    assert len(boxes) == 7
    assert boxes[4].tip == "DATA from the server at 12 ms: 109 bytes, the last of its stream"


def test_an_answer_that_never_came_and_measured_times() -> None:
    recording = two()
    recording.virtual = False
    recording.courses[1] = Course("quick", 3.0)
    picture = viz.exchange(recording)
    assert (
        picture.lanes[1].outcome == "no answer"
        and "1 answered" in picture.text()
        and "measured" in picture.text()
    )
    assert_good(picture)
    assert_good(viz.exchange(Recording([])))
    assert_good(viz.exchange(Recording([]), by="order"))


moments = st.lists(st.floats(0, 1e4).map(lambda v: round(v, 3)), min_size=6, max_size=6).map(sorted)
kinds = st.sampled_from([*PIECES, "PRIORITY"])


@given(
    st.lists(moments, max_size=6),
    st.lists(st.tuples(st.booleans(), kinds, st.integers(0, 7), st.integers(1, 3)), max_size=60),
    st.sampled_from(["time", "order"]),
)
def test_any_recording_is_a_good_picture(
    times: list[list[float]], pieces: list[Any], by: str
) -> None:
    courses = [
        Course(f"r{n}", t[0], 1 + n % 3, n, *t[1:], behind=f"r{n - 1}") for n, t in enumerate(times)
    ]
    found = [
        Piece(
            n,
            n // 7 * 3.5,
            connection,
            sent,
            kind,
            owner,
            10 * n,
            f"r{owner}" if owner < len(courses) else "",
        )
        for n, (sent, kind, owner, connection) in enumerate(pieces)
    ]
    assert_good(viz.exchange(Recording(courses, found, "HTTP/1.1, 3 connections", 3), by=by))


def test_very_long_exchanges_are_cut() -> None:
    recording = two()
    recording.pieces = [
        Piece(n, 0.0, 1, False, "DATA", 1, 10, "slow") for n in range(PIECES_AT_MOST + 5)
    ]
    assert "5 pieces more not shown" in viz.exchange(recording, by="order").text()
    assert_good(viz.exchange(recording, by="order"))
    assert len(viz.exchange(recording, by="time").marks) == PIECES_AT_MOST + 5


def test_what_is_no_recording_is_refused() -> None:
    with pytest.raises(TypeError, match="a recording with courses and pieces, got int"):
        viz.exchange(3)
    with pytest.raises(ValueError, match='by must be "time" or "order"'):
        viz.exchange(two(), by="size")


def test_viz_does_not_import_the_servers() -> None:
    program = (
        "import sys, viz; print([m for m in ('h2', 'h11', 'grpc', 'aiohttp', 'internals') if m in "
        "sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_a_real_recording_is_the_same_in_every_process() -> None:
    pytest.importorskip("h2", reason="needs the extra 'serving'")
    pytest.importorskip("h11", reason="needs the extra 'serving'")
    same_in_two_processes(
        "import viz\n"
        "from apparatus.two_https import Ask, Link, exchange\n"
        "asks = [Ask(n, ms=9 * i % 4, size=30_000) for i, n in enumerate('abcde')]\n"
        "for over in ('http/1.1', 'http/2'):\n"
        "    for by in ('time', 'order'):\n"
        "        print(viz.exchange(exchange(asks, over=over, link=Link(5, 500, lose=9)), "
        "by=by).html())"
    )
