"""What has to hold of a notebook that is open in JupyterLab: each check returns what breaks it, in
words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.browser.notebook import OpenNotebook
from tools.browser.pictures import Drawn, colours_of, has_picture, look
from tools.browser.stepper import (
    FORM,
    by_clicks,
    by_keyboard,
    expected_by_clicks,
    expected_by_keyboard,
    seen,
)

OUTPUTS = ".jp-OutputArea-child > .jp-OutputArea-output"
FOLDED = "hide-output"  # of a bet: JupyterLab shows a line in place of the output
PICTURE_IN_TEXT = ("![", "<img", "<svg")
Cell = dict[str, Any]


def pictures_show(
    notebook: OpenNotebook, dark: bool = False, pixels: bool = False
) -> tuple[list[str], list[Drawn]]:
    """What is wrong with the pictures of all cells, and the pictures.

    With `pixels` each is also photographed: a picture of one colour shows nothing.
    """
    wrong: list[str] = []
    drawn: list[Drawn] = []
    for n, cell in enumerate(notebook.cells()):
        for i, output in enumerate([] if FOLDED in cell["tags"] else cell["outputs"]):
            if not has_picture(output) and "text/html" not in output.get("data", {}):
                continue  # text is JupyterLab's to show
            element = notebook.show(n).locator(OUTPUTS).nth(i)
            found = look(element)
            drawn += found.pictures
            if has_picture(output) and not found.pictures:
                wrong.append(f"cell {n}: no picture shows, but one is stored")
            wrong += [
                f"cell {n}: {problem}"
                for picture in found.pictures
                for problem in picture_problems(picture)
            ]
            wrong += [f"cell {n}: {text!r} is cut off" for text in found.outside]
            wrong += [
                f"cell {n}: {f['text']!r} is faint, contrast {f['ratio']}" for f in found.faint
            ]
            wrong += [
                f"cell {n}: {area} glares in the dark theme" for area in found.glaring if dark
            ]
            for svg in (
                element.locator("svg:visible, img:visible").all()
                if pixels and found.pictures
                else []
            ):
                if colours_of(svg) < 2:
                    wrong.append(f"cell {n}: a picture is blank on the screen")
        if cell["type"] == "markdown" and any(mark in cell["source"] for mark in PICTURE_IN_TEXT):
            for picture in look(notebook.show(n).locator(".jp-MarkdownOutput")).pictures:
                wrong += [f"cell {n}: {problem}" for problem in picture_problems(picture)]
    return wrong, drawn


def picture_problems(picture: Drawn) -> Iterator[str]:
    what = picture.label or picture.tag
    if picture.width < 5 or picture.height < 5:
        yield f"{what} is {picture.width:g} by {picture.height:g} pixels"
    if not picture.marks:
        yield f"{what} is empty"
    if not picture.label:
        yield f"{what} has no name (aria-label, title or alt)"
    elif not picture.description:
        yield f"{what} has no description (desc or alt)"
    if picture.cut:
        yield f"{what} is cut off, and cannot be scrolled"


def ran(cells: list[Cell]) -> Iterator[str]:
    """That every code cell has a count, and none an error that it is not meant to have."""
    for n, cell in enumerate(cells):
        if cell["type"] == "code" and cell["source"].strip() and cell["count"] is None:
            yield f"cell {n} has no count"
        for output in cell["outputs"]:
            if output["output_type"] == "error" and "raises-exception" not in cell["tags"]:
                yield f"cell {n} fails: {output['ename']}: {output['evalue']}"


def steppers_step(notebook: OpenNotebook) -> tuple[list[str], int]:
    """What is wrong with the steppers, stepped through by clicks and by keys; and how many there
    are.
    """
    wrong: list[str] = []
    count = 0
    for n, cell in enumerate(notebook.cells()):
        if FOLDED in cell["tags"] or not any(
            "iv-step" in "".join(o.get("data", {}).get("text/html", "")) for o in cell["outputs"]
        ):
            continue
        for form in notebook.show(n).locator(FORM).all():
            count += 1
            (caption,) = seen(form)
            frames = int(caption.partition("/")[2].split()[0])
            if form.locator("label").count() != frames - 1:
                wrong.append(
                    f"cell {n}: {frames} frames, but {form.locator('label').count() + 1} buttons"
                )
            if frames == 1:
                continue
            if (views := by_clicks(form)) != expected_by_clicks(frames):
                wrong.append(f"cell {n}: clicks showed the frames {views}")
            if (views := by_keyboard(notebook.page, form)) != expected_by_keyboard(frames):
                wrong.append(f"cell {n}: Tab and Space showed the frames {views}")
    return wrong, count
