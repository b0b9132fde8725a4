"""How a `viz.memory` scene reads and how it is drawn."""

from __future__ import annotations

from math import ceil

from viz.canvas import Canvas, text_width
from viz.rooms.memory import BUCKETS, Cell, Memory, Strip, View
from viz.text import and_list, plural, size_in_words, table

STRIP_WIDTH = 720
TEXT_CELLS = 12  # cells on one line of text
SHADES = "·░▒▓█"
WORDS = {"shared": "shared", "apart": "apart", "mapped": "mapped", "copied": "copied"}


def memory_text(scene: Memory) -> str:
    blocks = [_strip_text(strip) for strip in scene.strips]
    if scene.verdicts:
        rows = [[v.kind, and_list(v.names), v.text] for v in scene.verdicts]
        blocks.append(table(rows))
    return "\n\n".join(blocks)


def _strip_text(strip: Strip) -> str:
    lines = [f"{strip.name}  {_amount(strip)}"]
    if strip.owners:
        lines.append(f"    owner: {'; '.join(strip.owners)}")
    if strip.allocators:
        lines.append(f"    allocator: {', '.join(strip.allocators)}")
    if strip.cells is None:
        width = max(len(view.name) for view in strip.views)
        for view in strip.views:
            lines.append(f"    {view.name.ljust(width)}  {_bar(view)}")
        lines.append(f"    ({_hidden(strip)})")
    elif strip.nbytes:
        lines.append(_cells_text(strip))
    rows = [[view.name, view.facts] for view in strip.views]
    lines.append(table(rows, indent=4))
    if strip.cells is None:
        lines.extend(f"    {view.name}: {view.order}" for view in strip.views)
    return "\n".join(lines)


def _cells_text(strip: Strip) -> str:
    """A table of columns, one per place where some cell begins, in as many pieces as it takes."""
    assert strip.cells is not None
    starts = sorted(
        {cell.start for cells in [strip.cells, *(v.cells for v in strip.views)] for cell in cells}
    )

    def row(name: str, cells: list[Cell]) -> list[str]:
        at = {cell.start: cell.text or "?" for cell in cells}
        covered = {s for cell in cells for s in starts if cell.start < s < cell.start + cell.nbytes}
        return [name, *(at.get(s, "-" if s in covered else ".") for s in starts)]

    rows = [["", *(f"+{s:#x}" for s in starts)], row(strip.dtype, strip.cells)]
    rows += [row(view.name, view.cells) for view in strip.views]
    pieces = []
    for first in range(1, len(starts) + 1, TEXT_CELLS):
        piece = [[r[0], *r[first : first + TEXT_CELLS]] for r in rows]
        pieces.append(table(piece, indent=4, right=range(1, TEXT_CELLS + 1)))
    return "\n".join(pieces)


