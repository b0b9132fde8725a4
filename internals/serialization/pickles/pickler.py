"""Writes objects as a pickle: a program for a small stack machine that builds them again
(`torch/csrc/jit/serialization/pickler.cpp`).

`[1, (2, x)]` becomes:

    EMPTY_LIST                 push []
    MARK 1                     push a mark and 1
    2 x TUPLE2                 push 2 and x, replace them by the tuple (2, x)
    APPENDS                    pop everything above the mark, and append it to the list

An object is also put into a numbered *memo*, and fetched from there the second time. So an object
that occurs twice is one object again afterwards, and a list may contain itself.

A pickle does not contain the elements of tensors. It names a storage by a *persistent id*,
`("storage", FloatStorage, "0", "cpu", 6)`, and the reader provides that storage; see `storages.py`.
It is written in protocol 2, the only one that PyTorch reads with `weights_only=True`, its default.

How the real one differs: `torch.save` uses Python's own `pickle`, which writes the same bytes; the
C++ one memoizes less.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from internals.core.device import device
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.formats import layout
from internals.core.size import Size
from internals.core.storage import Storage
from internals.core.tensor_impl import Tensor, TensorImpl, tensor_class
from internals.storage import TypedStorage

from .pickle_keys import is_key
from .storages import StorageTable

# the instructions, each of one byte
PROTO, STOP, MARK = b"\x80\x02", b".", b"("
CONSTANTS = {None: b"N", True: b"\x88", False: b"\x89"}
EMPTY_LIST, EMPTY_DICT, EMPTY_TUPLE = b"]", b"}", b")"
TUPLE, TUPLES = b"t", (b")", b"\x85", b"\x86", b"\x87")
APPEND, APPENDS, SETITEM, SETITEMS = b"a", b"e", b"s", b"u"
REDUCE, NEWOBJ, BUILD, BINPERSID = b"R", b"\x81", b"b", b"Q"
BATCH = 1000  # items that are on the stack before they are appended


class Reduced(NamedTuple):
    """An object of a class that the archive defines: `module.name.__new__()`, then its state."""

    module: str
    name: str
    state: Any


class Global(NamedTuple):
    """A class or function that is an argument of a call."""

    module: str
    name: str


def calling(
    module: str, name: str, args: Callable[[Any], tuple[Any, ...]]
) -> Callable[[Any, Any], None]:
    """A writer that saves an object as the call of `module.name` with `args(object)`."""
    return lambda pickler, obj: pickler.save_reduce(obj, module, name, args(obj))


class Pickler:
    """Writes one pickle. `reduce_object` may return the form of an object whose type is unknown
    here.
    """

    def __init__(
        self,
        storages: StorageTable,
        reduce_object: Callable[[Any], Reduced | None] = lambda obj: None,
    ) -> None:
        self.storages, self.reduce_object = storages, reduce_object
        self.out = bytearray()
        self.memo: dict[Any, int] = {}  # a global's (module, name), or the id of an object
        # Memoized objects are kept alive: the id of a freed object could be used again.
        self.kept: list[Any] = []

    def dump(self, obj: object) -> bytes:
        """The pickle of `obj`. Raises TypeError, with the place, if it contains an object that
        cannot be saved.
        """
        self.out += PROTO
        try:
            self.save(obj)
        except NotSavable as problem:
            raise TypeError(problem.text()) from None
        except RecursionError:
            raise RecursionError("the object is nested too deeply to be saved") from None
        self.out += STOP
        return bytes(self.out)

    def save(self, obj: Any) -> None:
        """Writes instructions that push `obj` on the reader's stack."""
        if not self.recall(id(obj)):
            save = self.writers.get(type(obj))
            if save is not None:
                save(self, obj)
            else:
                self.save_other(obj)

    # The memo

    def memoize(self, obj: object) -> None:
        """Puts the top of the stack, which is `obj`, into the memo."""
        self.kept.append(obj)
        self.remember(id(obj))

    def remember(self, key: int | Sequence[str]) -> None:
        """Puts the top of the stack into the memo under the next number (BINPUT, LONG_BINPUT)."""
        n = self.memo[key] = len(self.memo)
        self.out += b"q%c" % n if n < 256 else b"r" + struct.pack("<I", n)

    def recall(self, key: int | Sequence[str]) -> bool:
        """Pushes the object memoized under `key` (BINGET, LONG_BINGET); False if there is none."""
        n = self.memo.get(key)
        if n is None:
            return False
        self.out += b"h%c" % n if n < 256 else b"j" + struct.pack("<I", n)
        return True

    # Values

    def save_constant(self, obj: bool | None) -> None:
        self.out += CONSTANTS[obj]

    def save_int(self, obj: int) -> None:
        """An int in 1 or 2 bytes without a sign, 4 with a sign, or as many as it needs."""
        if 0 <= obj < 1 << 16:
            self.out += b"K%c" % obj if obj < 256 else b"M" + struct.pack("<H", obj)
        elif -1 << 31 <= obj < 1 << 31:
            self.out += b"J" + struct.pack("<i", obj)
        else:
            # two's complement with room for the sign: -128 takes one byte, 128 two
            data = obj.to_bytes(
                (obj if obj >= 0 else ~obj).bit_length() // 8 + 1, "little", signed=True
            )
            if len(data) > 255:
                raise NotSavable(f"an int of {len(data)} bytes (at most 255 can be saved)")
            self.out += b"\x8a%c" % len(data) + data

    def save_float(self, obj: float) -> None:
        self.out += b"G" + struct.pack(">d", obj)

    def save_str(self, obj: str) -> None:
        data = obj.encode("utf-8", "surrogatepass")
        if len(data) >= 1 << 32:
            raise NotSavable("a str of 4 GiB or more")
        self.out += b"X" + struct.pack("<I", len(data)) + data
        self.memoize(obj)

    # Containers

    def save_tuple(self, obj: tuple[Any, ...]) -> None:
        if len(obj) > 3:
            self.out += MARK
        self.save_each(obj)
        if id(obj) in self.memo:  # one of its items has saved it
            raise NotSavable("a tuple that contains itself")
        self.out += TUPLES[len(obj)] if len(obj) <= 3 else TUPLE
        if obj:
            self.memoize(obj)

    def save_list(self, obj: list[Any]) -> None:
        self.out += EMPTY_LIST
        self.memoize(obj)  # before its items, so that they may refer to it
        if len(obj) == 1:
            self.save_each(obj)
            self.out += APPEND
            return
        for start in range(0, len(obj), BATCH):
            self.out += MARK
            self.save_each(obj[start : start + BATCH], start)
            self.out += APPENDS

    def save_each(self, items: Sequence[Any], start: int = 0) -> None:
        """Pushes the items, which begin at index `start` of their container; an error gets the
        index as its place.
        """
        i = start - 1
        try:
            for item in items:
                i += 1
                self.save(item)
        except NotSavable as problem:
            problem.places.append(f"[{i}]")
            raise

    def save_dict(self, obj: dict[Any, Any]) -> None:
        self.out += EMPTY_DICT
        self.memoize(obj)
        self.save_items(obj)

    def save_items(self, obj: Mapping[Any, Any]) -> None:
        """Adds the keys and values of `obj` to the dict on top of the stack."""
        items = list(obj.items())
        for start in range(0, len(items), BATCH):
            if len(items) > 1:
                self.out += MARK
            for key, value in items[start : start + BATCH]:
                if not is_key(key):
                    raise NotSavable(
                        f"the key {key!r:.200} of a dict: keys are numbers, strings and small "
                        "tuples"
                    )
                self.save(key)
                try:
                    self.save(value)
                except NotSavable as problem:
                    problem.places.append(f"[{key!r}]")
                    raise
            self.out += SETITEMS if len(items) > 1 else SETITEM

    def save_ordered_dict(self, obj: OrderedDict[Any, Any]) -> None:
        self.save_reduce(obj, "collections", "OrderedDict", ())
        self.save_items(obj)
        if vars(obj):  # `_metadata`, an attribute that `state_dict()` sets on its result
            self.save_attributes(obj)
            self.out += BUILD

    def save_attributes(self, obj: Any) -> None:
        try:
            self.save(vars(obj))
        except NotSavable as problem:
            problem.places.append(".__dict__")
            raise

    # What PyTorch adds

    def save_tensor(self, obj: Any) -> None:
        """A tensor as the call of a function with its storage, offset, sizes, strides and
        `requires_grad`.
        """
        function, args = tensor_recipe(obj)
        state = obj.__dict__
        if state:  # attributes that the user has set
            recipe = (Global("torch._utils", function), Global("torch", "Tensor"), args, state)
            self.save_reduce(obj, "torch._tensor", "_rebuild_from_type_v2", recipe)
        else:
            self.save_reduce(obj, "torch._utils", function, args)

    def save_parameter(self, obj: Tensor) -> None:
        """A parameter as the call of a function with its data."""
        data = obj.detach()
        hooks: OrderedDict[str, Any] = OrderedDict()
        args = (data, obj.requires_grad, hooks)
        if obj.__dict__:
            self.save_reduce(
                obj, "torch._utils", "_rebuild_parameter_with_state", (*args, obj.__dict__)
            )
        else:
            self.save_reduce(obj, "torch._utils", "_rebuild_parameter", args)

    def save_persistent_id(self, storage: Storage, kind: dtype | None) -> None:
        """The persistent id of a storage: its size is in elements of dtype `kind`, or in bytes for
        None.
        """
        key = self.storages.key_of(storage, kind)
        if kind is None:
            name, size = Global("torch.storage", "UntypedStorage"), storage.nbytes()
        else:
            name, size = (
                Global("torch", f"{SCALAR_TYPE_NAME[kind]}Storage"),
                storage.nbytes() // kind.itemsize,
            )
        self.save_tuple(("storage", name, key, str(storage.device), size))
        self.out += BINPERSID

    def save_global(self, module: str, name: str) -> None:
        """Pushes a class or function by its name."""
        if not self.recall((module, name)):
            self.out += f"c{module}\n{name}\n".encode()
            self.remember((module, name))

    def save_reduce(self, obj: object, module: str, name: str, args: tuple[Any, ...]) -> None:
        """`obj` as the call of a function that returns it."""
        self.save_global(module, name)
        self.save_tuple(args)
        self.out += REDUCE
        self.memoize(obj)

    def save_reduced(self, obj: Any, reduced: Reduced) -> None:
        self.save_global(reduced.module, reduced.name)
        self.out += EMPTY_TUPLE + NEWOBJ
        self.memoize(obj)
        self.save(reduced.state)
        self.out += BUILD

    def save_other(self, obj: Tensor) -> None:
        """An object whose type is not in `writers`: one that `reduce_object` knows, a tensor or a
        parameter. Raises NotSavable for others.
        """
        reduced = self.reduce_object(obj)
        if reduced is not None:
            self.save_reduced(obj, reduced)
        elif type(obj) is tensor_class():
            self.save_tensor(obj)
        elif isinstance(obj, TensorImpl) and is_parameter(obj):
            self.save_parameter(obj)
        else:
            raise NotSavable(what_it_is(obj))

    writers: dict[type, Callable[[Any, Any], None]] = {
        type(None): save_constant,
        bool: save_constant,
        int: save_int,
        float: save_float,
        complex: calling("__builtin__", "complex", lambda obj: (obj.real, obj.imag)),
        str: save_str,
        # Protocol 2 is older than bytes: they become a str with the same codes.
        bytes: calling("_codecs", "encode", lambda obj: (obj.decode("latin1"), "latin1")),
        bytearray: calling("__builtin__", "bytearray", lambda obj: (bytes(obj),) if obj else ()),
        tuple: save_tuple,
        list: save_list,
        dict: save_dict,
        OrderedDict: save_ordered_dict,
        Counter: calling("collections", "Counter", lambda obj: (dict(obj),)),
        # of hashable items, so never of itself
        set: calling("__builtin__", "set", lambda obj: (list(obj),)),
        Size: calling("torch", "Size", lambda obj: (tuple(obj),)),
        dtype: lambda self, obj: self.save_global("torch", obj.name),
        device: calling(
            "torch",
            "device",
            lambda obj: (obj.type,) if obj.index is None else (obj.type, obj.index),
        ),
        layout: calling("torch.serialization", "_get_layout", lambda obj: (f"torch.{obj.name}",)),
        Storage: lambda self, obj: self.save_persistent_id(obj, None),
        TypedStorage: lambda self, obj: self.save_persistent_id(obj.untyped(), obj.dtype),
        Global: lambda self, name: self.save_global(*name),
    }


