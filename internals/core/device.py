"""`device`: where the memory of a tensor is (`c10/core/Device.h`).

`device("cuda:1")` has a type and an optional index. Devices are interned: equal ones are the same
object, so the hot path may compare them with `is`.

How the real one differs: it has some twenty device types; here there are those with a backend in
this package, and `meta`, whose tensors have a shape but no memory.
"""

from __future__ import annotations

from typing import Any, TypeAlias, Union

from .backend_hooks import hooks

TYPES = ("cpu", "cuda", "meta")


class device:
    """`device("cpu")`, `device("cuda", 0)`, `device("cuda:0")`. Raises RuntimeError for an unknown
    type or a bad index.
    """

    __slots__ = ("type", "index")
    type: str
    index: int | None
    _interned: dict[tuple[str, int | None], device] = {}

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if name not in TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(TYPES)} device type at start of device string: {name}"
            )
        if colon:
            if index is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was passed explicitly: "
                    f"{type}"
                )
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        # `object.__setattr__`, since our own refuses; `setdefault`, since two threads may come here
        found = cls._interned.get((name, index))
        if found is None:
            found = object.__new__(cls)
            object.__setattr__(found, "type", name)
            object.__setattr__(found, "index", index)
            found = cls._interned.setdefault((name, index), found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'device' objects is not writable")

    def __repr__(self) -> str:
        text = (
            f"device(type='{self.type}'"
            + ("" if self.index is None else f", index={self.index}")
            + ")"
        )
        return f"{text}  # simulated" if is_simulated(self) else text

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)


DeviceLike: TypeAlias = Union[device, str, int]  # noqa: UP007
"""What says which device is meant: itself, its name, or the index of an accelerator."""

CPU = device("cpu")
META = device("meta")


def is_simulated(where: device) -> bool:
    """Whether `where` is a GPU that is simulated by a program."""
    return where.type == "cuda" and hooks("cuda").simulated


def resolve(value: device | str | int | None) -> device:
    """The device of a new tensor for a `device=` argument: the CPU for None, the current GPU, with
    its index, for "cuda".

    Raises AssertionError when there is no CUDA, RuntimeError for a GPU that does not exist.
    """
    where = CPU if value is None else value if isinstance(value, device) else device(value)
    if where is CPU or where.type != "cuda":
        return where
    return hooks("cuda").resolve(where.index)
