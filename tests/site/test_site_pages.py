"""A site of two pages: what a notebook's cells become, and what a mistake is called."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

pytest.importorskip("sphinx", reason="no Sphinx: make workshop")
pytest.importorskip("myst_nb", reason="no myst-nb: make workshop")
pytest.importorskip("furo", reason="no furo: make workshop")

from tools.site import __main__ as command

EXERCISE = """\
## Exercises

<details>
<summary>Hint 1</summary>

Look at `data_ptr()`, or [there](../internals/core/storage.py).

</details>

<details>
<summary>Solution</summary>

```python
answer = a.data_ptr() == b.data_ptr()  # the < and & of HTML
```

</details>
"""
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" class="iv" role="img" aria-label="A drawing"><style>'
    'html[data-theme="dark"] .iv{--iv-ink:#fff}</style><rect width="5" height="5"/></svg>'
)
LINKS = (
    '<a href="../internals/core/storage.py">s</a><a class="n" '
    'href="00_start_here.ipynb#2.-A-second:-title">n</a>'
)
STEPPER = (
    '<div class="iv-steps"><form><input type="radio" name="s" id="s1" checked><label '
    'for="s1">1</label></form></div>'
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The site, and its problems: one link of the second page leads nowhere."""
    folder = tmp_path_factory.mktemp("small")
    source = folder / "source"
    (source / "notebooks").mkdir(parents=True)
    (source / "docs").mkdir()
    (source / "index.md").write_text(
        "# Home\n\n```{toctree}\nnotebooks/00_start_here\ndocs/b\n```\n"
    )
    plain = '<svg xmlns="http://www.w3.org/2000/svg"><title>P</title><style>text{fill:#222}</style><text>p</text></svg>'
    (source / "docs" / "p.svg").write_text(plain)
    (source / "docs" / "b.md").write_text(
        "# B\n\n![p & q](p.svg)\n\n[good](../notebooks/00_start_here.ipynb#2.-A-second:-title)\n\n"
        "[bad](nowhere.md)\n"
    )
    html = new_output(
        "execute_result", {"text/html": PICTURE + STEPPER + LINKS, "text/plain": "drawing"}
    )
    printed = new_output("stream", name="stdout", text="a < b\n")
    cells = [
        new_markdown_cell("# 00 · A\n\nText with <angle> and `code`, and `a $ b $ c`."),
        new_code_cell("import viz\nviz.memory(a=a)", outputs=[printed, html]),
        new_markdown_cell("# 2. A second: title\n\nMore."),
        new_markdown_cell(EXERCISE),
        new_code_cell("answer = ...\ncheck.zero_copy_1(answer)"),
    ]
    kernel = {"name": "python3", "display_name": "Python 3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = new_notebook(cells=cells, metadata=metadata)
    nbformat.write(notebook, source / "notebooks" / "00_start_here.ipynb")
    site = folder / "site"
    return site, command.sphinx("html", source, site, folder)


@pytest.mark.sampled(1 / 4)
def test_a_broken_link_is_named_with_its_page_and_line(built: tuple[Path, list[str]]) -> None:
    _, problems = built
    assert (
        len(problems) == 1
        and problems[0].startswith("docs/b.md:7: WARNING:")
        and "nowhere.md" in problems[0]
    )


def test_a_place_in_a_notebook_is_its_cell_and_line() -> None:
    warning = "/x/source/notebooks/03_zero_copy.ipynb:50012: WARNING: no such thing"
    expected = "notebooks/03_zero_copy.ipynb, cell 5, line 12: WARNING: no such thing"
    assert command.in_project(warning, Path("/x/source")) == expected


def test_folded_solutions_hold_highlighted_code(built: tuple[Path, list[str]]) -> None:
    text = (built[0] / "notebooks" / "00_start_here.html").read_text()
    solution = text[text.index("<summary>Solution</summary>") :]
    solution = solution[: solution.index("</details>")]
    assert 'class="highlight-python' in solution and "answer" in solution and "```" not in solution
    assert "&lt; and &amp;" in solution
    assert text.count("<details>") == text.count("</details>") == 2
    assert '<a class="reference internal" href="../code/internals/core/storage.py.html">' in text


def test_pictures_follow_the_theme_and_steppers_stay(built: tuple[Path, list[str]]) -> None:
    text = (built[0] / "notebooks" / "00_start_here.html").read_text()
    assert 'body[data-theme="dark"] .iv' in text and 'html[data-theme="dark"]' not in text
    assert '<a href="../code/internals/core/storage.py.html">s</a>' in text, (
        "a link in what a cell put out"
    )
    assert re.search(r'<a class="n" href="[^"]*#a-second-title">n</a>', text)
    assert STEPPER in text and 'aria-label="A drawing"' in text
    assert "a &lt; b" in text and text.count("<h1>") == 1
    other = (built[0] / "docs" / "b.html").read_text()
    assert '<svg aria-label="p &amp; q" class="plain"' in other and "fill:#222" not in other
    assert 'href="../notebooks/00_start_here.html#a-second-title"' in other, (
        "as JupyterLab names a heading"
    )


def test_without_sphinx_the_command_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "NEEDED", {"no_such_module": "no-such-package"})
    monkeypatch.setattr("sys.argv", ["site"])
    assert command.main() == 1
    assert "no-such-package not installed: make workshop" in capsys.readouterr().err
