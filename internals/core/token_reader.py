"""`TokenReader`: the lexer for the texts of schemas, types and graphs
(`torch/csrc/jit/frontend/lexer.h`).

A `TokenReader` reads a text one token at a time; `current` is the next token, not yet consumed. A
token is a name, a number, a quoted string, a value (`%x.1`) or a sign; blanks and comments separate
them. `items` reads a list in brackets, with any elements; `raw` reads text that does not consist of
tokens, such as scopes and the elements of tensors.

How the real one differs: the lexer of Python source is used for schemas and graphs too, so `%x.1`
is a `%`, a name and the number `.1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

T = TypeVar("T")

IDENT, NUMBER, STRING, VALUE, SIGN, END = (
    "ident",
    "number",
    "string_literal",
    "value",
    "sign",
    "eof",
)

_SPACE = re.compile(r"(?:\s+|#[^\n]*)*")
_TOKEN = re.compile(
    r"""(?P<ident>[A-Za-z_]\w*)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)
      | (?P<string_literal>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<value>%[^\s,():=]+)
      | (?P<sign>->|\.\.\.|[^\s])""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token of a text, from character `start` up to `end`; at the end of the text it is empty."""

    kind: str
    text: str
    start: int
    end: int


class TokenReader:
    """Reads `text` from its beginning. `filename` is for errors."""

    def __init__(self, text: str, filename: str | None = None) -> None:
        self.text, self.filename = text, filename
        self.previous = Token(END, "", 0, 0)
        self.current = self._token_at(0)

    def next(self) -> Token:
        """Consumes a token and returns it."""
        self.previous = self.current
        self.current = self._token_at(self.previous.end)
        return self.previous

    def lookahead(self) -> Token:
        """The token after `current`."""
        return self._token_at(self.current.end)

    def at(self, text: str) -> bool:
        """Whether `text` comes next, not as a quoted string."""
        return self.current.text == text and self.current.kind != STRING

    def accept(self, text: str) -> bool:
        """Consumes `text` if it comes next. Returns whether it did."""
        found = self.at(text)
        if found:
            self.next()
        return found

    def expect(self, text: str) -> Token:
        """Consumes `text`. Raises RuntimeError if another token comes next."""
        if not self.at(text):
            raise self.expected("arrow" if text == "->" else text)
        return self.next()

    def expect_kind(self, kind: str) -> Token:
        """Consumes a token of this kind, such as IDENT. Raises RuntimeError for another one."""
        if self.current.kind != kind:
            raise self.expected(kind)
        return self.next()

    def items(self, opening: str, separator: str, closing: str, read: Callable[[], T]) -> list[T]:
        """The elements of a list in brackets, each read by `read`. If `opening` is "" the opening
        bracket is already consumed.
        """
        if opening:
            self.expect(opening)
        found: list[T] = []
        if self.accept(closing):
            return found
        while True:
            found.append(read())
            if self.accept(closing):
                return found
            if not self.accept(separator):
                raise self.expected(closing)

    def integer(self, signed: bool = True) -> int:
        """Consumes an integer, which may have a minus before it if `signed`."""
        negative = signed and self.accept("-")
        token = self.expect_kind(NUMBER)
        if not token.text.isdigit():
            raise self.error(f"expected an integer but found {token.text}", token)
        return -int(token.text) if negative else int(token.text)

    def string(self) -> str:
        """Consumes a quoted string and returns its value."""
        token = self.expect_kind(STRING)
        try:
            return unquote(token.text)
        except ValueError as why:
            raise self.error(str(why), token) from None

    def raw(self, pattern: re.Pattern[str], expected: str) -> str:
        """Consumes and returns the text that matches `pattern`, from the end of the last token on,
        blanks included. Raises RuntimeError if none does, with `expected` as its name.
        """
        match = pattern.match(self.text, self.previous.end)
        if match is None:
            raise self.expected(expected)
        self.previous = Token(SIGN, match.group(), match.start(), match.end())
        self.current = self._token_at(match.end())
        return match.group()

    def comment(self) -> str:
        """The comment behind the last consumed token, on the same line; "" if there is none."""
        gap = self.text[self.previous.end : self.current.start].partition("\n")[0]
        return gap.partition("#")[2].strip()

    def expected(self, what: str) -> RuntimeError:
        """The error that `what` was expected in place of `current`."""
        kind = self.current.text if self.current.kind == SIGN else self.current.kind
        if kind in "\"'" and kind:
            what = "a valid token"
        return self.error(f"expected {what} but found '{kind}' here", leading_newline=False)

    def error(
        self, message: str, token: Token | None = None, leading_newline: bool = True
    ) -> RuntimeError:
        """An error to raise: the message, and the text with the token underlined."""
        from .source_range import Source, SourceRange

        start, end = (token or self.current)[2:]
        if start == end:
            end = start + 1
        if start >= len(self.text):
            # at the end there is nothing to underline: underline the last visible character
            end = len(self.text.rstrip())
            start = max(end - 1, 0)
        place = SourceRange(Source(self.text, self.filename, 1), start, end).highlight()
        return RuntimeError(("\n" if leading_newline else "") + f"{message}:\n{place}")

    def _token_at(self, position: int) -> Token:
        """The first token from `position` on, behind blanks and comments."""
        start = _SPACE.match(self.text, position).end()  # type: ignore[union-attr]
        match = _TOKEN.match(self.text, start)
        if match is None:
            return Token(END, "", start, start)
        return Token(match.lastgroup or SIGN, match.group(), start, match.end())


_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
}


def unquote(literal: str) -> str:
    """The value of a quoted string.

    A byte that is not ASCII is written as three octal digits. PyTorch's printer writes them wrongly
    where C's `char` is negative, with signs below "0" as negative digits (`é` is `\\0)+\\/.)`); the
    sum of the three, modulo 256, is the byte all the same. Raises ValueError for less than three.
    """
    body, out, i = literal[1:-1], bytearray(), 0
    while i < len(body):
        if body[i] != "\\":
            out += body[i].encode()
            i += 1
        elif body[i + 1] in _ESCAPES:
            out += _ESCAPES[body[i + 1]].encode()
            i += 2
        elif len(digits := body[i + 1 : i + 4]) == 3:
            eights, ones = ord(digits[1]) - 48, ord(digits[2]) - 48
            out.append(((ord(digits[0]) - 48) * 64 + eights * 8 + ones) % 256)
            i += 4
        else:
            raise ValueError(f"unfinished escape in {literal}")
    return out.decode("utf-8", "surrogateescape")
