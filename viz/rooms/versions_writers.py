"""The record of version counters as a table and as a drawing: one lane a counter, one row an event,
time going down.
"""

from __future__ import annotations

from viz.canvas import Canvas, shorten, text_width
from viz.rooms.versions import Event, Versions
from viz.text import plural, table

EVENTS_AT_MOST, ROW = 60, 30.0
LINE_ROOM = 300.0
ROLES = {"write": "view", "unseen": "warning", "keep": "storage", "check": "free"}


def versions_text(scene: Versions) -> str:
    if not scene.events:
        names = "; ".join(f"{lane.title} at v{lane.end}" for lane in scene.lanes)
        return "versions: nothing happened" + (f" ({names})" if names else "")
    lines = [
        f"versions of {'; '.join(lane.title for lane in scene.lanes)}: "
        f"{plural(len(scene.events), 'event')}"
    ]
    start = ["", "(start)", *(f"v{lane.start}" for lane in scene.lanes)]
    rows = [start]
    for number, event in enumerate(scene.events[:EVENTS_AT_MOST]):
        cells = ["" for _ in scene.lanes]
        cells[event.lane] = mark(event)
        rows.append([str(number + 1), sentence(event), *cells, event.line])
    header = ["", "what", *(lane.title for lane in scene.lanes), "your line"]
    lines.append(table(rows, header, indent=4, right=[0]))
    if (hidden := len(scene.events) - EVENTS_AT_MOST) > 0:
        lines.append(f"    ({plural(hidden, 'more event')} hidden)")
    return "\n".join(lines)


def sentence(event: Event) -> str:
    """ "add_.Scalar writes through y", "TanhBackward0 keeps result", "TanhBackward0 checks
    result".
    """
    what = event.what.removeprefix("aten::")
    if not what:
        return "written by no operator (such as mark_dirty)"
    if event.kind == "write":
        return f"{what} writes through {event.through}"
    if event.kind == "unseen":
        return f"{what} writes past it: {event.through}"
    return f"{what} {'keeps' if event.kind == 'keep' else 'checks'} {event.through}"


def mark(event: Event) -> str:
    """What stands in the lane: "v0 -> v1", "v0 kept", "v0 ok", "v0, now v1: refused"."""
    if event.kind == "write":
        return f"v{event.before} -> v{event.after}"
    if event.kind == "unseen":
        return f"v{event.after}: not counted"
    if event.kind == "keep":
        return f"v{event.before} kept"
    if event.outcome == "refused":
        return f"v{event.before}, now v{event.after}: refused"
    return f"v{event.before} {event.outcome}"


def versions_canvas(scene: Versions) -> Canvas:
    canvas = Canvas("viz.versions", versions_text(scene).split("\n")[0])
    if not scene.events:
        canvas.text(0, 12, versions_text(scene), 12, paint="muted")
        return canvas
    events = scene.events[:EVENTS_AT_MOST]
    left = max(120.0, max(text_width(sentence(e), 12, bold=e.kind == "write") for e in events) + 50)
    widths = []
    for n, lane in enumerate(scene.lanes):
        marks = [text_width(mark(e), 11, "mono") + 18 for e in events if e.lane == n]
        widths.append(max([text_width(lane.title, 12, "mono", True) + 16, 70.0, *marks]))
    places = [left + sum(widths[:n]) + 24 * n for n in range(len(widths))]
    bottom = 48 + ROW * len(events)
    for lane, x, w in zip(scene.lanes, places, widths):
        canvas.text(x + w / 2, 12, lane.title, 12, "middle", "mono", bold=True)
        canvas.line([(x + w / 2, 22), (x + w / 2, bottom + 14)], "line", 1.4)
        pill(canvas, x + w / 2, 20, f"v{lane.start}", "view")
    right = places[-1] + widths[-1] + 24
    if any(e.line for e in events):
        canvas.text(right, 12, "your line", 11, paint="muted")
    previous = ""
    for number, event in enumerate(events):
        y = 48 + ROW * number
        canvas.text(20, y + 14, str(number + 1), 11, "end", "mono", "muted")
        canvas.text(32, y + 14, sentence(event), 12, bold=event.kind == "write")
        role = "warning" if event.outcome == "refused" else ROLES[event.kind]
        pill(
            canvas,
            places[event.lane] + widths[event.lane] / 2,
            y,
            mark(event).replace("->", "→"),
            role,
        )
        if event.line and event.line != previous:
            shown = shorten(event.line, LINE_ROOM, 11, "mono")
            canvas.text(
                right,
                y + 14,
                shown,
                11,
                "start",
                "mono",
                "muted",
                tip=event.line if shown != event.line else "",
            )
        previous = event.line
    y = bottom
    for lane, x, w in zip(scene.lanes, places, widths):
        pill(canvas, x + w / 2, y, f"v{lane.end}", "view")
    canvas.text(32, y + 14, "at the end", 12, paint="muted")
    if (hidden := len(scene.events) - len(events)) > 0:
        canvas.text(32, y + 34, f"{plural(hidden, 'more event')} hidden", 11, paint="muted")
        y += 20
    entries = [
        ("view", "written: the counter goes up"),
        ("storage", "kept by a node"),
        ("free", "checked in backward"),
    ]
    if any(e.outcome == "refused" or e.kind == "unseen" for e in events):
        entries.append(("warning", "refused, or not counted"))
    canvas.key(0, y + 40, entries)
    return canvas


def pill(canvas: Canvas, x: float, y: float, text: str, role: str) -> None:
    """A mark in a lane, centred at `x`."""
    w = text_width(text, 11, "mono") + 14
    canvas.rect(
        x - w / 2, y, w, 20, f"{role}-soft", role, radius=9, width=2 if role == "warning" else 1.2
    )
    canvas.text(x, y + 14, text, 11, "middle", "mono")
