"""Where in the user's source a node comes from (`torch/csrc/jit/frontend/source_range.h`).

A `SourceRange` is a stretch of a `Source`. It can say `file:line:column`, which graphs print behind
each node, and it can show itself in its surroundings, which errors do:

    def f(x):
        y = x + zz
                ~~ <--- HERE
        return y

A traced node has no text to point at, only the Python stack it was recorded under: a `StackRange`.

How the real one differs: the text of a source may be shared in pieces between ranges, and ranges of
code that came out of an archive know the code that the archive was made from. Cells of a notebook
are files in a temporary directory; here they are called `<cell>`, so that a graph reads the same
every time. Markers there are indented by as many spaces as the line before them has bytes, which
puts them elsewhere after a tab or an `é`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

CONTEXT = 3
CONTEXT_101 = 10
_CHECKOUT = str(Path(__file__).resolve().parents[2]) + os.sep
_CELL = re.compile(r"^<ipython-input-|[\\/]ipykernel_\d+[\\/]")


@dataclass(frozen=True)
class Source:
    """Program text. `first_line` is the number of its first line in the file, `indent` what was
    taken off every line's start.
    """

    text: str
    filename: str | None = None
    first_line: int = 1
    indent: int = 0

    @property
    def shown_name(self) -> str:
        return shown_name(self.filename or "<string>")

    def line_of(self, offset: int) -> int:
        """The number of the line a position is on, counting from 0."""
        return self.text.count("\n", 0, offset)

    def start_of_line(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1


@dataclass(frozen=True)
class SourceRange:
    """The characters from `start` up to `end` of a source."""

    source: Source
    start: int
    end: int

    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def file_line_col(self) -> tuple[str, int, int] | None:
        """File name as shown, line from 1, column from 0. None when the source is in no file."""
        if self.source.filename is None:
            return None
        column = self.start - self.source.start_of_line(self.start) + self.source.indent
        return (
            self.source.shown_name,
            self.source.first_line + self.source.line_of(self.start),
            column,
        )

    def highlight(self, function: str = "") -> str:
        """The range in its surroundings: file and line (and `function`), two lines before and
        after, every line of it marked.

        A range that is the whole text stands for itself.
        """
        text, end = self.source.text, min(self.end, len(self.source.text))
        if self.end - self.start == len(text) or self.start > len(text):
            return text[: self.end]
        where = self.file_line_col()
        head = ""
        if where is not None:
            head = f'  File "{where[0]}", line {where[1]}{f", in {function}" if function else ""}\n'
        lines = text.split("\n")
        first = self.source.line_of(self.start)
        shown = lines[max(0, first - CONTEXT + 1) : first]
        at, begin = first, self.source.start_of_line(self.start)
        while begin < end:
            line_end = begin + len(lines[at])
            shown.append(lines[at])
            marker = _marker(text[begin : min(line_end, end)], max(self.start - begin, 0))
            if marker:
                more = line_end < end and not text[line_end : end + 1].isspace()
                shown.append(marker if more else marker + " <--- HERE")
            at, begin = at + 1, line_end + 1
        after = "\n".join(lines[at : at + CONTEXT - 1])
        return (
            head
            + "".join(line + "\n" for line in shown)
            + (after if after.endswith("\n") or not after else after + "\n")
        )

    def highlight_101(self) -> str:
        """As PyTorch 1.0.1 shows it: ten lines around, only the first line marked, and no file."""
        lines = self.source.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        first, column = (
            self.source.line_of(self.start),
            self.start - self.source.start_of_line(self.start),
        )
        rest = len(lines[first]) - column if first < len(lines) else 0
        length = self.end - self.start
        mark = " <--- HERE" if length <= rest else "...  <--- HERE"
        marker = " " * column + "~" * max(min(length, rest), 0) + mark
        shown = [
            *lines[max(0, first - CONTEXT_101) : first + 1],
            marker,
            *lines[first + 1 : first + 1 + CONTEXT_101],
        ]
        return "\n".join(shown) + "\n"


class Frame(NamedTuple):
    filename: str
    line: int
    function: str


@dataclass(frozen=True)
class StackRange:
    """The Python stack under which a node was traced, innermost frame first."""

    frames: Sequence[Frame]

    def file_line_col(self) -> tuple[str, int, int] | None:
        if not self.frames:
            return None
        return shown_name(self.frames[0].filename), self.frames[0].line, 0

    def highlight(self) -> str:
        return "".join(f"{shown_name(f.filename)}({f.line}): {f.function}\n" for f in self.frames)

    highlight_101 = highlight

    def text(self) -> str:
        return self.highlight()


def _marker(line: str, start: int) -> str:
    """Tildes under `line` from `start` on, "" if there is nothing but space. Tabs and wide
    characters keep their width.
    """
    while start < len(line) and line[start] in " \t":
        start += 1
    if start >= len(line):
        return ""
    space = "".join(c if c == "\t" else " " * _columns(c) for c in line[:start])
    return space + "~" * sum(map(_columns, line[start:]))


def _columns(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shown_name(filename: str) -> str:
    """A file name that does not depend on where this is installed: cells are `<cell>`, our own
    files start at the checkout.
    """
    if _CELL.search(filename):
        return "<cell>"
    if not filename.startswith(_CHECKOUT) or "site-packages" in filename:
        # an environment may lie in the checkout
        return filename
    return filename.removeprefix(_CHECKOUT).replace(os.sep, "/")
