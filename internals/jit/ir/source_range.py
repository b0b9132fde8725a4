"""Where in the user's source a node comes from (`torch/csrc/jit/frontend/source_range.h`).

A `SourceRange` is a stretch of a `Source`. It can say `file:line:column`, which graphs print behind each node, and it can show
itself in its surroundings, which errors do:

    def f(x):
        y = x + zz
                ~~ <--- HERE
        return y

A traced node has no text to point at, only the Python stack it was recorded under: a `StackRange`.

How the real one differs: the text of a source may be shared in pieces between ranges, and ranges of code that came out of an archive
know the code that the archive was made from. Cells of a notebook are files in a temporary directory; here they are called
`<cell>`, so that a graph reads the same every time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

CONTEXT = 3
CONTEXT_101 = 10
_CHECKOUT = str(Path(__file__).resolve().parents[3]) + os.sep
_CELL = re.compile(r"^<ipython-input-|[\\/]ipykernel_\d+[\\/]")


@dataclass(frozen=True)
class Source:
    """Program text. `first_line` is the number of its first line in the file, `indent` what was taken off every line's start."""

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
        return self.source.shown_name, self.source.first_line + self.source.line_of(self.start), column

    def highlight(self) -> str:
        """The range in its surroundings, marked, with file and line."""
        where = self.file_line_col()
        head = f'  File "{where[0]}", line {where[1]}\n' if where else ""
        return head + self._marked(CONTEXT, "...  <--- HERE", " <--- HERE")

    def highlight_101(self) -> str:
        """As PyTorch 1.0.1 shows it: more lines around, and no file."""
        return self._marked(CONTEXT_101, "...  <--- HERE", " <--- HERE")

    def _marked(self, context: int, cut: str, mark: str) -> str:
        lines = self.source.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        first, column = self.source.line_of(self.start), self.start - self.source.start_of_line(self.start)
        rest = len(lines[first]) - column if first < len(lines) else 0
        length = self.end - self.start
        marker = " " * column + "~" * max(min(length, rest), 0) + (mark if length <= rest else cut)
        shown = [*lines[max(0, first - context) : first + 1], marker, *lines[first + 1 : first + 1 + context]]
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


def shown_name(filename: str) -> str:
    """A file name that does not depend on where this is installed: cells are `<cell>`, our own files start at the checkout."""
    if _CELL.search(filename):
        return "<cell>"
    return filename.removeprefix(_CHECKOUT).replace(os.sep, "/") if filename.startswith(_CHECKOUT) else filename
