"""Compiled code on disk, so that it is compiled once on a machine and not once in a process.

A file holds the object file, the names of functions it needs from outside, and a checksum of both. Several processes may start
at once and find nothing: each compiles, writes to a temporary file and renames it, and the last one wins; they are all the same.
A file that is cut short or was changed is not used, and is written anew.

The directory is `INTERNALS_CACHE_DIR`, or `internals` in the user's cache directory. Where nothing can be written, code is kept
for this process only. `INTERNALS_CACHE_DIR` may name several, as `PATH` does: code is looked for in all and written to the first,
so that a class finds what was compiled for it, and nobody in it writes what others run.

How the real one differs: Inductor's cache (`torch/_inductor/codecache.py`) does so with shared libraries, under a file lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from functools import cache as once
from pathlib import Path
from typing import NamedTuple

MAGIC = b"internals machine code 1\n"


class Code(NamedTuple):
    """An object file, and the functions that it calls and does not have."""

    object: bytes
    externals: tuple[str, ...]


def load(key: str) -> Code | None:
    """The code stored under `key`, None if there is none or the file is damaged."""
    found = read(key, "o")
    if found is None:
        return None
    header, _, machine_code = found.partition(b"\n")
    return Code(machine_code, tuple(json.loads(header)))


def store(key: str, code: Code) -> None:
    """Keep `code` under `key`."""
    write(key, "o", json.dumps(code.externals).encode() + b"\n" + code.object)


def read(key: str, kind: str) -> bytes | None:
    """What `write` stored under `key`, None if there is nothing or the file is damaged."""
    start = len(MAGIC) + 32
    for folder in directories():
        with suppress(OSError):
            content = _path(folder, key, kind).read_bytes()
            if content.startswith(MAGIC) and hashlib.sha256(content[start:]).digest() == content[len(MAGIC) : start]:
                return content[start:]
    return None


def write(key: str, kind: str, payload: bytes) -> None:
    """Store bytes under `key`; nothing happens where nothing can be written."""
    path = _path(directory(), key, kind)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{key[:8]}")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def directories() -> list[Path]:
    """Where compiled code is looked for."""
    asked = [Path(name) for name in os.environ.get("INTERNALS_CACHE_DIR", "").split(os.pathsep) if name]
    return asked or [_default_directory()]


def directory() -> Path:
    """Where compiled code is written."""
    return directories()[0]


def clear() -> None:
    """Delete what was written to disk."""
    for path in directory().glob("*/*.*"):
        with suppress(OSError):
            path.unlink()


def _path(folder: Path, key: str, kind: str) -> Path:
    return folder / key[:2] / f"{key}.{kind}"


@once
def _default_directory() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("internals", appauthor=False))
