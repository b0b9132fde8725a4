"""How `viz.access` reads as text, and how it is drawn: grids of elements, sectors of global memory,
banks of shared memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz.canvas import Canvas, text_width
from viz.rooms.access import (
    COLUMNS,
    CYCLE,
    TEXT_ROWS,
    AccessPicture,
    Grid,
    conflict_text,
    request_caption,
    worst,
)
from viz.text import plural, table

if TYPE_CHECKING:
    from internals.cuda.access_log import Instruction, Request

WIDTH = 900.0
CELL, LOW = 25.0, 20.0  # of an element's cell
SECTORS, BANK_ROWS = 8, 4  # drawn at most
SECTOR_WIDTH = 104.0


def access_text(p: AccessPicture) -> str:
    blocks = [f"{p.log.kernel}: {p.launch}", f"    {p.log.summary()}"] if p.whole else []
    for grid in p.grids:
        if p.whole or any(mark.fresh for mark in grid.marks.values()):
            blocks.append(_grid_text(p, grid))
    if p.instructions:
        rows = [_row(i) for i in p.instructions]
        header = [
            "line",
            "",
            "instruction",
            "requests",
            "sectors",
            "needed",
            "lines",
            "efficiency",
            "banks",
        ]
        blocks.append(
            f"block {p.block}, warp {p.warp}\n"
            + table(rows, header, indent=4, right=[0, 3, 4, 5, 6, 7])
        )
    for race in p.log.races[:3] if p.whole else []:
        a, b = race.first, race.second
        blocks.append(
            f"race on {race.array}[{race.element}]: {a.kind} by block {a.block} thread {a.thread}, "
            f"{b.kind} by block {b.block} thread {b.thread} in {race.why}"
        )
    return "\n".join(blocks)


def _row(i: Instruction) -> list[object]:
    """An instruction of one warp as a row: what it costs, per request."""
    n = len(i.requests)
    if i.array.space == "shared":
        return [i.place.line, i.kind, i.place.text, n, "", "", "", "", conflict_text(i.conflict)]
    needed = sum(r.sectors_needed for r in i.requests)
    return [
        i.place.line, i.kind, i.place.text, n, f"{i.sectors / n:.3g}", f"{needed / n:.3g}",
        f"{i.transactions:.3g}", f"{i.efficiency:.0%}", "",
    ]  # fmt: skip


def _grid_text(p: AccessPicture, grid: Grid) -> str:
    letters = {role: chr(ord("A") + n) for n, role in enumerate(CYCLE)}
    tagged = (
        len({m.role for g in p.grids for m in g.marks.values()} - {"shared"}) > 1
        and p.by != "thread"
    )
    lines = []
    for r in range(min(grid.rows, TEXT_ROWS, p.rows)):
        cells = []
        for c in range(min(grid.columns, COLUMNS)):
            mark = grid.marks.get(r * grid.columns + c)
            if mark is None or not mark.fresh:
                cells.append(".")
            else:
                cells.append((letters.get(mark.role, "") if tagged else "") + mark.label)
        lines.append(cells)
    colours = (
        ", ".join(f"{letters[role]} is {name}" for role, name in p.groups() if role in letters)
        if tagged
        else ""
    )
    words = "a number is a thread" + (f", {colours}" if colours else "") + ", × how many threads"
    head = f"{grid.name}: {grid.facts}" + (f" ({words})" if p.whole and grid is p.grids[0] else "")
    return "\n".join(
        [head, table(lines, indent=4, right=range(COLUMNS)), *_hidden(grid, min(TEXT_ROWS, p.rows))]
    )


def _hidden(grid: Grid, limit: int) -> list[str]:
    rows, columns = max(0, grid.rows - limit), max(0, grid.columns - COLUMNS)
    words = [plural(n, what) for n, what in ((rows, "row"), (columns, "column")) if n]
    return [f"    ({' and '.join(words)} hidden)"] if words else []


def access_canvas(p: AccessPicture) -> Canvas:
    canvas = Canvas(p.title(), f"{p.launch}; {p.log.summary()}")
    y = 0.0
    if p.whole:
        chip = canvas.chip(0, 0, p.log.kernel, "key", 13, "mono", bold=True)
        canvas.text(chip.right + 12, 15, p.launch, 12, paint="muted")
        y = 36.0
        for part in p.log.summary().split("; "):
            bad = "race" in part or "conflicts up" in part
            canvas.text(0, y + 10, part, 12, bold=bad, paint="warning-text" if bad else "ink")
            y += 18
        y += 8
    if p.rows:
        y = _draw_grids(canvas, p, y)
        canvas.key(0, y, p.groups()) if p.groups() else None
        y += 22
        note = "a number is the thread in its block, × how many threads touched the element"
        canvas.text(0, y + 10, note, 11, paint="muted")
        y += 30
    for space, heading in (
        (
            "global",
            "sectors of 32 bytes that its threads touch; each number is a thread of the warp",
        ),
        (
            "shared",
            "words of 4 bytes by bank; threads that want different words of one bank wait for each "
            "other",
        ),
    ):
        here = [i for i in p.instructions if i.array.space == space]
        if here:
            head = canvas.text(
                0, y + 12, f"block {p.block}, warp {p.warp}, {space} memory", 12.5, bold=True
            )
            canvas.text(head.right + 10, y + 12, heading, 11, paint="muted")
            y += 26
        for i in here:
            y = _draw_instruction(canvas, i, y, p.array == i.array.name)
    return canvas


def _draw_grids(canvas: Canvas, p: AccessPicture, y: float) -> float:
    """The arrays beside each other as far as there is room; where the next thing's top is."""
    x, tall = 0.0, 0.0
    for grid in p.grids:
        wide = max(
            _grid_width(grid),
            text_width(grid.name, 13, "mono", True) + 10 + text_width(grid.facts, 11),
        )
        if x and x + wide > WIDTH:
            x, y, tall = 0.0, y + tall + 18, 0.0
        tall = max(tall, _draw_grid(canvas, grid, x, y, p.rows) - y)
        x += wide + 34
    return y + tall + 12


