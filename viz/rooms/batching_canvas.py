"""Where the marks of `viz.batching` go: lanes of requests, and below them the batches with their
rows.
"""

from __future__ import annotations

from viz.canvas import Box, Canvas, text_width
from viz.rooms.batching import OUTCOMES, RUNNING, SHORT, WAITING, Asked, Batch, Batching, milli
from viz.rooms.chart import ticks
from viz.text import plural

WIDTH = 560.0
LANE, BAR = 23.0, 15.0
ROW_HEIGHT, BATCH_GAP, LEAST_BATCH = 13.0, 22.0, 16.0
NARROWEST = 3.0
ROWS_APART = 12  # of a batch with more rows, requests are drawn, not rows


def batching_canvas(b: Batching) -> Canvas:
    canvas = Canvas(b.title(), "; ".join(b.facts()) if b.moments else "nothing happened")
    if not b.moments:
        canvas.text(0, 12, "nothing happened", 12, paint="muted")
        return canvas
    y = 0.0
    for n, fact in enumerate(b.facts()):
        canvas.text(0, y + 11, fact, 12.5 if n == 0 else 12, bold=n == 0)
        y += 18
    names = [(a.name, plural(a.rows, "row")) for a in b.requests]
    left = max(text_width(f"{name}  {rows}", 11, "mono") for name, rows in names) + 14
    scale = WIDTH / (b.end or 1.0)
    if b.by == "order":
        scale = min(max(scale, 9.0), 46.0)
    top = y + (24 if b.by == "time" else 10)
    bottom = top + len(b.requests) * LANE
    tracks = tracks_of(b)
    heights = [max(height_of(batch) for batch in track) for track in tracks]
    if b.by == "time":
        for tick in ticks([0.0, b.end]):
            if 0 <= tick <= b.end:
                x = left + tick * scale
                canvas.line([(x, top - 6), (x, bottom - 4)], "line", 0.6)
                canvas.text(x, top - 10, milli(tick), 10.5, "middle", "mono", "muted")
    for n, a in enumerate(b.requests):
        _lane(canvas, b, a, left, scale, top + n * LANE)
    canvas.text(0, bottom + 26, "batches" if tracks else "no batches", 11, bold=True)
    y = bottom + 16 + (0 if tracks else BATCH_GAP)
    for track, height in zip(tracks, heights):
        for batch in track:
            _batch(canvas, b, batch, left, scale, y, height)
        y += height + BATCH_GAP
    used = {a.outcome for a in b.requests}
    key = [(WAITING, "waits"), (RUNNING, "is computed, in a batch")]
    bad = [SHORT[kind] for kind in ("refused", "expired") if kind in used]
    key += [("warning", " or ".join(bad))] if bad else []
    key += [(OUTCOMES["left"][0], SHORT["left"])] if "left" in used else []
    canvas.key(0, y + 2, key)
    if b.by == "order":
        canvas.text(
            0,
            y + 32,
            "from left to right: the order in which things happened, not time",
            11,
            paint="muted",
        )
    return canvas


def _lane(canvas: Canvas, b: Batching, a: Asked, left: float, scale: float, y: float) -> None:
    canvas.text(0, y + 11, a.name, 11, font="mono", bold=True)
    canvas.text(left - 10, y + 11, plural(a.rows, "row"), 11, "end", "mono", "muted")
    arrived, started, ended = (left + b.place(m) * scale for m in (a.arrived, a.started, a.ended))
    role, words, _ = OUTCOMES[a.outcome]
    stop = ended if a.started is None else started
    if stop > arrived and a.outcome != "refused":
        canvas.rect(
            arrived,
            y + 3,
            stop - arrived,
            BAR - 6,
            f"{WAITING}-soft",
            WAITING,
            2,
            tip=f"{a.name} waits",
        )
    if a.started is not None:
        width = max(ended - started, NARROWEST)
        box = canvas.rect(
            started,
            y,
            width,
            BAR,
            f"{RUNNING}-soft",
            RUNNING,
            2,
            tip=f"{a.name} is in batch {a.batch}",
        )
        canvas.label(box, str(a.batch), 10.5)
    elif a.outcome in ("refused", "expired", "left"):
        canvas.rect(
            (arrived if a.outcome == "refused" else ended) - 1, y, 5, BAR, role, None, 1, tip=words
        )
    canvas.text(
        left + b.end * scale + 14,
        y + 11,
        b.says(a),
        11,
        paint="ink" if a.outcome == "answered" else "muted",
    )


def height_of(batch: Batch) -> float:
    lines = batch.rows if batch.rows <= ROWS_APART else min(len(batch.members), ROWS_APART)
    return max(LEAST_BATCH, lines * ROW_HEIGHT)


def _batch(
    canvas: Canvas, b: Batching, batch: Batch, left: float, scale: float, y: float, height: float
) -> None:
    """A box as wide as the batch took, with its rows one below the other, each named by its
    request.
    """
    x, right = (left + b.place(m) * scale for m in (batch.started, batch.ended))
    width = max(right - x, NARROWEST)
    own = height_of(batch)
    tip = (
        f"{batch.name}: {plural(batch.rows, 'row')} of "
        f"{', '.join(f'request {n}' for n, _ in batch.members)}"
    )
    canvas.rect(x, y, width, own, f"{RUNNING}-soft", RUNNING, 2, tip=tip)
    at = y
    for words, tall in cells_of(batch, own):
        if at > y:
            canvas.line([(x, at), (x + width, at)], RUNNING, 0.8)
        canvas.label(Box(x, at, width, tall), words, 10, pad=1)
        at += tall
    note = plural(batch.rows, "row")
    for words, spare in ((f"{batch.name}: {note}", 8), (note, 8), (str(batch.rows), 0)):
        if text_width(words, 9.5) + spare <= max(width, 9):
            canvas.text(x, y + height + 11, words, 9.5, paint="muted")
            break


def cells_of(batch: Batch, height: float) -> list[tuple[str, float]]:
    """What stands in the box of a batch, and how tall: each request by its rows; of many, each the
    same, and how many more.
    """
    if batch.rows <= ROWS_APART:
        return [(str(member), height * rows / batch.rows) for member, rows in batch.members]
    words = [str(member) for member, _ in batch.members]
    if len(words) > ROWS_APART:
        words = [*words[: ROWS_APART - 1], f"+{len(words) - ROWS_APART + 1}"]
    return [(word, height / len(words)) for word in words]


def tracks_of(b: Batching) -> list[list[Batch]]:
    """Batches that were at work at the same time are in different rows of the picture: as many as
    workers were busy.
    """
    tracks: list[list[Batch]] = []
    for batch in b.batches:
        start = b.place(batch.started)
        free = next((track for track in tracks if b.place(track[-1].ended) <= start), None)
        if free is None:
            tracks.append([batch])
        else:
            free.append(batch)
    return tracks
