"""The source of a function, and ranges in it (`torch/_sources.py`).

`parse_function(fn)` finds the text of `fn` (decorators included), aligns it, parses it, and returns
a `ParsedFunction`. Its `context` turns the positions of `ast` nodes into ranges of the original
text, with its indentation, so that an error shows a method as its author wrote it. Windows line
ends, tabs, other encodings, notebook cells and functions wrapped with `functools.wraps` need no
code here: `inspect` and `linecache` handle them.

How the real one differs: its columns count UTF-8 bytes, so that markers after an `é` are too far to
the right; here they count characters.
"""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from internals.core.source_range import Source, SourceRange

from . import error_report

PARSER_LOCK = threading.RLock()


@dataclass(frozen=True)
class ParsedFunction:
    """A function definition as `ast`, the context that has the ranges of its nodes, and its
    text.
    """

    definition: ast.FunctionDef
    context: SourceContext
    text: str


class SourceContext:
    """Turns the positions of `ast` nodes into ranges of a text. The text was dedented by `indent`
    columns before it was parsed, so the columns of the nodes are too small by that.
    """

    # In the code of an archive, as in PyTorch's own parser, `-1` is a literal and functions may be
    # nested.
    is_archive = False

    def __init__(
        self,
        text: str,
        filename: str | None,
        first_line: int,
        indent: int = 0,
        function_name: str = "",
    ) -> None:
        self.source = Source(text, filename, first_line)
        self.text, self.filename, self.indent, self.function_name = (
            text,
            filename,
            indent,
            function_name,
        )
        self.lines = text.split("\n")
        self.line_starts = [0]  # the offset of each line in the text
        for line in self.lines:
            self.line_starts.append(self.line_starts[-1] + len(line) + 1)

    def range_of(self, node: ast.stmt | ast.expr | ast.arg, length: int) -> SourceRange:
        """The first `length` characters of `node`."""
        return self.range_at(node.lineno, node.col_offset, length)

    def range_at(self, line: int, column: int, length: int) -> SourceRange:
        """The range of `length` characters from `column` of `line`. As in `ast`, lines begin at 1
        and columns count UTF-8 bytes.
        """
        text = self.lines[line - 1]
        if not text.isascii():  # bytes -> characters
            column = len(text[self.indent :].encode()[:column].decode(errors="ignore"))
        start = self.line_starts[line - 1] + self.indent + column
        return SourceRange(self.source, start, start + length)

    def raw_range(self, start: int, end: int) -> SourceRange:
        """The range between two offsets in the text."""
        return SourceRange(self.source, start, end)


def parse_function(fn: Callable[..., Any]) -> ParsedFunction:
    """Find and parse the source of `fn`.

    Raises OSError if there is no source, TypeError for a builtin, and RuntimeError if the source is
    not a single function definition, as for a lambda.
    """
    lines, first_line, filename = source_lines(fn)
    return parse_text("".join(align(lines)), filename, first_line, fn.__name__)


def parse_text(
    text: str, filename: str | None, first_line: int, function_name: str
) -> ParsedFunction:
    """Parse `text`, one function definition, which may be indented. Raises RuntimeError if it is
    something else.
    """
    dedented = dedent(text)
    body = parse_module(dedented).body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise RuntimeError(f"Expected a single top-level function: {filename}:{first_line}")
    indent = len(text.split("\n", 1)[0]) - len(dedented.split("\n", 1)[0])
    return ParsedFunction(
        body[0], SourceContext(text, filename, first_line, indent, function_name), text
    )


def parse_module(text: str) -> ast.Module:
    """`ast.parse`, in one thread at a time.

    Some versions of Python keep the recursion depth of the parser in one variable for all threads,
    and raise SystemError ("AST constructor recursion depth mismatch") when two threads parse at the
    same time.
    """
    with PARSER_LOCK:
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """`parse_module` for a single expression."""
    with PARSER_LOCK:
        return ast.parse(text, mode="eval").body


def source_lines(thing: Any) -> tuple[list[str], int, str | None]:
    """The lines of a function or class, the number of the first one, and the name of the file.

    Raises OSError if there is no source: it was typed at the prompt or made by `exec`, or its file
    has been deleted.
    """
    try:
        filename = inspect.getsourcefile(thing)
        lines, first_line = inspect.getsourcelines(thing)
    except OSError as missing:
        message = (
            f"Can't get source for {thing}. TorchScript requires source access in order to carry "
            "out compilation, make sure original .py files are available."
        )
        callers = error_report.call_stack()
        raise OSError(f"{message}\n{callers}" if callers else message) from missing
    return lines, first_line, filename


def align(lines: list[str]) -> list[str]:
    """Indent every line at least as far as the `def`. A comment or a string may begin further left,
    and then `dedent` would not remove the whole indentation.
    """
    for at, line in enumerate(lines):
        if line.lstrip().startswith("def"):
            margin = line.split("def")[0]
            return [
                each if i == at else margin + each.removeprefix(margin)
                for i, each in enumerate(lines)
            ]
    return lines  # a lambda, which is an error when it is parsed
