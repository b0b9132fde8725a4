"""The operators of dicts (`torch/csrc/jit/runtime/register_prim_ops.cpp`, `CREATE_DICT_OPS`).

Keys are strings, ints, bools, floats, complex numbers or tensors, and each operator has an overload
for each of these types; values may be anything. Tensors as keys are compared by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from internals.core.tensor_impl import Tensor

from .registry import register_operators
from .value_text import value_text

KEYS = ("str", "int", "bool", "float", "complex", "Tensor")
Dict = dict[Any, Any]


def for_each_key(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Register each of these schemas once for every type of key, which replaces its letter K."""
    for schema, fn in functions.items():
        register_operators({schema.replace("K", key): fn for key in KEYS})


def getitem(self: Dict, key: float | str) -> Any:
    """`self[key]`. Raises RuntimeError for a key that is not there."""
    if key not in self:
        raise RuntimeError(f"KeyError: {value_text(key)}")
    return self[key]


def delete(self: Dict, key: int | Tensor) -> None:
    """`del self[key]`. Raises RuntimeError for a key that is not there."""
    if key not in self:
        raise RuntimeError(f"KeyError: {value_text(key)}")
    del self[key]


def pop(self: Dict, key: int | Tensor) -> Any:
    """Removes `key` and returns its value. Raises RuntimeError for a key that is not there."""
    if key not in self:
        raise RuntimeError(f"KeyError: {value_text(key)}")
    return self.pop(key)


def popitem(self: Dict) -> tuple[Any, Any]:
    """Removes and returns the oldest item, where Python's takes the newest. Raises RuntimeError if
    the dict is empty.
    """
    if not self:
        raise RuntimeError("popitem(): dictionary is empty")
    key = next(iter(self))
    return key, self.pop(key)


def set_item(l: Dict, idx: str, v: int) -> None:  # noqa: E741
    l[idx] = v


def dict_of(inputs: list[tuple[Any, Any]] | Dict) -> Dict:
    return dict(inputs)


# Overloads are tried in the order in which they are registered. PyTorch registers some operators
# key type by key type, so those are loops of their own.
for_each_key(
    {
        "aten::len.Dict_K(Dict(K, t) self) -> int": len,
        "aten::keys.K(Dict(K, t) self) -> K[](*)": list,
        "aten::values.K(Dict(K, t) self) -> t[](*)": lambda self: list(self.values()),
        "aten::items.K(Dict(K, t) self) -> ((K, t)[])": lambda self: list(self.items()),
        "aten::__getitem__.Dict_K(Dict(K, t) self, K key) -> t(*)": getitem,
    }
)
for key in KEYS:
    register_operators(
        {
            f"aten::get.{key}(Dict({key}, t) self, {key} key) -> t(*)?": dict.get,
            f"aten::get.default_{key}(Dict({key}, t) self, {key} key, t default_value) "
            "-> t(*)": dict.get,
        }
    )
for_each_key(
    {
        "aten::setdefault.K(Dict(K, t)(a!) self, K(b -> *) key, t(c -> *) "
        "default_value) -> t(*)": dict.setdefault,
        "aten::Delete.Dict_K(Dict(K, t)(a!) self, K key) -> ()": delete,
    }
)
for key in KEYS:
    register_operators(
        {
            f"aten::pop.Dict_{key}(Dict({key}, t)(a!) self, {key} key) -> t(*)": pop,
            f"aten::pop.Dict_default_{key}(Dict({key}, t)(a!) self, {key} key, t "
            "default_value) -> t(*)": dict.pop,
        }
    )
for_each_key(
    {
        "aten::popitem.K(Dict(K, t)(a!) self) -> ((K, t))": popitem,
        "aten::clear.K(Dict(K, t)(a!) self) -> ()": dict.clear,
        "aten::update.K(Dict(K, t)(a!) self, Dict(K, t)(a!) to_add) -> ()": dict.update,
        "aten::copy.Dict_K(Dict(K, t)(a) self) -> Dict(K, t)": dict_of,
        "aten::__contains__.K(Dict(K, t) dict, K key) -> bool": lambda dict, key: key in dict,
        "aten::_set_item.K(Dict(K, t)(a!) l, K(b -> *) idx, t(c -> *) v) -> ()": set_item,
    }
)
register_operators({"aten::dict() -> Dict(str, Tensor)": dict})
for key in KEYS:
    register_operators(
        {
            f"aten::dict.{key}(({key}, tVal)[] inputs) -> Dict({key}, tVal)": dict_of,
            f"aten::dict.Dict_{key}(Dict({key}, t)(a) self) -> Dict({key}, t)": dict_of,
        }
    )
