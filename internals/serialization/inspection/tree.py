"""Prints the tree of a pickle as indented lines: a value that fits is on one line, a longer
container has its parts below it.

    dict
      weight: tensor float32 (2, 3) in data/0
      epoch: 3
      schedule: CALL my.module.Schedule
        arguments: (0.1,)

A container that occurs again is only referred to, so that a pickle that contains itself has an end.
The text is cut, with "...", after `limit` lines.

How the real one differs: `torch.utils.show_pickle` prints with Python's `pprint`, which writes
shared parts again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..visible import visible
from .pickle_listing import Call, Global, Items, Pairs, Persistent
from .tensors import PARAMETER, storage_of, tensor_of

WIDTH = 76
STRING = 400  # characters shown of a string that does not fit on the line
DEPTH_AT_MOST = 60  # of indentation; deeper parts are not indented further
BRACKETS = {"list": "[]", "tuple": "()", "set": "{}", "frozenset": "{}"}


def tree(root: Any, prefix: str = "data/", limit: int | None = None) -> list[str]:
    """The lines of a tree. If there are more than `limit`, these and "..." are returned. `prefix`
    is the folder of the storages.
    """
    lines: list[str] = []
    for line in _lines(root, prefix):
        if limit is not None and len(lines) == limit:
            return [*lines, "..."]
        lines.append(visible(line))
    return lines


def _lines(root: Call | Items | Pairs, prefix: str) -> Iterator[str]:
    # A stack instead of recursion: a pickle may be nested deeper than Python's limit.
    seen: dict[int, str] = {}
    pending: list[tuple[int, str, Any]] = [(0, "", root)]
    while pending:
        depth, label, node = pending.pop()
        head = "  " * min(depth, DEPTH_AT_MOST) + (f"{label}: " if label else "")
        is_table = (
            depth == 0 and isinstance(node, Pairs) and bool(node.pairs)
        )  # a state dict has a line for each tensor
        short = None if is_table else one_line(node, prefix, WIDTH)
        if short is not None:
            yield head + short
            continue
        if id(node) in seen:
            yield f"{head}the same {title(node)} as above"
            continue
        seen[id(node)] = label
        yield head + title(node)
        if isinstance(node, (Call, Items, Pairs)):
            pending.extend((depth + 1, step, child) for step, child in reversed(list(parts(node))))


def parts(node: Call | Items | Pairs) -> Iterator[tuple[str, Any]]:
    """Yields the label and the value of each part of a container that gets lines of its own."""
    if isinstance(node, Items):
        yield from ((f"[{i}]", item) for i, item in enumerate(node.items))
        return
    if isinstance(node, Call):
        if not isinstance(node.function, Global):
            yield "function", node.function
        if node.arguments:
            yield "arguments", Items("tuple", node.arguments)
        yield from ((f"[{i}]", item) for i, item in enumerate(node.items))
        if isinstance(node.state, Pairs):
            yield from ((label(key), value) for key, value in node.state.pairs)
        elif node.state is not None:
            yield "state", node.state
    yield from ((label(key), value) for key, value in node.pairs)


def label(key: str) -> str:
    """The text of a key in front of its value, cut to WIDTH characters."""
    text = (
        key
        if isinstance(key, str) and key and key.isprintable()
        else one_line(key, "", 30) or title(key)
    )
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def title(node: object) -> str:
    """The first line of a value that does not fit on one."""
    if isinstance(node, Pairs):
        return f"dict of {len(node.pairs)}"
    if isinstance(node, Items):
        return f"{node.kind} of {len(node.items)}"
    if isinstance(node, Call):
        if named(node.function) == "collections.OrderedDict" and not node.arguments:
            return f"collections.OrderedDict of {len(node.pairs)}"
        return f"CALL {named(node.function)}" if node.state is None else str(named(node.function))
    if isinstance(node, str):
        return (
            shown(node)
            if len(node) <= STRING
            else f"{shown(node[:STRING])}… ({len(node):,} characters)"
        )
    return (
        f"{type(node).__name__} of {len(node):,}"
        if hasattr(node, "__len__")
        else type(node).__name__
    )


def named(function: Global) -> str:
    return str(function) if isinstance(function, Global) else "what a call returns"


def one_line(node: object, prefix: str, room: int, depth: int = 0) -> str | None:
    """A value in at most `room` characters, or None if it needs more."""
    if depth > 6:
        return None
    text = _one_line(node, prefix, room, depth)
    return text if text is not None and len(text) <= room else None


def _one_line(node: object, prefix: str, room: int, depth: int) -> str | None:
    """A value on one line, or None if it needs several; the line may still be too long."""
    if isinstance(node, (Global, Persistent)):
        storage = storage_of(node.id) if isinstance(node, Persistent) else None
        if storage is not None:
            return f"storage {prefix}{storage[2]} of {storage[4]} × {storage[0]}"
        return str(node) if isinstance(node, Global) else "PERSISTENT"
    if isinstance(node, Call):
        return _call(node, prefix, room, depth)
    if isinstance(node, Pairs):
        if len(node.pairs) > 8:
            return None
        texts = each_on_one_line(
            [part for pair in node.pairs for part in pair], prefix, room, depth
        )
        if texts is None:
            return None
        return "{" + ", ".join(f"{k}: {v}" for k, v in zip(texts[::2], texts[1::2])) + "}"
    if isinstance(node, Items):
        return _items(node.items, BRACKETS[node.kind], prefix, room, depth)
    if isinstance(node, int) and abs(node) >= 1 << 256:
        return f"an integer of {node.bit_length()} bits"
    if isinstance(node, (str, bytes, bytearray)):
        return shown(node) if len(node) <= room else None
    return repr(node) if isinstance(node, (int, float, type(None))) else None


def shown(text: Any) -> str:
    """A string or bytes in quotes, in ASCII if it has characters that cannot be printed."""
    return ascii(text) if isinstance(text, str) and not text.isprintable() else repr(text)


def _items(items: list[Any], brackets: str, prefix: str, room: int, depth: int) -> str | None:
    if len(items) > 20:
        return None
    texts = each_on_one_line(items, prefix, room, depth)
    if texts is None:
        return None
    comma = "," if brackets == "()" and len(items) == 1 else ""
    return brackets[0] + ", ".join(texts) + comma + brackets[1]


def each_on_one_line(items: list[Any], prefix: str, room: int, depth: int) -> list[str] | None:
    """The texts of all items; None as soon as one needs more room, as a small pickle of shared
    parts can stand for a huge tree.
    """
    texts: list[str] = []
    for item in items:
        text = one_line(item, prefix, room, depth + 1)
        if text is None:
            return None
        texts.append(text)
    return texts


def _call(node: Call, prefix: str, room: int, depth: int) -> str | None:
    """A call on one line: a tensor, or a call without a state or items added to its result."""
    facts = tensor_of(node, prefix)
    if facts is not None:
        offset = f" from element {facts.storage_offset}" if facts.storage_offset else ""
        strides = "" if facts.is_contiguous() else f" strides {facts.strides}"
        kind = "parameter" if node.function.name in PARAMETER else "tensor"
        return f"{kind} {facts.dtype} {facts.sizes}{strides} in {facts.record}{offset}"
    if node.state is not None or node.items or node.pairs or not isinstance(node.function, Global):
        return None
    arguments = _items(node.arguments, "()", prefix, room, depth)
    return (
        None if arguments is None else f"CALL {named(node.function)}{arguments.replace(',)', ')')}"
    )
