"""The bytes of a model's file, all of them or none; and the model in them.

A file in a served folder may be written to at any moment. `jit.load(path)` would map it: cheap, but
whoever then shortens the file ends this process (SIGBUS), and whoever overwrites it changes weights
in use. So the file is *read*, once, and what has been read is checked: that the file was the same
before and after, and every record against its checksum, since the weights of an archive are not
looked at when it is loaded. From then on the model has nothing to do with the file.

Nothing in a file is executed while it is loaded: `internals.jit.load` and `internals.export.load`
build graphs and tensors, and know no pickle that calls.

How the real one differs: Triton hands the path to `torch::jit::load`, which reads it the same way;
TorchServe runs `torch.load` in handlers, which before PyTorch 2.6 would execute what a pickle said.
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
    """What changes when a file does. `ctime_ns` is of the inode: it tells of a writer who put the
    time of change back.
    """

    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int


class FileIsChanging(OSError):
    """The file was written to while it was read: later it may be whole."""


def stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)


def read_path(path: Path | str) -> tuple[bytes, Stamp]:
    """For a path that the operator chose. Names from requests go through `folder.py`. Raises
    OSError.
    """
    # O_NONBLOCK: opening a named pipe would wait for its writer
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with open(descriptor, "rb", buffering=0) as file:
        return read_whole(file, str(path))


def read_whole(file: BinaryIO, name: str) -> tuple[bytes, Stamp]:
    """The content of an open file and its stamp. Raises FileIsChanging, and OSError for what is no
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
    """The module or exported program in the bytes of a `.pt` or `.pt2` file, and what its
    `serving.json` declares.

    Raises ArchiveError for what is no such archive, a damaged one, or one that calls what is not
    known here.
    """
    check_records(data, file_name)
    try:
        if file_name.endswith(".pt2"):
            return export.load(io.BytesIO(data)), Declared()
        extra = {SERVING_JSON: b""}
        module = jit.load(io.BytesIO(data), map_location="cpu", _extra_files=extra)
        # compiles all that `forward` calls, which would wait for the first request otherwise
        _ = module.inlined_graph
        return module, parse_serving_json(extra[SERVING_JSON], file_name)
    except ArchiveError as error:
        raise ArchiveError(error.message, archive=file_name, record=error.record) from None


def check_records(data: bytes, file_name: str) -> None:
    """Raises ArchiveError for a record that does not have its checksum, and for what is no zip
    file.
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
