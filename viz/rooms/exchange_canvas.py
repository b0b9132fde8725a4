"""Where the marks of `viz.exchange` go: lanes over time, or columns in the order of the wire."""

from __future__ import annotations

from math import ceil

from viz.canvas import Canvas, text_width
from viz.rooms.chart import ticks
from viz.rooms.exchange import PIECES, STRETCHES, Exchange, Mark, milli

WIDTH = 620.0
ROW, BAR, PIECE = 40.0, 18.0, 6.0
COLUMN, HALF, COLUMNS = 17.0, 14.0, 46
NARROWEST = 2.5


def by_time(e: Exchange) -> Canvas:
    """A bar of stretches for each request; below it a small box for each piece that came from the
    server.
    """
    canvas = Canvas(e.title(), "; ".join(e.facts()))
    y = _facts(canvas, e)
    if not e.lanes:
        return canvas
    left = max(text_width(lane.name, 12, "mono", True) for lane in e.lanes)
    left = max([left, *(text_width(lane.where, 10) for lane in e.lanes)]) + 14
    scale = WIDTH / (e.end or 1.0)
    top = y + 26
    bottom = top + len(e.lanes) * ROW
    for tick in ticks([0.0, e.end]):
        if 0 <= tick <= e.end:
            x = left + tick * scale
            canvas.line([(x, top - 8), (x, bottom - 8)], "line", 0.6)
            canvas.text(x, top - 12, milli(tick), 10.5, "middle", "mono", "muted")
    for n, lane in enumerate(e.lanes):
        at = top + n * ROW
        canvas.text(0, at + 10, lane.name, 12, font="mono", bold=True)
        canvas.text(0, at + 23, lane.where, 10, paint="muted")
        for s in lane.stretches:
            role, what, _ = STRETCHES[s.kind]
            x, w = left + s.start * scale, max((s.end - s.start) * scale, NARROWEST)
            tip = f"{lane.name}: {what}, {milli(s.start)} to {milli(s.end)}"
            canvas.rect(x, at, w, BAR, f"{role}-soft", role, 2, dashed=s.kind == "queued", tip=tip)
        _pieces_below(
            canvas, [m for m in e.marks if m.lane == n and not m.sent], left, scale, at + BAR + 3
        )
        canvas.text(left + WIDTH + 12, at + 13, lane.outcome, 11)
    used = {s.kind for lane in e.lanes for s in lane.stretches}
    canvas.key(
        0, bottom + 2, [(role, what) for kind, (role, what, _) in STRETCHES.items() if kind in used]
    )
    kinds = {m.kind for m in e.marks if m.lane >= 0 and not m.sent}
    small = [(role, f"{kind} (small)") for kind, (role, _) in PIECES.items() if kind in kinds]
    canvas.key(0, bottom + 22, small)
    return canvas


def _pieces_below(canvas: Canvas, marks: list[Mark], left: float, scale: float, y: float) -> None:
    """Pieces that would cover each other are one box that says how many it stands for."""
    groups: list[list[Mark]] = []
    for m in marks:
        if groups and groups[-1][0].kind == m.kind and (m.time - groups[-1][0].time) * scale < 8:
            groups[-1].append(m)
        else:
            groups.append([m])
    right = -1.0
    for group in groups:
        x = max(left + group[0].time * scale - 2, right + 1)
        right = x + 4
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        canvas.rect(x, y, 4, PIECE, group[0].look[0], None, 1, tip=group[0].tip + more)


def by_order(e: Exchange) -> Canvas:
    """A column for each piece. The client's are in the upper half of a lane, the server's in the
    lower half.
    """
    canvas = Canvas(e.title(), "; ".join(e.facts()))
    y = _facts(canvas, e)
    rows = [
        (-1, c) for c in e.connections if any(m.lane < 0 and m.connection == c for m in e.marks)
    ]
    names = ["connection" if len(e.connections) == 1 else f"connection {c}" for _, c in rows]
    rows += [(n, 0) for n in range(len(e.lanes))]
    names += [lane.name for lane in e.lanes]
    left = max((text_width(name, 12, "mono", True) for name in names), default=0.0) + 14
    bands = max(1, ceil(len(e.marks) / COLUMNS))
    columns = ceil(len(e.marks) / bands) or 1
    for first in range(0, len(e.marks), columns):
        band = e.marks[first : first + columns]
        y = _band(
            canvas, band, rows, names, left, y + 22, None if first == 0 else e.marks[first - 1].time
        )
    kinds = {m.kind for m in e.marks}
    key = [(role, f"{letter} {kind}") for kind, (role, letter) in PIECES.items() if kind in kinds]
    canvas.key(0, y + 4, key)
    note = "upper half: from the client; lower half: from the server"
    note += "; a strong edge: END_STREAM" if any(m.ends for m in e.marks) else ""
    canvas.text(0, y + 36, note, 11, paint="muted")
    if e.hidden:
        canvas.text(0, y + 54, f"and {e.hidden} more", 11, paint="muted")
    return canvas


def _band(
    canvas: Canvas,
    band: list[Mark],
    rows: list[tuple[int, int]],
    names: list[str],
    left: float,
    y: float,
    before: float | None,
) -> float:
    place = {row: y + n * (2 * HALF + 6) for n, row in enumerate(rows)}
    width = left + len(band) * COLUMN
    for row, name in zip(rows, names):
        canvas.text(0, place[row] + HALF + 4, name, 12, font="mono", bold=row[0] >= 0)
        canvas.line([(left, place[row] + HALF), (width, place[row] + HALF)], "line", 0.8)
    free = left  # where the next time may be written
    for n, mark in enumerate(band):
        x = left + n * COLUMN
        if mark.time != before and x >= free:
            free = canvas.text(x, y - 8, milli(mark.time), 10, font="mono", paint="muted").right + 6
        before = mark.time
        row = (mark.lane, 0) if mark.lane >= 0 else (-1, mark.connection)
        role, letter = mark.look
        top = place[row] if mark.sent else place[row] + HALF
        box = canvas.rect(x, top, COLUMN - 2, HALF, f"{role}-soft", role, 2, tip=mark.tip)
        canvas.label(box, letter, 10, "mono", pad=2)
        if mark.ends:
            canvas.rect(x + COLUMN - 5, top, 3, HALF, role, None, 0)
    return y + len(rows) * (2 * HALF + 6)


def _facts(canvas: Canvas, e: Exchange) -> float:
    y = 0.0
    for n, fact in enumerate(e.facts()):
        canvas.text(0, y + 11, fact, 12.5 if n == 0 else 12, bold=n == 0)
        y += 18
    return y
