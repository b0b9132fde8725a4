"""What the tests of saving and loading share: comparing objects with tensors in them, and writing
pickles byte by byte.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import numpy as np

import internals
from internals.core.tensor_impl import TensorImpl
from internals.serialization.container.zip_writer import ArchiveWriter

CONTAINERS = (list, tuple, dict, OrderedDict, Counter, set)


class Comparison:
    """Walks through two objects, of ours or of real PyTorch's, and asserts that they are alike.

    Alike are: types, values, dtypes, sizes, strides, offsets, `requires_grad`, attributes, the
    bytes of the storages, and which things are the same thing: what is shared in one object must be
    shared in the other.
    """

    def __init__(self) -> None:
        self.partner: dict[Any, int] = {}
        self.kept: list[Any] = []

    def same_identity(self, a: Any, b: Any, place: str) -> bool:
        """Whether the pair has been met before. Both or none must have been."""
        self.kept += [a, b]
        key_a, key_b = identity(a), identity(b)
        assert (key_a in self.partner) == (("b", key_b) in self.partner), (
            f"{place}: shared in one of them only"
        )
        if key_a in self.partner:
            assert self.partner[key_a] == key_b, f"{place}: shared with different things"
            return True
        self.partner[key_a], self.partner["b", key_b] = key_b, key_a
        return False

    def check(self, a: Any, b: Any, place: str = "object") -> None:
        pending = [(a, b, place)]
        while pending:
            a, b, place = pending.pop()
            if is_tensor(a) or is_tensor(b):
                pending += self.tensors(a, b, place)
            elif type(a) in CONTAINERS and a != () and type(a) is type(b):
                if not self.same_identity(a, b, place):
                    pending += self.containers(a, b, place)
            else:
                assert described(a) == described(b), f"{place}: {a!r} against {b!r}"

    def containers(self, a: Any, b: Any, place: str) -> list[Any]:
        assert len(a) == len(b), f"{place}: lengths {len(a)} and {len(b)}"
        if isinstance(a, dict):
            assert [described(k) for k in a] == [described(k) for k in b], (
                f"{place}: keys {list(a)} and {list(b)}"
            )
            pairs = [(x, y, f"{place}[{k!r}]") for k, x, y in zip(a, a.values(), b.values())]
            return pairs + (
                [(vars(a), vars(b), f"{place}.__dict__")] if isinstance(a, OrderedDict) else []
            )
        if isinstance(a, set):
            assert a == b, place
            return []
        return [(x, y, f"{place}[{i}]") for i, (x, y) in enumerate(zip(a, b))]

    def tensors(self, a: Any, b: Any, place: str) -> list[Any]:
        assert is_tensor(a) and is_tensor(b) and type(a).__name__ == type(b).__name__, (
            f"{place}: {type(a)}, {type(b)}"
        )
        if self.same_identity(a, b, place):
            return []
        for name in ("dtype", "device", "shape", "requires_grad"):
            x, y = getattr(a, name), getattr(b, name)
            assert described(x) == described(y), f"{place}: {name} {x} and {y}"
        assert tuple(a.stride()) == tuple(b.stride()), (
            f"{place}: strides {a.stride()} and {b.stride()}"
        )
        assert a.storage_offset() == b.storage_offset(), f"{place}: offsets"
        if a.device.type != "meta":
            if a.numel():
                self.same_identity(a.untyped_storage(), b.untyped_storage(), place)
            assert storage_bytes(a) == storage_bytes(b), f"{place}: bytes of the storages"
        return [(vars(a), vars(b), f"{place}.__dict__")]


def assert_alike(a: Any, b: Any) -> None:
    Comparison().check(a, b)


def is_tensor(x: Any) -> bool:
    return (
        isinstance(x, TensorImpl)
        or type(x).__module__.startswith("torch")
        and hasattr(x, "untyped_storage")
    )


def identity(x: Any) -> int:
    """Real PyTorch makes a new object for a storage each time."""
    return getattr(x, "_cdata", 0) or id(x)


def storage_bytes(t: Any) -> bytes:
    """All bytes of a tensor's storage."""
    storage = t.untyped_storage()
    if isinstance(t, TensorImpl):
        return bytes(storage)
    import torch

    return torch.empty(0, dtype=torch.uint8).set_(storage).numpy().tobytes()


def described(x: Any) -> Any:
    """A value so that ours and theirs are equal: type and repr, which tells -0.0 from 0.0 and nan
    from nothing.
    """
    return type(x).__name__, repr(x).replace("torch.", "internals.")


def pickle_of(file: bytes) -> bytes:
    """The record `data.pkl` of an archive."""
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return archive.read(next(n for n in archive.namelist() if n.endswith("/data.pkl")))


def archive_with(pickle: bytes, **records: bytes) -> io.BytesIO:
    """An archive with this pickle and records `data/NAME` (`s0=...` is `data/0`)."""
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.write("data.pkl", pickle)
        for name, data in records.items():
            writer.write(f"data/{name.removeprefix('s')}" if name != "byteorder" else name, data)
    file.seek(0)
    return file


# The assembler: a pickle is PROTO + ... + STOP.

PROTO, STOP, MARK, TUPLE, REDUCE, PERSID = b"\x80\x02", b".", b"(", b"t", b"R", b"Q"
NONE, EMPTY_TUPLE, FALSE = b"N", b")", b"\x89"


def name(module: str, attribute: str) -> bytes:
    return f"c{module}\n{attribute}\n".encode()


def text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def integer(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a%c" % len(data) + data


def tup(*items: bytes) -> bytes:
    return MARK + b"".join(items) + TUPLE


def call(function: bytes, *args: bytes) -> bytes:
    return function + tup(*args) + REDUCE


def storage(
    key: str = "0", numel: int = 4, kind: str = "FloatStorage", location: str = "cpu"
) -> bytes:
    return (
        tup(text("storage"), name("torch", kind), text(key), text(location), integer(numel))
        + PERSID
    )


def sizes(*values: int) -> bytes:
    return tup(*map(integer, values))


def tensor(
    where: bytes, offset: int, shape: bytes, strides: bytes, requires_grad: bytes = FALSE
) -> bytes:
    hooks = name("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE
    return call(
        name("torch._utils", "_rebuild_tensor_v2"),
        where,
        integer(offset),
        shape,
        strides,
        requires_grad,
        hooks,
    )


FOUR = np.arange(4, dtype=np.float32).tobytes()


def saved(obj: Any) -> io.BytesIO:
    file = io.BytesIO()
    internals.save(obj, file)
    file.seek(0)
    return file
