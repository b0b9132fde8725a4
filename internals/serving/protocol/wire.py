"""Where a tensor lies in a message: protobuf's wire format, walked by hand, so that the tensor can
stay there.

A protobuf message is a row of fields, each a key (the field's number and how its value is encoded)
and a value; a `bytes` field is a length, then the bytes as they are. So a tensor in
`raw_input_contents` is somewhere in the message already, whole and in order. protobuf would copy it
twice on the way to Python, into its arena and into a `bytes`; `take_out` finds it and leaves it
where it is. The rest of the message, some hundred bytes, is protobuf's to read. On the way out
`put_in` writes the same format: the tensor's memory is copied once, into the message.

Mirrors `upb/wire/decode.c` and `google/protobuf/io/coded_stream.h`.

How the real one differs: protobuf's C++ has `absl::Cord` for a `bytes` field that shares memory
with its message, and gRPC's C++ server hands messages out as lists of slices; Triton reads raw
contents from there. Python's API has neither.
"""

from __future__ import annotations

from collections.abc import Iterable

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
# at a message's top level: no honest request comes near, and a hostile one would keep us walking
MAX_FIELDS = 4096
CUT_SHORT = "the message ends in the middle of a field"


def take_out(message: bytes, number: int) -> tuple[bytes, list[memoryview]]:
    """The message without its `bytes` fields of this number, and where the content of each lies in
    it, in order.

    Raises ValueError when the message is no protobuf message, or one of more than 4,096 fields.
    """
    view = memoryview(message)
    rest: list[memoryview] = []
    found: list[memoryview] = []
    kept = position = 0  # what is before `kept` is in `rest` already, or taken out
    end = len(message)
    fields = 0
    while position < end:
        fields += 1
        if fields > MAX_FIELDS:
            raise ValueError(f"the message has more than {MAX_FIELDS} fields")
        start = position
        key, position = read_varint(message, position)
        kind = key & 7
        if key >> 3 == 0:
            raise ValueError(f"byte {start} of the message names field 0, which cannot be")
        if kind == BYTES:
            length, position = read_varint(message, position)
            if length > end - position:
                raise ValueError(
                    f"{CUT_SHORT}: field {key >> 3} says {length} bytes, {end - position} are left"
                )
            if key >> 3 == number:
                rest.append(view[kept:start])
                found.append(view[position : position + length])
                kept = position + length
            position += length
        elif kind == VARINT:
            _, position = read_varint(message, position)
        elif kind == FIXED64:
            position += 8
        elif kind == FIXED32:
            position += 4
        else:
            raise ValueError(
                f"byte {start} of the message has wire type {kind}, which a message does not have "
                "here"
            )
    if position > end:
        raise ValueError(CUT_SHORT)
    if not found:
        return message, found
    return b"".join([*rest, view[kept:]]), found


def put_in(head: bytes, number: int, contents: Iterable[memoryview]) -> bytes:
    """The message `head` with a `bytes` field of this number for each of the contents: one copy of
    each.
    """
    key = write_varint(number << 3 | BYTES)
    parts: list[bytes | memoryview] = [head]
    for content in contents:
        parts += (key, write_varint(content.nbytes), content)
    return b"".join(parts)


def read_varint(message: bytes, position: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the position behind it."""
    value = shift = 0
    while True:
        if position >= len(message):
            raise ValueError(CUT_SHORT)
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift >= 70:
            raise ValueError(
                f"the number that ends before byte {position} of the message has more than 10 bytes"
            )


def write_varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
