"""Each notebook in JupyterLab, in a browser: as a fresh clone has it, then run from top to bottom.

`make test` opens two; `make browser-test` all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.notebook_checks import pictures_show, ran, steppers_step
from tools.browser.lab import Lab, lab as start_lab
from tools.browser.notebook import OpenNotebook
from tools.browser.pictures import Drawn
from tools.notebook_files import FOLDER, notebook_paths

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SAMPLE = ("01_", "15_")  # short ones; the second has a stepper
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=[] if path.name.startswith(SAMPLE) else pytest.mark.slow)
    for path in notebook_paths()
]


@pytest.fixture(scope="module")
def lab(chromium: Browser) -> Iterator[Lab]:
    with start_lab() as running:
        yield running


@pytest.fixture
def opened(request: pytest.FixtureRequest, chromium: Browser, lab: Lab) -> Iterator[OpenNotebook]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    notebook = None
    try:
        name = request.param.relative_to(FOLDER).as_posix()
        notebook = OpenNotebook(context.new_page(), lab, name)
        yield notebook
    finally:
        if notebook is not None:
            notebook.close()
        context.close()


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("opened", NOTEBOOKS, indirect=True)
def test_a_notebook_as_cloned_and_run(opened: OpenNotebook) -> None:
    """Wide and narrow, run, stepped through, and in the dark. The pictures are the same before and
    after it ran.
    """
    opened.theme("light")
    wrong, stored = pictures_show(opened, pixels=True)
    assert wrong == [] and stored, "as cloned, 1280 pixels wide"
    opened.width(800)
    assert pictures_show(opened)[0] == [], "as cloned, 800 pixels wide"
    opened.width(1280)

    opened.run_all()
    assert list(ran(opened.cells())) == []
    wrong, shown = pictures_show(opened)
    assert wrong == [], "after the run"
    assert names(shown) == names(stored), "pictures after the run, and before"
    assert steppers_step(opened)[0] == []

    opened.theme("dark")
    assert pictures_show(opened, dark=True)[0] == [], "in the dark theme"
    assert opened.problems == []


def names(pictures: list[Drawn]) -> list[tuple[str, str]]:
    """What has to be the same in every run; a picture of what was measured differs in its marks."""
    return [(picture.tag, picture.label) for picture in pictures]


def test_some_notebooks_have_steppers() -> None:
    """So that stepping is tested at all, also where only the sample is opened."""
    with_steppers = [p.name for p in notebook_paths() if "iv-step" in p.read_text(encoding="utf-8")]
    assert len(with_steppers) >= 5 and any(name.startswith(SAMPLE) for name in with_steppers)
