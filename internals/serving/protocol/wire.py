"""Finds the tensors in a protobuf message by reading its wire format, so that they need no copy.

A protobuf message is a sequence of fields, each with a key (the field's number and the encoding of
its value) and a value; a `bytes` field has a length, then the bytes themselves:

    key: number << 3 | wire type    length    bytes
    3A                              90 4E     ...        field 7, 10000 bytes

So a tensor in `raw_input_contents` is already in the message, complete and in order. protobuf would
copy it twice, into its arena and into a `bytes` object of Python; `take_out` only finds it. The
rest of the message, a few hundred bytes, is read by protobuf. For a response, `put_in` writes the
same format: the tensor's memory is copied once, into the message.

Mirrors `upb/wire/decode.c` and `google/protobuf/io/coded_stream.h`.

How the real one differs: in C++, protobuf has `absl::Cord` for a `bytes` field that shares memory
with its message, and gRPC's server provides messages as lists of slices, from which Triton reads
raw contents. Python's API has neither.
"""

from __future__ import annotations

from collections.abc import Iterable

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
# at the top level of a message. An honest request has far fewer; a malicious one could have
# millions of empty fields, and reading them takes time.
MAX_FIELDS = 4096
CUT_SHORT = "the message ends in the middle of a field"


def take_out(message: bytes, number: int) -> tuple[bytes, list[memoryview]]:
    """Returns the message without its `bytes` fields of this number, and views of their contents,
    in order.

    Raises ValueError if it is not a protobuf message, or has more than 4,096 fields.
    """
    view = memoryview(message)
    rest: list[memoryview] = []
    found: list[memoryview] = []
    kept = position = 0  # the bytes before `kept` are in `rest` or `found`
    end = len(message)
    fields = 0
    while position < end:
        fields += 1
        if fields > MAX_FIELDS:
            raise ValueError(f"the message has more than {MAX_FIELDS} fields")
        start = position
        key, position = read_varint(message, position)
        kind = key & 7  # the wire type; key >> 3 is the field's number
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
    """The message `head` with a `bytes` field of this number appended for each of the contents,
    which are copied once.
    """
    key = write_varint(number << 3 | BYTES)
    parts: list[bytes | memoryview] = [head]
    for content in contents:
        parts += (key, write_varint(content.nbytes), content)
    return b"".join(parts)


def read_varint(message: bytes, position: int) -> tuple[int, int]:
    """Reads a number with seven bits in each byte, the lowest first; the eighth bit is set if
    another byte follows. Returns the number, in 64 bits, and the position after it.
    """
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
    """A number of at least 0 in the format of `read_varint`: 300 is AC 02."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
