"""From a notebook to the cells of its slides: what the room sees, and what the speaker says.

A notebook is prose that explains, and a slide is what stands behind somebody who explains. So each
section begins a slide with its heading and the beginning of its text; each code cell is a slide
below it, with its output, under the sentence that leads to it; and the whole prose is in the
speaker notes. The first exercise of each level 1 asks the room, with the solution in the notes, and
what people usually get wrong.

The cells carry `slideshow.slide_type`, which nbconvert's slides, RISE and JupyterLab's property
panel all understand.

How the real one differs: RISE wants these types to be set by hand, cell by cell. Here they follow
from the notebook's form, so that slides and notebook never disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import nbformat

LEAD = 330  # characters of prose on a slide
LINES_OF_A_LIST = 9
LINES_OF_CODE = 14  # longer cells that show nothing are told about, not shown
SENTENCE = re.compile(r"(?<=[.?!:])\s+(?=[A-Z*`(])")
ASK = '<span class="ask">{}</span>'


class Chunk(NamedTuple):
    """Text under a heading; the heading is "" where the text goes on with what was before."""

    heading: str
    text: str


def deck(notebook: Any, exercises: Sequence[Any] = ()) -> Any:
    """A notebook of slides. `exercises` are those of `exercises.catalogue.of_notebook`."""
    slides = nbformat.v4.new_notebook(metadata=notebook.metadata)
    told = ""  # what the next code cell is shown under
    for cell in notebook.cells:
        if "exercise" in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            *before, last = chunks(cell.source)
            for chunk in before:
                slides.cells += section(
                    Chunk(
                        chunk.heading, joined(told, chunk.text) if not chunk.heading else chunk.text
                    ),
                    told,
                )
                told = ""
            if last.heading:
                slides.cells += section(last, told)
                told = ""
            else:
                told = joined(told, last.text)
        elif cell.cell_type == "code":
            slides.cells += shown(cell, told, alone=not told and bare(slides.cells))
            told = ""
    slides.cells += section(Chunk("", told), "")
    for exercise in exercises:
        if exercise.level == 1:
            slides.cells += asked(exercise)
    slides.cells += to_do(exercises)
    return slides


def chunks(source: str) -> list[Chunk]:
    """The parts of a cell of text, each with the heading that it stands under."""
    found, heading, text, fenced = [], "", "", False
    for line in source.splitlines():
        fenced ^= line.startswith("```")
        if not fenced and re.match(r"#{1,3} ", line):
            found.append(Chunk(heading, text.strip()))
            heading, text = line, ""
        else:
            text += line + "\n"
    found.append(Chunk(heading, text.strip()))
    return [chunk for chunk in found if chunk.heading or chunk.text] or [Chunk("", "")]


def section(chunk: Chunk, told: str) -> Iterator[Any]:
    """A slide for a heading and the beginning of its text. `told` belongs to what was before, and
    is only said.
    """
    if told:
        yield notes(told)
    if not chunk.heading:
        if chunk.text:
            yield notes(chunk.text)
        return
    kind = "subslide" if chunk.heading.startswith("### ") else "slide"
    yield text(f"{chunk.heading}\n\n{lead(chunk.text)}", kind)
    if chunk.text:
        yield notes(chunk.text)


def shown(cell: Any, told: str, alone: bool) -> Iterator[Any]:
    """A code cell and its output, on a slide with the sentence that leads to it; or, if `alone`, on
    the heading's slide.
    """
    if not cell.outputs and len(cell.source.splitlines()) > LINES_OF_CODE:
        first = cell.source.splitlines()[0]
        yield notes(joined(told, f"(Not shown: the cell that begins with `{first}`.)"))
        return
    if not alone:
        yield text(caption(told) or "&nbsp;", "subslide")
    yield nbformat.v4.new_code_cell(
        cell.source, outputs=cell.outputs, execution_count=cell.execution_count, metadata=typed("-")
    )
    if told:
        yield notes(told)


def bare(cells: list[Any]) -> bool:
    """Whether the last slide has only a heading and a few words, so that there is room for a
    cell.
    """
    kinds = [cell.metadata.slideshow.slide_type for cell in cells]
    begin = max((n for n, kind in enumerate(kinds) if kind in ("slide", "subslide")), default=-1)
    last = (
        [cell for cell in cells[begin:] if cell.metadata.slideshow.slide_type != "notes"]
        if begin > 0
        else []
    )
    return len(last) == 1 and last[0].cell_type == "markdown" and len(last[0].source) < LEAD


def asked(exercise: Any) -> Iterator[Any]:
    """A question for the room; the notes know the answer, and what people believe."""
    yield text(f"## {ASK.format('Ask the room')}: {exercise.title}\n\n{exercise.ask}", "slide")
    yield text(f"```python\n{exercise.cell()}\n```", "-")
    believed = "\n".join(f"- {mistake.belief}" for mistake in exercise.mistakes)
    yield notes(
        f"```python\n{exercise.solution}\n```\n\n{exercise.why}\n\nWhat people "
        f"believe:\n\n{believed}"
    )


def to_do(exercises: Sequence[Any]) -> Iterator[Any]:
    """A last slide with what the notebook offers to do."""
    if exercises:
        lines = "\n".join(f"| `{e.name}` | {e.level} | {e.title} |" for e in exercises)
        yield text(f"## Now you\n\n| exercise | level | |\n|---|---|---|\n{lines}", "slide")


def lead(prose: str) -> str:
    """The beginning of a text: its first paragraph, cut after a sentence, and a quotation, list or
    table if one follows.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", plain(prose).strip()) if part.strip()]
    if not paragraphs:
        return ""
    kept = [paragraphs[0] if is_block(paragraphs[0]) else sentences(paragraphs[0])]
    for paragraph in paragraphs[1:3]:
        if is_block(paragraph) and len(paragraph.splitlines()) <= LINES_OF_A_LIST:
            kept.append(paragraph)
            break
    return "\n\n".join(kept)


