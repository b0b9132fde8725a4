"""How many references an object has, without those that the asking itself holds.

`sys.getrefcount(x)` counts the caller's variable, the argument on its way in, and whatever the
interpreter's version keeps on its stack. What a reader wants to know is who else holds the object.
So the same question is put to a fresh object that nobody else holds, through the same calls, and
the answer to that is subtracted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def others(holder: Sequence[object], index: int) -> int | None:
    """How many references `holder[index]` has besides the one from `holder`; None when it is
    immortal (3.12 on).
    """
    if is_immortal(sys.getrefcount(holder[index])):
        return None
    nobody_else = [object()]
    return sys.getrefcount(holder[index]) - sys.getrefcount(nobody_else[0])


def is_immortal(refcount: int) -> bool:
    """Python 3.12 and later never free some objects; their count is a fixed number that is never
    touched.
    """
    return (
        sys.version_info >= (3, 12)
        and refcount & 0xFFFFFFFF >= 0x80000000
        or refcount >= 0x3FFFFFFF
    )


def count_in_words(count: int | None) -> str:
    if count is None:
        return "immortal"
    return f"{count} reference{'' if count == 1 else 's'}"
