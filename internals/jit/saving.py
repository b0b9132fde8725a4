"""`jit.save` and `jit.load`: compiled modules and functions as files
(`torch/jit/_serialization.py`).

    m = jit.script(Net()); m.save("net.pt"); jit.load("net.pt")(x)

The formats, and how they are written and read, are in `internals.serialization`.

How the real one differs: it has no `format`; the layout of 1.0 can no longer be written there, and
since 1.11 no longer be read.
"""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from internals.core.corrected import corrected

FORMATS = ("modern", "1.0.1")


def save(
    m: object,
    f: str | os.PathLike[str] | BinaryIO,
    _extra_files: dict[str, Any] | None = None,
    *,
    format: str = "modern",
) -> None:
    """Write a compiled module or function to a path or a file object. A file at a path is written
    completely or not at all.

    `format="1.0.1"` writes the layout of PyTorch 1.0. `_extra_files`: name → text or bytes, stored
    with the module. Raises RuntimeError for a graph that cannot be saved, for example because it
    calls a Python function, and ValueError for another format.
    """
    from internals.serialization import save_101, save_script

    if format not in FORMATS:
        raise ValueError(f"format is one of {', '.join(map(repr, FORMATS))}, not {format!r}")
    if format == "modern":
        save_script(m, f, _extra_files)
    elif _extra_files:
        raise ValueError(
            corrected(
                "the layout of 1.0.1 has no place for extra files",
                "torch.jit.save(m, path, _extra_files=extra, format='1.0.1')",
                "torch.jit.save(m, path, _extra_files=extra)",
            )
        )
    else:
        save_101(m, f)


def load(
    f: str | os.PathLike[str] | BinaryIO,
    map_location: object = None,
    _extra_files: dict[str, Any] | None = None,
) -> Any:
    """The module in a file that `save` or real PyTorch wrote, in today's layout or in that of
    1.0.1.

    A file at a path is mapped into memory: the tensors are views of it, and writing to them does
    not change the file. The keys of `_extra_files` are names of extra files, whose contents are put
    into it. Raises ValueError if there is no file at the path, and ArchiveError (a RuntimeError) if
    it is not an archive, or a damaged one.
    """
    from internals.serialization import load_script

    return load_script(f, map_location, _extra_files)


def to_buffer(
    m: Any, _extra_files: dict[str, Any] | None = None, *, format: str = "modern"
) -> bytes:
    """The bytes that `save` would write."""
    buffer = io.BytesIO()
    save(m, buffer, _extra_files, format=format)
    return buffer.getvalue()
