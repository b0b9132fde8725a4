"""How much text an archive may have in proportion to its size.

Parsing makes much of little: the syntax tree of code takes up to 900 times the memory of its text,
JSON 20 times. A file of a few kilobytes, deflated, could so ask for gigabytes. Networks have a line
of code where they have a thousand weights, and the most monotonous of them, a trace of two thousand
steps that are alike, has eleven times as much text as its file has bytes: what is refused here was
made to harm. What is then compiled takes at most about a second for each kilobyte of the file.

How the real one differs: it parses what is there.
"""

from __future__ import annotations

from .container.zip_reader import ArchiveReader
from .errors import ArchiveError

CODE = 1 << 18, 64  # so many bytes, and a 64th of the file
JSON = 1 << 22, 8
GRAPH = 1 << 22, 1  # JSON that is a program, not a table of tensors
DEFLATED = 1 << 13, 24  # but no more than so many bytes, and so many times the file


class TextBudget:
    """Counts what is parsed. A record that is parsed twice counts twice."""

    def __init__(self, reader: ArchiveReader, limit: tuple[int, int]) -> None:
        allowance, share = limit
        self.reader = reader
        self.left = min(
            allowance + reader.file_size // share, DEFLATED[0] + DEFLATED[1] * reader.file_size
        )

    def text(self, name: str) -> str:
        """The text of the record `name`. Raises ArchiveError when there is more than may be
        parsed.
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
