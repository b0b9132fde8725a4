"""Limits the text in an archive in proportion to the size of the file.

Parsing needs much memory: the syntax tree of code takes up to 900 times the memory of its text,
JSON 20 times. So a deflated file of a few kilobytes could demand gigabytes. A real network has
about one line of code for a thousand weights, and even the most repetitive one, a trace of two
thousand equal steps, has only eleven times as many bytes of text as its file. A file beyond the
limits is malicious. Compiling code within them takes at most about a second for each kilobyte of
the file.

How the real one differs: it has no limits.
"""

from __future__ import annotations

from typing import NamedTuple

from .container.zip_reader import ArchiveReader
from .errors import ArchiveError


class Limit(NamedTuple):
    """Bytes of text for any file, and bytes of text for each byte of this one."""

    base: int
    per_byte: float

    def of(self, size: int) -> int:
        """The bytes of text that a file of `size` bytes may have."""
        return int(self.base + self.per_byte * size)


# a file of 1 MiB may have 256 KiB + 16 KiB of code
CODE = Limit(1 << 18, 1 / 64)
JSON = Limit(1 << 22, 1 / 8)
GRAPH = Limit(1 << 22, 1)  # JSON that is a program, not a table of tensors
# and whatever it is, a file of 1 KiB not more than 32 KiB: more text can only have been deflated
DEFLATED = Limit(1 << 13, 24)


class TextBudget:
    """Counts the text that is parsed. A record that is parsed twice counts twice."""

    def __init__(self, reader: ArchiveReader, limit: Limit) -> None:
        self.reader = reader
        self.left = min(limit.of(reader.file_size), DEFLATED.of(reader.file_size))

    def text(self, name: str) -> str:
        """The text of the record `name`. Raises ArchiveError, before reading it, if the limit is
        exceeded.
        """
        record = self.reader.records.get(name)
        self.left -= record.size if record else 0
        if self.left < 0:
            raise ArchiveError(
                "more text to be parsed than the archive of a network has, in a file of "
                f"{self.reader.file_size} bytes",
                archive=self.reader.name,
                record=name,
            )
        return self.reader.text(name)
