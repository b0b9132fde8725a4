"""`viz.wire`: the bytes of a protobuf message, each with what it is for: a key, a length, a value.

A field is a row: where it begins, its key, its length if it has one, its value, and what the schema
says about it. Fields of a message inside the message are indented below it. Without a schema the
names and most of the types are gone, because they are not in the message; the picture shows just
that.

How the real one differs: protobuf draws nothing; `protoc --decode_raw` prints numbers and values,
and no bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.scene import Picture
from viz.text import plural, size_in_words, table

ROWS_AT_MOST = 24
# of a value, as many as the longest number has; of a longer one there are six, and how many more
BYTES_AT_MOST = 10


@dataclass
class WireRow:
    """A field. `value` are its first bytes and `hidden` how many more it has; of a message the
    value is the rows that follow.

    `known` is whether the schema, if there is one, has such a field.
    """

    depth: int
    at: int
    key: bytes
    length: bytes
    value: bytes
    hidden: int
    number: int
    written: str
    name: str
    kind: str
    says: str
    known: bool = True
    problem: str = ""


@dataclass
class Wire(Picture):
    """The scene. `hidden` rows are not shown; `message` is the schema's name for it, "" without a
    schema.
    """

    message: str
    size: int
    fields: int
    rows: list[WireRow] = field(default_factory=list)
    hidden: int = 0

    def headline(self) -> str:
        name = f"message {self.message}" if self.message else "a message, without its schema"
        return f"{name}: {size_in_words(self.size)}, {plural(self.fields, 'field')}"

    def text(self) -> str:
        rows = [self.cells(row) for row in self.rows]
        header = ["at", "key", "length", "value", "field", "says"]
        lines = [self.headline(), table(rows, header, 2, {0})] if rows else [self.headline()]
        lines += [f"  WARNING: {row.problem}" for row in self.rows if row.problem]
        lines += [f"  ({plural(self.hidden, 'more field')} hidden)"] if self.hidden else []
        return "\n".join(lines)

    @staticmethod
    def cells(row: WireRow) -> list[str]:
        value = row.value.hex(" ") + (f" ... {row.hidden:,} more" if row.hidden else "")
        return [
            str(row.at),
            row.key.hex(" "),
            row.length.hex(" "),
            value,
            "  " * row.depth + label(row),
            what(row),
        ]

    def canvas(self) -> Canvas:
        from viz.rooms.wire_canvas import wire_canvas

        return wire_canvas(self)

    def title(self) -> str:
        return f"viz.wire: {self.message or 'a message'}"


def wire(data: Any, message: Any = None, *, limit: int = ROWS_AT_MOST) -> Wire:
    """The bytes of a serialized protobuf message; `data` is bytes, or a message, which is
    serialized and is its own schema.

    `message` is the message's class or descriptor, or any message of it; None draws what can be
    told without a schema. At most `limit` fields are shown. Bytes that are no message are drawn as
    far as they can be read.

    Raises TypeError for anything that is neither, ValueError for a limit below 1, and
    ModuleNotFoundError where what `internals.serving` needs is not installed.
    """
    if limit < 1:
        raise ValueError(f"limit is how many fields there may be, at least 1, not {limit}")
    if hasattr(data, "SerializeToString"):
        data, message = data.SerializeToString(), message or data
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"viz.wire draws the bytes of a message or a message, got {type(data).__name__}"
        )
    from apparatus.payloads.annotated import annotate, walk

    found = annotate(data, message)
    everything = list(walk(found))
    descriptor = getattr(message, "DESCRIPTOR", message)
    name = descriptor.name if descriptor is not None else ""
    view = memoryview(data).cast("B")
    rows = [row_of(each, depth, view, bool(name)) for depth, each in everything[:limit]]
    return Wire(name, len(view), len(found), rows, max(0, len(everything) - limit))


def row_of(f: Any, depth: int, data: memoryview, schema: bool) -> WireRow:
    """The row of an annotated field."""
    from apparatus.payloads.annotated import WRITTEN

    key_end, value_start = (
        (f.key_end, f.value_start) if f.number else (f.start, f.start)
    )  # what is no field is shown whole
    whole = 0 if f.children else f.end - value_start
    shown = (
        bytes(data[value_start : f.end][: whole if whole <= BYTES_AT_MOST else 6]) if whole else b""
    )
    return WireRow(
        depth=depth,
        at=f.start,
        key=bytes(data[f.start : key_end]),
        length=bytes(data[key_end:value_start]),
        value=shown,
        hidden=whole - len(shown),
        number=f.number,
        written=WRITTEN.get(f.wire_type, ""),
        name=f.name,
        kind=f.kind,
        says=says(f),
        known=bool(f.name or f.problem) or not schema,
        problem=f.problem,
    )


def says(f: Any) -> str:
    """A value in a few words."""
    if f.problem:
        return f.problem
    if f.children or f.value is None:
        return plural(len(f.children), "field")
    if isinstance(f.value, bytes) and len(f.value) > 16:
        return f"{plural(len(f.value), 'byte')}, from byte {f.value_start} on"
    if isinstance(f.value, list):
        shown = ", ".join(map(str, f.value[:8]))
        return f"[{shown}{', ...' if len(f.value) > 8 else ''}]"
    text = repr(f.value)
    return text if len(text) <= 40 else f"{text[:36]}..."


def label(row: WireRow) -> str:
    """ "1 image_id", or only the number."""
    return f"{row.number or '?'} {row.name}".rstrip()


def what(row: WireRow) -> str:
    """ "int32 7", "not in the schema: varint 7"."""
    kind = row.kind if row.known else f"not in the schema: {row.kind}"
    return f"{kind}  {'' if row.problem else row.says}".rstrip()
