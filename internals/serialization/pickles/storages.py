"""Saves and loads the storages that a pickle refers to: one record each, however many tensors are
views of it (`torch/serialization.py`).

For saving, `StorageTable` numbers them in the order in which they occur. A storage is saved whole,
even if only a small view of it is needed: so all views share one memory again when they are loaded.
For loading, `tensor_loader` finds the record for a persistent id, and returns a storage inside the
mapped file.

How the real one differs: it supports more kinds of devices, and `register_package` adds others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from internals._tensor.pickling import copy_storage
from internals.construction.tensor_numpy import bytes_in
from internals.core import dtype as dt
from internals.core.backend_hooks import hooks
from internals.core.device import META, device
from internals.core.dtype import dtype
from internals.core.storage import Storage
from internals.storage import TypedStorage

from ..container.zip_reader import ArchiveReader
from ..container.zip_writer import ArchiveWriter
from ..errors import ArchiveError
from .pickled_types import StorageClass


class StorageTable:
    """Gives each distinct storage a key, "0", "1", ..., and writes them as `prefix/0`, `prefix/1`,
    ...
    """

    def __init__(self, prefix: str = "data") -> None:
        self.prefix = prefix
        self.storages: dict[str, Storage] = {}
        self._keys: dict[int, str] = {}
        self._dtypes: dict[int, dtype] = {}

    def key_of(self, storage: Storage, kind: dtype | None) -> str:
        """The storage's key. Raises RuntimeError if the same memory has been saved with another
        dtype, as a record has only one.
        """
        if storage.device is META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        address = storage.data_ptr()
        if address and self._dtypes.setdefault(address, kind or dt.uint8) is not (kind or dt.uint8):
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        key = self._keys.get(id(storage))
        if key is None:
            key = self._keys[id(storage)] = str(len(self._keys))
            self.storages[key] = storage
        return key

    def write_to(self, writer: ArchiveWriter) -> None:
        """Writes a record for each storage. Only storages on a GPU are copied before."""
        for key, storage in self.storages.items():
            writer.write(f"{self.prefix}/{key}", storage_bytes(storage))


def storage_bytes(storage: Storage) -> memoryview:
    """The bytes of a storage: a view of memory on the host, or a copy of memory on a GPU."""
    return memoryview(bytes(storage)) if storage.is_cuda else bytes_in(storage)


MapLocation = Any  # None, a str, a device, a dict of str, a function of (storage, str)


def tensor_loader(
    reader: ArchiveReader,
    prefix: str = "data",
    map_location: MapLocation = None,
    copy: bool = False,
) -> Callable[[Any], TypedStorage]:
    """Returns the function that the unpickler calls with a persistent id. It returns the storage in
    the record `prefix/key`, the same one for the same key.

    `copy` puts storages into memory of their own instead of the mapped file. The function raises
    ArchiveError if the id is not that of a storage, or the record is missing or too short.
    """
    restore = restore_location(map_location)
    swapped = is_swapped(reader)
    loaded: dict[str, TypedStorage] = {}

    def load(persistent_id: Any) -> TypedStorage:
        kind, key, location, numel = storage_id(persistent_id, 5)
        known = loaded.get(key)
        record, nbytes = f"{prefix}/{key}", numel * kind.itemsize
        if known is not None:
            # Ids of one record have to agree in the dtype, unless all of them are empty.
            if (known.dtype is not kind or nbytes > known.nbytes()) and (nbytes or known.nbytes()):
                raise ArchiveError(
                    f"storage '{key}' is said to be {nbytes} bytes of {kind.name}, and to be "
                    "different"
                )
            return TypedStorage(known.untyped(), kind)
        storage = reader.storage(record, nbytes)
        if swapped and kind.itemsize > 1:
            storage = byteswapped(storage, kind)
        elif copy:
            storage = copy_storage(storage)
        loaded[key] = typed = TypedStorage(restore(storage, location), kind)
        return typed

    return load


def storage_id(persistent_id: Any, length: int) -> tuple[dtype, str, str, int]:
    """The dtype, key, location and number of elements in a persistent id of at least `length`
    items. Raises ArchiveError if it is wrong.
    """
    if (
        type(persistent_id) is not tuple
        or len(persistent_id) < length
        or persistent_id[0] != "storage"
    ):
        raise ArchiveError(
            "a persistent id must be the tuple ('storage', class, key, location, number of "
            "elements)"
        )
    kind, key, location, numel = persistent_id[1:5]
    if not isinstance(kind, StorageClass):
        raise ArchiveError(
            "the persistent id of a storage names something that is no class of storages"
        )
    if (
        type(key) is not str
        or len(key) > 255
        or type(location) is not str
        or type(numel) is not int
        or not 0 <= numel < 1 << 60
    ):
        raise ArchiveError(
            "the persistent id of a storage has an impossible key, location or number of elements"
        )
    return kind.known_dtype(), key, location, numel


def is_swapped(reader: ArchiveReader) -> bool:
    """Whether the numbers in the archive have another byte order than this computer's, according to
    the record `byteorder`.
    """
    order = reader.text("byteorder") if reader.has("byteorder") else "little"
    if order not in ("little", "big"):
        raise ArchiveError(
            f"Unknown endianness type: {order[:20]!r}", archive=reader.name, record="byteorder"
        )
    return order != sys.byteorder


def byteswapped(storage: Storage, kind: dtype) -> Storage:
    """A copy of a storage with the bytes of each number in reverse order; a complex number is two
    numbers.
    """
    fresh = Storage.allocate(storage.nbytes(), storage.device)
    size = kind.itemsize // 2 if kind.is_complex else kind.itemsize
    whole = storage.nbytes() // size * size
    source = np.frombuffer(storage_bytes(storage), np.uint8)
    target = np.frombuffer(storage_bytes(fresh), np.uint8)
    # (numbers, bytes of each), reversed along the second dimension
    target[:whole] = source[:whole].reshape(-1, size)[:, ::-1].reshape(-1)
    target[whole:] = source[whole:]
    return fresh


def restore_location(map_location: MapLocation) -> Callable[[Storage, str], Storage]:
    """Returns a function of (storage, location in the file) that moves a storage to its device: to
    that location, or where `map_location` says instead.
    """
    if callable(map_location):

        def ask(storage: Storage, location: str) -> Storage:
            result = map_location(storage, location)
            if isinstance(result, TypedStorage):
                return result.untyped()
            return result if isinstance(result, Storage) else moved(storage, location)

        return ask
    if isinstance(map_location, dict):
        return lambda storage, location: moved(storage, map_location.get(location, location))
    if map_location is None:
        return moved
    if isinstance(map_location, bytes):
        map_location = map_location.decode()
    target = map_location if isinstance(map_location, str) else str(device(map_location))
    return lambda storage, location: moved(storage, target)


def moved(storage: Storage, location: Any) -> Storage:
    """The storage on the device `location`. Raises ArchiveError, a RuntimeError, if there is no
    such device.

    A simulated GPU counts, although `cuda.is_available()` is False for it.
    """
    location = str(location)
    if location == "cpu":
        return storage
    if location == "meta":
        return Storage.allocate(storage.nbytes(), META)
    if re.match("cuda(:|[0-9]+|$)", location):
        return storage.cuda(cuda_device(location))
    raise ArchiveError(
        "don't know how to restore data location of internals.storage.UntypedStorage (tagged with "
        f"{location[:100]})"
    )


def cuda_device(location: str) -> device:
    """The device that "cuda" or "cuda:1" means. Raises ArchiveError if there is no such device."""
    try:
        where = device(location)
    except RuntimeError as error:
        raise ArchiveError(str(error)) from None
    count = hooks("cuda").device_count()
    if not count:
        raise ArchiveError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    if (where.index or 0) >= count:
        raise ArchiveError(
            f"Attempting to deserialize object on CUDA device {where.index} but "
            f"torch.cuda.device_count() is {count}. Please use torch.load with map_location to map "
            "your storages to an existing device."
        )
    return where
