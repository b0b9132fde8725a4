"""The first page: the notebooks in the order of the talk, what each shows, and the ways to teach
with them.

What a notebook shows is said once, in the table of README.md. `docs/site/index.md` is the page's
frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from tools.notebook_files import number

GROUPS = {
    "Start": range(-1, 1),
    "Tensors and memory": range(1, 6),
    "Operators and autograd": range(6, 11),
    "The JIT": range(11, 19),
    "The GPU": range(19, 22),
    "Speed": range(22, 24),
    "Production": range(24, 27),
}
DEEPER = "deeper/"  # notebooks that others link to for more
PATHS = ("ninety_minutes", "half_day", "two_days")
ROW = re.compile(r"^\| \[([^\]]*)\]\(notebooks/([^)]*)\.ipynb\) \| (.*) \|$", re.M)


@dataclass
class Row:
    """One row of README.md's table."""

    title: str
    name: str
    shows: str


def index(frame: str, readme: str, notebooks: list[str], texts: dict[str, str]) -> str:
    """The page. `notebooks` are file names without the ending, `texts` all other documents by their
    names.
    """
    rows = [Row(*cells) for cells in ROW.findall(readme)]
    described = {row.name for row in rows}
    for name in notebooks:
        if name.startswith(DEEPER):
            continue
        if name not in described:
            raise ValueError(f"README.md's table has no row for notebooks/{name}.ipynb")
        if not any(number(name) in numbers for numbers in GROUPS.values()):
            raise ValueError(
                f"notebooks/{name}.ipynb belongs to no group: add it to GROUPS in "
                "tools/site/landing.py"
            )
    parts = {
        "map": map_of(rows),
        "paths": paths(texts),
        "contents": contents(notebooks, list(texts)),
    }
    for name, text in parts.items():
        frame = frame.replace(f"<!-- {name} -->", text)
    return frame


def map_of(rows: list[Row]) -> str:
    """A heading for each group of notebooks, and a list with a line for each."""
    lines = []
    for title, numbers in GROUPS.items():
        lines += [f"### {title}", "", "```{list-table}", ":class: map", ":widths: 30 70", ""]
        for row in rows:
            if number(row.name) in numbers:
                lines += [
                    f"* - [{row.title}](notebooks/{row.name}.ipynb)",
                    f"  - {row.shows}",
                ]
        lines += ["```", ""]
    return "\n".join(lines)


def paths(texts: dict[str, str]) -> str:
    """A card for each workshop path that is there, with its title and the first paragraph under
    it.
    """
    cards = []
    for path in PATHS:
        if f"workshop/{path}" in texts:
            title, _, rest = texts[f"workshop/{path}"].strip().partition("\n")
            paragraph = " ".join(rest.strip().split("\n\n")[0].split())
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*_`]", r"\1", paragraph)
            title = escape(title.lstrip("# "))
            cards.append(
                f'<a class="card" href="workshop/{path}.html"><strong>{title}</strong> '
                f"{escape(plain)}</a>"
            )
    if not cards:
        return "The ways to teach with it are in the folder `workshop` of the project."
    return '<div class="cards">' + "".join(cards) + "</div>"


def contents(notebooks: list[str], texts: list[str]) -> str:
    """The side bar: what is in the site, group by group."""
    deeper = [name for name in notebooks if name.startswith(DEEPER)]
    main = [name for name in notebooks if name not in deeper]
    groups = {
        title: [name for name in main if number(name) in numbers]
        for title, numbers in GROUPS.items()
    }
    blocks = [
        _toctree(title, [f"notebooks/{name}" for name in names])
        for title, names in (groups | {"Deeper": deeper}).items()
    ]
    teaching = [text for text in texts if text.startswith("workshop/")]
    first = ["workshop/README", *(f"workshop/{path}" for path in PATHS)]
    teaching.sort(key=lambda text: (first.index(text) if text in first else len(first), text))
    blocks.append(_toctree("Teach it", teaching))
    rest = [text for text in texts if not text.startswith(("workshop/", "api/"))]
    blocks.append(_toctree("The project", [*rest, "api/index"]))
    return "\n".join(blocks)


def _toctree(caption: str, entries: list[str]) -> str:
    if not entries:
        return ""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""])
