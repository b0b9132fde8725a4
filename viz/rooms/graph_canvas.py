"""A JIT graph as a drawing. Each block is laid out by itself, then stands as one box in the block around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from viz.canvas import Canvas, shifted, shorten, text_width
from viz.layered import Arrow, Layout, layered
from viz.rooms.graph import IrPicture, all_nodes
from viz.rooms.ir_record import RETURN, IrBlock, IrNode

LABEL = 10.0
WIDEST = 340.0
PAD = 10.0
ROW = 16.0
KEY = {
    "view": "input, output", "key": "operator", "shared": "writes to its argument", "ready": "control flow",
    "owner": "call", "copied": "subgraph", "free": "folded",
}  # fmt: skip


@dataclass
class Cell:
    """A box ready to be placed: lines of text (text, size, paint, bold), and drawings below them."""

    rows: list[tuple[str, float, str, bool]]
    role: str
    inside: list[Canvas] = field(default_factory=list)
    tip: str = ""

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
        canvas.rect(x, y, w, h, fill, self.role, radius=5, tip=self.tip)
        down = y + PAD / 2
        for text, size, paint, bold in self.rows:
            shown = shorten(text, w - 2 * PAD, size, "mono", bold)
            canvas.text(
                x + PAD,
                down + size,
                shown,
                size,
                font="mono",
                paint=paint,
                bold=bold,
                tip=text if shown != text else "",
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
    canvas.key(0, canvas.bounds().bottom + 18, [(role, text) for role, text in KEY.items() if role in used])
    return canvas


def block_canvas(block: IrBlock) -> Canvas:
    """One block: inputs at the top, what it gives at the bottom."""
    cells = [
        Cell([(f"%{name}", 11.0, "ink", True), (type, 10.0, "muted", False)], "view") for name, type in block.inputs
    ]
    first = len(cells)
    cells += [_cell(n) for n in block.nodes]
    last = len(cells)
    cells.append(
        Cell([(f"return {', '.join(block.outputs)}" if block.outputs else "return", 11.0, "ink", True)], "view")
    )
    place = {RETURN: last, **{-1 - i: i for i in range(first)}, **{i: first + i for i in range(len(block.nodes))}}
    links = [(place[e.tail], place[e.head], _label(e.name, e.type, e.tail)) for e in block.edges]
    arrows = [Arrow(t, h, (text_width(s, LABEL, "mono") + 8, 14.0) if s else (0.0, 0.0)) for t, h, s in links]
    unused = [Arrow(i, last) for i in range(first, last) if not any(t == i for t, _, _ in links)]
    layout = layered([c.size for c in cells], arrows + unused)
    canvas = Canvas()
    _draw_links(canvas, links, layout)
    for cell, box in zip(cells, layout.boxes):
        cell.draw(canvas, box.x, box.y)
    _draw_labels(canvas, links, layout)
    return canvas


def _cell(n: IrNode) -> Cell:
    rows = [(n.title, 11.5, "ink", True)]
    if n.hides:
        rows.append((f"{n.hides} nodes: {n.args}" if n.args else f"{n.hides} nodes", 10.0, "muted", False))
        return Cell(rows, "free", tip=n.scope)
    if n.args:
        rows.append((f"({n.args})", 10.5, "ink", False))
    if n.results:
        rows.append(("→ " + ", ".join(f"%{name}" for name, _ in n.results), 10.5, "muted", False))
    tip = " ".join(part for part in (n.where, n.scope) if part)
    return Cell(rows, n.role, [_framed(b) for b in n.blocks], tip)


def _framed(block: IrBlock) -> Canvas:
    """A block with its name, in a frame."""
    inner = block_canvas(block)
    canvas = Canvas()
    b = inner.bounds()
    canvas.rect(0, 0, b.w + 2 * PAD, b.h + 2 * PAD + ROW, "panel", "line", radius=5)
    canvas.text(PAD, 14, block.name, 10.5, font="mono", paint="muted", bold=True)
    canvas.marks += [shifted(m, PAD - b.x, PAD + ROW - b.y) for m in inner.marks]
    return canvas


def _label(name: str, type: str, tail: int) -> str:
    if tail < 0:
        return ""  # the input's own box says it
    shown = f"%{name} : {type}"
    return shown if len(shown) <= 34 else shown[:33] + "…"


def _draw_links(canvas: Canvas, links: list[tuple[int, int, str]], layout: Layout) -> None:
    for (_, _, label), route in zip(links, layout.routes):
        if len(route) > 1:
            canvas.line(route, "muted", arrow=True, tip=label)


def _draw_labels(canvas: Canvas, links: list[tuple[int, int, str]], layout: Layout) -> None:
    for (_, _, label), middle in zip(links, layout.labels):
        if label and middle is not None:
            w = text_width(label, LABEL, "mono")
            canvas.rect(middle[0] - w / 2 - 2, middle[1] - 7, w + 4, 14, "paper", radius=2)
            canvas.text(middle[0], middle[1] + 3.5, label, LABEL, "middle", "mono", "muted")
