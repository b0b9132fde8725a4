"""`hash()` of TorchScript (`IValue::hash`, `c10/util/hash.h`): an int is its own hash, the rest is
hashed as in libstdc++.

Unlike Python's, the hash of a string is the same in every process.

How the real one differs: the hash of a tensor comes from the address of the C++ object; here from
Python's `id`.
"""

from __future__ import annotations

import struct

from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import type_of

_MASK = 2**64 - 1  # `& _MASK` keeps 64 bits, as unsigned arithmetic in C++ does by itself
_MULTIPLIER = 0xC6A4A7935BD1E995  # MurmurHash's
_SEED = 0xC70F6907  # that of std::hash


def hash_of(value: object) -> int:
    """The hash as a signed 64-bit int. Raises RuntimeError for lists, dicts and complex numbers."""
    found = _unsigned(value)
    return found - 2**64 if found >= 2**63 else found


def _unsigned(value: object) -> int:
    """The hash as an unsigned 64-bit int."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value & _MASK
    if isinstance(value, float):
        return _murmur(struct.pack("<d", value)) if value else 0  # 0.0 and -0.0 are equal
    if isinstance(value, str):
        return _murmur(value.encode())
    if isinstance(value, tuple):
        # `hash_combine` of boost; 0x9E3779B9 are the first 32 bits of the golden ratio's fraction
        seed = 0
        for element in value:
            seed ^= (_unsigned(element) + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & _MASK
            seed &= _MASK
        return seed
    if isinstance(value, TensorImpl):
        return id(value)
    if isinstance(value, (list, dict, complex)):
        raise RuntimeError(f"unhashable type: '{type_of(value).annotation_str}'")
    return hash(str(value)) & _MASK


def _murmur(data: bytes) -> int:
    """MurmurHash64A of `data`, as in `std::_Hash_bytes`: eight bytes at a time, then the rest."""
    h = (_SEED ^ (len(data) * _MULTIPLIER)) & _MASK
    whole = len(data) // 8 * 8
    for (k,) in struct.iter_unpack("<Q", data[:whole]):
        h = ((h ^ (_mixed(k * _MULTIPLIER & _MASK) * _MULTIPLIER)) * _MULTIPLIER) & _MASK
    if len(data) % 8:
        h = ((h ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER) & _MASK
    return _mixed(_mixed(h) * _MULTIPLIER & _MASK)


def _mixed(v: int) -> int:
    """Lets the high bits influence the low ones, which a multiplication alone does not."""
    return v ^ (v >> 47)
