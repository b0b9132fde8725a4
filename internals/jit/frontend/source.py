"""The source of a function, and the places in it (`torch/_sources.py`).

`parse_function(fn)` finds the text of `fn` (decorators included), aligns it, parses it and gives a
`ParsedFunction`. Its `context` turns the positions of `ast` nodes into ranges of the text as it
stands in the file, indentation and all, so that an error shows a method as its author wrote it.
Windows line ends, tabs, files of any encoding Python reads, notebook cells and functions wrapped
with `functools.wraps` need no help: `inspect` and `linecache` have dealt with them.

How the real one differs: its columns count UTF-8 bytes, so markers after an `é` stand too far to
the right; ours count characters.
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
    """A function definition, its text, and the context that knows where everything is."""

    definition: ast.FunctionDef
    context: SourceContext
    text: str


class SourceContext:
    """Makes ranges of a text that was dedented by `indent` columns before it was parsed."""

    # where, as in the parser of PyTorch, `-1` is a number and functions may be in functions
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
        self.line_starts = [0]
        for line in self.lines:
            self.line_starts.append(self.line_starts[-1] + len(line) + 1)

    def range_of(self, node: ast.stmt | ast.expr | ast.arg, length: int) -> SourceRange:
        """The first `length` characters of `node`."""
        return self.range_at(node.lineno, node.col_offset, length)

    def range_at(self, line: int, column: int, length: int) -> SourceRange:
        """`length` characters from `column` of `line`; as in `ast`, lines begin at 1 and columns
        count UTF-8 bytes.
        """
        text = self.lines[line - 1]
        if not text.isascii():
            column = len(text[self.indent :].encode()[:column].decode(errors="ignore"))
        start = self.line_starts[line - 1] + self.indent + column
        return SourceRange(self.source, start, start + length)

    def raw_range(self, start: int, end: int) -> SourceRange:
        return SourceRange(self.source, start, end)


def parse_function(fn: Callable[..., Any]) -> ParsedFunction:
    """Find and parse the source of `fn`.

    Raises OSError if there is none, TypeError for a builtin, and RuntimeError if what is found is
    no single function definition, as for a lambda.
    """
    lines, first_line, filename = source_lines(fn)
    return parse_text("".join(align(lines)), filename, first_line, fn.__name__)


def parse_text(
    text: str, filename: str | None, first_line: int, function_name: str
) -> ParsedFunction:
    """Parse `text`, one function definition, which may be indented."""
    dedented = dedent(text)
    body = parse_module(dedented).body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise RuntimeError(f"Expected a single top-level function: {filename}:{first_line}")
    indent = len(text.split("\n", 1)[0]) - len(dedented.split("\n", 1)[0])
    return ParsedFunction(
        body[0], SourceContext(text, filename, first_line, indent, function_name), text
    )


def parse_module(text: str) -> ast.Module:
    """`ast.parse`, one thread at a time.

    Some versions of Python count how deep they are in one place for all threads, and raise
    SystemError ("AST constructor recursion depth mismatch") when a thread goes on while another is
    at it.
    """
    with PARSER_LOCK:
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """`parse_module` for a single expression."""
    with PARSER_LOCK:
        return ast.parse(text, mode="eval").body


def source_lines(thing: Any) -> tuple[list[str], int, str | None]:
    """The lines of a function or class, the number of the first one, and the file's name.

    Raises OSError if there is no source: it was typed at the prompt, made by `exec`, or its file is
    gone.
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
    """Indent every line at least as far as the `def`: comments and strings may begin further left,
    and `dedent` would mind.
    """
    for at, line in enumerate(lines):
        if line.lstrip().startswith("def"):
            margin = line.split("def")[0]
            return [
                each if i == at else margin + each.removeprefix(margin)
                for i, each in enumerate(lines)
            ]
    return lines  # a lambda: refused when it is parsed
