"""Slides: what is shown, what is only said; and that a lecture hall needs no network for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from exercises.catalogue import of_notebook
from tools import slides
from tools.notebook_files import notebook_paths
from tools.slide_deck import caption, chunks, deck, lead, plain

new = nbformat.v4


def kinds(made: Any) -> list[str]:
    return [cell.metadata.slideshow.slide_type for cell in made.cells]


def test_sections_cells_and_notes() -> None:
    long = "\n".join(f"x{n} = {n}" for n in range(30))
    made = deck(
        new.new_notebook(
            cells=[
                new.new_markdown_cell("# Title\n\nWhat? " + "More of it. " * 60),
                new.new_code_cell("import this"),
                new.new_markdown_cell("## First\n\nShort."),
                new.new_code_cell("1 + 1"),
                new.new_markdown_cell("Said before.\n\nNow look:"),
                new.new_code_cell("2 + 2"),
                new.new_code_cell(long),
                new.new_markdown_cell("an afterthought\n\n## Second\n\nWords."),
                new.new_markdown_cell("### An exercise", metadata={"tags": ["exercise"]}),
            ]
        )
    )
    expected = [
        "slide",
        "notes",
        "subslide",
        "-",
        "slide",
        "notes",
        "-",
        "subslide",
        "-",
        "notes",
        "notes",
        "notes",
        "slide",
        "notes",
    ]
    assert kinds(made) == expected
    shown = [cell.source for cell, kind in zip(made.cells, kinds(made)) if kind != "notes"]
    assert shown[0].startswith("# Title\n\nWhat? More of it.") and len(shown[0]) < 400
    assert shown[3:] == ["## First\n\nShort.", "1 + 1", "Now look:", "2 + 2", "## Second\n\nWords."]
    said = [cell.source for cell, kind in zip(made.cells, kinds(made)) if kind == "notes"]
    assert (
        said[0].count("More of it.") == 60
        and "Said before." in said[2]
        and "begins with `x0 = 0`" in said[3]
    )
    assert said[4] == "an afterthought"


def test_headings_in_code_are_none() -> None:
    assert [c.heading for c in chunks("```\n# not a heading\n```\n## A heading\ntext")] == [
        "",
        "## A heading",
    ]
    assert chunks("") == [("", "")]


def test_what_is_cut_is_cut_after_a_sentence() -> None:
    prose = "One sentence. " * 50
    assert lead(prose).endswith("sentence.") and 200 < len(lead(prose)) < 350
    assert lead("Intro.\n\n- a\n- b\n\nRest.") == "Intro.\n\n- a\n- b"
    assert lead("Intro.\n\n" + "- x\n" * 30) == "Intro."
    assert caption("Of the last picture.\n\nAnd now this. Look:") == "And now this. Look:"
    assert caption("") == lead("") == ""


def test_links_lead_to_slides_or_nowhere() -> None:
    assert plain("[04](04_storage_and_views.ipynb) and [code](../internals/x.py)") == (
        "[04](04_storage_and_views.slides.html) and code"
    )
    assert plain("[a page](https://example.org)") == "[a page](https://example.org)"


@pytest.mark.parametrize("path", notebook_paths(), ids=lambda path: path.stem[:2])
def test_every_notebook_makes_a_deck(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    made = slides.slides_of(path)
    texts = "\n".join(cell.source for cell in made.cells)
    shown = "\n".join(cell.source for cell, kind in zip(made.cells, kinds(made)) if kind != "notes")
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "exercise" not in cell.metadata.get("tags", []):
            for heading in re.findall(
                r"(?m)^#{1,3} .+$", re.sub(r"(?ms)^```.*?^```", "", cell.source)
            ):
                assert heading in shown
    pictures = sum(
        "text/html" in out.get("data", {})
        for cell in notebook.cells
        for out in cell.get("outputs", [])
    )
    kept = sum(
        "text/html" in out.get("data", {}) for cell in made.cells for out in cell.get("outputs", [])
    )
    assert kept == pictures and kinds(made)[0] == "slide" and "notes" in kinds(made)
    assert not any(
        len(cell.source) > 1600
        for cell, kind in zip(made.cells, kinds(made))
        if kind in ("slide", "subslide")
    )
    for exercise in of_notebook(path.stem):
        assert exercise.title in texts and (exercise.level > 1 or exercise.solution in texts)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if slides.reveal_folder() is None:
        pytest.skip("reveal.js is not here (make workshop adds it)")
    monkeypatch.setattr("sys.argv", ["slides", "03", "--output", str(tmp_path)])
    assert slides.main() == 0
    return tmp_path


def test_nothing_is_fetched(written: Path) -> None:
    html = (written / "03_zero_copy.slides.html").read_text()
    sources = re.findall(r'<(?:script|link|img|iframe)[^>]*?(?:src|href)="(?!data:)([^"]+)"', html)
    assert sources and all((written / source).exists() for source in sources), sources
    assert (
        "unpkg" not in html
        and "cdnjs" not in html
        and "MathJax" not in html
        and "Ask the room" in html
    )


def test_where_they_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if slides.reveal_folder() is None:
        pytest.skip("reveal.js is not here (make workshop adds it)")
    (tmp_path / "file").write_text("here before")
    monkeypatch.setattr("sys.argv", ["slides", "03", "--output", str(tmp_path / "file")])
    assert slides.main() == 1
    assert "slides: cannot write into" in capsys.readouterr().err
