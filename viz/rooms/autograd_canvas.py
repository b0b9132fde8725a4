"""A backward graph as a drawing: boxes of nodes, leaves and kept tensors, placed by `viz.layered`.

Solid arrows are where gradients flow, with their shapes; dashed ones lead from a node to what it
keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from viz.canvas import Box, Canvas, shorten, text_width
from viz.layered import Arrow, Layout, layered
from viz.rooms.autograd import Autograd, GraphNode, GraphTensor, Saved
from viz.rooms.autograd_text import summary
from viz.text import plural

LABEL = 10.5
WIDEST = 250.0


@dataclass
class Row:
    """A line of text in a box; `right` stands at its right end."""

    text: str
    size: float = 11
    font: str = "mono"
    paint: str = "ink"
    bold: bool = False
    right: str = ""

    @property
    def width(self) -> float:
        return text_width(self.text, self.size, self.font, self.bold) + self.reserved

    @property
    def reserved(self) -> float:
        """What `right` takes."""
        return text_width(self.right, 10.5, "mono") + 16 if self.right else 0.0

    @property
    def height(self) -> int:
        return round(self.size * 1.45)


@dataclass
class Card:
    """A box with its text and colours. `node` and `tensor` say what of the scene it shows."""

    rows: list[Row]
    role: str
    fill: str = ""
    node: int | None = None
    tensor: int | None = None
    tip: str = ""
    dashed: bool = False
    heavy: bool = False
    radius: float = 4

    @property
    def size(self) -> tuple[float, float]:
        width = min(WIDEST, max(row.width for row in self.rows)) + 20
        return max(60.0, ceil(width)), 10 + sum(row.height for row in self.rows)


@dataclass
class Link:
    """An arrow between two cards."""

    tail: int
    head: int
    label: str = ""
    role: str = "key"
    dashed: bool = False
    ranks: bool = True
    tip: str = ""


@dataclass
class Sheet:
    """Cards and links with their layout: what is drawn, and drawn again for each step of a
    stepper.
    """

    cards: list[Card] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    layout: Layout = field(default_factory=Layout)

    def place(self) -> Sheet:
        """Ask for a layout; returns the sheet."""
        room = [
            (text_width(e.label, LABEL, "mono") + 8, 14.0) if e.label else (0.0, 0.0)
            for e in self.links
        ]
        arrows = [
            Arrow(e.tail, e.head, r, e.ranks, 1 if e.dashed else 3)
            for e, r in zip(self.links, room)
        ]
        self.layout = layered([card.size for card in self.cards], arrows)
        return self


def autograd_canvas(scene: Autograd) -> Canvas:
    canvas = Canvas(
        f"viz.autograd: {scene.name}", f"backward graph of {scene.name}: {summary(scene)}"
    )
    draw_head(canvas, scene.name, summary(scene))
    sheet = sheet_of(scene).place()
    body = Canvas()
    draw_sheet(body, sheet)
    canvas.stack(body, gap=16)
    canvas.key(0, canvas.bounds().bottom + 18, key_of(sheet))
    return canvas


def draw_head(canvas: Canvas, name: str, facts: str) -> None:
    canvas.text(0, 13, f"backward graph of {name}", 14, bold=True)
    canvas.text(0, 31, facts, 11.5, paint="muted")


def sheet_of(
    scene: Autograd, note: Callable[[int, GraphNode], list[Row]] | None = None, values: bool = True
) -> Sheet:
    """Cards for all nodes and tensors of the scene. `note(n, node)` may add rows to a node's card;
    `values` shows saved ones.
    """
    sheet, place = Sheet(), {}
    holders: dict[int, list[Saved]] = {}
    for node in scene.nodes:
        for saved in node.saved:
            if saved.tensor is not None:
                holders.setdefault(saved.tensor, []).append(saved)
    roots = [tensor for tensor, _, _ in scene.roots]
    for tensor in dict.fromkeys(roots):
        place[tensor] = len(sheet.cards)
        sheet.cards.append(
            tensor_card(scene.tensors[tensor], tensor, holders.get(tensor, []), "view")
        )
    node_place = {}
    for n, node in enumerate(scene.nodes):
        node_place[n] = len(sheet.cards)
        if node.variable is not None:
            place[node.variable] = len(sheet.cards)
        card = node_card(scene, n, node, holders, values)
        card.rows += note(n, node) if note else []
        sheet.cards.append(card)
    for tensor in holders:
        if tensor not in place:
            place[tensor] = len(sheet.cards)
            role = "shared" if len(holders[tensor]) > 1 else "storage"
            sheet.cards.append(tensor_card(scene.tensors[tensor], tensor, holders[tensor], role))
    for tensor, n, nr in scene.roots:
        sheet.links.append(
            Link(
                place[tensor],
                node_place[n],
                f"output {nr}" if nr else "",
                tip="the gradient begins here",
            )
        )
    for e in scene.edges:
        tip = (
            f"the gradient that {scene.nodes[e.tail].title} passes on to "
            f"{scene.nodes[e.head].title}"
        )
        inner = scene.nodes[e.head].kind == "inner"
        label = "runs on the slice" if inner else e.label
        sheet.links.append(
            Link(node_place[e.tail], node_place[e.head], label, "free" if inner else "key", tip=tip)
        )
    for n, node in enumerate(scene.nodes):
        for saved in node.saved:
            if saved.tensor is not None:
                sheet.links.append(saved_link(scene, n, saved, node_place[n], place, roots))
    return sheet


def saved_link(
    scene: Autograd, n: int, saved: Saved, tail: int, place: dict[int, int], roots: list[int]
) -> Link:
    bad = saved.state == "modified"
    assert saved.tensor is not None
    tip = (
        f"{scene.nodes[n].title} keeps {scene.tensors[saved.tensor].name} as {saved.name}, at "
        f"version {saved.version}"
    )
    label = saved.text if bad else saved.name
    if saved.own_output:
        label, tip = f"{label} (its output)", f"{tip}; it is the node's own output"
    role = "warning" if bad else "storage"
    return Link(tail, place[saved.tensor], label, role, True, saved.tensor not in roots, tip)


def node_card(
    scene: Autograd, n: int, node: GraphNode, holders: dict[int, list[Saved]], values: bool = True
) -> Card:
    if node.variable is not None:
        t = scene.tensors[node.variable]
        bad = any(s.state == "modified" for s in holders.get(node.variable, []))
        rows = [Row(t.name, 13, bold=True, right=node.name), Row(t.facts)]
        if t.grad is not None:
            rows.append(Row(f".grad {t.grad}", paint="copied-text"))
        rows += [Row(plural(node.hooks, "hook"), paint="muted")] if node.hooks else []
        card = Card(rows, "warning" if bad else "view", node=n, tensor=node.variable, radius=9)
        card.tip = f"leaf {t.name}: AccumulateGrad adds what arrives to its .grad" + (
            "" if t.grad else ", which is None"
        )
        return card
    number = "" if node.order is None else f"#{node.order}"
    rows = [Row(node.name, 12, "sans", bold=True, right=number)]
    if values or node.kind == "hidden":
        rows += [Row(line, 10, paint="muted") for line in value_lines(node)]
    gone = [s.name for s in node.saved if s.state == "released"]
    if gone or node.released:
        rows.append(
            Row(("released: " + ", ".join(gone)) if gone else "released", 10, paint="muted")
        )
    rows += [Row(s.text, 10, paint="muted") for s in node.saved if s.state == "packed"]
    rows += [Row(plural(node.hooks, "hook"), 10, paint="muted")] if node.hooks else []
    tip = "\n".join([node.title, *(f"{k} = {v}" for k, v in node.values)])
    tip = f"{node.name}; raise limit= to see them" if node.kind == "hidden" else tip
    role = "free" if node.kind == "hidden" or node.released else "key"
    return Card(rows, role, node=n, tip=tip, dashed=node.kind in ("hidden", "inner"))


def value_lines(node: GraphNode) -> list[str]:
    """The saved values, several to a line while they are short; at most four lines."""
    lines: list[str] = []
    for name, value in node.values:
        item = f"{name} {value}".strip() if node.kind == "hidden" else f"{name} = {value}"
        if lines and len(lines[-1]) + len(item) < 34:
            lines[-1] += f", {item}"
        else:
            lines.append(shorten(item, WIDEST, 10, "mono"))
    return lines if len(lines) <= 4 else [*lines[:3], f"… and {len(lines) - 3} lines more"]


def tensor_card(t: GraphTensor, number: int, holders: list[Saved], role: str) -> Card:
    bad = any(s.state == "modified" for s in holders)
    rows = [Row(t.name, 12, bold=True), Row(t.facts, 10.5)]
    if t.origin and role != "view":
        rows.append(Row(t.origin, 10, "sans", "muted"))
    if bad:
        rows.append(Row("modified since", 11, "sans", "warning-text", bold=True))
    who = f"kept {plural(len(holders), 'time')}" if holders else "the tensor you gave"
    return Card(
        rows,
        "warning" if bad else role,
        tensor=number,
        tip=f"{t.name}: {who}",
        radius=9,
        heavy=role == "view",
    )


def draw_sheet(canvas: Canvas, sheet: Sheet) -> None:
    """Arrows first, then cards, then what stands beside the arrows."""
    for link, route in zip(sheet.links, sheet.layout.routes):
        stroke = {"key": "muted", "free": "free"}.get(link.role, link.role)
        width = 2.0 if link.role == "warning" else 1.3
        canvas.line(route, stroke, width, link.dashed, arrow=True, tip=link.tip)
    for card, box in zip(sheet.cards, sheet.layout.boxes):
        draw_card(canvas, card, box)
    for link, middle in zip(sheet.links, sheet.layout.labels):
        if middle is not None and link.label:
            draw_label(canvas, link, middle)


def draw_card(canvas: Canvas, card: Card, box: Box) -> None:
    fill = card.fill or f"{card.role}-soft"
    width = 2.2 if card.heavy or card.role == "warning" else 1.2
    canvas.rect(
        box.x, box.y, box.w, box.h, fill, card.role, card.radius, width, card.dashed, card.tip
    )
    y = box.y + 4
    for row in card.rows:
        y += row.height
        baseline = y - 0.3 * row.size
        text = shorten(row.text, box.w - 20 - row.reserved, row.size, row.font, row.bold)
        canvas.text(box.x + 10, baseline, text, row.size, "start", row.font, row.paint, row.bold)
        if row.right:
            canvas.text(box.right - 10, baseline, row.right, 10.5, "end", "mono", "muted")


def draw_label(canvas: Canvas, link: Link, middle: tuple[float, float]) -> None:
    """Text on a patch of paper, so that arrows that pass do not cross it."""
    x, y = middle
    w = text_width(link.label, LABEL, "mono") + 4
    canvas.rect(x - w / 2, y - 7, w, 14, "paper", None, 2)
    paint = {"warning": "warning-text", "storage": "storage-text"}.get(link.role, "muted")
    canvas.text(x, y + 3.8, link.label, LABEL, "middle", "mono", paint, bold=False)


MEANINGS = {
    "key": "a node: what backward runs",
    "view": "your tensor",
    "storage": "kept for backward",
    "shared": "kept by several nodes",
    "warning": "written to since it was kept",
    "free": "released or hidden",
}


def key_of(sheet: Sheet) -> list[tuple[str, str]]:
    roles = {card.role for card in sheet.cards}
    return [(role, meaning) for role, meaning in MEANINGS.items() if role in roles]
