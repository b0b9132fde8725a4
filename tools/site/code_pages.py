"""The source files that pages link to, highlighted, every line with an anchor (`#L29`).

Written after Sphinx has run, and only those files that some page links to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path, PurePath, PurePosixPath

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

from tools import whole_file

FOLDER = "code"
TEMPLATE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>{path}</title>
<link rel="stylesheet" href="{up}_static/pygments.css">
<link rel="stylesheet" href="{up}_static/code.css"></head>
<body><script>document.body.dataset.theme = localStorage.getItem("theme") || "auto"</script>
<header><a href="{up}index.html">PyTorch under the hood</a><h1>{path}</h1>{reference}</header>
<main>{code}</main></body></html>
"""


def page_of(path: PurePath | str) -> str:
    """The address of a file's page, relative to the site."""
    return f"{FOLDER}/{PurePosixPath(path)}.html"


def wanted(site: Path) -> list[str]:
    """The files of the project that the pages of the site link to."""
    found: set[str] = set()
    for page in site.rglob("*.html"):
        if FOLDER not in page.relative_to(site).parts:
            links = re.findall(
                rf'href="(?:\.\./)*{FOLDER}/([^"#]+)\.html', page.read_text(encoding="utf-8")
            )
            found.update(links)
    return sorted(found)


def write(root: Path, site: Path, paths: Iterable[str]) -> int:
    """Writes the pages of these files, where the file is newer than its page; returns how many were
    written.
    """
    written = 0
    for path in paths:
        page, source = site / page_of(path), root / path
        if page.exists() and page.stat().st_mtime >= max(
            source.stat().st_mtime, Path(__file__).stat().st_mtime
        ):
            continue
        whole_file.write(page, render(path, source.read_text(encoding="utf-8"), site))
        written += 1
    return written


def render(path: str, text: str, site: Path) -> str:
    """One page: the text highlighted, under a link to the place that describes the module."""
    try:
        lexer = get_lexer_for_filename(path, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    up = "../" * len(PurePosixPath(path).parts)
    code = highlight(
        text, lexer, HtmlFormatter(linenos="inline", lineanchors="L", cssclass="highlight")
    )
    code = re.sub(r'<a id="L-(\d+)" name="L-\d+"></a>', r'<a id="L\1"></a>', code)
    module = PurePosixPath(path).with_suffix("")
    package = ".".join(module.parts[:-1])
    name = package if module.name == "__init__" else f"{package}.{module.name}".strip(".")
    reference = ""
    for page in (package, name):
        target = site / "api" / f"{page}.html"
        if (
            path.endswith(".py")
            and target.exists()
            and f'id="module-{name}"' in target.read_text(encoding="utf-8")
        ):
            reference = f'<a href="{up}api/{page}.html#module-{name}">reference</a>'
    return TEMPLATE.format(path=escape(path), up=up, code=code, reference=reference)
