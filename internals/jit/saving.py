"""`jit.save` and `jit.load`: compiled modules and functions as files
(`torch/jit/_serialization.py`).

    m = jit.script(Net()); m.save("net.pt"); jit.load("net.pt")(x)

What happens between is the floor above, `internals.serialization`: which formats there are, how
they are written and read.

How the real one differs: `format` is ours, there the layout of 1.0 can be neither written nor,
since 1.11, read.
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
    """Write a compiled module or function to a path or a file object. A path is written whole or
    not at all.

    `format="1.0.1"` writes the layout of PyTorch 1.0. `_extra_files`: name → text or bytes, kept
    beside the module. Raises RuntimeError for what cannot be written down, such as a call of a
    Python function.
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

    A path is mapped into memory: the tensors are views of the file, which may be written to and
    never change it. The entries of `_extra_files` get the contents of the files of these names.
    Raises ValueError for a path where there is no file, ArchiveError (a RuntimeError) for what is
    no archive or a damaged one.
    """
    from internals.serialization import load_script

    return load_script(f, map_location, _extra_files)


def to_buffer(
    m: Any, _extra_files: dict[str, Any] | None = None, *, format: str = "modern"
) -> bytes:
    """What `save` would write."""
    buffer = io.BytesIO()
    save(m, buffer, _extra_files, format=format)
    return buffer.getvalue()
