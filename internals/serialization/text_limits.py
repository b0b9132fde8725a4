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

from .container.zip_reader import ArchiveReader
from .errors import ArchiveError

# (bytes, divisor): so many bytes of text, plus the size of the file divided by the divisor
CODE = 1 << 18, 64
JSON = 1 << 22, 8
GRAPH = 1 << 22, 1  # JSON that is a program, not a table of tensors
# (bytes, factor): but not more than so many bytes, plus the size of the file times the factor
DEFLATED = 1 << 13, 24


class TextBudget:
    """Counts the text that is parsed. A record that is parsed twice counts twice."""

    def __init__(self, reader: ArchiveReader, limit: tuple[int, int]) -> None:
        allowance, share = limit
        self.reader = reader
        self.left = min(
            allowance + reader.file_size // share, DEFLATED[0] + DEFLATED[1] * reader.file_size
        )

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
