"""How a `viz.archive` scene is drawn: the file to scale, then a row for each record, lined up at
the beginning of its payload.

How the real one differs: PyTorch draws nothing; Netron draws the graph that is in such a file, not
the file.
"""

from __future__ import annotations

from viz.canvas import Canvas, shorten, text_width
from viz.rooms.archive import Archive, Panel, RecordRow, TensorRow
from viz.text import size_in_words

WIDTH = 720.0
NAME, RUN_UP, PAYLOAD = 62.0, 186.0, 306.0  # where the columns begin
SCALE = 0.6  # canvas units per byte, in the rows
PAYLOAD_ROOM = 96.0  # longer payloads are cut
DESCRIPTOR_ROOM = 20.0
SIZE_AT = PAYLOAD + PAYLOAD_ROOM + DESCRIPTOR_ROOM + 50
HOLDS = SIZE_AT + 10
ROW, BAR = 19.0, 12.0
SMALL = 10.0
ROLES = {
    "tensor": "storage", "description": "python", "code": "key", "text": "free",
    "directory": "allocator", "overhead": None,
}  # fmt: skip
LEGEND = {
    "tensor": "bytes of a storage",
    "description": "pickle, JSON",
    "code": "code",
    "text": "other text, padding",
    "directory": "where everything is",
}


def archive_canvas(scene: Archive) -> Canvas:
    canvas = Canvas(
        scene.title(), f"{scene.what}, {size_in_words(scene.size)}. " + " ".join(scene.summary)
    )
    name = canvas.text(
        0, 14, shorten(scene.name, 300, 14, bold=True), 14, bold=True, tip=scene.name
    )
    facts = f"{scene.what}, {size_in_words(scene.size)}"
    canvas.text(
        name.right + 10,
        14,
        shorten(facts, WIDTH - name.right - 10, 12),
        12,
        paint="muted",
        tip=facts,
    )
    y = 34.0
    for line in scene.summary:
        canvas.text(0, y, shorten(line, WIDTH, 11), 11, paint="muted", tip=line)
        y += 16
    for warning in scene.warnings:
        chip = canvas.chip(0, y - 8, "warning", "warning", bold=True)
        canvas.text(
            chip.right + 8, y + 5, shorten(warning, WIDTH - chip.right - 8, 11), 11, tip=warning
        )
        y += 25
    y = draw_strip(canvas, scene, y + 2)
    y = draw_rows(canvas, scene, y + 26)
    kinds = {kind for _, _, kind in scene.runs}
    roles = [(ROLES[kind] or "", meaning) for kind, meaning in LEGEND.items() if kind in kinds]
    tensors = [t for row in scene.rows for t in row.tensors if not is_simple(row)]
    if any(not t.shared for t in tensors):
        roles.append(("view", "part of it"))
    if any(t.shared for t in tensors):
        roles.append(("shared", "shared by tensors"))
    canvas.key(0, y + 6, roles)
    return with_panels(canvas, scene.panels, y + 38)


def draw_strip(canvas: Canvas, scene: Archive, y: float) -> float:
    """The whole file to scale. Neighbours of one colour are drawn as one, and what is too small to
    see is left out.
    """
    canvas.rect(0, y, WIDTH, 22, "panel", "line", radius=2)
    unit = WIDTH / max(scene.size, 1)
    merged: list[tuple[float, float, str]] = []
    for start, size, kind in scene.runs:
        role = ROLES[kind]
        if role is None:
            continue
        left, right = start * unit, (start + size) * unit
        if merged and merged[-1][2] == role and left - merged[-1][1] < 1.5:
            merged[-1] = (merged[-1][0], right, role)
        else:
            merged.append((left, right, role))
    for left, right, role in merged:
        if right - left >= 0.35:
            canvas.rect(
                left,
                y,
                right - left,
                22,
                f"{role}-soft",
                role if right - left > 3 else None,
                radius=0,
            )
    for k in range(5):
        place, anchor = scene.size * k // 4, "start" if k == 0 else "end" if k == 4 else "middle"
        canvas.text(WIDTH * k / 4, y + 34, f"{place:#x}", 9.5, anchor, "mono", "muted")
    return y + 40


def is_simple(row: RecordRow) -> bool:
    """Whether its one tensor is all of it, so that one line says everything."""
    return len(row.tensors) == 1 and row.tensors[0].whole


