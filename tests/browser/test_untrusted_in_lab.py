"""A notebook that came by mail: JupyterLab does not trust it, and takes the drawings and the styles
out of its outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.notebook_checks import FOLDED
from tools.browser.lab import lab
from tools.browser.notebook import OpenNotebook
from tools.browser.pictures import has_picture, look
from tools.browser.stepper import FORM, numbers
from tools.notebook_files import notebook_paths

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.slow
def test_every_picture_of_an_untrusted_notebook_shows(page: Page) -> None:
    """As an image or as text, in both themes; of a stepper, all frames."""
    path = notebook_paths(["09"])[0]
    frames = 0
    with lab([path], trusted=False) as running:
        notebook = OpenNotebook(page, running, path.name)
        for theme in ("light", "dark"):
            notebook.theme(theme)
            for n, cell in enumerate(notebook.cells()):
                for i, output in enumerate([] if FOLDED in cell["tags"] else cell["outputs"]):
                    if not has_picture(output):
                        continue
                    element = (
                        notebook.show(n)
                        .locator(".jp-OutputArea-child > .jp-OutputArea-output")
                        .nth(i)
                    )
                    assert element.locator("svg, style").count() == 0, "Lab trusts it"
                    found = look(element)
                    text = element.locator("pre:visible").all_inner_texts()
                    assert found.pictures or len("".join(text)) > 60, n
                    assert all(p.tag == "img" and p.marks and p.label for p in found.pictures), n
                    assert found.faint == [], n
                    for form in element.locator(FORM).all():
                        frames = form.locator(".iv-f").count()
                        assert len(text) == 1 or numbers(form) == list(range(1, frames + 1)), n
        notebook.close()
        assert notebook.problems == []
    assert frames > 1
