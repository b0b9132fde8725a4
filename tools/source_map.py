"""`python -m tools.source_map` writes docs/source_map.md and docs/symptoms.md from
internals/source_map; `--check` exits 1 when a page is stale.

The page has what `internals.where` knows, and three things more, from `internals/source_map/guide`:
the folders of PyTorch beside ours, a reading order, and the questions of readers who were lost.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from internals.source_map.entries import (
    FLOORS,
    FOLDER,
    ROOT,
    Entry,
    Named,
    Section,
    anchor,
    entries,
    file_of,
    named_from,
    read,
)
from internals.source_map.subjects import place_of
from tools import symptoms_page
from tools.whole_file import write

PAGE = ROOT / "docs" / "source_map.md"
OPENING = """\
# Source map

You are lost in PyTorch's source; here is the way. One side is this project, where everything can be
run, stopped and drawn; the other is PyTorch, as it was in 1.0.1, which the talk shows, and as it is
in 2.13. Whatever you find on one side, this page names its place on the other, and the section of a
notebook that shows it at work.

```python
import internals

internals.where("autograd engine")  # words; a typing error does no harm
internals.where("THCCachingAllocator.cpp")  # a file of PyTorch's, of then or of today
internals.where("aten::conv2d")  # an operator, or torch.conv2d itself
internals.where(model)  # any object: a module, a graph, a node, a storage, a dtype
```

One argument that is a tensor keeps PyTorch's meaning, `torch.where(condition)`; for a tensor ask
`internals.source_map.where(x)`. In a terminal: `python -m internals where autograd engine`, with
line numbers. The paths are those of <https://github.com/pytorch/pytorch>: put `blob/v1.0.1/` or
`blob/main/` before them. This page is written by `python -m tools.source_map` from
`internals/source_map`; change it there.

- [The house beside the tree](#the-house-beside-the-tree)
- [Topic by topic](#topic-by-topic)
- [A reading order for contributors](#a-reading-order-for-contributors)
- [Questions, answered](#questions-answered)
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.source_map",
        description="write docs/source_map.md and docs/symptoms.md",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the page is stale"
    )
    options = parser.parse_args()
    pages = {PAGE: page(), symptoms_page.PAGE: symptoms_page.page()}
    if options.check:
        stale = [path.name for path, text in pages.items() if path.read_text("utf-8") != text]
        print(f"stale: {', '.join(stale)}: python -m tools.source_map" if stale else "fresh")
        return 1 if stale else 0
    for path, text in pages.items():
        write(path, text)
    return 0


def page() -> str:
    """The text of docs/source_map.md, from the entries of `internals.source_map`."""
    return "\n".join([OPENING, tree(), topics(), reading_order(), questions()])


def tree() -> str:
    """Our folders, and PyTorch's beside them."""
    lines = [
        "## The house beside the tree",
        "",
        "| here | what lives there | 1.0.1 | today |",
        "|---|---|---|---|",
    ]
    for row in guide("tree"):
        then, today = (
            ", ".join(f"`{folder}/`" for folder in row[side]) or "–" for side in ("then", "today")
        )
        lines.append(f"| [`{row['here']}/`](../{row['here']}) | {row['what']} | {then} | {today} |")
    return "\n".join([*lines, ""])


def topics() -> str:
    """All entries, a table for each floor."""
    lines = [
        "## Topic by topic",
        "",
        "A file is followed by the names to look for in it. A dash: there was, or is, nothing of "
        "the kind.",
        "",
    ]
    for floor, title in FLOORS.items():
        lines += [
            f"### {title}",
            "",
            "| topic | here | 1.0.1 | today | shown in |",
            "|---|---|---|---|---|",
        ]
        lines += [topic_row(entry) for entry in entries() if entry.floor == floor] + [""]
    return "\n".join(lines)


def topic_row(entry: Entry) -> str:
    """A row of a table: what it is, our files, those of 1.0.1, those of today, and where a notebook
    shows it.
    """
    note = f"<br>*{entry.note}*" if entry.note else ""
    elsewhere = [
        f"{project}: `{file}`" for project, file in (text.split(" ", 1) for text in entry.elsewhere)
    ]
    cells = [
        f"**{entry.topic}**: {entry.what}{note}",
        "<br>".join(map(our_link, entry.ours)) or "[`runtimes/`](../runtimes)",
        "<br>".join(map(real_file, entry.then)) or "–",
        "<br>".join([*map(real_file, entry.today), *elsewhere]) or "–",
        "<br>".join(map(section_link, entry.sections)),
    ]
    return f"| {' | '.join(cells)} |"


def reading_order() -> str:
    """The stops, numbered."""
    lines = ["## A reading order for contributors", ""]
    lines += [
        "Twelve stops, from a layer down to memory and up again to the compiler. Read with the "
        "notebook open beside it.",
        "",
    ]
    for number, stop in enumerate(guide("reading_order"), 1):
        then, today = named_from(stop["then"]), named_from(stop["today"])
        before = (
            "the same file in 1.0.1" if then.path == today.path else f"in 1.0.1 {real_file(then)}"
        )
        lines += [
            f"{number}. **{stop['title']}**: {real_file(today)} ({before}).",
            f"   - Look for: {stop['look']}.",
            f"   - Runs in: {section_link(section_from(stop['notebook']))}.",
            f"   - Change it: {stop['try']}.",
        ]
    return "\n".join([*lines, ""])


def questions() -> str:
    """What lost readers asked, with a short answer, the place on the map and the section that shows
    it.
    """
    lines = [
        "## Questions, answered",
        "",
        "They were asked in public, between 2017 and 2019, by people who were reading the source.",
        "",
    ]
    for group in guide("questions"):
        lines += [f"### {group['seed']}", ""]
        for question in group["questions"]:
            lines += [
                f"**{question['ask']}** {question['answer']}",
                f"Shown in {section_link(section_from(question['notebook']))}; its files: "
                f"`{call(question)}`.",
                "",
            ]
    return "\n".join(lines)


def call(question: dict[str, str]) -> str:
    """What to ask the map. Raises LookupError when it would not know."""
    place_of(question["where"])
    return f'internals.where("{question["where"]}")'


def guide(name: str) -> list[dict[str, Any]]:
    """The records of one file of the guide."""
    return read(FOLDER / "guide" / f"{name}.yaml")


def section_from(text: str) -> Section:
    return Section(*text.split(" ", 1))


def real_file(named: Named) -> str:
    return f"`{named.path}`" + "".join(f" `{name}`" for name in named.names)


def our_link(named: Named) -> str:
    file = file_of(named.path)
    target = Path(file).parent if "*" in file or file.endswith("__init__.py") else Path(file)
    shown = file.replace("/__init__.py", "/").removeprefix("internals/") or "internals/"
    return f"[`{shown}`](../{target.as_posix()})"


def section_link(section: Section) -> str:
    place = f"../notebooks/{section.file}#{anchor(section.heading)}"
    return f"[{section.number} {section.heading}]({place})"


if __name__ == "__main__":
    raise SystemExit(main())
