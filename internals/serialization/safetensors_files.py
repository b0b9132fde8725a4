"""Saves and loads tensors in the safetensors format, through its library (`safetensors/torch.py`).

    [length of the header, 8 bytes]
    [header: JSON with name, dtype, shape and offsets of each tensor]
    [the tensors, one after the other]

Such a file has only named tensors, no objects, code or views, so it is safe to load. The library
checks that the tensors fill the file without gaps or overlaps; here the file is mapped, and each
tensor is a view of its part.

How the real one differs: `safetensors.torch` creates the tensors with PyTorch.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections import defaultdict
from math import prod
from typing import Any

from internals.core import dtype as dt
from internals.core.allocator import DataPtr, drop_reference
from internals.core.device import META, DeviceLike
from internals.core.dtype import dtype
from internals.core.geometry import bytes_spanned, contiguous_strides
from internals.core.storage import Storage
from internals.core.tensor_impl import Tensor, TensorImpl
from internals.storage import TypedStorage

from .container.mapped_file import MappedFile, map_source
from .container.replaced_file import ReplacedFile
from .errors import ArchiveError
from .pickles.pickled_types import view_of
from .pickles.storages import moved

# name of a dtype in the format -> dtype
DTYPES: dict[str, dtype] = {
    "BOOL": dt.bool_, "U8": dt.uint8, "I8": dt.int8, "I16": dt.int16, "I32": dt.int32,
    "I64": dt.int64, "F16": dt.float16, "F32": dt.float32, "F64": dt.float64, "C64": dt.complex64,
}  # fmt: skip
SHARED = (
    "Some tensors share memory, this will lead to duplicate memory on disk and potential "
    "differences when loading them again: "
    "{}. Save one of each, or internals.save them all, which keeps views."
)
NOT_CONTIGUOUS = (
    "You are trying to save a non contiguous tensor: `{}` which is not allowed. It either means "
    "you are trying to save tensors which are reference of each other in which case it's "
    "recommended to save only the full tensors, and reslice at load time, or simply call "
    "`.contiguous()` on your tensor to pack it before saving."
)


def load_safetensors(path: str | os.PathLike[str], device: DeviceLike = "cpu") -> dict[str, Any]:
    """Returns the tensors of a file by name, in its order. They are views of the mapped file, which
    never changes.

    Raises OSError if the file cannot be opened, ArchiveError if it is not valid or has a dtype that
    does not exist here.
    """
    from safetensors import SafetensorError, safe_open

    name = os.path.basename(os.fsdecode(path))
    file = map_source(path)
    at = 8 + int.from_bytes(file.memory[:8], "little")
    tensors: dict[str, Any] = {}
    key = ""
    try:
        with safe_open(path, framework="numpy") as contents:
            # In the order of their offsets: as there are no gaps, the sizes give the offsets.
            for key in contents.offset_keys():
                part = contents.get_slice(key)
                kind = DTYPES.get(part.get_dtype())
                if kind is None:
                    raise ArchiveError(
                        f"there are no tensors of dtype {part.get_dtype()} here; save it as another"
                    )
                sizes = tuple(part.get_shape())
                storage = part_of(file, at, prod(sizes) * kind.itemsize, kind)
                if storage is None:
                    raise ArchiveError("the file has changed while it was read")
                at += storage.nbytes()
                tensors[key] = view_of(
                    TypedStorage(moved(storage, device), kind), 0, sizes, contiguous_strides(sizes)
                )
            return {key: tensors[key] for key in contents.keys()}
    except SafetensorError as error:
        raise ArchiveError(str(error), archive=name) from None
    except ArchiveError as error:
        raise ArchiveError(error.message, archive=name, record=key) from None


def save_safetensors(
    tensors: dict[str, Any], path: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Writes contiguous tensors that share no memory. An existing file keeps its old content until
    everything is written.

    Raises ValueError for non-tensors and tensors that are not contiguous, RuntimeError for tensors
    that share memory.
    """
    from safetensors import TensorSpec, serialize_file

    check_savable(tensors)
    tensors = {name: t.detach().cpu() for name, t in tensors.items()}
    specs = {
        name: TensorSpec(
            dtype=t.dtype.name, shape=list(t.shape), data_ptr=t.data_ptr(), data_len=t.nbytes
        )
        for name, t in tensors.items()
    }
    file = ReplacedFile(path)
    target = file.temporary or file.path
    mode = os.stat(target).st_mode
    try:
        serialize_file(specs, target, metadata=metadata)
        os.chmod(target, stat.S_IMODE(mode))  # the library lets only the user read it
    except BaseException:
        file.discard()
        raise
    file.commit()


def check_savable(tensors: object) -> None:
    """Raises the library's errors for tensors that it cannot save."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, internals.Tensor] but received {type(tensors)}")
    users: defaultdict[int, list[str]] = defaultdict(list)
    for name, t in tensors.items():
        if type(name) is not str or not isinstance(t, TensorImpl):
            raise ValueError(
                f"Key `{name}` is invalid, expected internals.Tensor but received {type(t)}"
            )
        if name == "__metadata__":
            raise ValueError(
                "Key `__metadata__` is invalid: the header keeps its notes under that name"
            )
        if t.dtype not in DTYPES.values():
            raise ValueError(
                f"the tensor `{name}` is {t.dtype.name}, for which the format has no name; save it "
                "as another"
            )
        if t.device is META:
            raise NotImplementedError(
                f"the tensor `{name}` is on '{t.device}' and has no data to save"
            )
        if t.numel():
            users[t.untyped_storage().data_ptr()].append(name)
    shared = [sorted(group) for names in users.values() for group in overlapping(tensors, names)]
    if shared:
        raise RuntimeError(SHARED.format(shared))
    for name, t in tensors.items():
        if not t.is_contiguous():
            raise ValueError(NOT_CONTIGUOUS.format(name))


def overlapping(tensors: dict[str, Any], names: list[str]) -> list[set[str]]:
    """Groups of tensors that have bytes in common, among the named tensors of one storage."""
    # Sorted by the start, a tensor overlaps the group before it if it starts before the group ends.
    groups: list[set[str]] = []
    last_end = -1
    for start, end, name in sorted((*byte_range(tensors[name]), name) for name in names):
        if start < last_end:
            groups[-1].add(name)
        else:
            groups.append({name})
        last_end = max(last_end, end)
    return [group for group in groups if len(group) > 1]


def byte_range(t: Tensor) -> tuple[int, int]:
    """The addresses of the first byte and after the last byte that a tensor can access."""
    return t.data_ptr(), t.data_ptr() + bytes_spanned(t._geometry)


def part_of(file: MappedFile, start: int, nbytes: int, kind: dtype) -> Storage | None:
    """The storage of `nbytes` at `start`: a view of the file, or a copy if it is not aligned to its
    elements. None if the file is too short.
    """
    if start + nbytes > len(file):
        return None
    address = file.address + start
    if nbytes and address % kind.itemsize == 0:
        return Storage(DataPtr(address, file.owner, drop_reference), nbytes)
    storage = Storage.allocate(nbytes)
    if nbytes:
        ctypes.memmove(storage.data_ptr(), address, nbytes)
    return storage