def _grid_width(grid: Grid) -> float:
    return min(grid.columns, COLUMNS) * CELL


def _draw_grid(canvas: Canvas, grid: Grid, x: float, y: float, most: int) -> float:
    name = canvas.text(x, y + 12, grid.name, 13, font="mono", bold=True)
    canvas.text(name.right + 10, y + 12, grid.facts, 11, paint="muted")
    y += 20
    rows, columns = min(grid.rows, most), min(grid.columns, COLUMNS)
    canvas.rect(x - 1, y - 1, columns * CELL + 1, rows * LOW + 1, "panel", "line", 2, 0.6)
    for r in range(rows):
        for c, wide in _runs(grid, r, columns):
            mark = grid.marks[r * grid.columns + c]
            left, top = x + c * CELL, y + r * LOW
            if mark.fresh:
                first = r * grid.columns + c
                tip = f"{grid.name}[{first}]" + (f" to [{first + wide - 1}]" if wide > 1 else "")
                canvas.rect(
                    left, top, wide * CELL - 1, LOW - 1, f"{mark.role}-soft", mark.role, 2, tip=tip
                )
            else:
                canvas.rect(
                    left + 8, top + 6, wide * CELL - 17, LOW - 13, f"{mark.role}-soft", None, 2
                )
    _rules(canvas, [x - 0.5 + c * CELL for c in range(1, columns)], y - 1, y + rows * LOW)
    _rules(
        canvas, [y - 0.5 + r * LOW for r in range(1, rows)], x - 1, x + columns * CELL, across=True
    )
    for element, mark in sorted(grid.marks.items()):
        r, c = divmod(element, grid.columns)
        if r < rows and c < columns and mark.fresh:
            size = 10 if len(mark.label) < 4 else 8.5
            tip = f"{grid.name}[{element}], {mark.tip}" if mark.label.startswith("×") else ""
            canvas.text(
                x + c * CELL + 12, y + r * LOW + 13, mark.label, size, "middle", "mono", tip=tip
            )
    y += rows * LOW
    for line in _hidden(grid, most):
        canvas.text(x, y + 12, line.strip(" ()"), 11, paint="muted")
        y += 16
    return y


def _rules(
    canvas: Canvas,
    places: list[float],
    start: float,
    end: float,
    paint: str = "line",
    width: float = 0.5,
    across: bool = False,
) -> None:
    """Lines down (or `across`) at these places, from border to border: as one that turns back at
    each border, which is short.
    """
    points = []
    for n, at in enumerate(places):
        ends = (start, end) if n % 2 == 0 else (end, start)
        points += [(e, at) if across else (at, e) for e in ends]
    if points:
        canvas.line(points, paint, width)


def _runs(grid: Grid, row: int, columns: int) -> list[tuple[int, int]]:
    """(first column, how many): neighbours in a row that look the same are one box."""
    found: list[tuple[int, int]] = []
    look = None
    for c in range(columns):
        mark = grid.marks.get(row * grid.columns + c)
        before, look = look, mark and (mark.role, mark.fresh)
        if look and look == before:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        elif look:
            found.append((c, 1))
    return found


