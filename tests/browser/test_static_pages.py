"""The stored outputs where there is no JupyterLab: as a page of nbconvert's opened from a file
(nbviewer shows the same), and with what GitHub and an untrusting JupyterLab leave of them.

`make test` looks at a few notebooks; `make browser-test` at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

from tools.browser.notebook import listen
from tools.browser.pictures import has_picture, look
from tools.browser.sanitisers import sanitised
from tools.browser.stepper import (
    FORM,
    by_clicks,
    by_keyboard,
    expected_by_clicks,
    expected_by_keyboard,
    seen,
)
from tools.notebook_files import ROOT, notebook_paths
from tools.tour import as_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

SAMPLE = ("00_", "09_")
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=[] if path.name.startswith(SAMPLE) else pytest.mark.slow)
    for path in notebook_paths()
]


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_page_of_nbconvert_needs_no_server(page: Page, path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    # pages lead to it from build/tour
    (tmp_path / "docs").symlink_to(ROOT / "docs", target_is_directory=True)
    written = tmp_path / "build" / "tour" / "page.html"
    written.parent.mkdir(parents=True)
    written.write_text(as_page(notebook, path), encoding="utf-8")
    problems: list[str] = []
    listen(page, problems)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.goto(written.as_uri())
        outputs = page.locator(".jp-OutputArea-child > .jp-OutputArea-output")
        stored = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert outputs.count() == len(stored)
        for n, output in enumerate(stored):
            if has_picture(output):
                found = look(outputs.nth(n))
                assert found.pictures and all(
                    p.marks and p.label and not p.cut for p in found.pictures
                ), n
                assert (found.faint, found.outside) == ([], []), n
    for form in page.locator(FORM).all():
        frames = int(seen(form)[0].partition("/")[2].split()[0])
        if frames > 1:
            assert by_clicks(form) == expected_by_clicks(frames)
            assert by_keyboard(page, form) == expected_by_keyboard(frames)
    assert problems == []


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("viewer", ["github", "lab"])
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_viewer_that_trusts_nothing_shows_every_picture(
    page: Page, path: Path, viewer: str
) -> None:
    """As an image, or as text; and each once."""
    outputs = [
        o.data["text/html"] for o in outputs_of(path) if has_picture(o) and "text/html" in o.data
    ]
    assert outputs
    left = [sanitised("".join(html), viewer) for html in outputs]
    for html in left:
        assert not any(tag in html for tag in ("<svg", "<style", "<script", "<path")), (
            "the sanitiser sleeps"
        )
    page.set_content("".join(f"<section>{html}</section>" for html in left))
    for n, (section, html) in enumerate(zip(page.locator("section").all(), outputs)):
        found = look(section)
        images = html.count('<img src="data:image/svg+xml')
        assert len(found.pictures) == images and all(
            p.marks and len(p.label) > 5 for p in found.pictures
        ), n
        if not images:
            texts = [pre.inner_text() for pre in section.locator("pre:visible").all()]
            assert sum(len(text.strip()) for text in texts) > 60, (
                f"output {n} shows neither an image nor text"
            )


def outputs_of(path: Path) -> list[nbformat.NotebookNode]:
    return [
        o
        for cell in nbformat.read(path, as_version=4).cells
        for o in cell.get("outputs", [])
        if "data" in o
    ]


def test_the_sanitisers() -> None:
    html = (
        '<div class="a" style="color:red" onclick="x()"><style>p{}</style><svg><title>t &amp; '
        "u</title></svg>"
        '<form><label><input type="checkbox" class="s">1</label></form><img '
        'src="data:image/png;base64,AA" alt="&lt;a&gt;"></div>'
    )
    image = '<img src="data:image/png;base64,AA" alt="&lt;a&gt;">'
    assert sanitised(html, "github") == f"<div>1{image}</div>"
    assert sanitised(html, "lab") == (
        '<div class="a" style="color:red">t &amp; u<form><label><input disabled type="checkbox" '
        'class="s">1</label></form>'
        f"{image}</div>"
    )
    with pytest.raises(KeyError):
        sanitised(html, "colab")
