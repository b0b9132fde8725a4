"""Reads a model's file completely, and loads the model from its bytes.

A file in a served folder may be written to at any moment. `jit.load(path)` would map it, which is
fast; but a program that shortens the file then ends this process (SIGBUS), and one that overwrites
it changes the weights in use. So the file is *read* once, and then checked: it must not have
changed meanwhile, and every record must have its checksum, as loading an archive does not read the
weights. From then on the model does not depend on the file.

Nothing in a file is executed while it is loaded: `internals.jit.load` and `internals.export.load`
build graphs and tensors, and their pickles cannot call functions.

How the real one differs: Triton passes the path to `torch::jit::load`, which reads the file, too;
TorchServe's handlers call `torch.load`, which before PyTorch 2.6 executed code in a pickle.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from internals import export, jit
from internals.serialization.errors import ArchiveError

from .signature import SERVING_JSON, Declared, parse_serving_json

SUFFIXES = (".pt", ".pt2")


class Stamp(NamedTuple):
    """The properties that change with a file. `ctime_ns` is the inode's time of change, which a
    program cannot set back, in contrast to `mtime_ns`.
    """

    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int


class FileIsChanging(OSError):
    """The file was written to while it was read; later it may be complete."""


def stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)


def read_path(path: Path | str) -> tuple[bytes, Stamp]:
    """The content and stamp of a file that the operator chose; names from requests go through
    `folder.py`. Raises OSError.
    """
    # O_NONBLOCK: otherwise opening a named pipe would wait for a writer
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with open(descriptor, "rb", buffering=0) as file:
        return read_whole(file, str(path))


def read_whole(file: BinaryIO, name: str) -> tuple[bytes, Stamp]:
    """The content and stamp of an open file. Raises FileIsChanging, and OSError if it is not a
    regular file.
    """
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{name} is no regular file")
    data = file.read()
    if stamp_of(os.fstat(file.fileno())) != stamp_of(status) or len(data) != status.st_size:
        raise FileIsChanging(f"{name} was written to while it was read")
    return data, stamp_of(status)


def load_model(data: bytes, file_name: str) -> tuple[Any, Declared]:
    """The module or exported program in the bytes of a `.pt` or `.pt2` file, and the declarations
    in its `serving.json`.

    Raises ArchiveError for another file, a damaged archive, or one with calls of unknown functions.
    """
    check_records(data, file_name)
    try:
        if file_name.endswith(".pt2"):
            return export.load(io.BytesIO(data)), Declared()
        extra = {SERVING_JSON: b""}
        module = jit.load(io.BytesIO(data), map_location="cpu", _extra_files=extra)
        # compiles all functions that `forward` calls, which else happens at the first request
        _ = module.inlined_graph
        return module, parse_serving_json(extra[SERVING_JSON], file_name)
    except ArchiveError as error:
        raise ArchiveError(error.message, archive=file_name, record=error.record) from None


def check_records(data: bytes, file_name: str) -> None:
    """Raises ArchiveError for a record without its checksum, and for a file that is not a zip
    archive.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            damaged = archive.testzip()
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        ValueError,
        OSError,
        RuntimeError,
    ) as error:
        raise ArchiveError(f"no archive, or a damaged one: {error}", archive=file_name) from None
    if damaged is not None:
        raise ArchiveError(
            "the data does not have the checksum (CRC-32) it was saved with",
            archive=file_name,
            record=damaged,
        )
