"""The steps of the engine as text and as drawings."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from viz.canvas import Canvas, text_width
from viz.layered import Arrow, layered
from viz.rooms.autograd import Autograd, GraphNode
from viz.rooms.autograd_canvas import LABEL, Row, Sheet, draw_sheet, sheet_of
from viz.text import and_list, plural, table

KEY = [
    ("ready", "ready, or passed on now"),
    ("key", "waits, or just ran"),
    ("view", "leaf"),
    ("copied", "leaf with its gradient"),
    ("free", "done, or let go"),
]
ORDINALS = ("next", "2nd", "3rd")


def name_of(scene: Autograd, n: int) -> str:
    """`MulBackward0 #3`; a leaf by its name."""
    node = scene.nodes[n]
    return scene.tensors[node.variable].name if node.variable is not None else node.title


def caption(scene: Autograd, state: Any) -> str:
    if state.ran is None:
        return "at the start"
    who = name_of(scene, state.ran)
    before = f"after {plural(state.skipped, 'hidden node')}: " if state.skipped else ""
    if state.error:
        return f"{before}{who} fails"
    if scene.nodes[state.ran].kind == "leaf":
        return f"{before}AccumulateGrad: the gradient of {who} arrives"
    targets = [name_of(scene, scene.edges[e].head) for e in state.passed]
    return (
        f"{before}{who} passes on to {and_list(list(dict.fromkeys(targets)))}"
        if targets
        else f"{before}{who} ran"
    )


def steps_text(scene: Autograd, states: list[Any]) -> str:
    rows = []
    for number, state in enumerate(states):
        ready = ", ".join(name_of(scene, n) for n in state.ready) or "-"
        waits = waiting_text(scene, state)
        arrived = (
            ", ".join(f"{name_of(scene, n)} {text}" for n, text in state.arrived.items()) or "-"
        )
        who = "(start)" if state.ran is None else name_of(scene, state.ran)
        if state.skipped:
            who = f"{plural(state.skipped, 'hidden node')}, {who}"
        rows.append([number, who, ready, waits, arrived])
    header = ["", "ran", "ready, next first", "waiting", "arrived"]
    lines = [f"backward of {scene.name}, step by step", table(rows, header, indent=4, right=[0])]
    if states[-1].error:
        lines.append(f"    failed: {states[-1].error}")
    grads = [[name_of(scene, n), ".grad", text] for n, text in states[-1].grads.items()]
    return "\n".join([*lines, table(grads, indent=4)] if grads else lines)


def waiting_text(scene: Autograd, state: Any) -> str:
    """Who waits for several gradients or has got some of them already; how many others wait for
    their only one.
    """
    notable = {n: count for n, count in state.waiting.items() if count > 1 or n in state.arrived}
    parts = [f"{name_of(scene, n)} for {count}" for n, count in notable.items()]
    if others := len(state.waiting) - len(notable):
        parts.append(f"{plural(others, 'other')} for 1" if parts else f"{others} for 1")
    return ", ".join(parts) or "-"


def step_text(scene: Autograd, state: Any) -> str:
    rows = [["ready, next first", ", ".join(name_of(scene, n) for n in state.ready) or "nothing"]]
    rows += [
        ["waits for", f"{name_of(scene, n)} for {plural(count, 'gradient')}"]
        for n, count in state.waiting.items()
    ]
    rows += [["arrived", f"{name_of(scene, n)}: {text}"] for n, text in state.arrived.items()]
    rows += [[".grad", f"{name_of(scene, n)}: {text}"] for n, text in state.grads.items()]
    if state.error:
        rows.append(["failed", state.error])
    return table(rows)


def placed_sheets(scene: Autograd, states: list[Any]) -> list[Sheet]:
    """One sheet for each state, laid out once: each card as big as it ever gets."""
    sheets = [painted(scene, state) for state in states]
    first = sheets[0]
    sizes = [
        (max(s.cards[i].size[0] for s in sheets), max(s.cards[i].size[1] for s in sheets))
        for i in range(len(first.cards))
    ]
    room = [
        (text_width(e.label, LABEL, "mono") + 8, 14.0) if e.label else (0.0, 0.0)
        for e in first.links
    ]
    arrows = [
        Arrow(e.tail, e.head, r, e.ranks, 1 if e.dashed else 3) for e, r in zip(first.links, room)
    ]
    layout = layered(sizes, arrows)
    for sheet in sheets:
        sheet.layout = layout
    return sheets


def painted(scene: Autograd, state: Any) -> Sheet:
    """The graph in the colours of one state: who waits, who is ready, who ran."""

    def note(n: int, node: GraphNode) -> list[Row]:
        return status_rows(scene, state, n)

    sheet = sheet_of(scene, note, values=False)
    for card in sheet.cards:
        if card.node is None:
            continue
        n, node = card.node, scene.nodes[card.node]
        card.dashed = card.dashed or n in state.waiting
        if state.error and n == state.ran:
            card.role, card.heavy = "warning", True
        elif n in state.ready:
            card.role, card.heavy = "ready", state.ready[0] == n
        elif n == state.ran:
            card.role, card.heavy = "copied" if node.kind == "leaf" else "key", True
        elif node.kind == "leaf":
            card.role = "copied" if n in state.done else "view"
        elif n in state.done and node.kind != "hidden":
            card.role = "free"
        elif node.kind == "operation":
            card.fill = "paper"
    for link in sheet.links:
        link.tip = ""
    fade_released(sheet, state)
    links = [link for link in sheet.links if link.role == "key"][len(scene.roots) :]
    edges = [e for e in scene.edges if scene.nodes[e.head].kind != "inner"]
    for link, edge in zip(links, edges):
        if scene.edges.index(edge) in state.passed:
            link.role = "ready"
        elif edge.tail in state.done:
            link.role = "free"
    return sheet


def fade_released(sheet: Sheet, state: Any) -> None:
    """Grey for what nodes have let go of, and for tensors that no node keeps any more."""
    kept: set[int] = set()
    let_go: set[int] = set()
    for link in sheet.links:
        if link.dashed:
            released = sheet.cards[link.tail].node in state.released
            (let_go if released else kept).add(link.head)
            link.role = "free" if released else link.role
    for n in let_go - kept:
        if sheet.cards[n].node is None and sheet.cards[n].role != "view":
            sheet.cards[n].role = "free"


def status_rows(scene: Autograd, state: Any, n: int) -> list[Row]:
    """Two lines in a node's card: what it does, and what has arrived."""
    node = scene.nodes[n]
    if node.kind == "inner":
        return []
    if node.kind == "hidden":
        ran = state.done.count(n)
        return [Row(f"{ran} of {node.hides} ran", 10.5, "sans", "muted")]
    arrived = state.arrived.get(n, "")
    second = Row(f"got {arrived}" if arrived else " ", 10.5)
    if n == state.ran:
        first = Row("fails" if state.error else "just ran", 10.5, "sans", bold=True)
    elif n in state.ready:
        place = state.ready.index(n)
        order = ORDINALS[place] if place < len(ORDINALS) else f"{place + 1}th"
        first = Row(f"ready: {order}", 10.5, "sans", "ready-text", bold=True)
    elif n in state.done:
        first = Row(
            "done, let go of its tensors" if n in state.released else "done", 10.5, "sans", "muted"
        )
    else:
        count = state.waiting.get(n, 0)
        first = Row(f"waits for {plural(count, 'gradient')}", 10.5, "sans", "muted")
    if node.kind == "leaf":
        grad = state.grads.get(n)
        second = (
            Row(f"got {arrived}", 10.5)
            if arrived
            else Row(f".grad {grad}" if grad else ".grad None", 10.5)
        )
        second.paint = "copied-text" if grad and not arrived else "ink"
    return [first, second]


def step_canvas(step: Any) -> Canvas:
    steps, state, scene = step.steps, step.state, step.scene
    where = next(i for i, s in enumerate(steps.states) if s is state)
    sheet = steps.sheets()[where]
    canvas = Canvas(f"{steps.heading}: {where}", caption(scene, state))
    x = canvas.text(0, 14, "ready queue:", 12, paint="muted").right + 10
    for place, n in enumerate(state.ready[:6]):
        chip = canvas.chip(x, 0, name_of(scene, n), "ready", 11, bold=place == 0)
        x = chip.right + 8
    if not state.ready:
        canvas.text(
            x, 14, "empty: backward is finished" if not state.error else "empty", 12, paint="muted"
        )
    elif len(state.ready) > 6:
        canvas.text(x, 14, f"and {len(state.ready) - 6} more", 12, paint="muted")
    for n, line in enumerate(wrap(state.error.partition(" Hint:")[0], 90)):
        canvas.text(0, 38 + 16 * n, line, 11, paint="warning-text", bold=True)
    body = Canvas()
    draw_sheet(body, sheet)
    canvas.stack(body, gap=16)
    canvas.key(0, canvas.bounds().bottom + 16, [*KEY, ("warning", "fails")] if state.error else KEY)
    return canvas
