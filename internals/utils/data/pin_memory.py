"""A batch in page-locked memory (`torch/utils/data/_utils/pin_memory.py`).

How the real one differs: it runs in a thread of its own, which takes batches out of one queue and
puts them into another.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any


def pin_memory(data: object) -> Any:
    """`data` with every tensor in it pinned; what has a method `pin_memory` is asked for it, other
    objects stay as they are.

    Containers are copied: mappings, sequences and named tuples keep their type if it can be copied.
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
    pinned = {key: pin_memory(value) for key, value in data.items()}
    try:
        if not isinstance(data, MutableMapping):
            return type(data)(pinned)  # type: ignore[call-arg]
        clone = copy.copy(data)  # it may have more than its items
        clone.update(pinned)
        return clone
    except TypeError:  # it cannot be made from a mapping, or not be copied
        return pinned


def _sequence(data: Sequence[Any]) -> Any:
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
