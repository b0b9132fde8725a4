"""Every byte of a protobuf message, and what it is for: `annotate(data, message_class)`.

A message is a row of fields. Each begins with a **key**, a number that holds two: which field (`key
>> 3`) and in which of six ways its value is written (`key & 7`, the *wire type*). Then comes the
value: a varint, eight bytes, four bytes, or a length and so many bytes. That is the whole format.
There are no names in it and hardly a type: whether seven bytes are a text, an image, a message or
seven numbers, only the schema knows. So one can walk a message without its schema, and skip what
one does not know.

`annotate` never raises for bytes that are no message: what cannot be read becomes a last field that
says why. Its reading is that of protobuf's parser, and a test feeds both with random bytes.

Mirrors `upb/wire/decode.c` of protobuf, and `protoc --decode_raw`.

How the real one differs: protobuf writes values into a struct and forgets where they were;
`--decode_raw` guesses which bytes might be a message inside the message.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

MAX_DEPTH = 100  # messages inside messages, as many as protobuf follows


class WireType(IntEnum):
    """How a value is written; the three low bits of a key."""

    VARINT = 0
    I64 = 1
    LEN = 2
    # a group begins here, and ends at the EGROUP of the same number: proto2's first kind of nesting
    SGROUP = 3
    EGROUP = 4
    I32 = 5


WRITTEN = {
    0: "varint",
    1: "8 bytes",
    2: "length and bytes",
    3: "group",
    4: "end of a group",
    5: "4 bytes",
}

# FieldDescriptor.TYPE_* by number: a name, the wire type, and from what is on the wire to the value
SIGNED_32, SIGNED_64 = 1 << 31, 1 << 63
SCALARS: dict[int, tuple[str, WireType, Callable[[Any], Any]]] = {
    1: ("double", WireType.I64, lambda b: struct.unpack("<d", b)[0]),
    2: ("float", WireType.I32, lambda b: struct.unpack("<f", b)[0]),
    3: ("int64", WireType.VARINT, lambda n: (n ^ SIGNED_64) - SIGNED_64),
    4: ("uint64", WireType.VARINT, lambda n: n),
    5: ("int32", WireType.VARINT, lambda n: ((n & 0xFFFF_FFFF) ^ SIGNED_32) - SIGNED_32),
    6: ("fixed64", WireType.I64, lambda b: int.from_bytes(b, "little")),
    7: ("fixed32", WireType.I32, lambda b: int.from_bytes(b, "little")),
    8: ("bool", WireType.VARINT, lambda n: n != 0),
    13: ("uint32", WireType.VARINT, lambda n: n & 0xFFFF_FFFF),
    14: ("enum", WireType.VARINT, lambda n: ((n & 0xFFFF_FFFF) ^ SIGNED_32) - SIGNED_32),
    15: ("sfixed32", WireType.I32, lambda b: int.from_bytes(b, "little", signed=True)),
    16: ("sfixed64", WireType.I64, lambda b: int.from_bytes(b, "little", signed=True)),
    17: ("sint32", WireType.VARINT, lambda n: zigzag(n & 0xFFFF_FFFF)),
    18: ("sint64", WireType.VARINT, lambda n: zigzag(n)),
}
STRING, GROUP, MESSAGE, BYTES = 9, 10, 11, 12


@dataclass(frozen=True)
class Field:
    """One field. Its bytes are data[start:end]: the key up to `key_end`, the length up to
    `value_start`, then the value.

    `name` and `kind` are the schema's; without a schema `name` is "" and `kind` the wire type in
    words. `value` is a number, text, bytes, or a list of numbers (packed); for a message it is None
    and its fields are `children`. `problem` says why the rest of the message could not be read, or
    what protobuf has against this field.
    """

    number: int
    wire_type: int
    start: int
    key_end: int
    value_start: int
    end: int
    name: str = ""
    kind: str = ""
    value: Any = None
    children: tuple[Field, ...] = ()
    problem: str = ""


class Malformed(Exception):
    """Bytes that are no message: where the reading stopped, and why."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.at = at


