"""Decides which objects may be keys of a dict in a file.

A key is hashed, and a malicious file can exploit that in three ways:

- the hash of a tuple in a tuple in a tuple ... recurses until the stack overflows;
- with `a = (a, a)` repeated forty times, the hash visits 2^40 items;
- integers can be chosen so that all have the same hash, which makes a dict as slow as a list.

So keys are scalars and small tuples of them, and only a few may have the same hash.

How the real one differs: PyTorch takes every key that Python can hash.
"""

from __future__ import annotations

from typing import Any

from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.formats import layout
from internals.core.size import Size
from internals.core.tensor_impl import TensorImpl

from ..errors import ArchiveError

SCALARS = frozenset((type(None), bool, int, float, complex, str, bytes, dtype, device, layout))
MAX_ITEMS = 64  # of a tuple with all tuples inside of it
MAX_SAME_HASH = 64


def is_key(key: Any) -> bool:
    """Whether `key` may be a key of a dict or an item of a set."""
    pending, n = [key], 0
    while pending:
        item = pending.pop()
        n += 1
        if type(item) in (tuple, Size) and len(item) + len(pending) + n <= MAX_ITEMS:
            pending.extend(item)
        elif type(item) not in SCALARS and not isinstance(item, TensorImpl):
            return False
    return True


class KeyCheck:
    """Checks all keys of one pickle; an object is called with each key."""

    def __init__(self) -> None:
        # hash -> number of keys that had it; only for kinds of keys whose hashes can be chosen
        self.seen: dict[int, int] = {}

    def __call__(self, key: Any) -> None:
        """Raises ArchiveError unless `key` is allowed, and a dict with all keys so far is fast."""
        kind = type(key)
        if kind is str:  # hashed with a random seed: a file cannot choose the hash
            return
        if not is_key(key):
            what = "keys are numbers, strings, tensors and small tuples of them"
            raise ArchiveError(f"a {kind.__name__} cannot be a key here: {what}")
        # A large int has the hash `n mod (2^61 - 1)`: any number of them have the same one.
        if kind in (tuple, Size) or kind is int and not -1 << 63 <= key < 1 << 64:
            value = hash(key)
            n = self.seen[value] = self.seen.get(value, 0) + 1
            if n > MAX_SAME_HASH:
                raise ArchiveError(
                    f"more than {MAX_SAME_HASH} keys of the same hash, which would make a dict "
                    "very slow"
                )
