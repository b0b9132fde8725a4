"""The one error of everything that is read from a file.

It says which record of which archive is wrong, and is a `RuntimeError`, so `except` clauses written
for PyTorch work.

How the real one differs: `RuntimeError`s of many texts, from C++ (`c10/util/Exception.h`), and from
the unpickler in Python `pickle.UnpicklingError`; few of them name the record.
"""

from __future__ import annotations

from .visible import visible


class ArchiveError(RuntimeError):
    """A file that is damaged, made to harm, or of a kind not known here. `archive` and `record` are
    names, "" if unknown.
    """

    def __init__(self, message: str, *, archive: str = "", record: str = "") -> None:
        where = f"{archive}: " * bool(archive) + f"record '{record}': " * bool(record)
        super().__init__(visible(where) + visible(message, lines=True))
        self.message, self.archive, self.record = message, archive, record
