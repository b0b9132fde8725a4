"""`viz.batching` and `viz.batching_steps`: lanes, batches and steps of events made here, without
the extra 'serving'.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

import viz
from tests.viz.support import assert_good, same_in_two_processes
from viz.canvas import Rect
from viz.rooms.batching import REQUESTS_AT_MOST, scene
from viz.rooms.batching_canvas import cells_of, tracks_of
from viz.rooms.batching_steps import Queue
from viz.stepper import Stepper


class Event(NamedTuple):
    at: float
    kind: str
    request: int
    batch: int = -1
    rows: int = 0


@dataclass
class Recorder:
    events: list[Event] = field(default_factory=list)


def story() -> Recorder:
    """Two in one batch, one with three rows alone, one refused, one too late, one that gives up."""
    return Recorder(
        [
            Event(5.000, "arrived", 0, rows=1),
            Event(5.001, "arrived", 1, rows=2),
            Event(5.002, "started", 0, 0, 1),
            Event(5.002, "started", 1, 0, 2),
            Event(5.003, "arrived", 2, rows=3),
            Event(5.004, "arrived", 3, rows=1),
            Event(5.004, "arrived", 4, rows=1),
            Event(5.005, "refused", 5, rows=4),
            Event(5.006, "left", 3),
            Event(5.007, "expired", 4),
            Event(5.008, "finished", 0, 0),
            Event(5.008, "finished", 1, 0),
            Event(5.008, "started", 2, 1, 3),
            Event(5.010, "finished", 2, 1),
        ]
    )


def test_what_became_of_each_request() -> None:
    picture = viz.batching(story())
    found = [(a.number, a.rows, a.batch, a.outcome) for a in picture.requests]
    assert found == [
        (0, 1, 0, "answered"),
        (1, 2, 0, "answered"),
        (2, 3, 1, "answered"),
        (3, 1, None, "left"),
        (4, 1, None, "expired"),
        (5, 4, None, "refused"),
    ]
    assert [(b.number, b.members, b.rows) for b in picture.batches] == [
        (0, [(0, 1), (1, 2)], 3),
        (1, [(2, 3)], 3),
    ]
    assert [(m.at, m.kind, m.requests) for m in picture.moments][2:4] == [
        (2, "started", [0, 1]),
        (3, "arrived", [2]),
    ]


def test_text_by_order() -> None:
    assert viz.batching(story()).text().splitlines() == [
        "batching",
        "    6 requests, 2 batches of 3 rows",
        "    nothing was computed for 3: 1 refused, 1 too late, 1 gave up",
        "    request 0  1 row   ..#######    batch 0",
        "    request 1  2 rows   .#######    batch 0",
        "    request 2  3 rows     .......#  batch 1",
        "    request 3  1 row       ...<     gave up, not computed",
        "    request 4  1 row        ...!    too late, not computed",
        "    request 5  4 rows        x      refused: the line was full",
        "    batch 0    3 rows    =======    of 0 1",
        "    batch 1    3 rows            =  of 2",
        "    . waits, # is computed, x refused: the line was full, ! too late, not computed, < "
        "gave up, not computed, = a batch; from left to right: the order of events",
    ]


def test_by_order_nothing_depends_on_the_clock() -> None:
    slow = Recorder([event._replace(at=event.at**3) for event in story().events])
    for room in (viz.batching, viz.batching_steps):
        assert (
            room(slow).html() == room(story()).html() and room(slow).text() == room(story()).text()
        )
    assert viz.batching(slow, by="time").text() != viz.batching(story(), by="time").text()


def test_by_time_says_how_long() -> None:
    picture = viz.batching(story(), by="time")
    assert picture.says(picture.requests[2]) == "batch 1, after 7 ms (waited 5 ms)"
    assert picture.text().endswith("from left to right: 10 ms")
    assert any(text.text == "10 ms" for text in picture.canvas().texts())


def test_they_are_good_pictures_and_have_a_box_for_each_request() -> None:
    for by in ("order", "time"):
        picture = viz.batching(story(), by=by)
        assert_good(picture)
        tips = [m.tip for m in picture.canvas().marks if isinstance(m, Rect) and m.tip]
        assert tips.count("request 2 waits") == 1 and tips.count("request 2 is in batch 1") == 1
        assert (
            "batch 0: 3 rows of request 0, request 1" in tips
            and "refused: the line was full" in tips
        )


def test_batches_of_several_workers_are_in_rows_of_their_own() -> None:
    both = Recorder(
        [Event(n, "arrived", n, rows=1) for n in range(3)]
        + [Event(3 + n, "started", n, n, 1) for n in range(2)]
        + [
            Event(5, "finished", 0, 0),
            Event(6, "started", 2, 2, 1),
            Event(7, "finished", 1, 1),
            Event(8, "finished", 2, 2),
        ]
    )
    assert [[b.number for b in track] for track in tracks_of(viz.batching(both))] == [[0, 2], [1]]
    assert_good(viz.batching(both))
    assert max(len(q.work) for _, q in viz.batching_steps(both).frames if isinstance(q, Queue)) == 2
    assert_good(viz.batching_steps(both))


def test_steps_tell_the_story() -> None:
    steps = viz.batching_steps(story())
    assert isinstance(steps, Stepper)
    assert [caption for caption, _ in steps.frames] == [
        "request 0 arrives, with 1 row",
        "request 1 arrives, with 2 rows",
        "batch 0 starts: requests 0 and 1",
        "request 2 arrives, with 3 rows",
        "request 3 arrives, with 1 row",
        "request 4 arrives, with 1 row",
        "request 5 is refused: the line is full",
        "request 3 gives up and leaves the line",
        "request 4 is too late: the deadline has passed, and nothing is computed",
        "batch 0 is done: requests 0 and 1 have an answer",
        "batch 1 starts: request 2",
        "batch 1 is done: request 2 has an answer",
    ]
    assert str(steps.frames[6][1]).splitlines() == [
        "in line:  2 (3 rows), 3 (1 row), 4 (1 row)",
        "at work:  batch 0 = 0 + 1 (3 rows)",
        "answered: nobody",
        "without:  5 refused",
    ]
    assert str(steps.frames[-1][1]).splitlines() == [
        "in line:  nobody",
        "at work:  nothing",
        "answered: 0, 1, 2",
        "without:  5 refused; 3 gave up; 4 too late",
    ]


def test_every_step_is_a_good_picture_of_the_same_size() -> None:
    steps = viz.batching_steps(story())
    assert_good(steps)
    sizes = set()
    for _, frame in steps.frames:
        assert isinstance(frame, Queue)
        assert_good(frame)
        sizes.add((frame.canvas().sheet().w, frame.canvas().sheet().h))
    assert len(sizes) == 1
    assert "<script" not in steps.html() and " id=" not in steps.html()


KINDS = ("left", "expired", "refused", "run", "run", "run", "waits")
FATES = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 40)), max_size=30)


def recording_of(fates: list[tuple[str, int]]) -> Recorder:
    events, line = [], []
    batch = 0
    for n, (fate, rows) in enumerate(fates):
        events.append(Event(n, "refused" if fate == "refused" else "arrived", n, rows=rows))
        if fate in ("left", "expired"):
            events.append(Event(n + 0.5, fate, n))
        elif fate == "run":
            line.append((n, rows))
            if rows % 3 == 0:
                events += [Event(n + 0.6, "started", one, batch, r) for one, r in line]
                if rows % 2 == 0:
                    events += [Event(n + 0.9, "finished", one, batch) for one, _ in line]
                line, batch = [], batch + 1
    return Recorder(events)


@pytest.mark.sampled(1 / 8)
@settings(max_examples=30)  # each draws dozens of pictures
@given(FATES, st.sampled_from(["order", "time"]))
def test_any_recording_is_a_good_picture(fates: list[tuple[str, int]], by: str) -> None:
    recording = recording_of(fates)
    assert_good(viz.batching(recording, by=by))
    if recording.events:
        for _, frame in viz.batching_steps(recording).frames:
            assert isinstance(frame, Queue)
            assert_good(frame)


def test_a_recording_that_began_in_the_middle() -> None:
    late = Recorder(
        [Event(1, "started", 7, 3, 2), Event(2, "finished", 7, 3), Event(2, "finished", 8, 2)]
    )
    picture = viz.batching(late)
    assert [(a.number, a.outcome) for a in picture.requests] == [(7, "answered"), (8, "answered")]
    assert_good(picture)
    assert_good(viz.batching_steps(late))


def test_very_many_requests_are_cut() -> None:
    events = [Event(n, "arrived", n, rows=1) for n in range(REQUESTS_AT_MOST + 5)]
    events += [Event(100, "started", n, 0, 1) for n in range(REQUESTS_AT_MOST + 5)]
    picture = viz.batching(Recorder(events))
    assert (
        len(picture.requests) == REQUESTS_AT_MOST
        and "only the first 40 requests are shown" in picture.text()
    )
    assert picture.batches[0].rows == REQUESTS_AT_MOST + 5
    assert [words for words, _ in cells_of(picture.batches[0], 120)] == [
        *map(str, range(11)),
        "+34",
    ]
    assert_good(picture)
    steps = viz.batching_steps(Recorder(events), limit=6)
    assert len(steps.frames) == 6 and "40 more not shown" in steps.text()
    assert scene(events, at_most=10**9).hidden == 0


def test_nothing_and_nonsense() -> None:
    assert viz.batching(Recorder()).text() == "batching: nothing happened"
    assert_good(viz.batching(Recorder()))
    with pytest.raises(TypeError, match="viz.batching draws a batcher's recorder, got int"):
        viz.batching(3)
    with pytest.raises(TypeError, match="viz.batching_steps draws a batcher's recorder, got list"):
        viz.batching_steps([])
    with pytest.raises(ValueError, match='by must be "order" or "time"'):
        viz.batching(story(), by="size")
    with pytest.raises(ValueError, match="nothing was recorded"):
        viz.batching_steps(Recorder())


def test_viz_does_not_import_the_server() -> None:
    program = (
        "import sys, viz; print([m for m in ('grpc', 'aiohttp', 'google.protobuf', 'internals') if "
        "m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


@pytest.mark.sampled(1 / 4)
def test_a_real_recording_is_the_same_in_every_process() -> None:
    pytest.importorskip("prometheus_client", reason="needs the extra 'serving'")
    same_in_two_processes(
        "import viz\n"
        "from apparatus.rehearsal import Arrival, rehearse\n"
        "arrivals = [Arrival(n * 1.3, 1 + n % 3, timeout=12, patience=9 if n % 5 == 0 else None) "
        "for n in range(20)]\n"
        "for limit in (1, 4, 8):\n"
        "    recorder = rehearse(arrivals, max_batch=limit, max_queue=6).recorder\n"
        "    print(viz.batching(recorder).html(), viz.batching(recorder, by='time').html())\n"
        "    print(viz.batching_steps(recorder).html())"
    )


@pytest.mark.parametrize("waiting", [9, 10, 12])
def test_a_long_line_tells_how_many_more_there_are(waiting: int) -> None:
    drawn = Queue(line=[(n, 1) for n in range(waiting)]).svg()
    assert ("more" in drawn) == (waiting > 9) and (
        waiting == 9 or f"and {waiting - 9} more" in drawn
    )