def annotate(data: bytes | bytearray | memoryview, message: Any = None) -> list[Field]:
    """The fields of a serialized message, in order: together they are all of its bytes.

    `message` is a message, its class or its descriptor, which give the fields names and types; None
    if there is no schema.
    """
    descriptor = getattr(message, "DESCRIPTOR", message)
    view = memoryview(data).cast("B")
    return Walker(view).fields(0, len(view), descriptor, 0)


def walk(fields: list[Field] | tuple[Field, ...], depth: int = 0) -> Iterator[tuple[int, Field]]:
    """Every field and how deep it is, those of inner messages after the field that holds them."""
    for field in fields:
        yield depth, field
        yield from walk(field.children, depth + 1)


def problems(fields: list[Field]) -> list[str]:
    """What is wrong with a message, in words; protobuf reads it without an error exactly when
    nothing is.
    """
    return [field.problem for _, field in walk(fields) if field.problem]


class Walker:
    def __init__(self, data: memoryview) -> None:
        self.data = data

    def fields(self, start: int, end: int, descriptor: Any, depth: int) -> list[Field]:
        """The fields in data[start:end], the last of them with a problem if that is no message."""
        found: list[Field] = []
        while start < end:
            try:
                field = self.field(start, end, descriptor, depth)
            except Malformed as error:
                broken = Field(
                    0, -1, start, error.at, error.at, end, kind="no field", problem=str(error)
                )
                return [*found, broken]
            found.append(field)
            start = field.end
        return found

    def field(self, start: int, end: int, descriptor: Any, depth: int) -> Field:
        number, wire_type, at = self.key(start, end)
        schema = find(descriptor, number)
        if wire_type == WireType.EGROUP:
            raise Malformed(f"the end of a group {number} that does not begin", at)
        if wire_type == WireType.SGROUP:
            return self.group(number, start, at, end, depth)
        if wire_type == WireType.VARINT:
            raw, stop = self.varint(at, end)
            return described(Field(number, wire_type, start, at, at, stop, value=raw), schema)
        size = {WireType.I64: 8, WireType.I32: 4}.get(WireType(wire_type), 0)
        value_at = at
        if wire_type == WireType.LEN:
            size, value_at = self.varint(at, end)
        if size > end - value_at:
            raise Malformed(
                f"field {number} has a length of {size:,}, and {end - value_at:,} bytes are left",
                value_at,
            )
        raw_field = Field(number, wire_type, start, at, value_at, value_at + size)
        if wire_type == WireType.LEN and schema is not None and schema.type == MESSAGE:
            return self.message(raw_field, schema, depth)
        if (
            wire_type == WireType.LEN
            and schema is not None
            and schema.type in SCALARS
            and is_repeated(schema)
        ):
            return self.packed(raw_field, schema)
        raw_bytes = bytes(self.data[value_at : value_at + size])
        return described(replace(raw_field, value=raw_bytes), schema)

    def key(self, start: int, end: int) -> tuple[int, int, int]:
        """Number, wire type, and where the key ends."""
        key, at = self.varint(start, end, most=5)
        number, wire_type = key >> 3, key & 7
        if number == 0 or key > 0xFFFF_FFFF:
            raise Malformed(f"there is no field {number}", at)
        if wire_type > 5:
            raise Malformed(f"there is no wire type {wire_type}", at)
        return number, wire_type, at

    def varint(self, at: int, end: int, most: int = 10) -> tuple[int, int]:
        """A number, seven bits a byte, the lowest first; every byte but the last has its top bit
        set.
        """
        value = 0
        for n in range(most):
            if at + n >= end:
                raise Malformed("the message ends within a number", end)
            byte = self.data[at + n]
            value |= (byte & 0x7F) << 7 * n
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, at + n + 1
        raise Malformed(f"a number of more than {most} bytes", at + most)

    def message(self, field: Field, schema: Any, depth: int) -> Field:
        kind = f"message {schema.message_type.name}"
        if depth >= MAX_DEPTH:
            return replace(
                field, name=schema.name, kind=kind, problem=f"more than {MAX_DEPTH} messages deep"
            )
        children = self.fields(field.value_start, field.end, schema.message_type, depth + 1)
        return replace(field, name=schema.name, kind=kind, children=tuple(children))

    def packed(self, field: Field, schema: Any) -> Field:
        """Numbers one behind the other, without a key each."""
        kind, wire_type, convert = SCALARS[schema.type]
        values: list[Any] = []
        at, problem = field.value_start, ""
        try:
            while at < field.end:
                if wire_type == WireType.VARINT:
                    raw, at = self.varint(at, field.end)
                    values.append(convert(raw))
                    continue
                size = 8 if wire_type == WireType.I64 else 4
                if size > field.end - at:
                    raise Malformed(f"a {kind} takes {size} bytes, {field.end - at} are left", at)
                values.append(convert(bytes(self.data[at : at + size])))
                at += size
        except Malformed as error:
            problem = str(error)
        return replace(
            field, name=schema.name, kind=f"packed {kind}", value=values, problem=problem
        )

    def group(self, number: int, start: int, at: int, end: int, depth: int) -> Field:
        """Fields up to the end of the group. No schema of today's has one; a reader has to be able
        to skip it.
        """
        children: list[Field] = []
        inside = at
        while True:
            if inside >= end:
                raise Malformed(f"the group {number} has no end", end)
            if depth >= MAX_DEPTH:
                raise Malformed(f"more than {MAX_DEPTH} groups deep", inside)
            closing, wire_type, after = self.key(inside, end)
            if wire_type == WireType.EGROUP:
                if closing != number:
                    raise Malformed(f"the group {number} ends as group {closing}", after)
                kind = "group, not in the schema"
                return Field(
                    number,
                    WireType.SGROUP,
                    start,
                    at,
                    at,
                    after,
                    kind=kind,
                    children=tuple(children),
                )
            child = self.field(inside, end, None, depth + 1)
            children.append(child)
            inside = child.end


