"""A JIT graph as a drawing. Each block is laid out by itself, then stands as one box in the block
around it.

How the real one differs: PyTorch draws nothing; there is `torch.utils.tensorboard`'s graph page,
which nests by module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from viz.canvas import Canvas, shifted, shorten, text_width
from viz.layered import Arrow, Layout, layered
from viz.rooms.graph import IrPicture, all_nodes
from viz.rooms.ir_record import RETURN, IrBlock, IrEdge, IrNode

LABEL = 10.0
WIDEST = 340.0
ARGUMENT_ROWS = 4
PAD = 10.0
ROW = 16.0
KEY = {
    "view": "input, output", "key": "operator", "shared": "writes to its argument",
    "ready": "control flow", "owner": "call", "copied": "subgraph", "free": "folded",
}  # fmt: skip


@dataclass
class Cell:
    """A box ready to be placed: lines of text (text, size, paint, bold), and drawings below
    them.
    """

    rows: list[tuple[str, float, str, bool]]
    role: str
    inside: list[Canvas] = field(default_factory=list)
    tip: str = ""
    dashed: bool = False

    @property
    def size(self) -> tuple[float, float]:
        text = max((text_width(t, s, "mono", b) for t, s, _, b in self.rows), default=0.0)
        inner = [c.bounds() for c in self.inside]
        width = max(min(text, WIDEST), sum(b.w for b in inner) + PAD * max(len(inner) - 1, 0), 34.0)
        height = ROW * len(self.rows) + (max(b.h for b in inner) + PAD if inner else 0)
        return ceil(width + 2 * PAD), ceil(height + PAD)

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        w, h = self.size
        fill = "paper" if self.inside else f"{self.role}-soft"
        canvas.rect(x, y, w, h, fill, self.role, radius=5, dashed=self.dashed, tip=self.tip)
        down = y + PAD / 2
        for text, size, paint, bold in self.rows:
            shown = shorten(text, w - 2 * PAD, size, "mono", bold)
            tip = text if shown != text else ""
            canvas.text(
                x + PAD, down + size, shown, size, font="mono", paint=paint, bold=bold, tip=tip
            )
            down += ROW
        across = x + PAD
        for inner in self.inside:
            b = inner.bounds()
            canvas.marks += [shifted(m, across - b.x, down + PAD / 2 - b.y) for m in inner.marks]
            across += b.w + PAD


def graph_canvas(scene: IrPicture) -> Canvas:
    canvas = Canvas(scene.title(), f"{scene.heading()}: {scene.summary()}")
    canvas.text(0, 13, scene.heading(), 14, bold=True)
    canvas.text(0, 31, scene.summary(), 11.5, paint="muted")
    canvas.stack(block_canvas(scene.body), gap=16)
    used = {n.role for n in all_nodes(scene.body)} | {"view"}
    y = canvas.bounds().bottom + 18
    entries = [(role, text) for role, text in KEY.items() if role in used]
    half = (len(entries) + 1) // 2 if len(entries) > 4 else len(entries)
    canvas.key(0, y, entries[:half])
    canvas.key(0, y + 20, entries[half:])
    if any(not e.name for b in _blocks(scene.body) for e in b.edges):
        y += 40 if half < len(entries) else 20
        canvas.line([(0, y + 7), (26, y + 7)], "shared", dashed=True, arrow=True)
        canvas.text(32, y + 11, "may read what was written", 11, paint="muted")
    return canvas


def _blocks(block: IrBlock) -> Iterator[IrBlock]:
    yield block
    for n in all_nodes(block):
        yield from n.blocks


def block_canvas(block: IrBlock, ground: str = "paper") -> Canvas:
    """One block: inputs at the top, what it gives at the bottom. `ground` is the colour it is drawn
    on.
    """
    cells = [
        Cell([(f"%{name}", 11.0, "ink", True), (type, 10.0, "muted", False)], "view")
        for name, type in block.inputs
    ]
    first = len(cells)
    cells += [_cell(n) for n in block.nodes]
    last = len(cells)
    cells.append(
        Cell(
            [
                (
                    f"return {', '.join(block.outputs)}" if block.outputs else "return",
                    11.0,
                    "ink",
                    True,
                )
            ],
            "view",
        )
    )
    place = {
        RETURN: last,
        **{-1 - i: i for i in range(first)},
        **{i: first + i for i in range(len(block.nodes))},
    }
    told: set[str] = set()
    links = [Link(place[e.tail], place[e.head], _label(e, told), not e.name) for e in block.edges]
    room = [
        (text_width(a.label, LABEL, "mono") + 8, 14.0) if a.label else (0.0, 0.0) for a in links
    ]
    arrows = [Arrow(a.tail, a.head, size) for a, size in zip(links, room)]
    used = {a.tail for a in links}
    unused = [Arrow(i, last) for i in range(first, last) if i not in used]
    layout = layered([c.size for c in cells], arrows + unused)
    canvas = Canvas()
    _draw_links(canvas, links, layout)
    for cell, box in zip(cells, layout.boxes):
        cell.draw(canvas, box.x, box.y)
    _draw_labels(canvas, links, layout, ground)
    return canvas


def _cell(n: IrNode) -> Cell:
    rows = [(n.title, 11.5, "ink", True)]
    if n.hides:
        rows.append(
            (f"{n.hides} nodes: {n.args}" if n.args else f"{n.hides} nodes", 10.0, "muted", False)
        )
        return Cell(rows, "free", tip=n.scope, dashed=True)
    if n.args:
        rows += [(line, 10.5, "ink", False) for line in _wrapped(f"({n.args})", 10.5)]
    if n.results:
        rows.append(("→ " + ", ".join(f"%{name}" for name, _ in n.results), 10.5, "muted", False))
    tip = " ".join(part for part in (n.where, n.scope) if part)
    return Cell(rows, n.role, [_framed(b) for b in n.blocks], tip)


def _framed(block: IrBlock) -> Canvas:
    """A block with its name, in a frame."""
    inner = block_canvas(block, "panel")
    canvas = Canvas()
    b = inner.bounds()
    canvas.rect(0, 0, b.w + 2 * PAD, b.h + 2 * PAD + ROW, "panel", "line", radius=5)
    canvas.text(PAD, 14, block.name, 10.5, font="mono", paint="muted", bold=True)
    canvas.marks += [shifted(m, PAD - b.x, PAD + ROW - b.y) for m in inner.marks]
    return canvas


def _wrapped(text: str, size: float) -> list[str]:
    """In lines of at most `WIDEST`, broken behind commas; what does not fit in `ARGUMENT_ROWS` of
    them stays in the last.
    """
    lines = [""]
    for part in re.split(r"(?<=,) (?=[^\[\]]*(?:\[|$))", text):  # not inside brackets
        longer = f"{lines[-1]} {part}".lstrip()
        if (
            text_width(longer, size, "mono") <= WIDEST
            or not lines[-1]
            or len(lines) == ARGUMENT_ROWS
        ):
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


class Link(NamedTuple):
    """An arrow of a block. `order`: no value passes, the head may read what the tail wrote."""

    tail: int
    head: int
    label: str
    order: bool


def _label(edge: IrEdge, told: set[str]) -> str:
    """Name and type, on the first arrow of a value; the box of an input says them already."""
    if edge.tail < 0 or not edge.name or edge.name in told:
        return ""
    told.add(edge.name)
    shown = f"%{edge.name} : {edge.type}"
    return shown if len(shown) <= 34 else shown[:33] + "…"


def _draw_links(canvas: Canvas, links: list[Link], layout: Layout) -> None:
    for link, route in zip(links, layout.routes):
        if len(route) > 1:
            canvas.line(
                route,
                "shared" if link.order else "muted",
                dashed=link.order,
                arrow=True,
                tip=link.label,
            )


def _draw_labels(canvas: Canvas, links: list[Link], layout: Layout, ground: str) -> None:
    for (_, _, label, _), middle in zip(links, layout.labels):
        if label and middle is not None:
            w = text_width(label, LABEL, "mono")
            canvas.rect(middle[0] - w / 2 - 2, middle[1] - 7, w + 4, 14, ground, radius=2)
            canvas.text(middle[0], middle[1] + 3.5, label, LABEL, "middle", "mono", "muted")
