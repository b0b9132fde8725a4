"""What the tests of `inspect` share: and others that look at all committed archives: which there
are, and the report on bytes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from internals.serialization.inspection.report import Report, examine

ARCHIVES = Path(__file__).parents[1] / "archives"
FILES = sorted(p for p in ARCHIVES.rglob("*") if p.suffix in (".pt", ".pt2", ".safetensors"))


def report_of(content: bytes) -> Report:
    """The report on a file with this content."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "file.pt")
        path.write_bytes(content)
        return examine(path)
