"""The documentation's pages, as `make site` builds them: no warning, every link leads somewhere.

All notebooks and texts, always. The reference is that of a few packages, unless `make test-full`
wants all.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from codegen.model import load
from tests.support import full
from tools.notebook_files import BUILD, ROOT, notebook_paths

pytest.importorskip("sphinx", reason="no Sphinx: make workshop")
pytest.importorskip("myst_nb", reason="no myst-nb: make workshop")
pytest.importorskip("furo", reason="no furo: make workshop")

from tools.site import __main__ as command, links
from tools.site.landing import GROUPS
from tools.site.reference import PACKAGES

pytestmark = pytest.mark.sampled(1 / 4, together=True)  # building the pages takes half a minute

SITE, WORK = (
    (command.SITE, command.WORK) if full() else (BUILD / "site-sample", BUILD / "site-sample-work")
)


@pytest.fixture(scope="module")
def problems() -> list[str]:
    """Builds what has changed since the last time; a fresh clone builds everything."""
    return command.build(SITE, WORK, PACKAGES if full() else ["internals/core"])


@pytest.fixture(scope="module")
def page(problems: list[str]):  # type: ignore[no-untyped-def]
    return lambda name: (SITE / name).read_text(encoding="utf-8")


def stored_html(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [
        "".join(output["data"]["text/html"])
        for output in outputs
        if "text/html" in output.get("data", {})
    ]


def test_no_warning_and_no_link_that_leads_nowhere(problems: list[str]) -> None:
    assert problems == []


def test_the_landing_page_leads_to_every_notebook(page) -> None:  # type: ignore[no-untyped-def]
    text = page("index.html")
    body = text[text.index("<article") : text.index("</article>")]
    for path in notebook_paths():
        assert path.parent.name == "deeper" or f'href="notebooks/{path.stem}.html"' in body
    assert all(f'<span class="caption-text">{group}</span>' in text for group in GROUPS)
    assert 'class="iv"' in body and "make lab" in body


@pytest.mark.parametrize("notebook", notebook_paths(), ids=lambda path: path.stem)
def test_a_notebook_shows_its_stored_pictures_and_steppers(page, notebook: Path) -> None:  # type: ignore[no-untyped-def]
    name = notebook.relative_to(ROOT).with_suffix(".html").as_posix()
    text, outputs = page(name), stored_html(notebook)
    for mark in ('<svg xmlns="http://www.w3.org/2000/svg" class="iv"', "<input", "<form"):
        stored = sum(output.count(mark) for output in outputs)
        assert text.count(mark) >= stored, f"{stored} times {mark} are stored"
    assert 'html[data-theme="dark"]' not in text, "furo says the theme on the body"
    assert text.count("<h1>") == 1
    assert "Next" in text or "Previous" in text


def test_pages_fetch_nothing_from_elsewhere(problems: list[str]) -> None:
    for name in (
        "index.html",
        "notebooks/05_allocators_and_the_big_picture.html",
        "api/internals.core.html",
    ):
        loads = [address for address, _ in links.read(SITE / name).loads]
        assert len(loads) > 5
        assert [address for address in loads if address.startswith(("http:", "https:", "//"))] == []


def test_the_reference_has_signatures_types_and_the_way_to_the_source(page) -> None:  # type: ignore[no-untyped-def]
    text = page("api/internals.core.html")
    entry = text[text.index('id="internals.core.storage.Storage.allocate"') :][:3000]
    assert "nbytes" in entry and 'href="#internals.core.device.device"' in entry
    line = re.search(r'href="\.\./code/internals/core/storage\.py\.html#L(\d+)"', entry)
    assert line is not None
    source = (ROOT / "internals/core/storage.py").read_text().splitlines()
    assert source[int(line[1]) - 1].strip().startswith(("def allocate", "@classmethod"))


def test_links_of_notebooks_into_the_project_lead_to_pages(page) -> None:  # type: ignore[no-untyped-def]
    assert 'href="../code/internals/core/storage.py.html"' in page(
        "notebooks/04_storage_and_views.html"
    )
    assert 'href="../api/internals.core.html"' in page("notebooks/00_start_here.html")
    assert 'href="../docs/architecture.html"' in page("notebooks/00_start_here.html")
    assert "intrusive_ptr" in page("code/internals/core/storage.py.html")


def test_every_declared_operator_is_on_its_page(page) -> None:  # type: ignore[no-untyped-def]
    text = page("api/operators.html")
    declared = [f for f in load() if f.base is None]
    assert len(declared) > 500
    missing = [
        f.schema.full_name
        for f in declared
        if f"{f.schema.full_name.removeprefix('aten::')}(" not in text
    ]
    assert missing == []
    kernels = [f for f in declared if not f.same_as]
    assert text.count("derivative<") == text.count("kernel<") == len(kernels)
    assert text.count("Another name of") == len(declared) - len(kernels)
    add = text[text.index("add.Tensor(") :][:3000]
    assert "add_.Tensor" in add and "handle_r_to_c" not in add and "grad" in add


def test_search_works_without_a_server(problems: list[str]) -> None:
    index = (SITE / "searchindex.js").read_text()
    assert (
        index.startswith("Search.setIndex(")
        and "notebooks/03_zero_copy" in index
        and "zero" in index
    )
