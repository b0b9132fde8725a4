"""`SourceRange`: the place in the user's source that a node comes from
(`torch/csrc/jit/frontend/source_range.h`).

A `SourceRange` is a range of characters of a `Source`. `file_line_col` has its file, line and
column, which graphs print behind each node; `highlight` shows it among the lines around, as errors
do:

    def f(x):
        y = x + zz
                ~~ <--- HERE
        return y

For a traced node there is no text, only the Python stack that it was recorded under: a
`StackRange`.

How the real one differs: ranges may share pieces of text, and ranges of code from an archive refer
to the code that the archive was made from. Cells of a notebook are files in a temporary directory;
here they are called `<cell>`, so that a graph is the same every time. It indents markers by the
number of bytes before them, so that after a tab or an `é` they are in the wrong place.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

CONTEXT = 3  # lines shown on each side of a range, its own included
CONTEXT_101 = 10  # the same in PyTorch 1.0.1, without its own
_CHECKOUT = str(Path(__file__).resolve().parents[2]) + os.sep
_CELL = re.compile(r"^<ipython-input-|[\\/]ipykernel_\d+[\\/]")


@dataclass(frozen=True)
class Source:
    """A text, part of a file. `first_line` is the number of its first line in the file, `indent`
    the number of columns that were removed from the start of each line.
    """

    text: str
    filename: str | None = None
    first_line: int = 1
    indent: int = 0

    @property
    def shown_name(self) -> str:
        """The name of the file in graphs and errors."""
        return shown_name(self.filename or "<string>")

    def line_of(self, offset: int) -> int:
        """The number, from 0, of the line that a position in the text is on."""
        return self.text.count("\n", 0, offset)

    def start_of_line(self, offset: int) -> int:
        """The position in the text of the beginning of the line that `offset` is on."""
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
        """The file's name as shown, the line from 1, the column from 0; None without a file."""
        if self.source.filename is None:
            return None
        column = self.start - self.source.start_of_line(self.start) + self.source.indent
        return (
            self.source.shown_name,
            self.source.first_line + self.source.line_of(self.start),
            column,
        )

    def highlight(self, function: str = "") -> str:
        """The range with two lines before and after, each of its own lines underlined, below a line
        with the file, line number and `function`.

        For a range that is the whole text, only the text.
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
        # each line of the range, and a marker below it; the last marker has the arrow
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
        """The range as PyTorch 1.0.1 shows it: with ten lines before and after, only the first line
        underlined, and no file.
        """
        lines = self.source.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        first, column = (
            self.source.line_of(self.start),
            self.start - self.source.start_of_line(self.start),
        )
        # the marker ends with the line, and has dots if the range goes on
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
    """A frame of the Python stack."""

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
    """Tildes to be shown below `line`, from column `start` on; "" if there is only blank space.
    Tabs stay tabs, and a wide character counts as two columns.
    """
    while start < len(line) and line[start] in " \t":
        start += 1
    if start >= len(line):
        return ""
    space = "".join(c if c == "\t" else " " * _columns(c) for c in line[:start])
    return space + "~" * sum(map(_columns, line[start:]))


def _columns(character: str) -> int:
    """The width of a character on a screen: 2 for those of Chinese and others."""
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shown_name(filename: str) -> str:
    """The name of a file as shown. It does not depend on the installation: cells of notebooks are
    `<cell>`, and names of our own files start at the repository's root.
    """
    if _CELL.search(filename):
        return "<cell>"
    if not filename.startswith(_CHECKOUT) or "site-packages" in filename:
        # the files of an environment are not ours, even if it is inside the repository
        return filename
    return filename.removeprefix(_CHECKOUT).replace(os.sep, "/")