def _bar(view: View, width: int = BUCKETS // 2) -> str:
    per = len(view.coverage) // width
    shares = [sum(view.coverage[i * per : (i + 1) * per]) / per for i in range(width)]
    return "".join(SHADES[max(1, round(share * 4)) if share else 0] for share in shares)


def _amount(strip: Strip) -> str:
    count = strip.nbytes // strip.itemsize
    amount = f"{size_in_words(strip.nbytes)} = {count:,} {strip.dtype}" if count else "0 bytes"
    return f"{amount}, on {strip.where}" if strip.where else amount


def _hidden(strip: Strip, parts: int = BUCKETS // 2) -> str:
    return (
        f"drawn to scale in {parts} parts of {strip.nbytes / parts:,.0f} bytes; the values are "
        "hidden"
    )


def memory_canvas(scene: Memory) -> Canvas:
    count = sum(len(strip.views) for strip in scene.strips)
    canvas = Canvas(
        "viz.memory", f"{plural(len(scene.strips), 'storage')}, {plural(count, 'view')}. "
    )
    canvas.description += " ".join(
        f"{and_list(v.names)}: {v.kind}, {v.text}." for v in scene.verdicts
    )
    y = 0.0
    for strip in scene.strips:
        y = _draw_strip(canvas, strip, y) + 16
    y = _draw_verdicts(canvas, scene, y)
    roles = [
        ("storage", "bytes of a storage"),
        ("view", "touched by one"),
        ("owner", "keeps it alive"),
    ]
    if any(v.kind == "shared" for v in scene.verdicts):
        roles.insert(2, ("shared", "touched by several"))
    if any(strip.allocators for strip in scene.strips):
        roles.append(("allocator", "handed it out"))
    canvas.key(0, y + 4, roles)
    return canvas


def _draw_strip(canvas: Canvas, strip: Strip, y: float) -> float:
    """One storage with its rows, from `y` down; the new bottom."""
    chip = canvas.chip(0, y, strip.name, "storage", size=13, font="mono", bold=True)
    x = canvas.text(chip.right + 10, y + 15, _amount(strip), 13).right + 16
    for allocator in strip.allocators:
        x = canvas.chip(x, y + 1, allocator, "allocator").right + 8
    y += 30
    x = 0.0
    for number, chain in enumerate(strip.owners):
        links = chain.split(" → ")
        wide = sum(text_width(link, 11) + 14 for link in links) + 27 * (len(links) - 1)
        if number and x + 18 + wide > STRIP_WIDTH:
            x, y = 0.0, y + 26
        x += 18 if x else 0
        for n, owner in enumerate(links):
            if n:
                canvas.line([(x + 3, y + 10), (x + 23, y + 10)], arrow=True, tip="keeps alive")
                x += 27
            x = canvas.chip(x, y, owner, "owner").right
    y += 26 if strip.owners else 0
    if strip.nbytes == 0:
        canvas.text(0, y + 12, "no bytes", 11, paint="muted")
        y += 20
    scale = _scale(strip)
    if strip.nbytes:
        y = _draw_bytes(canvas, strip, y + 2, scale)
    for view in strip.views:
        y = _draw_view(canvas, strip, view, y, scale)
    if strip.cells is None:
        note = (
            _hidden(strip, BUCKETS) + "; a bar's height is the share of its bytes that are touched"
        )
        canvas.text(0, y + 12, note, 11, paint="muted")
        y += 18
    return y


def _scale(strip: Strip) -> float:
    """Canvas units per byte. Cells are wide enough for their text, within reason."""
    if strip.cells is None or not strip.cells:
        return STRIP_WIDTH / max(strip.nbytes, 1)
    all_cells = [*strip.cells, *(cell for view in strip.views for cell in view.cells)]
    wanted = max((text_width(c.text, 12, "mono") + 12) / c.nbytes for c in all_cells)
    least = max(18 / cell.nbytes for cell in all_cells)
    roomy = max(44 / strip.itemsize, least)
    return max(least, min(max(wanted, roomy), STRIP_WIDTH / strip.nbytes))


def _draw_bytes(canvas: Canvas, strip: Strip, y: float, scale: float) -> float:
    width = strip.nbytes * scale
    box = canvas.rect(
        0, y, width, 28, "storage-soft", "storage", tip=f"{strip.name}: {strip.nbytes:,} bytes"
    )
    for cell in strip.cells or []:
        x = cell.start * scale
        if cell.start:
            canvas.line([(x, y), (x, y + 28)], "storage", 1)
        inner = canvas.rect(
            x,
            y,
            cell.nbytes * scale,
            28,
            None,
            None,
            tip=f"{strip.name}+{cell.start:#x}: {cell.text}",
        )
        canvas.label(inner, cell.text)
    if strip.cells is None:
        middle = f"{strip.nbytes // strip.itemsize:,} × {strip.dtype}"
        canvas.label(box, middle)
    places = (
        [cell.start for cell in strip.cells]
        if strip.cells
        else [strip.nbytes * k // 4 for k in range(5)]
    )
    widest = max((text_width(f"+{place:#x}", 9.5, "mono") for place in places), default=0)
    apart = (places[1] - places[0]) * scale if len(places) > 1 else width
    for place in places[:: max(1, ceil((widest + 6) / max(apart, 1)))]:
        end = strip.cells is None and place == strip.nbytes
        canvas.text(
            place * scale,
            y + 40,
            f"+{place:#x}",
            9.5,
            "end" if end else "start",
            font="mono",
            paint="muted",
        )
    return y + 54


def _draw_view(canvas: Canvas, strip: Strip, view: View, y: float, scale: float) -> float:
    name = canvas.text(0, y + 11, view.name, 13, font="mono", bold=True)
    canvas.text(name.right + 10, y + 11, view.facts, 11, paint="muted")
    y += 18
    if view.numel == 0:
        return y + 8
    width, height = strip.nbytes * scale, 22
    if strip.cells is None:
        return _draw_coverage(canvas, view, y, width, height)
    canvas.line([(0, y + height / 2), (width, y + height / 2)], "line", 1)
    for cell in view.cells:
        role = "shared" if cell.shared else "view"
        box = canvas.rect(
            cell.start * scale + 1, y, cell.nbytes * scale - 2, height, f"{role}-soft", role
        )
        canvas.label(box, cell.text, 11)
    return y + height + 12


def _draw_coverage(canvas: Canvas, view: View, y: float, width: float, height: float) -> float:
    canvas.line([(0, y + height), (width, y + height)], "line", 1)
    step, b = width / BUCKETS, 0
    while b < BUCKETS:
        share, shared, first = view.coverage[b], view.shared_buckets[b], b
        while (
            b < BUCKETS
            and abs(view.coverage[b] - share) < 0.04
            and view.shared_buckets[b] == shared
        ):
            b += 1
        if share > 0:
            tall = max(3.0, height * share)
            role = "shared" if shared else "view"
            tip = f"{share:.0%} of these bytes"
            canvas.rect(
                first * step,
                y + height - tall,
                (b - first) * step,
                tall,
                f"{role}-soft",
                role,
                0,
                tip=tip,
            )
    canvas.text(0, y + height + 13, view.order, 10.5, paint="muted")
    return y + height + 26


def _draw_verdicts(canvas: Canvas, scene: Memory, y: float) -> float:
    if not scene.verdicts:
        return y
    roles = {"shared": "shared", "apart": "view", "mapped": "storage", "copied": "copied"}
    left = max(text_width(WORDS[v.kind], 12, bold=True) for v in scene.verdicts) + 26
    for verdict in scene.verdicts:
        canvas.chip(0, y, WORDS[verdict.kind], roles[verdict.kind], size=12, bold=True)
        who = canvas.text(left, y + 14, and_list(verdict.names), 13, font="mono", bold=True)
        canvas.text(who.right + 10, y + 14, verdict.text, 12)
        y += 27
    return y + 4
