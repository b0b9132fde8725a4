"""The one error of everything that is read from a file.

PyTorch raises `RuntimeError`s of many texts here, from C++; ours say which record of which archive is wrong.
"""

from __future__ import annotations


class ArchiveError(RuntimeError):
    """A file that is damaged, made to harm, or of a kind not known here. `archive` and `record` are names, "" if unknown."""

    def __init__(self, message: str, *, archive: str = "", record: str = "") -> None:
        where = f"{archive}: " * bool(archive) + f"record '{record}': " * bool(record)
        super().__init__(where + message)
        self.message, self.archive, self.record = message, archive, record
