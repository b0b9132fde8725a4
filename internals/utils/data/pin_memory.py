"""A batch in page-locked memory (`torch/utils/data/_utils/pin_memory.py`).

A GPU can read page-locked memory while the program continues: such a copy is asynchronous.

How the real one differs: it runs in its own thread, which moves batches from one queue to another.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any


def pin_memory(data: object) -> Any:
    """`data` with every tensor in it pinned, and every object that has a method `pin_memory`.

    Containers are copied: mappings, sequences and named tuples keep their type if it can be copied.
    Other objects stay as they are.
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _mapping(data)
    if isinstance(data, tuple):
        items = [pin_memory(item) for item in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items)
    if isinstance(data, Sequence):
        return _sequence(data)
    return data


def _mapping(data: Mapping[Any, Any]) -> Any:
    """A mapping of the same type with pinned values; a dict if that fails."""
    pinned = {key: pin_memory(value) for key, value in data.items()}
    try:
        if not isinstance(data, MutableMapping):
            return type(data)(pinned)  # type: ignore[call-arg]
        clone = copy.copy(data)  # a copy has attributes besides the items, too
        clone.update(pinned)
        return clone
    except TypeError:  # the type has another constructor, or cannot be copied
        return pinned


def _sequence(data: Sequence[Any]) -> Any:
    """A sequence of the same type with pinned elements; a list if that fails."""
    pinned = [pin_memory(item) for item in data]
    try:
        if not isinstance(data, MutableSequence):
            return type(data)(pinned)  # type: ignore[call-arg]
        clone = copy.copy(data)
        for i, item in enumerate(pinned):
            clone[i] = item
        return clone
    except TypeError:  # a range, for example
        return pinned
