"""A syntax tree as a drawing: the source on the left, with badges on lines that begin statements;
the tree on the right.
"""

from __future__ import annotations

from viz.canvas import Canvas, shifted, shorten, text_width
from viz.rooms.ast import Ast, AstNode
from viz.rooms.autograd_canvas import Card, Link, Row, Sheet, draw_sheet

LINE = 18.0
WIDEST_SOURCE = 420.0
GAP = 36.0
KEY = [
    ("view", "a statement, and the line it begins on"),
    ("key", "a part of one"),
    ("free", "folded"),
]


def ast_canvas(scene: Ast) -> Canvas:
    canvas = Canvas(scene.title(), f"{scene.heading()}: {scene.summary()}")
    canvas.text(0, 13, scene.heading(), 14, bold=True)
    canvas.text(0, 31, scene.summary(), 11.5, paint="muted")
    body = Canvas()
    draw_sheet(body, sheet_of(scene).place())
    if scene.lines:
        panel = source_panel(scene)
        right = panel.bounds().right + GAP - body.bounds().x
        body.marks = panel.marks + [shifted(mark, right, -body.bounds().y) for mark in body.marks]
    canvas.stack(body, gap=16)
    used = {card_role(node) for node in scene.nodes}
    canvas.key(0, canvas.bounds().bottom + 18, [(role, text) for role, text in KEY if role in used])
    return canvas


def source_panel(scene: Ast) -> Canvas:
    """The numbered source."""
    canvas, badges = Canvas(), scene.statements()
    number_width = text_width(str(len(scene.lines)), 10.5, "mono") + 8
    width = min(WIDEST_SOURCE, max(text_width(line, 11.5, "mono") for line in scene.lines))
    canvas.rect(
        0, 0, number_width + width + 24, LINE * len(scene.lines) + 10, "panel", "line", radius=4
    )
    for n, line in enumerate(scene.lines, 1):
        y = 5 + LINE * (n - 1)
        if n in badges:
            canvas.rect(
                5, y + 2, number_width, LINE - 4, "view-soft", "view", radius=6, tip=badges[n].kind
            )
        canvas.text(
            5 + number_width / 2,
            y + 13,
            str(n),
            10.5,
            "middle",
            "mono",
            "ink" if n in badges else "muted",
        )
        if line.strip():
            indent = text_width(line[: len(line) - len(line.lstrip())], 11.5, "mono")
            shown = shorten(line.strip(), width - indent, 11.5, "mono")
            canvas.text(number_width + 14 + indent, y + 13, shown, 11.5, font="mono")
    return canvas


def sheet_of(scene: Ast) -> Sheet:
    """A card for every node, an arrow from each to its parts."""
    sheet = Sheet()
    for n, node in enumerate(scene.nodes):
        sheet.cards.append(card_of(node, n))
        if node.parent is not None:
            sheet.links.append(Link(node.parent, n, node.part))
    return sheet


def card_of(node: AstNode, n: int) -> Card:
    where = (
        ""
        if node.line is None
        else str(node.line)
        if node.statement
        else f"{node.line}:{node.column}"
    )
    rows = [Row(node.kind, 12, "sans", bold=True, right=where)]
    rows += [Row(fact, 10.5) for fact in node.facts]
    return Card(rows, card_role(node), node=n, tip=node.source, dashed=bool(node.hides), radius=4)


def card_role(node: AstNode) -> str:
    return "free" if node.hides else "view" if node.statement else "key"
