"""How `viz.fusion` is drawn: bytes as bars, before on the left and after on the right; below them
the kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz.canvas import Canvas, shorten, text_width
from viz.rooms.roofline import roofline_canvas

if TYPE_CHECKING:
    from viz.rooms.fusion import FusionPicture, KernelScene, Traffic

HALF = 400.0  # width of each side
BAR, LINE, SIZE = 150.0, 17.0, 11.5
INSTRUCTIONS = 40  # that are shown
ROLES = (
    ("storage", "memory"),
    ("view", "arithmetic on a vector"),
    ("warning", "arithmetic on one number"),
    ("ready", "jump"),
)


def fusion_canvas(p: FusionPicture) -> Canvas:
    canvas = Canvas(p.title(), p.text())
    y = 0.0
    for fact in p.facts():
        canvas.text(0, y + 12, fact, 13, bold=not y)
        y += 20
    for k in p.kernels:
        y = _kernel(canvas, k, y + 14)
    if p.roofline is not None:
        canvas.stack(roofline_canvas(p.roofline), gap=44)
    return canvas


def _kernel(canvas: Canvas, k: KernelScene, y: float) -> float:
    if k.reason:
        canvas.text(0, y + 12, f"{k.name} without a kernel: {k.reason}", 12, paint="muted")
        return y + 24
    from viz.rooms.fusion import size

    most = max([t.total for t in (*k.before, *k.after)] + [1])
    canvas.text(0, y + 12, f"one by one: {size(k.bytes_before)}", 12, bold=True)
    canvas.text(HALF + 30, y + 12, f"fused ({k.tier}): {size(k.bytes_after)}", 12, bold=True)
    top = y + 22
    left = _bars(canvas, k.before, 0, top, most)
    right = _bars(canvas, k.after, HALF + 30, top, most)
    y = max(left, right) + 8
    canvas.key(0, y, [("storage", "bytes read"), ("shared", "bytes written")])
    y += 28
    width = max([text_width(line, SIZE, "mono") for line in k.source] + [300.0])
    canvas.rect(0, y, width + 20, LINE * len(k.source) + 14, "panel", "line")
    for n, line in enumerate(k.source):
        code, mark, note = line.partition("  # ")
        end = canvas.text(10, y + 18 + n * LINE, code, SIZE, font="mono", bold=not n)
        if mark:
            canvas.text(
                end.right + 2 * SIZE * 0.605,
                y + 18 + n * LINE,
                f"# {note}",
                SIZE,
                font="mono",
                paint="muted",
            )
    y += LINE * len(k.source) + 24
    if k.vectorised is not None:
        role, words = (
            ("view", "vectorised")
            if k.vectorised
            else ("warning", "not vectorised: one element at a time")
        )
        canvas.chip(0, y, words, role)
        y += 28
    return _loop(canvas, k, y) if k.loop is not None else y


def _bars(canvas: Canvas, traffic: list[Traffic], x: float, y: float, most: int) -> float:
    from viz.rooms.fusion import size

    for t in traffic:
        canvas.text(
            x, y + 12, shorten(t.name, HALF - BAR - 70, SIZE, "mono"), SIZE, font="mono", tip=t.name
        )
        start, bar = x + HALF - BAR - 62, BAR / most
        for role, verb, n in (("storage", "reads", t.read), ("shared", "writes", t.written)):
            if n:
                start = canvas.rect(
                    start, y + 2, max(n * bar, 1), 11, role, radius=1, tip=f"{verb} {n:,} bytes"
                ).right
        canvas.text(start + 6, y + 12, size(t.total), 10.5, paint="muted")
        y += LINE
    return y


def _loop(canvas: Canvas, k: KernelScene, y: float) -> float:
    assert k.loop is not None
    canvas.text(
        0,
        y + 10,
        f"its loop on this CPU: vectors of {k.loop.lanes}, {len(k.loop.instructions)} instructions",
        12,
        bold=True,
    )
    y += 20
    shown, columns = k.loop.instructions[:INSTRUCTIONS], 2
    rows = -(-len(shown) // columns)
    for n, instruction in enumerate(shown):
        x, top = (n // rows) * (HALF + 30), y + (n % rows) * LINE
        text = shorten(instruction.text, HALF, 11, "mono")
        if instruction.role:
            canvas.rect(
                x,
                top,
                text_width(text, 11, "mono") + 12,
                LINE - 2,
                f"{instruction.role}-soft",
                instruction.role,
                2,
                0.8,
            )
        canvas.text(
            x + 6, top + 11.5, text, 11, font="mono", paint="ink" if instruction.role else "muted"
        )
    y += rows * LINE + 6
    if len(k.loop.instructions) > INSTRUCTIONS:
        canvas.text(
            0, y + 10, f"and {len(k.loop.instructions) - INSTRUCTIONS} more", 11, paint="muted"
        )
        y += 18
    used = {i.role for i in shown}
    canvas.key(0, y, [(role, words) for role, words in ROLES if role in used])
    return y + 26