def draw_rows(canvas: Canvas, scene: Archive, y: float) -> float:
    draw_heads(
        canvas,
        y,
        all(row.offset % 64 == 0 for row in scene.rows if row.kind not in ("hidden", "directory")),
    )
    top, bottom = y + 19, y + 19 + sum(height(row) for row in scene.rows)
    for behind in (64, 128):
        canvas.line(
            [(PAYLOAD - behind * SCALE, top), (PAYLOAD - behind * SCALE, bottom)],
            "line",
            0.8,
            dashed=True,
        )
    canvas.line([(PAYLOAD, top), (PAYLOAD, bottom)], "muted", 1)
    y = top
    longest = max((row.header + row.padding for row in scene.rows), default=0)
    run_up = max(RUN_UP, min(PAYLOAD - longest * SCALE, PAYLOAD - 140 * SCALE))
    for row in scene.rows:
        draw_row(canvas, row, y, run_up)
        y += height(row)
    return y


def draw_heads(canvas: Canvas, y: float, aligned: bool) -> None:
    canvas.text(NAME - 8, y, "at", SMALL, "end", paint="muted")
    canvas.text(NAME, y, "record", SMALL, paint="muted")
    canvas.text(PAYLOAD - 6, y, "header, padding", SMALL, "end", paint="muted")
    canvas.text(PAYLOAD + 6, y, "payload", SMALL, paint="muted")
    canvas.text(SIZE_AT, y, "bytes", SMALL, "end", paint="muted")
    canvas.text(HOLDS, y, "holds", SMALL, paint="muted")
    for behind, label in ((128, "-128"), (64, "-64"), (0, "n × 64" if aligned else "0")):
        canvas.text(PAYLOAD - behind * SCALE, y + 14, label, 8.5, "middle", "mono", "muted")


def height(row: RecordRow) -> float:
    return ROW if is_simple(row) else ROW + 15 * len(row.tensors)


def draw_row(canvas: Canvas, row: RecordRow, y: float, run_up: float) -> None:
    base = y + 12.5
    if row.kind == "hidden":
        box = canvas.rect(NAME - 4, y + 2, WIDTH - NAME + 4, ROW - 4, "panel", "line", dashed=True)
        canvas.text(NAME, base, row.name, SMALL, paint="muted", bold=True)
        canvas.text(box.right - 6, base, row.note, SMALL, "end", paint="muted")
        return
    canvas.text(NAME - 8, base, f"{row.start:#x}", 9.5, "end", "mono", "muted")
    room = (run_up if row.header else PAYLOAD) - NAME - 6
    canvas.text(NAME, base, shorten_left(row.name, room), SMALL, font="mono", tip=row.name)
    draw_run_up(canvas, row, y + 3, run_up)
    end = draw_payload(canvas, row, y + 3)
    if row.descriptor:
        tip = f"data descriptor: {row.descriptor} bytes"
        canvas.rect(end, y + 5, row.descriptor * SCALE, BAR - 4, "panel", "muted", 0, tip=tip)
    canvas.text(
        SIZE_AT,
        base,
        short_size(row.payload),
        9.5,
        "end",
        "mono",
        "muted",
        tip=f"{row.payload:,} bytes",
    )
    if is_simple(row):
        draw_tensor_text(canvas, row.tensors[0], base)
        return
    paint = "warning-text" if row.problem else "muted"
    canvas.text(
        HOLDS, base, shorten(row.note, WIDTH - HOLDS, SMALL), SMALL, paint=paint, tip=row.note
    )
    for n, t in enumerate(row.tensors):
        draw_view(canvas, row, t, y + ROW + 15 * n)


def draw_run_up(canvas: Canvas, row: RecordRow, y: float, run_up: float) -> None:
    """Header and padding, at true scale, so that they end where the payload begins."""
    left = PAYLOAD - (row.header + row.padding) * SCALE
    start = max(left, run_up)
    middle = PAYLOAD - row.padding * SCALE
    if row.header:
        tip = f"header with the name: {row.header} bytes"
        canvas.rect(
            start,
            y,
            max(middle - start, 2),
            BAR,
            "panel",
            "muted",
            0,
            dashed=left < run_up,
            tip=tip,
        )
    if row.padding:
        canvas.rect(
            middle,
            y + 2,
            row.padding * SCALE,
            BAR - 4,
            "free-soft",
            None,
            0,
            tip=f"padding: {row.padding} bytes",
        )


