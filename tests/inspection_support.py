"""What the tests of `inspect` share: the archives that are committed, and the report on bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from internals.serialization.inspection.report import Report, examine

ARCHIVES = Path(__file__).parent / "archives"


def report_of(content: bytes) -> Report:
    """The report on a file with this content."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "file.pt")
        path.write_bytes(content)
        return examine(path)
