"""Which objects may be keys of a dict in a file.

A key is hashed, and a file can make that harmful: the hash of a tuple in a tuple in a tuple
recurses until the stack is full, that of `((a, a), (a, a))`, with `a` made the same way forty
times, takes forever, and integers can be chosen so that all of them have the same hash, which turns
a dict into a list. So keys are scalars and small tuples of them, few with the same hash.

How the real one differs: PyTorch takes whatever Python can hash, and hashes it.
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
MAX_ITEMS = 64
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
    """Sees all keys of one pickle."""

    def __init__(self) -> None:
        # how many keys had that hash, of those with whose hashes a file can play
        self.seen: dict[int, int] = {}

    def __call__(self, key: Any) -> None:
        """Raises ArchiveError unless `key` can be one, and a dict with such keys is fast."""
        kind = type(key)
        if kind is str:
            return
        if not is_key(key):
            what = "keys are numbers, strings, tensors and small tuples of them"
            raise ArchiveError(f"a {kind.__name__} cannot be a key here: {what}")
        if kind in (tuple, Size) or kind is int and not -1 << 63 <= key < 1 << 64:
            value = hash(key)
            n = self.seen[value] = self.seen.get(value, 0) + 1
            if n > MAX_SAME_HASH:
                raise ArchiveError(
                    f"more than {MAX_SAME_HASH} keys of the same hash, which would make a dict "
                    "very slow"
                )