def find(descriptor: Any, number: int) -> Any:
    """The schema's field of this number, None if it has none."""
    return descriptor.fields_by_number.get(number) if descriptor is not None else None


def is_repeated(schema: Any) -> bool:
    """Whether the schema says `repeated`; descriptors of protobuf before 6.31 have a label for it,
    3.
    """
    return bool(schema.is_repeated if hasattr(schema, "is_repeated") else schema.label == 3)


def described(field: Field, schema: Any) -> Field:
    """The field with the schema's name, and its value as the schema's type."""
    if schema is None:
        return replace(field, kind=WRITTEN[field.wire_type])
    if schema.type in SCALARS and SCALARS[schema.type][1] == field.wire_type:
        kind, _, convert = SCALARS[schema.type]
        return replace(field, name=schema.name, kind=kind, value=convert(field.value))
    if schema.type == BYTES and field.wire_type == WireType.LEN:
        return replace(field, name=schema.name, kind="bytes")
    if schema.type == STRING and field.wire_type == WireType.LEN:
        try:
            return replace(field, name=schema.name, kind="string", value=field.value.decode())
        except UnicodeDecodeError:
            return replace(
                field, name=schema.name, kind="string", problem="a string that is not UTF-8"
            )
    wanted = {STRING: "string", BYTES: "bytes", MESSAGE: "message"}.get(schema.type) or SCALARS[
        schema.type
    ][0]
    return replace(field, kind=f"{WRITTEN[field.wire_type]}, no {wanted} as {schema.name} is")


def zigzag(n: int) -> int:
    """0, 1, 2, 3, 4 to 0, -1, 1, -2, 2: how `sint32` keeps small negative numbers short."""
    return (n >> 1) ^ -(n & 1)
