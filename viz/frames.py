"""Who allocated this? A stack of forty frames in a few words: the operator, and the line of the
reader's own program.

Stacks are those of PyTorch's memory snapshots, innermost frame first, with or without the frames of
C++ (or of what is C++ in PyTorch and Python here).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_PACKAGES = re.compile(
    r"[/\\](?:internals|torch)[/\\]|^internals/|made from a "
    r"signature|<frozen|^\?\?$|^$|\.(?:cpp|cu|h|cc|c|S)$"
)
_OPERATOR = re.compile(r"_ops::(\w+)::")


class Who(NamedTuple):
    """`operator` is what ran ("addmm"), `line` where the program called for it ("step, line 10");
    both may be empty.
    """

    operator: str
    line: str

    def __str__(self) -> str:
        return " in ".join(word for word in self if word)


def who(frames: Sequence[dict[str, Any]]) -> Who:
    """The operator and the line behind a stack."""
    frames = list(frames)
    for n in reversed(range(len(frames))):
        if frames[n]["filename"].replace("\\", "/").endswith("cuda/fallback.py"):
            frames = frames[n + 1 :]  # what the fallback does itself is not what was asked for
            break
    return Who(_operator(frames), _line(frames))


def _operator(frames: Sequence[dict[str, Any]]) -> str:
    for frame in frames:
        if ", generated for " in frame["filename"]:
            return _without_overload(frame["name"])
        if found := _OPERATOR.search(frame["name"]):
            return found[1]
    return ""


def _line(frames: Sequence[dict[str, Any]]) -> str:
    for frame in frames:
        if not _PACKAGES.search(frame["filename"]):
            place = f"line {frame['line']}"
            return place if frame["name"].startswith("<") else f"{frame['name']}, {place}"
    return ""


@functools.cache
def _without_overload(function: str) -> str:
    """ "sum" for `sum_dim_IntList`, the function that is generated for the overload
    sum.dim_IntList.
    """
    from internals._generated import ops

    handle = getattr(ops, f"{function}_op", None)
    return function if handle is None else str(handle.name).removeprefix("aten::").partition(".")[0]
