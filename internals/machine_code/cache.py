"""Keeps compiled code on disk, so that it is compiled once on a machine, not once in each process.

A file holds the object file, the names of functions it needs from outside, and a checksum of both
and of the name it is kept under. Several processes may start at once and find nothing: each
compiles, writes to a temporary file and renames it. The last one wins, and all files are the same.
A file that is cut short or was changed never reaches LLVM: a warning names it, and the code is
compiled again.

The directory is `INTERNALS_CACHE_DIR`, or `internals` in the user's cache directory. Where nothing
can be written, code is kept for this process only. `INTERNALS_CACHE_DIR` may name several, as
`PATH` does: code is searched in all of them and written to the first. So a class can share a
directory of compiled code that no student can write to. Everyone may read the files (0644, folders
0755), whatever the umask. Files that others might have written are not run (`trust.py`); a warning
says which, and why.

How the real one differs: Inductor's cache (`torch/_inductor/codecache.py`) keeps shared libraries,
under a file lock.
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

from internals.core.warn import warn_once

from . import trust

MAGIC = b"internals machine code 2\n"
# files of earlier versions, which only their owner could read
BEFORE = b"internals machine code 1\n"


class Code(NamedTuple):
    """An object file, and the names of functions that it calls but does not contain."""

    object: bytes
    externals: tuple[str, ...]


def load(key: str) -> Code | None:
    """The code stored under `key`, None if there is none that can be used."""
    found = read(key, "o")
    if found is None:
        return None
    header, _, machine_code = found.partition(b"\n")
    try:
        return Code(machine_code, tuple(json.loads(header)))
    except (TypeError, ValueError):
        damaged(key, "o", "the names of what it needs cannot be read")
        return None


def store(key: str, code: Code) -> None:
    """Keep `code` under `key`."""
    write(key, "o", json.dumps(code.externals).encode() + b"\n" + code.object)


def read(key: str, kind: str) -> bytes | None:
    """The bytes that `write` stored under `key`; None if there are none, or none that are whole and
    trusted.
    """
    start = len(MAGIC) + 32  # a file: MAGIC, a checksum of 32 bytes, the payload
    for folder in directories():
        names = _names(key, kind)
        try:
            content = trust.read(folder, *names)
        except trust.Refused as refused:
            _say_refused(folder, refused)
        except OSError:
            pass
        else:
            if (
                content.startswith(MAGIC)
                and _checksum(key, kind, content[start:]) == content[len(MAGIC) : start]
            ):
                return content[start:]
            if not content.startswith(BEFORE):
                damaged(key, kind, f"the checksum in {folder.joinpath(*names)} is wrong")
    return None


def write(key: str, kind: str, payload: bytes) -> None:
    """Store bytes under `key`. Does nothing if the folder cannot be written, and warns if others
    could write to it as well.
    """
    subfolder, name = _names(key, kind)
    try:
        folder = trust.folder(directory(), subfolder, make=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{key[:8]}")
    except trust.Refused as refused:
        return _say_refused(directory(), refused)
    except OSError:
        return
    with suppress(OSError):
        try:
            # the file gets its name when it is whole: no reader ever sees a part of it
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + _checksum(key, kind, payload) + payload)
            os.chmod(temporary, 0o644)
            os.replace(temporary, folder / name)
        except BaseException:
            os.unlink(temporary)
            raise


def damaged(key: str, kind: str, why: str) -> None:
    """Warn that the file stored under `key` is not used, and that it will be made anew."""
    warn_once(
        f"{'.'.join(_names(key, kind)[1:])} in the cache of compiled code is damaged, and made "
        f"anew: {why}"
    )


def directories() -> list[Path]:
    """The directories in which compiled code is searched, in order."""
    asked = [
        Path(name) for name in os.environ.get("INTERNALS_CACHE_DIR", "").split(os.pathsep) if name
    ]
    return asked or [_default_directory()]


def directory() -> Path:
    """The directory that compiled code is written to."""
    return directories()[0]


def clear() -> None:
    """Delete all compiled code in `directory()`."""
    for path in directory().glob("*/*.*"):
        with suppress(OSError):
            path.unlink()


def _names(key: str, kind: str) -> tuple[str, str]:
    """(folder, file) of a key. The folder is its first two digits, so that none grows too large."""
    return key[:2], f"{key}.{kind}"


def _checksum(key: str, kind: str, payload: bytes) -> bytes:
    """32 bytes, of the name too: a file that was renamed does not pass."""
    return hashlib.sha256(f"{key}.{kind}\n".encode() + payload).digest()


def _say_refused(folder: Path, refused: trust.Refused) -> None:
    """Warn that the files of a folder are not trusted."""
    warn_once(
        f"compiled code in {folder} is not used, and each process compiles its own: {refused}, or "
        "set INTERNALS_CACHE_DIR to a folder that only you can write"
    )


@once
def _default_directory() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("internals", appauthor=False))
