"""Dicts (`torch/csrc/jit/runtime/register_prim_ops.cpp`, `CREATE_DICT_OPS`).

Keys are strings, ints, bools, floats, complex numbers or tensors, and each operator exists once for each; values may be anything.
Tensors as keys are told apart by identity.

How the real one differs: the same, with a hash map that keeps insertion order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .registry import register_operator
from .value_text import value_text

KEYS = ("str", "int", "bool", "float", "complex", "Tensor")
Dict = dict[Any, Any]


def for_each_key(schema: str, fn: Callable[..., Any]) -> None:
    """Register `schema` for every type of key, which it spells K."""
    for key in KEYS:
        register_operator(schema.replace("K", key), fn)


def getitem(self: Dict, key: Any) -> Any:
    """Raises RuntimeError for a key that is not there."""
    if key not in self:
        raise RuntimeError(f"KeyError: {value_text(key)}")
    return self[key]


def delete(self: Dict, key: Any) -> None:
    """Raises RuntimeError for a key that is not there."""
    if key not in self:
        raise RuntimeError(f"KeyError: {value_text(key)}")
    del self[key]


def pop(self: Dict, key: Any) -> Any:
    """Raises RuntimeError for a key that is not there."""
    if key not in self:
        raise RuntimeError(f"KeyError: {value_text(key)}")
    return self.pop(key)


def popitem(self: Dict) -> tuple[Any, Any]:
    """The item that was put in first, unlike Python's. Raises RuntimeError when there is none."""
    if not self:
        raise RuntimeError("popitem(): dictionary is empty")
    key = next(iter(self))
    return key, self.pop(key)


def set_item(l: Dict, idx: Any, v: Any) -> None:  # noqa: E741
    l[idx] = v


def dict_of(inputs: list[tuple[Any, Any]] | Dict) -> Dict:
    return dict(inputs)


for_each_key("aten::len.Dict_K(Dict(K, t) self) -> int", len)
for_each_key("aten::keys.K(Dict(K, t) self) -> K[](*)", list)
for_each_key("aten::values.K(Dict(K, t) self) -> t[](*)", lambda self: list(self.values()))
for_each_key("aten::items.K(Dict(K, t) self) -> ((K, t)[])", lambda self: list(self.items()))
for_each_key("aten::__getitem__.Dict_K(Dict(K, t) self, K key) -> t(*)", getitem)
for key in KEYS:
    register_operator(f"aten::get.{key}(Dict({key}, t) self, {key} key) -> t(*)?", dict.get)
    register_operator(f"aten::get.default_{key}(Dict({key}, t) self, {key} key, t default_value) -> t(*)", dict.get)
for_each_key("aten::setdefault.K(Dict(K, t)(a!) self, K(b -> *) key, t(c -> *) default_value) -> t(*)", dict.setdefault)
for_each_key("aten::Delete.Dict_K(Dict(K, t)(a!) self, K key) -> ()", delete)
for key in KEYS:
    register_operator(f"aten::pop.Dict_{key}(Dict({key}, t)(a!) self, {key} key) -> t(*)", pop)
    register_operator(
        f"aten::pop.Dict_default_{key}(Dict({key}, t)(a!) self, {key} key, t default_value) -> t(*)", dict.pop
    )
for_each_key("aten::popitem.K(Dict(K, t)(a!) self) -> ((K, t))", popitem)
for_each_key("aten::clear.K(Dict(K, t)(a!) self) -> ()", dict.clear)
for_each_key("aten::update.K(Dict(K, t)(a!) self, Dict(K, t)(a!) to_add) -> ()", dict.update)
for_each_key("aten::copy.Dict_K(Dict(K, t)(a) self) -> Dict(K, t)", dict_of)
for_each_key("aten::__contains__.K(Dict(K, t) dict, K key) -> bool", lambda dict, key: key in dict)
for_each_key("aten::_set_item.K(Dict(K, t)(a!) l, K(b -> *) idx, t(c -> *) v) -> ()", set_item)
register_operator("aten::dict() -> Dict(str, Tensor)", dict)
for key in KEYS:
    register_operator(f"aten::dict.{key}(({key}, tVal)[] inputs) -> Dict({key}, tVal)", dict_of)
    register_operator(f"aten::dict.Dict_{key}(Dict({key}, t)(a) self) -> Dict({key}, t)", dict_of)
