"""`save` and `load`: tensors, state dicts and objects that contain them (`torch/serialization.py`).

    internals.save(model.state_dict(), "model.pt")
    model.load_state_dict(internals.load("model.pt"))

The file is an archive: `data.pkl` describes the object, `data/0`, `data/1`, ... are the bytes of
its storages. Loading maps the file, and the tensors are views of it: nothing is read before it is
used, and writing to a tensor does not change the file.

How the real one differs: it also saves objects of any class, and executes code from the file to
load them (`weights_only=False`); it copies tensors when loading, unless called with `mmap=True`.
"""

from __future__ import annotations

import io
import os
import warnings
from typing import IO, Any

from internals.core.corrected import corrected

from .container.serialization_id import RECORD, serialization_id
from .container.zip_reader import ArchiveReader
from .container.zip_records import ALIGNMENT
from .container.zip_writer import ArchiveWriter
from .errors import ArchiveError
from .legacy_stream import load_stream
from .pickles.pickled_types import find_allowed
from .pickles.pickler import Pickler
from .pickles.storages import MapLocation, StorageTable, tensor_loader
from .pickles.unpickler import unpickle

File = str | os.PathLike[str] | IO[bytes]

_NO_EXECUTION = (
    "weights_only=False would execute whatever the file says, which is not done here: load the "
    "file without it. If it holds more than tensors, numbers, strings and containers of them, load "
    "it with the PyTorch that wrote it, and save a state_dict()"
)


def save(obj: object, f: File) -> None:
    """Writes `obj` to the path or binary file `f`; `torch.load` and `internals.load` read it.

    `obj` is a tensor, a number, str, bytes, None, dtype, device or Size, or a list, tuple, dict,
    OrderedDict, Counter or set of such. Each storage is written once and whole, however many
    tensors are views of it. Raises TypeError for any other object, with its type and place, and
    RuntimeError if tensors of different dtypes share a storage. A path keeps its old content until
    everything is written.
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    storages = StorageTable()
    pickle = Pickler(storages).dump(obj)  # before the file: an error leaves no file behind
    with ArchiveWriter(f) as writer:
        writer.write("data.pkl", pickle)
        writer.write(".format_version", b"1")
        writer.write(".storage_alignment", str(ALIGNMENT).encode())
        writer.write("byteorder", b"little")
        storages.write_to(writer)
        writer.write("version", b"3\n")
        writer.write(RECORD, serialization_id(writer).encode())


def load(
    f: File,
    map_location: MapLocation = None,
    *,
    weights_only: bool | None = True,
    mmap: bool | None = None,
) -> Any:
    """Returns the object that `save`, or `torch.save` of any version since 0.4, wrote to the path
    or binary file `f`.

    `map_location` is the device for the tensors: a device or its name, a dict from locations in the
    file to others, or a function of (storage, location). `mmap=False` copies the tensors; otherwise
    they are views of the mapped file. Raises OSError if the file cannot be opened, EOFError if it
    is empty, ArchiveError if anything in it is wrong or of an unknown class.
    """
    if weights_only is False:
        raise ValueError(_NO_EXECUTION)
    is_path = isinstance(f, (str, os.PathLike))
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
        from .safetensors_files import load_safetensors

        return load_safetensors(f, device=one_device(map_location))
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    start = beginning(f)
    if start == b"PK\3\4":  # a zip archive
        return load_archive(f, map_location, copy=mmap is False)
    if not start:
        raise EOFError("Ran out of input")
    if mmap:
        raise RuntimeError(
            "mmap can only be used with files saved with "
            "`torch.save(_use_new_zipfile_serialization=True), please torch.save your checkpoint "
            "with this option in order to use mmap."
        )
    return load_stream(f, map_location)


def load_archive(f: File, map_location: MapLocation, copy: bool = False) -> Any:
    """`load` for a zip archive. A compiled module is passed on to `jit.load`, with a warning."""
    position = None if isinstance(f, (str, os.PathLike)) else f.tell()
    with ArchiveReader(f) as reader:
        if reader.has("constants.pkl") or reader.has("model.json"):
            warnings.warn(
                "'torch.load' received a zip file that looks like a TorchScript archive "
                "dispatching to 'torch.jit.load' (call 'torch.jit.load' directly to silence this "
                "warning)",
                UserWarning,
                stacklevel=3,
            )
            from internals import jit

            if position is not None:
                f.seek(position)  # type: ignore[union-attr]
            return jit.load(f, map_location)
        if not reader.has("data.pkl") and reader.has("archive_format"):
            raise ArchiveError(
                corrected(
                    "an exported program (torch.export.save), not an object",
                    "torch.load(path)",
                    "torch.export.load(path)",
                ),
                archive=reader.name,
            )
        return unpickle(
            reader.read("data.pkl"),
            find_global=find_allowed,
            persistent_load=tensor_loader(reader, map_location=map_location, copy=copy),
            archive=reader.name,
            record="data.pkl",
        )


def beginning(f: File) -> bytes:
    """The first four bytes of a file; a file object keeps its position. Raises the errors of
    `torch.load` for an object that is not a seekable binary file.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return file.read(4)
    try:
        f.seek(position := f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        ) from None
    start = f.read(4)
    if not isinstance(start, bytes):
        raise TypeError(
            corrected(
                f"read() gave {type(start).__name__}, not bytes: the file has to be open in "
                "binary mode",
                "torch.load(open(path))",
                "torch.load(open(path, 'rb'))",
            )
        )
    f.seek(position)
    return start


def one_device(map_location: MapLocation) -> str:
    """The device for all tensors of a safetensors file, which has no locations to map."""
    if map_location is None:
        return "cpu"
    for kind, is_it in (
        ("dict", isinstance(map_location, dict)),
        ("callable", callable(map_location)),
    ):
        if is_it:
            raise RuntimeError(
                f"Loading safetensors file with {kind} map_location is not supported. Use a device "
                "string or torch.device instead."
            )
    return str(map_location)