def draw_payload(canvas: Canvas, row: RecordRow, y: float) -> float:
    """The payload at true scale, cut when it is long; where it ends."""
    role = "warning" if row.problem else ROLES[row.kind]
    tip = f"payload: {row.payload:,} bytes at {row.offset:#x}"
    wide = row.payload * SCALE
    if wide <= PAYLOAD_ROOM:
        canvas.rect(PAYLOAD, y, max(wide, 1), BAR, f"{role}-soft", role, 0, tip=tip)
        return PAYLOAD + max(wide, 1)
    canvas.rect(PAYLOAD, y, PAYLOAD_ROOM - 22, BAR, f"{role}-soft", role, 0, tip=tip)
    for k in range(3):
        canvas.rect(PAYLOAD + PAYLOAD_ROOM - 18 + 6 * k, y + BAR / 2 - 1, 2.5, 2.5, role, None, 1)
    return PAYLOAD + PAYLOAD_ROOM


def draw_view(canvas: Canvas, row: RecordRow, t: TensorRow, y: float) -> None:
    """Which bytes of the payload above a tensor touches: at the same scale, or of the whole when
    the payload is cut.
    """
    unit = min(SCALE, PAYLOAD_ROOM / max(row.payload, 1))
    role = "shared" if t.shared else "view"
    tip = f"{t.name}: bytes {t.first:,} to {t.last:,}"
    if t.last > t.first:
        right = min(t.last, row.payload) * unit
        canvas.rect(
            PAYLOAD + t.first * unit,
            y,
            max(right - t.first * unit, 1),
            7,
            f"{role}-soft",
            role,
            0,
            tip=tip,
        )
    draw_tensor_text(canvas, t, y + 8)


def draw_tensor_text(canvas: Canvas, t: TensorRow, base: float) -> None:
    """Its name, shortened if it must be, and what it is."""
    room = WIDTH - HOLDS
    facts = shorten(t.facts, room * 0.6, SMALL - 0.5)
    wide = text_width(facts, SMALL - 0.5)
    name = shorten_left(t.name, room - wide - 8)
    at = canvas.text(HOLDS, base, name, SMALL, font="mono", tip=t.name)
    canvas.text(at.right + 8, base, facts, SMALL - 0.5, paint="muted", tip=t.facts)


def shorten_left(text: str, room: float) -> str:
    """The end of a path says more than its beginning."""
    if text_width(text, SMALL, "mono") <= room:
        return text
    while text and text_width("…" + text, SMALL, "mono") > room:
        text = text[1:]
    return "…" + text


def short_size(nbytes: int) -> str:
    return f"{nbytes:,}" if nbytes < 100_000 else size_in_words(nbytes).partition(" (")[0]


def with_panels(canvas: Canvas, panels: list[Panel], y: float) -> Canvas:
    """Two columns of texts under the map."""
    wide = (WIDTH - 16) / 2
    for n in range(0, len(panels), 2):
        pair = panels[n : n + 2]
        span = wide if len(pair) == 2 else WIDTH
        tall = max(14.0 * (len(p.lines) + bool(p.hidden)) for p in pair) + 34
        for i, panel in enumerate(pair):
            draw_panel(canvas, panel, i * (wide + 16), y, span, tall)
        y += tall + 14
    return canvas


def draw_panel(canvas: Canvas, panel: Panel, x: float, y: float, wide: float, tall: float) -> None:
    canvas.rect(x, y, wide, tall, "panel", "line", radius=5)
    canvas.text(
        x + 10,
        y + 18,
        shorten(panel.title, wide - 20, 11, bold=True),
        11,
        bold=True,
        tip=panel.title,
    )
    base = y + 36
    for line in panel.lines:
        shown = shorten(line, wide - 20, 9.5, "mono")
        canvas.text(x + 10, base, shown, 9.5, font="mono", tip=line if shown != line else "")
        base += 14
    if panel.hidden:
        canvas.text(x + 10, base, f"… {panel.hidden:,} more lines not shown", 9.5, paint="muted")
