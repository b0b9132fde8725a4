"""Files that are there whole or not at all: each is written beside its place first, then renamed
into it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    """Text is written as UTF-8, with the line ends that it has. Folders that are not there are
    made.

    Raises SystemExit, naming what cannot be written and why: all of this is called by commands.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise SystemExit(f"cannot write {path}: {error.strerror}") from None