def _draw_instruction(canvas: Canvas, i: Instruction, y: float, drawn: bool) -> float:
    """What a load or store of the source costs the warp: its worst request. `drawn` shows banks
    where nobody waits, too.
    """
    r = worst(i)
    head = canvas.text(
        0, y + 12, f"line {i.place.line}  {i.kind}  {i.place.text}", 12, font="mono", bold=True
    )
    many = "" if len(i.requests) == 1 else f", {len(i.requests)} times"
    if i.array.space == "shared":
        cost, bad = conflict_text(r.conflict) + many, r.conflict > 1
    else:
        cost = (
            f"{plural(len(r.sectors), 'sector')}, {r.sectors_needed} needed: "
            f"{i.efficiency:.0%}{many}"
        )
        bad = i.efficiency < 0.75
    at = head.right + 12
    canvas.text(
        at,
        y + 12,
        cost,
        12,
        bold=bad,
        paint="warning-text" if bad else "ink",
        tip=request_caption(r),
    )
    if i.array.space == "shared" and not (drawn or r.conflict > 1):
        return y + 24
    return (_draw_banks if i.array.space == "shared" else _draw_sectors)(canvas, r, y + 20)


def _draw_sectors(canvas: Canvas, r: Request, y: float) -> float:
    size = r.array.itemsize
    lanes: dict[int, list[int]] = {}
    for lane, address in zip(r.lanes, r.addresses):
        lanes.setdefault(address, []).append(lane)
    step = SECTOR_WIDTH * min(size, 32) / 32
    for n, sector in enumerate(r.sectors[:SECTORS]):
        x = n * (SECTOR_WIDTH + 8)
        canvas.rect(
            x,
            y,
            SECTOR_WIDTH,
            22,
            "panel",
            "muted",
            2,
            tip=f"sector {sector}: 32 bytes of {r.array.name}",
        )
        touched = [k for k in range(max(1, 32 // size)) if sector * 32 + k * size in lanes]
        for k in touched:
            if k - 1 not in touched:
                run = next(stop for stop in range(k + 1, 34) if stop not in touched) - k
                canvas.rect(x + k * step, y, run * step, 22, "view-soft", "view", 1, 0.8)
                _rules(
                    canvas, [x + j * step for j in range(k + 1, k + run)], y, y + 22, "view", 0.8
                )
        for k in touched if step >= 13 else ():
            who = lanes[sector * 32 + k * size]
            tip = (
                f"{r.array.name}+{sector * 32 + k * size - r.array.start:#x}: thread "
                f"{', '.join(map(str, who))}"
            )
            label = str(who[0]) if len(who) == 1 else f"×{len(who)}"
            canvas.text(x + (k + 0.5) * step, y + 14, label, 8.5, "middle", "mono", tip=tip)
    if hidden := len(r.sectors) - SECTORS:
        if hidden > 0:
            canvas.text(
                SECTORS * (SECTOR_WIDTH + 8) + 4, y + 15, f"and {hidden} more", 11, paint="muted"
            )
    return y + 36


def _draw_banks(canvas: Canvas, r: Request, y: float) -> float:
    lanes: dict[int, list[int]] = {}
    for lane, address in zip(r.lanes, r.addresses):
        lanes.setdefault(address // 4, []).append(lane)
    width, deep = 27.0, min(BANK_ROWS, max(1, r.conflict))
    canvas.rect(0, y, 32 * width - 2, deep * 18 - 1, "panel", "line", 2, 0.6)
    _rules(canvas, [bank * width - 1 for bank in range(1, 32)], y, y + deep * 18 - 1)
    for bank in range(32):
        x = bank * width
        words = r.banks.get(bank, ())
        for row, word in enumerate(words[:deep]):
            top = y + row * 18
            who = lanes.get(word, [])
            role = "warning" if len(words) > 1 else "copied"
            tip = f"bank {bank}, word {word}: thread {', '.join(map(str, who))}"
            box = canvas.rect(x, top, width - 2, 17, f"{role}-soft", role, 2, tip=tip)
            if who:
                canvas.label(box, str(who[0]) if len(who) == 1 else f"×{len(who)}", 9.5, pad=1)
        canvas.text(
            x + (width - 2) / 2, y + deep * 18 + 9, str(bank), 8.5, "middle", "mono", "muted"
        )
    y += deep * 18 + 14
    if r.conflict > deep:
        canvas.text(0, y + 11, f"and {r.conflict - deep} more rows", 11, paint="muted")
        y += 16
    return y + 10