def caption(prose: str) -> str:
    """What leads to a cell: the last paragraph of the prose before it, its last sentences if it is
    long; or a block.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", plain(prose).strip()) if part.strip()]
    if not paragraphs:
        return ""
    last = paragraphs[-1]
    if is_block(last):
        return last if len(last.splitlines()) <= LINES_OF_A_LIST else lead(prose)
    kept = ""
    for part in reversed(SENTENCE.split(last.strip())):
        if kept and len(kept) + len(part) > LEAD:
            break
        kept = f"{part} {kept}".strip()
    return kept


def sentences(paragraph: str) -> str:
    """As many whole sentences as fit on a slide, at least one."""
    parts = SENTENCE.split(paragraph.strip())
    kept = parts[0]
    for part in parts[1:]:
        if len(kept) + len(part) > LEAD:
            break
        kept += f" {part}"
    return kept


def is_block(paragraph: str) -> bool:
    """A quotation, a list, a table or code, which are shown whole or not at all."""
    return bool(re.match(r"(>|[-*|] |\||\d+\. |```)", paragraph.lstrip()))


def plain(prose: str) -> str:
    """Without links: to other notebooks they lead to their slides, to files of the project
    nowhere.
    """
    prose = re.sub(r"\]\((\d\db?_\w+)\.ipynb(#[^)]*)?\)", r"](\1.slides.html)", prose)
    return re.sub(r"\[([^\]]+)\]\((?!\d\db?_|https?:)[^)]*\)", r"\1", prose)


def joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def text(source: str, kind: str) -> Any:
    """A cell of a slide of this kind."""
    return nbformat.v4.new_markdown_cell(source, metadata=typed(kind))


def notes(source: str) -> Any:
    """A cell that only the speaker sees."""
    return nbformat.v4.new_markdown_cell(plain(source), metadata=typed("notes"))


def typed(kind: str) -> dict[str, Any]:
    return {"slideshow": {"slide_type": kind}}
