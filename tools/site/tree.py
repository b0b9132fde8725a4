"""The folder that Sphinx reads: copies of the project's texts and notebooks, beside the pages that
are written for it.

It has the project's layout, so that a link that works in the project works here. A file is only
written when it changes: by the time of the last change Sphinx knows which pages it must read again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tools import whole_file
from tools.site import landing, operators, reference
from tools.site.catalogue import docs_of, lines_of, read_packages

TEXTS = ("CONTRIBUTING.md", "docs/*.md", "workshop/**/*.md")
PICTURES = (
    "docs/*.svg",
    "docs/*.png",
    "workshop/**/*.svg",
    "workshop/**/*.png",
    "notebooks/*.png",
    "notebooks/*.svg",
)
FRAME = "docs/site/index.md"


def assemble(root: Path, tree: Path, packages: Sequence[str] = reference.PACKAGES) -> int:
    """Brings `tree` up to date with the project at `root`; returns the number of files in it.

    `packages` are the folders that the reference describes. With fewer than all, names of the
    others are just not links.
    """
    files: dict[str, bytes] = {}
    for pattern in (*TEXTS, *PICTURES, "notebooks/*.ipynb", "notebooks/deeper/*.ipynb"):
        for path in sorted(root.glob(pattern)):
            files[path.relative_to(root).as_posix()] = path.read_bytes()
    texts = {
        name.removesuffix(".md"): text.decode()
        for name, text in files.items()
        if name.endswith(".md")
    }
    notebooks = [
        name.removeprefix("notebooks/").removesuffix(".ipynb")
        for name in files
        if name.endswith(".ipynb")
    ]
    readme = (root / "README.md").read_text(encoding="utf-8")
    files["README.md"] = readme.encode()
    frame = (root / FRAME).read_text(encoding="utf-8")
    files["index.md"] = landing.index(frame, readme, notebooks, texts).encode()
    modules = read_packages(root, packages)
    pages = reference.pages(modules)
    places = lines_of(modules)
    pages["api/operators.rst"] = operators.page(root, places, docs_of(modules))
    files[reference.PLACES] = json.dumps(places, indent=0).encode()
    files[reference.NAMES] = json.dumps(reference.meanings(modules), indent=0).encode()
    files.update({name: text.encode() for name, text in pages.items()})
    write(tree, files)
    return len(files)


def write(tree: Path, files: dict[str, bytes]) -> None:
    """Makes `tree` hold exactly these files; those that have not changed are not touched."""
    for path in tree.rglob("*"):
        if path.is_file() and path.relative_to(tree).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = tree / name
        if path.exists() and path.read_bytes() == content:
            continue
        whole_file.write(path, content)
