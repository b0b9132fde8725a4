"""The paths of the workshop, read: a Markdown file each, which an instructor reads and edits, and
which is checked.

A path has a heading for each block, with its minutes (`## 0:10-0:28 · Shared or copied?`, with a
dash between), and under it paragraphs that begin with a label in bold: Notebook, They can then,
Show, Skip, They do (6 min), Ask, Misconceptions, If time is short; and perhaps one for the quick.
Breaks, lunch and slack need none. The table at the top is written from the headings:

    python -m workshop.paths        renews the tables, and misconceptions.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from exercises.catalogue import NOTEBOOK_OF, find
from exercises.misconceptions import page
from tools.notebook_files import FOLDER
from tools.whole_file import write

HERE = Path(__file__).resolve().parent
NAMES = ("ninety_minutes", "half_day", "two_days")
MISCONCEPTIONS = HERE / "misconceptions.md"
LABELS = (
    "Notebook", "They can then", "Show", "Skip", "They do", "Ask", "Misconceptions",
    "If time is short",
)  # fmt: skip
PAUSES = ("Break", "Lunch", "Slack")
MINUTES_OF_LEVEL = {1: 3, 2: 6, 3: 12}  # at least so long, for those who do not get stuck

BEGIN, END = "<!-- blocks -->\n", "<!-- /blocks -->"
BLOCK = re.compile(r"## (\d+):(\d\d)–(\d+):(\d\d) · (.+)")
LABEL = re.compile(r"\*\*([\w ]+?)(?: \((\d+) min\))?\.?\*\*\s?(.*)")
TOTAL = re.compile(r"\*(?:(\d+) × )?(\d+) minutes, (?:each day )?(\d+):(\d\d)–(\d+):(\d\d)")
LINK = re.compile(r"\[[^\]]*\]\(\.\./notebooks/([\w.]+)#([^)]+)\)(?:: `([^`]+)`)?")
ITEM = re.compile(r"^- (.*(?:\n(?!- ).+)*)", re.MULTILINE)
EXERCISE = re.compile(r"`([a-z_]+_\d)`")


@dataclass(frozen=True)
class Shown:
    """A section of a notebook that a path links to, and, where it quotes one, a line of a cell in
    it.
    """

    file: str
    anchor: str
    line: str | None


@dataclass(frozen=True)
class Block:
    """A stretch of time. `begin` and `end` are minutes since midnight, or since the path began."""

    day: int
    begin: int
    end: int
    title: str
    parts: dict[str, str]
    minutes_to_do: int | None

    @property
    def minutes(self) -> int:
        return self.end - self.begin

    @property
    def pause(self) -> bool:
        return self.title.startswith(PAUSES)

    @property
    def exercises(self) -> list[str]:
        """The exercises that everybody has time for."""
        return list(dict.fromkeys(EXERCISE.findall(self.parts.get("They do", ""))))

    @property
    def mentioned(self) -> list[str]:
        """All exercises that are named anywhere in the block."""
        return [name for text in self.parts.values() for name in EXERCISE.findall(text)]

    @property
    def shown(self) -> list[Shown]:
        return [found for text in self.parts.values() for found in links(text)]

    def items(self, label: str) -> list[str]:
        return ITEM.findall(self.parts.get(label, ""))


@dataclass(frozen=True)
class WorkshopPath:
    """A path: what its first lines promise, and its blocks."""

    file: Path
    days: int
    minutes: int  # of a day
    begin: int
    end: int
    blocks: list[Block]


def read(name: str) -> WorkshopPath:
    """A path by the name of its file. Raises ValueError when its first lines do not say how long it
    is.
    """
    file = HERE / f"{name}.md"
    text = file.read_text(encoding="utf-8")
    if (said := TOTAL.search(text)) is None:
        raise ValueError(f"{file.name} does not say its minutes, as in: *90 minutes, 0:00–1:30")
    hours = [int(number) for number in said.groups()[2:]]
    return WorkshopPath(
        file,
        int(said[1] or 1),
        int(said[2]),
        hours[0] * 60 + hours[1],
        hours[2] * 60 + hours[3],
        list(blocks(text)),
    )


def blocks(text: str) -> Iterator[Block]:
    day = 0
    for part in re.split(r"^(?=#{1,2} )", text, flags=re.MULTILINE):
        heading, _, body = part.partition("\n")
        if heading.startswith("# "):
            day += heading.startswith("# Day")
        elif heading.startswith("## "):
            if (found := BLOCK.fullmatch(heading)) is None:
                raise ValueError(f"not the heading of a block: {heading}")
            h, m, hh, mm = (int(number) for number in found.groups()[:4])
            parts, minutes = labelled(body)
            yield Block(max(day, 1), h * 60 + m, hh * 60 + mm, found[5], parts, minutes)


def labelled(body: str) -> tuple[dict[str, str], int | None]:
    """The paragraphs of a block by their labels, and the minutes that *They do* has."""
    parts: dict[str, str] = {}
    minutes, label = None, ""
    for line in body.splitlines():
        if found := LABEL.match(line):
            label, line = found[1], found[3]
            minutes = int(found[2]) if found[2] else minutes
        parts[label] = f"{parts.get(label, '')}{line}\n"
    return parts, minutes


def links(text: str) -> list[Shown]:
    return [Shown(file, anchor, line or None) for file, anchor, line in LINK.findall(text)]


def table(path: WorkshopPath) -> str:
    """The overview: a row for each block, with links to it, to its notebooks and to its
    exercises.
    """
    rows = ["| when | min | block | notebooks | everybody does |", "|---|--:|---|---|---|"]
    for number, block in enumerate(path.blocks):
        if number and block.day > path.blocks[number - 1].day:
            rows.append("| | | **the next day** | | |")
        files = sorted({shown.file for shown in links(block.parts.get("Notebook", ""))})
        notebooks = ", ".join(f"[{file.partition('_')[0]}](../notebooks/{file})" for file in files)
        clock = f"{block.begin // 60}:{block.begin % 60:02}"
        exercises = ", ".join(f"[{name}]({place_of(name)})" for name in block.exercises)
        empty = block.title in ("Break", "Lunch")
        title = block.title if empty else f"[{block.title}](#{slug(heading_of(block))})"
        rows.append(f"| {clock} | {block.minutes} | {title} | {notebooks} | {exercises} |")
    return "\n".join(rows) + "\n"


def heading_of(block: Block) -> str:
    times = (f"{minutes // 60}:{minutes % 60:02}" for minutes in (block.begin, block.end))
    return f"{'–'.join(times)} · {block.title}"


def slug(heading: str) -> str:
    """The anchor that GitHub gives to a heading of a Markdown file."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchor(heading: str) -> str:
    """The anchor that Jupyter gives to a heading of a notebook."""
    return quote(heading.replace("`", "").replace(" ", "-"), safe="-_.!~*',:;?&")


def place_of(exercise: str) -> str:
    notebook = NOTEBOOK_OF[exercise.rpartition("_")[0]]
    return f"../notebooks/{notebook}.ipynb#{anchor(find(exercise).title)}"


@cache
def lines_of(file: str) -> dict[str, list[list[str]]]:
    """The code cells of a notebook, as lists of lines, under the anchor of each section that they
    are in.
    """
    notebook = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    found: dict[str, list[list[str]]] = {}
    above: list[tuple[int, str]] = []  # the sections that we are in, with the depth of each
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            for _, section in above:
                found[section].append(source.splitlines())
            continue
        for marks, heading in re.findall(
            r"^(#+) (.+)$", re.sub(r"```.*?```", "", source, flags=re.DOTALL), re.MULTILINE
        ):
            above = [
                *(entry for entry in above if entry[0] < len(marks)),
                (len(marks), anchor(heading)),
            ]
            found.setdefault(anchor(heading), [])
    return found


def renewed(path: WorkshopPath) -> str:
    """The text of a path with its table written anew."""
    text = path.file.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table(path)}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    for name in NAMES:
        path = read(name)
        write(path.file, renewed(path))
    write(MISCONCEPTIONS, "\n".join(page()) + "\n")


if __name__ == "__main__":
    main()