class NotSavable(Exception):
    """An object cannot be saved. On its way out of nested containers, `places` gets the index or
    key in each.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.places: list[str] = []

    def text(self) -> str:
        where = "".join(reversed(self.places))
        return f"cannot save {self.what}" + f" (it is at {where} of the object)" * bool(where)


def tensor_recipe(t: Tensor) -> tuple[str, tuple[Any, ...]]:
    """The name of the function in `torch._utils` that creates such a tensor, and its arguments."""
    # New tuples: tensors may share theirs, and the memo would then refer to the first one.
    sizes, strides = tuple(t.shape), (*t.stride(),)
    if t.device.type == "meta":
        return "_rebuild_meta_tensor_no_storage", (t.dtype, sizes, strides, t.requires_grad)
    storage = TypedStorage(t.untyped_storage(), t.dtype)
    return "_rebuild_tensor_v2", (
        storage,
        t.storage_offset(),
        sizes,
        strides,
        t.requires_grad,
        OrderedDict(),
    )


def is_parameter(t: Tensor) -> bool:
    from internals.nn.parameter import Parameter

    return type(t) is Parameter


def what_it_is(obj: object) -> str:
    """The name of a type that cannot be saved, and a hint about what to save instead."""
    kind = type(obj)
    name = f"an object of type {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")
    if hasattr(obj, "save_to_buffer"):
        return f"{name}: it has a save(f) of its own"
    if hasattr(obj, "state_dict") and hasattr(obj, "load_state_dict"):
        if hasattr(obj, "forward"):
            return (
                f"{name}: save its state_dict(), or, code and all, "
                "internals.jit.script(module).save(f)"
            )
        return f"{name}: save its state_dict()"
    if isinstance(obj, TensorImpl):
        return (
            f"{name}: only Tensor and Parameter themselves can be saved, convert it with "
            "internals.Tensor(t)"
        )
    if hasattr(obj, "item") and hasattr(obj, "dtype"):
        return f"{name}: save internals.from_numpy(array), or the number that its item() is"
    if isinstance(obj, (tuple, list, dict, set, frozenset, str, int, float)):
        base = next(
            b.__name__
            for b in (tuple, list, dict, set, frozenset, str, int, float)
            if isinstance(obj, b)
        )
        plain = {"frozenset": "set"}.get(base, base)
        return (
            f"{name}: only the built-in {plain} itself can be saved, convert it with {plain}(...)"
        )
    return (
        f"{name}: a file holds tensors, numbers, strings, bytes, None, and lists, tuples, dicts "
        "and sets of them"
    )
