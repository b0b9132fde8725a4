"""Dispatch keys: the layers a call may pass through, in order of priority
(`c10/core/DispatchKey.h`, `DispatchKeySet.h`).

A key set is an int with one bit per key: `bit_length() - 1` is its highest key, and a mask selects
the keys below. The enum's order *is* the priority: a call enters at the highest key of its
arguments and goes down, layer by layer, to a backend, which computes.

A tensor has the keys of its backend, of Autograd, of ADInplaceOrView and of Autocast all its life,
whether they have work to do or not; one made in inference mode lacks those of Autograd and
ADInplaceOrView. Two more bits, above all keys, are not layers: `RECORDS` says that a tensor
requires a gradient, `INFERENCE` that it was made in inference mode. From them the fast lane knows
that the kernel of a layer has nothing to do, without calling it. Key sets that are shown to users
do not have them.

How the real one differs: it has about fifty functionality keys, apart from the backend bits, and no
bits like these two.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class DispatchKey(IntEnum):
    """The keys, from the lowest priority to the highest. The last three are aliases, under which
    kernels may be registered for several keys; they are never in a key set.
    """

    Undefined = 0
    CPU = 1
    CUDA = 2
    Meta = 3
    BackendSelect = 4
    ADInplaceOrView = 5
    AutogradCPU = 6
    AutogradCUDA = 7
    AutogradMeta = 8
    Tracer = 9
    AutocastCPU = 10
    AutocastCUDA = 11
    PythonDispatcher = 12

    Autograd = 61
    CompositeExplicitAutograd = 62
    CompositeImplicitAutograd = 63

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"

    __str__ = __repr__


# bits above all keys; below 2**30, where CPython's integers have one digit and are fastest
RECORDS, INFERENCE = 1 << 28, 1 << 29
KEYS = RECORDS - 1
ADINPLACEORVIEW = 1 << DispatchKey.ADInplaceOrView
BACKENDS = (DispatchKey.CPU, DispatchKey.CUDA, DispatchKey.Meta)
ALIASES = (
    DispatchKey.Autograd,
    DispatchKey.CompositeExplicitAutograd,
    DispatchKey.CompositeImplicitAutograd,
)
_AUTOGRAD_OF = {
    DispatchKey.CPU: DispatchKey.AutogradCPU,
    DispatchKey.CUDA: DispatchKey.AutogradCUDA,
    DispatchKey.Meta: DispatchKey.AutogradMeta,
}
AUTOGRAD_KEYS = tuple(_AUTOGRAD_OF.values())


def key_set(keys: Iterable[DispatchKey]) -> int:
    """The bits of several keys."""
    bits = 0
    for k in keys:
        bits |= 1 << k
    return bits


def keys_in(bits: int) -> list[DispatchKey]:
    """The keys of a key set, highest priority first."""
    return [DispatchKey(i) for i in range((bits & KEYS).bit_length() - 1, -1, -1) if bits >> i & 1]


def highest(bits: int) -> DispatchKey:
    """The highest key of a key set, where a call enters; Undefined for an empty set."""
    return DispatchKey(max((bits & KEYS).bit_length() - 1, 0))


def below(key: int) -> int:
    """The mask of all keys of lower priority."""
    return (1 << key) - 1


def backend_key(device_type: str) -> DispatchKey:
    return {"cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "meta": DispatchKey.Meta}[device_type]


def autograd_key(backend: DispatchKey) -> DispatchKey:
    """The Autograd key of a backend's tensors."""
    return _AUTOGRAD_OF[backend]


BACKEND_MASK = key_set(BACKENDS)
AUTOGRAD_MASK = key_set(AUTOGRAD_KEYS)
AUTOCAST_MASK = key_set((DispatchKey.AutocastCPU, DispatchKey.AutocastCUDA))


class DispatchKeySet:
    """A key set as users see it, the result of `torch._C._dispatch_keys(t)`."""

    __slots__ = ("bits",)

    def __init__(self, bits: int) -> None:
        self.bits = bits & KEYS

    def has(self, key: DispatchKey) -> bool:
        return self.bits >> key & 1 == 1

    def highestPriorityTypeId(self) -> DispatchKey:
        return highest(self.bits)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in reversed(keys_in(self.bits)))})"
