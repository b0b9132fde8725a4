"""Functions with a special meaning in scripts: `is_scripting`, `annotate`, `isinstance`
(`torch/_jit_internal.py`, `torch/jit/_script.py`).

In Python, `annotate(T, value)` is just `value`; in a compiled script it also sets the type of the
value, which an empty list needs. `isinstance(x, List[int])` looks at the elements in Python; the
compiler knows their type. They are here, and not with the compiler, because `nn.functional` uses
them and is imported without it.

How the real one differs: its `isinstance` warns about empty containers; `Attribute` is needed for
`ScriptModule` subclasses only.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from internals.core.tensor_impl import Tensor

T = TypeVar("T")
# a list of one, two or three T; a single T stands for a list with that element only
BroadcastingList1: TypeAlias = T | Sequence[T]
BroadcastingList2: TypeAlias = T | Sequence[T]
BroadcastingList3: TypeAlias = T | Sequence[T]


class Attribute(NamedTuple):
    """A value with its TorchScript type, for an attribute of a `ScriptModule`:
    `self.names = jit.Attribute([], List[str])`.
    """

    value: Any
    type: Any


def is_scripting() -> bool:
    """False in Python, True in compiled code: the compiler skips what is below
    `if not torch.jit.is_scripting():`, so it may be code that TorchScript does not have.
    """
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`, which for the compiler has the type `the_type`: `annotate(List[int], [])`."""
    return the_value


def unwrap_optional(x: Tensor | None) -> Any:
    """`x`, for the compiler no longer Optional. Raises AssertionError if it is None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def isinstance_(obj: Any, target_type: Any) -> bool:
    """`isinstance` that also takes `List[int]`, `Dict[str, Tensor]`, `Tuple[int, int]` and
    `Optional[T]`, whose elements it looks at, and tuples of types. `isinstance_([1], List[int])` is
    True, `isinstance_(["a"], List[int])` False.
    """
    if isinstance(target_type, tuple) and not hasattr(target_type, "_fields"):
        return any(isinstance_(obj, t) for t in target_type)
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return obj is None if target_type is None else isinstance(obj, target_type)
    if origin is list:
        return isinstance(obj, list) and all(isinstance_(x, args[0]) for x in obj)
    if origin is dict:
        return isinstance(obj, dict) and all(
            isinstance_(k, args[0]) and isinstance_(v, args[1]) for k, v in obj.items()
        )
    if origin is tuple:
        return isinstance(obj, tuple) and len(obj) == len(args) and all(map(isinstance_, obj, args))
    return any(isinstance_(obj, a) for a in args)  # Optional and Union


class BooleanDispatch(NamedTuple):
    """Two functions behind one name, and the flag that selects one of them: its name, its place
    among the arguments and its default. In a script the flag must be a constant.
    """

    arg_name: str
    place: int
    default: bool
    if_true: Callable[..., Any]
    if_false: Callable[..., Any]


dispatches: dict[Callable[..., Any], BooleanDispatch] = {}


def boolean_dispatch(name: str, choice: BooleanDispatch) -> Callable[..., Any]:
    """A function of that name which calls one of the two. Since the compiler knows the flag, it
    knows the type of the result, which differs between them:

        choice = BooleanDispatch("return_indices", 6, False, max_pool1d_with_indices, _max_pool1d)
        max_pool1d = boolean_dispatch("max_pool1d", choice)

        max_pool1d(x, 2)                         calls _max_pool1d: a Tensor
        max_pool1d(x, 2, return_indices=True)    calls max_pool1d_with_indices: two Tensors
    """

    @functools.wraps(choice.if_true)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = (
            args[choice.place]
            if choice.place < len(args)
            else kwargs.get(choice.arg_name, choice.default)
        )
        return choice.if_true(*args, **kwargs) if given else choice.if_false(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = choice.if_false.__doc__
    dispatches[function] = choice
    return function


overloads: dict[Callable[..., Any], tuple[str, ...]] = {}


def overload(*signatures: str) -> Callable[[T], T]:
    """A decorator for a function whose arguments may have several types: a call in a script is
    compiled for the first of these signatures that fits.

        @overload(
            "(Tensor, int) -> Tensor",
            "(Tensor, List[int]) -> Tensor",
        )
        def roll(x, shifts): ...

    `roll(x, [1])` in a script is compiled with `shifts` as a `List[int]`. Python ignores it.
    """

    def mark(function: Any) -> Any:
        overloads[function] = signatures
        return function

    return mark
