"""What `make site` is made of: reading the source, docstrings as reStructuredText, the checker of
links, the first page.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tools.site import code_pages, landing, links, reference, tree
from tools.site.catalogue import names_of, read_packages
from tools.site.docstrings import to_rest

MODULE = '''\
"""A shelf. It holds books.

How the real one differs: it is made of wood.
"""

from dataclasses import dataclass
from .book import Book

@dataclass(frozen=True)
class Shelf:
    """Holds many a `Book`."""

    books: list[Book]
    width: float = 1.0

    @property
    def free(self) -> float:
        """How much `width` is left."""

    @classmethod
    def empty(cls, width: float = 2.0) -> "Shelf":
        """A new one."""

    async def read(self, *titles: str, aloud: bool = False) -> None:
        """Every one."""

    def quiet(self, other: int) -> int: ...

    def _hidden(self) -> None:
        """Not shown."""

def build(*, width: float) -> Shelf:
    """Raises ValueError for a `width` of 0; see `Shelf.empty` and `device`."""

def silent(x: int) -> int: ...
'''


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "__init__.py").write_text('"""Books."""\nfrom .shelf import Shelf\n')
    (tmp_path / "library" / "shelf.py").write_text(MODULE)
    (tmp_path / "library" / "book.py").write_text('"""One."""\nclass Book:\n    """Pages."""\n')
    return tmp_path


def test_a_page_says_what_a_package_offers(library: Path) -> None:
    modules = read_packages(library, ["library", "absent"])
    assert set(modules) == {"library", "library.shelf", "library.book"}
    page = reference.package_page("library", list(modules.values()), names_of(modules))
    assert ".. py:class:: Shelf(books: list[Book], width: float = 1.0)" in page
    assert "   .. py:property:: free\n      :type: float" in page
    assert "   .. py:method:: empty(width: float=2.0) -> 'Shelf'\n      :classmethod:" in page
    assert "   .. py:method:: read(*titles: str, aloud: bool=False) -> None\n      :async:" in page
    assert ".. py:function:: build(*, width: float) -> Shelf" in page
    assert "_hidden" not in page
    assert "    quiet(other: int) -> int" in page and "py:method:: quiet" not in page
    assert ":py:obj:`Book <library.book.Book>`" in page, "what a module imports is linked"
    assert ":py:obj:`Shelf.empty <library.shelf.Shelf.empty>`" in page
    assert "From here: :py:obj:`Shelf <library.shelf.Shelf>`." in page
    assert reference.meanings(modules)["library.shelf"]["Book"] == "library.book.Book"


def test_what_is_not_python_is_named(library: Path) -> None:
    (library / "library" / "torn.py").write_text("def f(:\n")
    with pytest.raises(SyntaxError) as caught:
        read_packages(library, ["library"])
    assert caught.value.filename.endswith("torn.py") and caught.value.lineno == 1


def known(name: str) -> str | None:
    return "library.Shelf" if name == "Shelf" else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See `x[i]`.", r"See \ ``x[i]``\ ."),
        ("A `Shelf`.", r"A \ :py:obj:`Shelf <library.Shelf>`\ ."),
        ("input @ weight.T: (*, n) to a_ | b", r"input @ weight.T\: (\*, n) to a\_ \| b"),
        ("What *is* it?", r"What \ *is*\  it?"),
        ("At https://x.org/a_b.", r"At \ `https://x.org/a_b <https://x.org/a_b>`__\ ."),
        ("1) x, -y", "\\1) x, -y"),
        ("-O2 or .. so", "\\-O2 or .. so"),
        ("Two\nlines.\n\nAnd one.", "Two lines.\n\nAnd one."),
        ("Ways:\n- one\n  more\n- two", "Ways\\:\n\n- one more\n\n- two"),
        (
            "Rows:\n    a    1\n\n    b    2\nend",
            "Rows\\:\n\n::\n\n    a    1\n\n    b    2\n\nend",
        ),
        ("a     1\nbb    2", "::\n\n    a     1\n    bb    2"),
        (">>> 1 + 1\n2", ".. code-block:: python\n\n    >>> 1 + 1\n    2"),
        (
            "How the real one differs: not.",
            ".. rst-class:: differs\n\nHow the real one differs\\: not.",
        ),
    ],
)
def test_a_docstring_as_restructuredtext(text: str, expected: str) -> None:
    assert to_rest(text, known) == expected


@given(st.lists(st.text("ab1 *_|`<>[]:\\.-=#+~@(){}'\"/\n…·", max_size=60), max_size=4))
def test_no_docstring_can_break_a_page(pieces: list[str]) -> None:
    core = pytest.importorskip("docutils.core", reason="no docutils: make workshop")
    settings = {
        "report_level": 1,
        "halt_level": 1,
        "warning_stream": False,
        "_disable_config": True,
    }
    core.publish_doctree(to_rest("\n\n".join(pieces)), settings_overrides=settings)


def test_links_that_lead_nowhere_are_named_with_page_and_line(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "style.css").write_text("@import 'https://fonts.example/x.css';")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="style.css">\n<p id="here"><a href="#here">a</a>\n<a '
        'href="#there">b</a>\n'
        '<a href="deep/page.html#top-of-it">c</a><a href="deep/page.html#not">d</a>\n'
        '<img src="missing.png"><img src="data:image/png;base64,AA=="><a '
        'href="https://pytorch.org/docs">e</a>\n'
        '<script src="https://cdn.example/x.js"></script>\n<a href="../outside.html">f</a><a '
        'href="mailto:a@b.c">g</a>\n'
        '<style>.x{background:url(//cdn.example/y.png)}</style>\n<a href="deep">h</a>'
    )
    (tmp_path / "deep" / "page.html").write_text(
        '<p id="top-of-it"><a href="../index.html">back</a>'
    )
    (tmp_path / "deep" / "index.html").write_text("")
    report = links.check(tmp_path)
    assert report.problems == [
        "index.html, line 5: missing.png leads nowhere",
        "index.html, line 6: fetches https://cdn.example/x.js from another host",
        "index.html, line 8: fetches //cdn.example/y.png from another host",
        "index.html, line 3: #there: there is no there on that page",
        "index.html, line 4: deep/page.html#not: there is no not on that page",
        "index.html, line 7: ../outside.html leads out of the site",
        "style.css: fetches https://fonts.example/x.css from another host",
    ]
    assert report.external == {"https://pytorch.org/docs": "index.html"} and report.pages == 3


FRAME = "# T\n\n<!-- map -->\n\n<!-- paths -->\n\n<!-- contents -->\n"
ROWS = "| [03 zero-copy](notebooks/03_zero_copy.ipynb) | shared or `copied`? |\n"


def test_the_first_page_groups_notebooks_as_the_talk_does() -> None:
    half = "# Half a day\n\nFor those who *read* [code](x.md),\nall morning.\n\nMore."
    texts = {
        "docs/x": "# X",
        "workshop/notes/b": "# B",
        "workshop/half_day": half,
        "workshop/README": "# W",
    }
    page = landing.index(FRAME, ROWS, ["03_zero_copy"], texts)
    row = "* - [03 zero-copy](notebooks/03_zero_copy.ipynb)\n  - shared or `copied`?"
    assert "### Tensors and memory" in page and row in page
    card = (
        '<a class="card" href="workshop/half_day.html"><strong>Half a day</strong> For those who '
        "read code, all morning.</a>"
    )
    assert card in page and "two_days" not in page
    assert ":caption: Teach it\n\nworkshop/README\nworkshop/half_day\nworkshop/notes/b\n```" in page
    assert ":caption: The project\n\ndocs/x\napi/index\n```" in page


def test_a_notebook_that_is_nowhere_is_named() -> None:
    with pytest.raises(ValueError, match=r"no row for notebooks/04_views\.ipynb"):
        landing.index(FRAME, ROWS, ["04_views"], {})
    with pytest.raises(ValueError, match=r"99_end\.ipynb belongs to no group: add it to GROUPS"):
        landing.index(FRAME, ROWS.replace("03_zero_copy", "99_end"), ["99_end"], {})


def test_files_that_did_not_change_are_not_touched(tmp_path: Path) -> None:
    tree.write(tmp_path, {"a.md": b"1", "b/c.md": b"2"})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    tree.write(tmp_path, {"a.md": b"1", "d.md": b"3"})
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert sorted(p.name for p in tmp_path.rglob("*.md")) == ["a.md", "d.md"]


def test_source_is_a_page_with_an_anchor_for_every_line(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "mod.py").write_text("x = '<b>'\n\ny = 2\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text('<a href="code/pkg/mod.py.html#L3">x</a>')
    site = tmp_path / "site"
    assert code_pages.wanted(site) == ["pkg/mod.py"]
    assert code_pages.write(tmp_path, site, ["pkg/mod.py"]) == 1
    assert code_pages.write(tmp_path, site, ["pkg/mod.py"]) == 0, "nothing changed"
    text = (site / "code/pkg/mod.py.html").read_text()
    assert (
        "&lt;b&gt;" in text and all(f'id="L{n}"' in text for n in (1, 2, 3)) and "<b>" not in text
    )
    assert [p for p in links.check(site).problems if "_static" not in p] == []
