"""Names that mean one thing to Python and another to the compiler (`torch/jit/__init__.py`, `torch/jit/_script.py`).

Run by Python, `annotate(T, value)` is `value`; compiled, it also says what type the value has, which is how an empty list gets
one. `isinstance(x, List[int])` asks in Python for the types of the elements, as the compiler knows them.

How the real one differs: its `isinstance` warns about empty containers; `Attribute` is needed for `ScriptModule` subclasses only.
"""

from __future__ import annotations

import typing
from typing import Any, NamedTuple


class Attribute(NamedTuple):
    """A value with its TorchScript type, for an attribute of a `ScriptModule`."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`, which the compiler takes to be of `the_type`: `annotate(List[int], [])`."""
    return the_value


def unwrap_optional(x: Any) -> Any:
    """`x`, which the compiler takes to be no None from here on. Raises AssertionError if it is None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def isinstance_(obj: Any, target_type: Any) -> bool:
    """`isinstance` that knows `List[int]`, `Dict[str, Tensor]`, `Tuple[int, int]`, `Optional[T]` and tuples of types."""
    if isinstance(target_type, tuple) and not hasattr(target_type, "_fields"):
        return any(isinstance_(obj, t) for t in target_type)
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return obj is None if target_type is None else isinstance(obj, target_type)
    if origin is list:
        return isinstance(obj, list) and all(isinstance_(x, args[0]) for x in obj)
    if origin is dict:
        return isinstance(obj, dict) and all(isinstance_(k, args[0]) and isinstance_(v, args[1]) for k, v in obj.items())
    if origin is tuple:
        return isinstance(obj, tuple) and len(obj) == len(args) and all(map(isinstance_, obj, args))
    return any(isinstance_(obj, a) for a in args)  # Optional and Union
