"""Names that mean one thing to Python and another to the compiler (`torch/_jit_internal.py`,
`torch/jit/_script.py`).

Run by Python, `annotate(T, value)` is `value`; compiled, it also says what type the value has,
which is how an empty list gets one. `isinstance(x, List[int])` asks in Python for the types of the
elements, as the compiler knows them. They are here, and not with the compiler, because
`nn.functional` uses them and is imported without it.

How the real one differs: its `isinstance` warns about empty containers; `Attribute` is needed for
`ScriptModule` subclasses only.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from internals._tensor import Tensor

T = TypeVar("T")
BroadcastingList1: TypeAlias = T | Sequence[T]  # one T may stand for one, two, three of them
BroadcastingList2: TypeAlias = T | Sequence[T]
BroadcastingList3: TypeAlias = T | Sequence[T]


class Attribute(NamedTuple):
    """A value with its TorchScript type, for an attribute of a `ScriptModule`."""

    value: Any
    type: Any


def is_scripting() -> bool:
    """False in Python, True in compiled code: `if not torch.jit.is_scripting():` hides what
    TorchScript does not have.
    """
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`, which the compiler takes to be of `the_type`: `annotate(List[int], [])`."""
    return the_value


def unwrap_optional(x: Tensor | None) -> Any:
    """`x`, which the compiler takes to be no None from here on. Raises AssertionError if it is
    None.
    """
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def isinstance_(obj: Any, target_type: Any) -> bool:
    """`isinstance` that knows `List[int]`, `Dict[str, Tensor]`, `Tuple[int, int]`, `Optional[T]`
    and tuples of types.
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
    """Two functions behind one name, of which a flag chooses that must be constant in a script."""

    arg_name: str
    place: int
    default: bool
    if_true: Callable[..., Any]
    if_false: Callable[..., Any]


dispatches: dict[Callable[..., Any], BooleanDispatch] = {}


def boolean_dispatch(name: str, choice: BooleanDispatch) -> Callable[..., Any]:
    """A function of that name which calls one or the other: their results are of different
    types.
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
    """For a function whose arguments may be of several types: a script's call takes the first that
    fits.
    """

    def mark(function: Any) -> Any:
        overloads[function] = signatures
        return function

    return mark
