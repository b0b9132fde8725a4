"""The small view of `viz.explore`, for a notebook: each line of the source, and beside it what was
made of it in the graph, the bytecode and the kernel.

It is the page of `.save("page.html")` with every line pointed at, one after the other; what belongs
to no line of the source stands below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from viz.palette import PAGE
from viz.rooms.explore_page.scene import Page, Row

PANES = ("ir", "bytecode", "kernel")
AT_MOST = 40  # lines of the source


@dataclass
class Linked:
    """A line of the source with the rows of each pane that were made of it."""

    line: str
    made: list[list[str]]


def linked(page: Page) -> tuple[list[str], list[Linked]]:
    """The titles of the panes, and the lines; of what has no source one line stands for all."""
    panes = [pane for name in PANES for pane in page.panes if pane.name == name and pane.views]
    titles = [f"{pane.title}, {pane.views[pane.first].title}" for pane in panes]
    source = next((pane for pane in page.panes if pane.name == "source"), None)
    rows = source.views[source.first].rows if source is not None and source.views else []
    found, seen = [], set[tuple[str, str]]()
    for row in [row for row in rows if row.kind != "head"][:AT_MOST]:
        made = []
        for pane in panes:
            lit = [
                (pane.name, _of(each))
                for each in page.marked(row, pane.name)
                if isinstance(each, Row)
            ]
            seen.update(lit)
            made.append([text for _, text in lit])
        found.append(Linked(f"{row.label:>3} {row.text}", made))
    rest = [
        [_of(row) for row in pane.views[pane.first].rows if (pane.name, _of(row)) not in seen]
        for pane in panes
    ]
    if any(rest):
        found.append(Linked("    (the rest)" if rows else "    (no source)", rest))
    return titles, found


def _of(row: Row) -> str:
    return f"{row.label:>3} {row.text}"


def linked_text(name: str, page: Page) -> str:
    """Each line, and below it what was made of it."""
    titles, lines = linked(page)
    out = [f"{name}: source, and what was made of each line"]
    for line in lines:
        out.append(line.line)
        for title, made in zip(titles, line.made, strict=True):
            out += [f"        {title.split()[0].strip(',').lower():9}{text}" for text in made]
    return "\n".join([*out, _offer(page)])


def linked_html(name: str, page: Page) -> str:
    """A table with a column for each pane."""
    titles, lines = linked(page)
    head = "".join(f"<th>{escape(title)}</th>" for title in ("Source", *titles))
    body = "".join(_table_row(line) for line in lines)
    return (
        f'<div class="iv-explore" style="overflow-x:auto"><style>{STYLE}</style>'
        f"<p><b>{escape(name)}</b>: source, and what was made of each line</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{escape(_offer(page))}</p></div>"
    )


def _table_row(line: Linked) -> str:
    cells = "".join(f"<td><pre>{escape(text)}</pre></td>" for text in _texts(line))
    return f"<tr>{cells}</tr>"


def _texts(line: Linked) -> Iterator[str]:
    yield line.line
    for made in line.made:
        yield "\n".join(made)


def _offer(page: Page) -> str:
    changed = sum(phase.changed for phase in page.phases)
    phases = f", {len(page.phases)} phases of which {changed} changed it" if page.phases else ""
    return f'explore(...).save("page.html") writes the page: point at a line there{phases}.'


STYLE = (
    ".iv-explore table{border-collapse:collapse;font-size:12px}"
    ".iv-explore th,.iv-explore td{text-align:left;vertical-align:top;padding:2px 10px 2px 0;"
    f"border-bottom:1px solid {PAGE['light']['line']}}}"
    ".iv-explore pre{margin:0;padding:0;background:none;font-size:12px;line-height:1.4}"
)
