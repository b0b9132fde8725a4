"""`make handout`: the big picture on two pages of A4, for everybody's desk: build/handout.html, and
.pdf if Chromium is here.

Nothing on it is typed in: the picture is drawn from a live tensor, "shared or copied" is found by
comparing addresses, the floors are those of docs/architecture.md, and what each picture shows is
the first line of its docstring.
"""

from __future__ import annotations

import argparse
import inspect
import re
import string
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np

import internals as torch
import viz
from tools.browser.chromium import chromium, missing
from tools.notebook_files import BUILD, ROOT
from tools.whole_file import write

PAGE = ROOT / "workshop" / "handout" / "page.html"
PICTURES = ("memory", "strides", "dispatch", "autograd", "graph", "step", "archive")
WAYS = (
    "torch.tensor(a)", "torch.as_tensor(a)", "torch.as_tensor(a, dtype=torch.float64)",
    "torch.from_numpy(a)[0]", "torch.from_numpy(a).t()", "torch.from_numpy(a).reshape(6)",
    "torch.from_numpy(a).t().reshape(6)",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make handout", description="the big picture on two pages"
    )
    parser.add_argument(
        "--output", type=Path, default=BUILD / "handout.html", help="default: build/handout.html"
    )
    output = parser.parse_args().output
    if output.suffix != ".html":
        parser.error(
            f"--output {output}: the page is HTML (the PDF lies beside it): give a name that ends "
            "in .html"
        )
    write(output, page())
    print(f"handout: {output}")
    if reason := missing():
        print(f"handout: no PDF, because {reason}; any browser prints the page (A4, landscape)")
        return 0
    write(output.with_suffix(".pdf"), pdf(output))
    print(f"handout: {output.with_suffix('.pdf')}")
    return 0


def page() -> str:
    """The two pages as one HTML text that needs nothing else."""
    return string.Template(PAGE.read_text(encoding="utf-8")).substitute(
        picture=viz.big_picture(torch.arange(6.0).view(2, 3)).svg(),
        floors="\n".join(floors()),
        pictures="\n".join(pictures()),
        shared="\n".join(shared()),
        footer="PyTorch under the hood, as code you can run. Text and pictures: CC BY 4.0.",
    )


def floors() -> Iterator[str]:
    """The rows of the table in docs/architecture.md about folders in `internals` that PyTorch has,
    too.
    """
    for line in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and re.match(r"`internals/(\w+/)?`", cells[1]) and cells[3] != "–":
            cells[1], cells[2] = cells[1].split(", ")[0], cells[2].split("; ")[0]
            yield "<tr>" + "".join(f"<td>{prose(cell)}</td>" for cell in cells) + "</tr>"


def pictures() -> Iterator[str]:
    """A row for each picture of `viz`: how it is called, and what it shows."""
    for name in PICTURES:
        about = prose(first_sentences(getattr(viz, name)))
        yield f"<tr><td><code>viz.{name}</code></td><td>{about}</td></tr>"


def shared() -> Iterator[str]:
    """Whether the result of each way looks at the array's bytes: its addresses say so."""
    for way in WAYS:
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        result = eval(way, {"torch": torch, "a": a})
        same = np.shares_memory(a, result if isinstance(result, np.ndarray) else result.numpy())
        memory = "shared" if same else "copied"
        yield f"<tr><td>{memory}</td><td><code>{escape(way)}</code></td></tr>"


def first_sentences(thing: object) -> str:
    """The first sentence of a docstring."""
    paragraph = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.?!]) (?=[A-Z`])", paragraph)[0]


def prose(text: str) -> str:
    """A text as HTML; what stands in backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def pdf(html: Path) -> bytes:
    """The file as Chromium prints it."""
    with chromium() as browser:
        tab = browser.new_page()
        tab.goto(html.resolve().as_uri())
        return bytes(tab.pdf(prefer_css_page_size=True, print_background=True))


if __name__ == "__main__":
    sys.exit(main())
