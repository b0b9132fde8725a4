"""What PyTorch answered, as data that can be kept: tensors as numbers and geometry, errors as their
type's name and words.
"""

from __future__ import annotations

import builtins
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

Plain = Any

# How far apart two answers of real PyTorch to one question may be, on two processors: of the
# largest number in it.
NOISE = {"f2": 2e-2, "f4": 1e-3, "c8": 1e-3, "f8": 1e-6, "c16": 1e-6}


@dataclass(eq=False)
class RealTensor:
    """A tensor of real PyTorch: its numbers in logical order, and where it had them.

    `storage` numbers the storages of one answer by first appearance: two tensors with the same
    number shared memory.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int
    requires_grad: bool
    is_view: bool
    node: str | None
    memory: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return RealTensor, tuple(vars(self).values())

    def numpy(self, force: bool = False) -> np.ndarray:
        return np.frombuffer(self.memory, numpy_type(self.dtype)).reshape(self.shape)

    def detach(self) -> RealTensor:
        return self

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def storage_offset(self) -> int:
        return self.offset

    def numel(self) -> int:
        return math.prod(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def item(self) -> Any:
        return self.numpy().item()

    def __repr__(self) -> str:
        return f"{self.tolist()} of {self.dtype}, strides {self.strides}"


def numpy_type(dtype: str) -> np.dtype[Any]:
    return np.dtype(dtype.removeprefix("torch."))


@dataclass(frozen=True)
class Raised:
    """An exception: the name of its type, of the nearest type that Python has itself, and its
    words.
    """

    type: str
    builtin: str
    words: str

    def __reduce__(self) -> tuple[Any, ...]:
        return Raised, (self.type, self.builtin, self.words)

    @classmethod
    def of(cls, error: Exception) -> Raised:
        builtin = next(t.__name__ for t in type(error).__mro__ if t.__module__ == "builtins")
        words = str(error.args[0] if isinstance(error, KeyError) else error)
        # What follows are its own frames, or objects with their addresses.
        return cls(
            type(error).__name__,
            builtin,
            re.split("\nException raised from |\n\nInvoked with: ", words)[0],
        )

    def error(self) -> Exception:
        base = getattr(builtins, self.builtin)
        return (base if self.type == self.builtin else type(self.type, (base,), {}))(self.words)


def plain(value: Any, storages: dict[int, int] | None = None) -> Plain:
    """The value with all that is PyTorch's own turned into data. Raises TypeError for what is no
    answer: an object, say.
    """
    storages = {} if storages is None else storages
    if value is None or isinstance(
        value, (bool, int, float, complex, str, bytes, RealTensor, Raised)
    ):
        return value
    if isinstance(value, (list, set, frozenset)) or type(value).__name__ == "Size":
        made = [plain(v, storages) for v in value]
        return tuple(made) if isinstance(value, tuple) else type(value)(made)
    if isinstance(value, tuple):
        return tuple(plain(v, storages) for v in value)
    if isinstance(value, dict):
        return {plain(k, storages): plain(v, storages) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        a = np.ascontiguousarray(value)
        return RealTensor(str(a.dtype), np.shape(value), (), 0, -1, False, False, None, a.tobytes())
    if isinstance(value, Exception):
        return Raised.of(value)
    if hasattr(value, "untyped_storage"):
        return real_tensor(value, storages)
    if type(value).__module__ == "torch" and type(value).__name__ in (
        "dtype",
        "device",
        "layout",
        "memory_format",
    ):
        return str(value)
    raise TypeError(
        f"an answer is plain data and tensors, not {type(value)}: let the question give its text, "
        "or its parts"
    )


def real_tensor(t: Any, storages: dict[int, int]) -> RealTensor:
    number = storages.setdefault(t.untyped_storage()._cdata, len(storages))
    a = t.detach().resolve_conj().resolve_neg().numpy(force=True)
    view = t._base is not None
    node = t.grad_fn.name().rpartition("::")[2] if t.grad_fn is not None else None
    memory = np.ascontiguousarray(a).tobytes()
    shape, strides = tuple(t.shape), tuple(t.stride())
    return RealTensor(
        str(t.dtype),
        shape,
        strides,
        t.storage_offset(),
        number,
        t.requires_grad,
        view,
        node,
        memory,
    )


def agree(a: Plain, b: Plain) -> bool:
    """Whether two answers to one question are the same, but for a processor's rounding."""
    if isinstance(a, RealTensor) and isinstance(b, RealTensor):
        geometry = [
            (t.dtype, t.shape, t.strides, t.offset, t.storage, t.requires_grad, t.is_view, t.node)
            for t in (a, b)
        ]
        return geometry[0] == geometry[1] and close(a.numpy(), b.numpy())
    if type(a) is not type(b):
        return False
    if isinstance(a, list) and a and all(type(x) is float for x in (*a, *b)):
        dtype = "f4" if in_float32(a) and in_float32(b) else "f8"
        return len(a) == len(b) and close(np.array(a, dtype), np.array(b, dtype))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(agree, a.values(), b.values()))
    if isinstance(a, (float, complex)):
        return close(np.array(a), np.array(b))
    return bool(a == b)


def in_float32(numbers: list[float]) -> bool:
    """Whether float32 holds all of them exactly: then they are a float32 tensor's `tolist()`, and
    as exact as that is.
    """
    with np.errstate(over="ignore"):
        return np.array_equal(np.array(numbers, "f4"), numbers, equal_nan=True)


def close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.tobytes() == b.tobytes():
        return True
    noise = NOISE.get(a.dtype.str[1:])
    if noise is None:
        return False
    with np.errstate(all="ignore"):
        largest = np.abs(a[np.isfinite(a)]).max(initial=0)
        return bool(np.allclose(a, b, noise, noise * largest + 1e-30, equal_nan=True))
