"""Writes the attributes of a module, and constants, as a pickle with types
(`torch/csrc/jit/serialization/pickler.cpp`).

A TorchScript list knows the type of its elements even if it is empty, a Python list does not. So
lists and dicts are pickled with their type: `build_intlist([1, 2])`, `restore_type_tag({"a": 1.5},
"Dict[str, float]")`. The type is that of the attribute in the class; for a constant, it is found
from the value.

    __torch__.Net.__new__(), then its attributes, in the order of the class
      "w"    _rebuild_tensor_v2(storage "0", 0, (3, 3), (3, 1), True, OrderedDict())
      "sub"  __torch__.Sub.__new__(), ...

Tensors, modules, strings, devices and storages are memoized: a tensor that two modules share is one
tensor again when it is loaded. Lists and dicts are memoized only if they occur twice.

How the real one differs: it memoizes every list and dict that has more than one reference.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

from internals.core.device import device
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor, TensorImpl
from internals.jit.ir import (
    BoolType,
    ClassType,
    DictType,
    FloatType,
    IntType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
    type_of,
)
from internals.jit.script_module import ScriptModule, get_attribute
from internals.jit.script_object import ScriptObject

from ..pickles.pickler import (
    APPENDS,
    BINPERSID,
    BUILD,
    EMPTY_DICT,
    EMPTY_LIST,
    EMPTY_TUPLE,
    MARK,
    NEWOBJ,
    PROTO,
    REDUCE,
    SETITEMS,
    STOP,
    TUPLE,
    TUPLES,
    Pickler,
)
from ..pickles.storages import StorageTable
from .type_names import TypeNames

# type of the elements -> function of `torch.jit._pickle`; other lists get a type tag
LIST_BUILDERS: dict[type[Type], str] = {
    IntType: "build_intlist",
    FloatType: "build_doublelist",
    BoolType: "build_boollist",
    TensorType: "build_tensorlist",
}


class ScriptPickler(Pickler):
    """Writes one pickle. `classes` are the types of its modules and objects, in the order in which
    they occur.
    """

    def __init__(self, storages: StorageTable, names: TypeNames) -> None:
        super().__init__(storages)
        self.names = names
        self.classes: dict[ClassType, None] = {}
        self.repeated: set[int] = set()

    def dump_typed(self, value: object, type: Type) -> bytes:
        """The pickle of a value of a type. Raises TypeError if no archive can hold the value."""
        self.repeated = {id(value)} | _repeated_containers(value)
        self.out += PROTO
        self.save_typed(value, type)
        self.out += STOP
        return bytes(self.out)

    def save_typed(self, value: object, type: Type) -> None:
        """Writes a value, which has this type in TorchScript."""
        if isinstance(type, OptionalType):
            type = type.element
        if isinstance(value, (list, tuple, dict)):
            self.save_container(value, type)
        elif isinstance(value, TensorImpl):
            self.once(id(value), lambda: self.save_tensor(value))
        elif isinstance(value, (ScriptModule, ScriptObject)):
            self.once(id(value), lambda: self.save_object(value))
        elif isinstance(value, str):
            self.save_str(value)
        elif isinstance(value, device):
            self.save_device(value)
        elif value is None or isinstance(value, (bool, int, float, complex)):
            self.writers[value.__class__](self, value)
        else:
            raise TypeError(
                f"a {value.__class__.__name__} cannot be saved in an archive of TorchScript"
            )

    def once(self, key: int, save: Callable[[], None]) -> None:
        """Writes an object with `save` and memoizes it; the second time it comes from the memo."""
        if not self.recall(key):
            save()
            self.remember(key)

    # Containers

    def save_container(self, value: object, type: Type) -> None:
        """Writes a list, tuple or dict."""
        if not isinstance(type, (ListType, TupleType, DictType)):
            type = type_of(value)
        if isinstance(value, tuple):
            self.save_tuple_of(value, type)
            return
        save: Callable[[Any, Any], None] = (
            self.save_list_of if isinstance(value, list) else self.save_dict_of
        )
        if id(value) in self.repeated:
            self.once(id(value), lambda: save(value, type))
        else:
            save(value, type)

    def save_list_of(self, value: list[Any], type: ListType) -> None:
        # build_intlist([1, 2]) is  GLOBAL MARK EMPTY_LIST MARK 1 2 APPENDS TUPLE REDUCE,
        # with a type tag          GLOBAL EMPTY_LIST MARK 1 2 APPENDS "List[...]" TUPLE2 REDUCE.
        builder = LIST_BUILDERS.get(type.element.__class__)
        if builder is None:
            self.save_global("torch.jit._pickle", "restore_type_tag")
        else:
            self.save_global("torch.jit._pickle", builder)
            self.out += MARK
        self.out += EMPTY_LIST + MARK
        for item in value:
            self.save_typed(item, type.element)
        self.out += APPENDS
        if builder is None:
            self.save_type_tag(type)
        else:
            self.out += TUPLE + REDUCE

    def save_dict_of(self, value: dict[Any, Any], type: DictType) -> None:
        self.save_global("torch.jit._pickle", "restore_type_tag")
        self.out += EMPTY_DICT + MARK
        for key, item in value.items():
            self.save_typed(key, type.key)
            self.save_typed(item, type.value)
        self.out += SETITEMS
        self.save_type_tag(type)

    def save_type_tag(self, type: Type) -> None:
        """Ends a call of `restore_type_tag(value, "type")`, of which the value is on the stack."""
        self.save_str(self.names.spell(type))
        self.out += TUPLES[2] + REDUCE

    def save_tuple_of(self, value: tuple[Any, ...], type: Any) -> None:
        if len(value) > 3:
            self.out += MARK
        for item, element in zip(value, type.elements):
            self.save_typed(item, element)
        self.out += TUPLES[len(value)] if len(value) <= 3 else TUPLE

    # Values

    def save_object(self, obj: Any) -> None:
        """Writes a module or object: its class by name, then its attributes, or the result of its
        `__getstate__`.
        """
        type = obj._jit_type
        self.classes[type] = None
        self.kept.append(obj)
        prefix, _, name = self.names.of(type).rpartition(".")
        self.save_global(prefix, name)
        self.out += EMPTY_TUPLE + NEWOBJ
        getstate = type.findMethod("__getstate__")
        if getstate is not None and type.findMethod("__setstate__") is not None:
            self.save_typed(getstate(obj), getstate.schema.returns[0].type)
        else:
            self.out += EMPTY_DICT + MARK
            for attribute, (attribute_type, _) in type.attributes.items():
                self.save_str(attribute)
                self.save_typed(get_attribute(obj, attribute), attribute_type)
            self.out += SETITEMS
        self.out += BUILD

    def save_tensor(self, obj: Any) -> None:
        """Writes `_rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad,
        OrderedDict())`.
        """
        self.kept.append(obj)
        self.save_global("torch._utils", "_rebuild_tensor_v2")
        self.out += MARK
        self.save_storage_of(obj)
        self.save_int(obj.storage_offset())
        for numbers in (obj.size(), obj.stride()):
            self.out += MARK
            for n in numbers:
                self.save_int(n)
            self.out += TUPLE
        self.save_constant(obj.requires_grad)
        self.save_global("collections", "OrderedDict")
        self.out += EMPTY_TUPLE + REDUCE + TUPLE + REDUCE

    def save_storage_of(self, tensor: Tensor) -> None:
        """Writes ("storage", class, key, location, number of elements) as a persistent id."""
        storage = tensor.untyped_storage()
        key = self.storages.key_of(storage, tensor.dtype)
        if self.recall(("storage", key)):
            return
        self.out += MARK
        self.save_str("storage")
        self.save_global("torch", f"{SCALAR_TYPE_NAME[tensor.dtype]}Storage")
        self.save_str(key)
        self.save_str(str(tensor.device))
        self.save_int(storage.nbytes() // tensor.element_size())
        self.out += TUPLE + BINPERSID
        self.remember(("storage", key))

    def save_int(self, obj: int) -> None:
        """An int as Python writes it, except for those that need more than four bytes: they always
        get eight (LONG1).
        """
        if -1 << 31 <= obj < 1 << 31:
            super().save_int(obj)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", obj)

    def save_str(self, obj: str) -> None:
        """A string, memoized by its value: equal strings are written once."""
        if not self.recall(("str", obj)):
            data = obj.encode()
            self.out += b"X" + struct.pack("<I", len(data)) + data
            self.remember(("str", obj))

    def save_complex(self, obj: complex) -> None:
        self.save_global("builtins", "complex")
        self.save_float(obj.real)
        self.save_float(obj.imag)
        self.out += TUPLES[2] + REDUCE

    def save_device(self, obj: device) -> None:
        if not self.recall(("device", str(obj))):
            self.save_global("torch", "device")
            self.save_str(str(obj))
            self.out += TUPLES[1] + REDUCE
            self.remember(("device", str(obj)))

    writers = {
        **Pickler.writers, int: save_int, complex: save_complex, str: save_str, device: save_device,
    }  # fmt: skip


def _attributes(obj: Any) -> list[Any]:
    return [get_attribute(obj, name) for name in obj._jit_type.attributes]


def _repeated_containers(value: object) -> set[int]:
    """The ids of the lists, dicts and objects that occur more than once in `value`, at any depth.
    Each is searched once.
    """
    seen: Counter[int] = Counter()
    todo: list[Any] = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, (list, dict, ScriptModule, ScriptObject)):
            seen[id(each)] += 1
            if seen[id(each)] > 1:
                continue
        if isinstance(each, dict):
            todo += each.values()
        elif isinstance(each, (list, tuple)):
            todo += each
        elif isinstance(each, (ScriptModule, ScriptObject)):
            todo += _attributes(each)
    return {key for key, n in seen.items() if n > 1}
