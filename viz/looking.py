"""Looking at the reader's objects: what memory does each of them see, and who keeps that memory
alive?

`look` accepts tensors (ours and PyTorch's), numpy arrays, anything with the buffer protocol (bytes,
bytearray, memoryview, array.array), and anything numpy can take over `__dlpack__` or
`__array_interface__`. It returns plain numbers; the object itself is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viz.device_bytes import in_words
from viz.footprint import Footprint, row_major
from viz.refs import count_in_words, others
from viz.text import corrected


@dataclass
class Look:
    """One object and the memory it sees. `start` and `nbytes` are the whole of that memory, not
    just what is touched.
    """

    name: str
    kind: str
    dtype: str
    footprint: Footprint
    start: int
    nbytes: int
    references: int | None = 0
    owners: list[str] = field(default_factory=list)  # who keeps the memory alive, nearest first
    allocator: str = ""
    device: Any = None  # None: the CPU
    where: str = ""  # the device in words, if it is not the CPU

    @property
    def strides_text(self) -> str:
        """Strides in elements, as tensors count them, where they are whole; else in bytes."""
        fp = self.footprint
        if all(s % fp.itemsize == 0 for s in fp.strides):
            return f"strides {tuple(s // fp.itemsize for s in fp.strides)}"
        return f"byte strides {fp.strides}"


class Census:
    """The named objects of one picture, so that an owner can be called by the name the reader gave
    it.
    """

    def __init__(self, objects: Mapping[str, Any], references: Mapping[str, int | None]) -> None:
        self.names = {id(value): name for name, value in reversed(list(objects.items()))}
        self.references = references

    def describe(self, holder: list[Any]) -> str:
        """ "ndarray n, 2 references" for the only element of `holder`, which must be the asker's
        only reference.
        """
        name = self.names.get(id(holder[0]))
        count = self.references[name] if name is not None else others(holder, 0)
        kind = type(holder[0]).__name__
        return (
            f"{kind} {name}, {count_in_words(count)}"
            if name is not None
            else f"{kind}, {count_in_words(count)}"
        )


def look(name: str, obj: Any, census: Census) -> Look:
    """What `obj` sees. Raises TypeError for an object without memory to show, ValueError for memory
    that cannot be seen.
    """
    if hasattr(obj, "untyped_storage"):
        found = _tensor(obj, name, census)
    elif isinstance(obj, np.ndarray):
        found = _array(obj, census)
    else:
        found = _exchange(obj, name, census)
    found.name, found.references = name, census.references[name]
    return found


def _tensor(t: Any, name: str, census: Census) -> Look:
    kind = str(t.device).partition(":")[0]
    if kind not in ("cpu", "cuda") or (
        kind == "cuda" and not hasattr(t.untyped_storage(), "data_ptr_object")
    ):
        raise ValueError(
            f"viz.memory draws memory of the CPU and of CUDA devices of internals, but {name!r} is "
            f"on device {str(t.device)!r}"
        )
    itemsize = t.element_size()
    footprint = Footprint(
        t.data_ptr(), tuple(t.shape), tuple(s * itemsize for s in t.stride()), itemsize
    )
    holder = [t.untyped_storage()]
    start, nbytes = holder[0].data_ptr(), holder[0].nbytes()
    found = Look("", type(t).__name__, str(t.dtype).split(".")[-1], footprint, start, nbytes)
    if not hasattr(holder[0], "data_ptr_object"):
        # real PyTorch: its storage is in C++, out of sight from here
        found.owners = ["Storage"]
        return found
    found.owners = [census.describe(holder)]
    if kind == "cuda":
        found.device, found.where = t.device, in_words(t.device)
    if holder[0].allocator is not None:
        found.allocator = holder[0].allocator.name
    else:
        context = [holder[0].data_ptr_object.context]
        if context[0] is not None:
            found.owners.append(census.describe(context))
            found.owners.extend(_array_owners(context[0], census)[1:])
    return found


def _array(a: np.ndarray, census: Census) -> Look:
    footprint = Footprint(_address(a), a.shape, a.strides, a.itemsize)
    start, nbytes = region(a)
    found = Look(
        "",
        type(a).__name__,
        str(a.dtype),
        footprint,
        start,
        nbytes,
        owners=_array_owners(a, census),
    )
    if len(found.owners) > 1:
        found.owners = found.owners[1:]  # the array itself is a view; say who it leans on
    return found


def _exchange(obj: Any, name: str, census: Census) -> Look:
    try:
        view = memoryview(obj)
    except TypeError:
        view = None
    try:
        if view is not None:
            a = np.asarray(view)
            sizes, strides = (
                view.shape or (),
                view.strides or row_major(view.shape or (), view.itemsize),
            )
            footprint = Footprint(_address(a), tuple(sizes), tuple(strides), view.itemsize)
        elif hasattr(obj, "__dlpack__"):
            a = np.from_dlpack(obj)
            footprint = Footprint(_address(a), a.shape, a.strides, a.itemsize)
        elif hasattr(obj, "__array_interface__"):
            a = np.asarray(obj)
            footprint = Footprint(_address(a), a.shape, a.strides, a.itemsize)
        else:
            raise TypeError
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(
            corrected(
                f"viz.memory cannot look into {name!r}, a {type(obj).__name__}: it needs a "
                "tensor, a numpy array, or an object with a buffer, __dlpack__ or "
                "__array_interface__",
                f"viz.memory(x={obj!r:.40})",
                f"viz.memory(x=torch.tensor({obj!r:.40}))",
            )
        ) from error
    low, high = footprint.bounds()
    owner = view.obj if view is not None and type(obj) is memoryview else obj
    del a, view
    return Look(
        "",
        type(obj).__name__,
        _dtype_of(obj),
        footprint,
        low,
        high - low,
        owners=[_describe(owner, census)],
    )


def _dtype_of(obj: Any) -> str:
    try:
        return str(np.asarray(memoryview(obj)).dtype)
    except TypeError:
        return str(
            np.dtype(
                np.from_dlpack(obj).dtype if hasattr(obj, "__dlpack__") else np.asarray(obj).dtype
            )
        )


def _describe(obj: Any, census: Census) -> str:
    """As `Census.describe`, for an object that more than one of our frames may hold: by name, or
    just by type.
    """
    name = census.names.get(id(obj))
    if name is None:
        return type(obj).__name__
    return f"{type(obj).__name__} {name}, {count_in_words(census.references[name])}"


def _array_owners(a: Any, census: Census) -> list[str]:
    """The array and the chain of its `.base`s, down to who owns the memory."""
    owners = [_describe(a, census)]
    while isinstance(a, np.ndarray) and a.base is not None:
        a = a.base
        owners.append(_describe(a, census))
    return owners


def region(a: np.ndarray) -> tuple[int, int]:
    """The whole memory behind an array: that of the last `.base` whose memory can be seen and holds
    the array.
    """
    low, high = Footprint(_address(a), a.shape, a.strides, a.itemsize).bounds()
    base: Any = a.base
    while base is not None:
        if hasattr(base, "untyped_storage"):
            storage = base.untyped_storage()
            return storage.data_ptr(), storage.nbytes()
        if isinstance(base, np.ndarray):
            start, end = Footprint(_address(base), base.shape, base.strides, base.itemsize).bounds()
        else:
            try:
                whole = np.frombuffer(base, np.uint8)
            except (TypeError, ValueError, BufferError):
                break
            start, end = _address(whole), _address(whole) + whole.nbytes
        if start <= low and high <= end:
            low, high = start, end
        base = base.base if isinstance(base, np.ndarray) else None
    return low, high - low


def _address(a: np.ndarray) -> int:
    return int(a.__array_interface__["data"][0])
