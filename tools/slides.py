"""`make slides`: every notebook as slides with speaker notes, in build/slides. Press S for the
notes, F for the whole screen.

nbconvert writes them, with reveal.js from the package `sphinx-revealjs` laid beside them: nothing
is fetched in the lecture hall. What is on a slide, and what is only said, is decided in
`slide_deck.py`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import SlidesExporter
from traitlets.config import Config

from exercises.catalogue import NOTEBOOKS, of_notebook
from tools.notebook_files import BUILD, ROOT, notebook_paths
from tools.slide_deck import deck
from tools.whole_file import write

OUTPUT = BUILD / "slides"
SOURCE = ROOT / "workshop" / "slides"
REVEAL = "reveal.js"
NEEDED = ("dist/reveal.js", "dist/reveal.css", "dist/theme/white.css", "plugin/notes/notes.js")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make slides", description="the notebooks as slides with speaker notes"
    )
    parser.add_argument(
        "names", nargs="*", help="beginnings of file names, such as 03; default: all"
    )
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="the folder to write to; default: build/slides"
    )
    options = parser.parse_args()
    if (reveal := reveal_folder()) is None:
        print(
            "slides: reveal.js is not here; `make workshop` adds it (the package sphinx-revealjs)",
            file=sys.stderr,
        )
        return 1
    paths = notebook_paths(options.names)
    try:
        copy_reveal(reveal, options.output / REVEAL)
    except OSError as error:
        print(f"slides: cannot write into {options.output}: {error.strerror}", file=sys.stderr)
        return 1
    made = []
    for path in paths:
        slides = slides_of(path)
        made.append(
            (
                path,
                sum(
                    cell.metadata.slideshow.slide_type in ("slide", "subslide")
                    for cell in slides.cells
                ),
            )
        )
        write(options.output / f"{path.stem}.slides.html", as_html(slides, path.stem))
        print(f"slides: {path.stem}: {made[-1][1]} slides", flush=True)
    write(options.output / "index.html", index(made))
    print(f"slides: {options.output / 'index.html'}")
    return 0


def slides_of(path: Path) -> Any:
    """The notebook of the slides of one notebook, exercises included."""
    exercises = of_notebook(path.stem) if path.stem in NOTEBOOKS else []
    return deck(nbformat.read(path, as_version=4), exercises)


def as_html(slides: Any, title: str) -> str:
    """One page; it looks for reveal.js in the folder `REVEAL` beside it."""
    config = Config(SlidesExporter={"reveal_url_prefix": REVEAL, "reveal_theme": "white"})
    exporter = SlidesExporter(
        config=config,
        extra_template_basedirs=[str(SOURCE)],
        template_name="template",
        exclude_anchor_links=True,
    )
    style = (SOURCE / "slides.css").read_text(encoding="utf-8")
    html, _ = exporter.from_notebook_node(
        slides, {"metadata": {"name": title}, "slide_style": style}
    )
    return str(html)


def reveal_folder() -> Path | None:
    """Where the package has its copy of reveal.js."""
    package = find_spec("sphinx_revealjs")
    if package is None or package.origin is None:
        return None
    folder = Path(package.origin).parent / "_static" / "revealjs"
    return folder if all((folder / name).exists() for name in NEEDED) else None


def copy_reveal(source: Path, target: Path) -> None:
    """Copies what the slides need of reveal.js, and its licence."""
    for name in NEEDED:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    shutil.copytree(source / "dist/theme/fonts", target / "dist/theme/fonts", dirs_exist_ok=True)
    shutil.copyfile(source.parent.parent / "_static/revealjs/LICENSE", target / "LICENSE")


def index(made: list[tuple[Path, int]]) -> str:
    """A page with a link to each deck; `made` has notebooks with their numbers of slides."""
    items = "\n".join(
        f'<li><a href="{path.stem}.slides.html">{escape(path.stem)}</a>: {count} slides</li>'
        for path, count in made
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Slides</title>\n'
        "<h1>PyTorch under the hood: slides</h1>\n<p>S: speaker notes. F: full screen. Esc: "
        "overview.</p>\n"
        f"<ul>\n{items}\n</ul>\n</html>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
