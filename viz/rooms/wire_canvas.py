"""How a `viz.wire` scene is drawn: a row for each field, a box for each part of it, in the colour
of what it is for.

How the real one differs: protobuf draws nothing.
"""

from __future__ import annotations

from viz.canvas import Canvas, shorten, text_width
from viz.rooms.wire import Wire, WireRow, label
from viz.text import plural

WIDTH = 720.0
CELLS = 46.0  # where the first byte is
CELL, TALL, ROW = 18.25, 17.0, 23.0  # a byte is two digits and a space
INDENT = 18.0
GAP = 4.0
KEY, LENGTH, VALUE, UNKNOWN = "owner", "allocator", "storage", "free"
LEGEND = {
    KEY: "key: which field, how it is written",
    LENGTH: "length",
    VALUE: "value",
    UNKNOWN: "skipped: not in the schema",
}
HEX = 10.0


def wire_canvas(scene: Wire) -> Canvas:
    canvas = Canvas(scene.title(), scene.headline())
    canvas.text(
        0, 14, shorten(scene.headline(), WIDTH, 13, bold=True), 13, bold=True, tip=scene.headline()
    )
    y = 34.0
    right = max((width_of(row) for row in scene.rows), default=0.0) + CELLS + 16
    if scene.rows:
        for x, anchor, word in (
            (CELLS - 8, "end", "at"),
            (CELLS, "start", "bytes"),
            (right, "start", "field"),
        ):
            canvas.text(x, y, word, 10, anchor, paint="muted")
        y += 8
    top = y
    draw_nesting(canvas, scene.rows, top)
    for row in scene.rows:
        draw_row(canvas, row, y, right)
        y += ROW
    if scene.hidden:
        canvas.text(
            CELLS, y + 13, f"{plural(scene.hidden, 'more field')} hidden", 10, paint="muted"
        )
        y += ROW
    roles = {role for row in scene.rows for role, _ in parts(row)}
    canvas.key(0, y + 8, [(role, meaning) for role, meaning in LEGEND.items() if role in roles])
    return canvas


def parts(row: WireRow) -> list[tuple[str, bytes]]:
    """The bytes of a row by what they are for."""
    value = "warning" if row.problem else VALUE if row.known else UNKNOWN
    return [
        (role, data)
        for role, data in ((KEY, row.key), (LENGTH, row.length), (value, row.value))
        if data
    ]


def rest_of(row: WireRow) -> str:
    return f"+ {row.hidden:,}" if row.hidden else ""


def width_of(row: WireRow) -> float:
    """How far its cells reach."""
    groups = parts(row)
    rest = text_width(rest_of(row), HEX) + 10 if row.hidden else 0.0
    return (
        row.depth * INDENT
        + sum(len(data) * CELL for _, data in groups)
        + GAP * max(0, len(groups) - 1)
        + rest
    )


def draw_row(canvas: Canvas, row: WireRow, y: float, right: float) -> None:
    base = y + 12.5
    canvas.text(CELLS - 8, base, f"{row.at:,}", 9.5, "end", "mono", "muted")
    x = CELLS + row.depth * INDENT
    tips = {KEY: key_tip(row), LENGTH: f"length: {length_of(row):,} bytes"}
    for role, data in parts(row):
        tip = tips.get(role, f"{row.kind}: {row.says}")
        box = canvas.rect(
            x, y, CELL * len(data), TALL, f"{role}-soft", role, radius=2, width=0.8, tip=tip
        )
        canvas.text(x + box.w / 2, base, data.hex(" "), HEX, "middle", "mono", tip=tip)
        x = box.right + GAP
    if row.hidden:
        canvas.text(
            x, base, rest_of(row), HEX, paint="muted", tip=f"{row.hidden:,} more bytes of the value"
        )
    x = right + row.depth * INDENT
    x = canvas.text(x, base, label(row), 11, font="mono", bold=True).right + 10
    kind = row.kind if row.known else f"not in the schema: {row.kind}"
    x = (
        canvas.text(x, base, shorten(kind, WIDTH - x, 10.5), 10.5, paint="muted", tip=kind).right
        + 10
    )
    paint = "warning-text" if row.problem else "ink"
    canvas.text(
        x,
        base,
        shorten(row.says, WIDTH - x, 10.5, "mono"),
        10.5,
        font="mono",
        paint=paint,
        tip=row.says,
    )


def draw_nesting(canvas: Canvas, rows: list[WireRow], top: float) -> None:
    """A line down from each message along the fields that are in it."""
    for n, row in enumerate(rows):
        inside = 0
        while n + inside + 1 < len(rows) and rows[n + inside + 1].depth > row.depth:
            inside += 1
        if inside:
            x = CELLS + row.depth * INDENT + INDENT / 2
            canvas.line(
                [(x, top + n * ROW + TALL), (x, top + (n + inside) * ROW + TALL)], "line", 1.4
            )


def key_tip(row: WireRow) -> str:
    """ "0x12 = 2 × 8 + 2: field 2, length and bytes"."""
    if not row.number:
        return row.problem
    kind = {"varint": 0, "8 bytes": 1, "length and bytes": 2, "group": 3, "4 bytes": 5}.get(
        row.written, 0
    )
    return (
        f"{row.number * 8 + kind:#x} = {row.number} × 8 + {kind}: field {row.number}, {row.written}"
    )


def length_of(row: WireRow) -> int:
    return sum((byte & 0x7F) << 7 * n for n, byte in enumerate(row.length))
