"""`make tour`: the notebooks without a browser.

Runs every notebook from top to bottom, where it lies, since some read other files of the project,
and writes it as a web page, with an index, to build/tour. The pages need no server and fetch
nothing. The notebooks themselves are not touched.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

from tools.notebook_files import BUILD, ROOT, kernel_environment, notebook_paths
from tools.notebooks import execute

SITE = BUILD / "tour"


@dataclass
class Page:
    file: str
    title: str
    summary: str
    cells: int
    error: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description="run the notebooks and write them as web pages")
    parser.add_argument(
        "names", nargs="*", help="beginnings of file names, such as 03; default: all"
    )
    paths = notebook_paths(parser.parse_args().names)
    os.environ.update(kernel_environment())
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="tour-") as temporary:
        site = Path(temporary) / "site"
        site.mkdir()
        pages = []
        for number, path in enumerate(paths, 1):
            print(f"[{number}/{len(paths)}] {path.name} ", end="", flush=True)
            start = time.monotonic()
            page = write_page(path, site)
            pages.append(page)
            verdict = f"STOPPED: {page.error}" if page.error else f"{page.cells} cells"
            print(f" {verdict}, {time.monotonic() - start:.1f} s", flush=True)
        (site / "index.html").write_text(index(pages), encoding="utf-8")
        if SITE.exists():
            shutil.rmtree(SITE)
        site.replace(SITE)
    failed = sum(bool(page.error) for page in pages)
    print(f"tour: {len(pages)} pages written; open {SITE.relative_to(ROOT) / 'index.html'}")
    if failed:
        print(f"tour: {failed} of them stopped at an error", file=sys.stderr)
    return 1 if failed else 0


def write_page(path: Path, site: Path) -> Page:
    """Runs one notebook, a dot for each code cell, and writes its page, as far as it came."""
    notebook = nbformat.read(path, as_version=4)
    error = ""

    def show_progress(**_: Any) -> None:
        print(".", end="", flush=True)

    try:
        execute(notebook, path.parent, on_cell_executed=show_progress)
    except CellExecutionError as stop:
        error = f"{stop.ename}: {stop.evalue}"
    name = path.with_suffix(".html").name
    (site / name).write_text(as_page(notebook, path), encoding="utf-8")
    title, summary = headline(notebook)
    return Page(
        name,
        title or path.stem,
        summary,
        sum(cell.cell_type == "code" for cell in notebook.cells),
        error,
    )


def as_page(notebook: nbformat.NotebookNode, path: Path) -> str:
    """The notebook, with the outputs that it has, as a page that needs no server; `path` is where
    it lies.
    """
    exporter = HTMLExporter(template_name="lab", embed_images=True)
    resources = {"metadata": {"name": path.stem, "path": str(path.parent)}}
    html, _ = exporter.from_notebook_node(notebook, resources=resources)
    return link_offline(html)


def link_offline(html: str) -> str:
    """Links between notebooks lead to their pages, links into the project to its files.

    The template's scripts go: they would fetch libraries from the network, and our pictures and
    steppers need none.
    """
    html = re.sub(r'href="(?!https?:|/)([^"#]*)\.ipynb(#[^"]*)?"', r'href="\1.html\2"', html)
    html = re.sub(r'(href|src)="\.\./(?!\.\.)', r'\1="../../', html)
    return re.sub(r"<script\b.*?</script>", "", html, flags=re.S)


def headline(notebook: nbformat.NotebookNode) -> tuple[str, str]:
    """The notebook's title and the first paragraph under it, as plain text."""
    text = next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")
    title = re.search(r"^#\s+(.+)$", text, re.M)
    paragraphs = (part.strip() for part in re.split(r"\n\s*\n", text))
    summary = " ".join(next((p for p in paragraphs if p and p[0] not in "#|!<"), "").split())
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*_`]", r"\1", summary)
    return (title.group(1).strip() if title else "", plain)


def index(pages: list[Page]) -> str:
    rows = "\n".join(
        f'<li><a href="{page.file}">{escape(page.title)}</a><p>{escape(page.summary)}</p>'
        + (f'<p class="error">stopped: {escape(page.error)}</p>' if page.error else "")
        + "</li>"
        for page in pages
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>PyTorch under the hood</title>
<style>
  :root {{ color-scheme: light dark }}
  body {{ font: 17px/1.5 system-ui, sans-serif; max-width: 42em; margin: 3em auto; padding: 0 1em }}
  li {{ margin: 1em 0 }} li a {{ font-weight: 600 }} li p {{ margin: .2em 0 }}
  .error {{ color: #d55e00 }}
</style></head>
<body><h1>PyTorch under the hood</h1>
<p>Every notebook, as it ran on this machine.</p>
<ol start="0">
{rows}
</ol></body></html>
"""


if __name__ == "__main__":
    sys.exit(main())
