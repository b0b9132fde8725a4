"""Our reading of protobuf's bytes is protobuf's: of messages, of damaged messages, and of noise."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("google.protobuf", reason="the extra `serving` is not installed")
pytest.importorskip("grpc_tools", reason="the extra `serving` is not installed")

from google.protobuf.message import DecodeError

from apparatus.payloads.annotated import Field, WireType, annotate, problems, walk
from internals.serving.protocol.schema import compile_schema

SCHEMA = compile_schema("""
syntax = "proto3";
message AddImageRequest {
  int32 image_id = 1;
  bytes image_data = 2;
  // This field can encode JSON data
  bytes image_metadata = 3;
  repeated string models = 4;
}
message Everything {
  enum Kind { NONE = 0; SOME = 7; }
  int32 a_int32 = 1;
  int64 a_int64 = 2;
  uint32 a_uint32 = 3;
  uint64 a_uint64 = 4;
  sint32 a_sint32 = 5;
  sint64 a_sint64 = 6;
  bool a_bool = 7;
  Kind a_enum = 8;
  fixed64 a_fixed64 = 9;
  sfixed64 a_sfixed64 = 10;
  double a_double = 11;
  fixed32 a_fixed32 = 12;
  sfixed32 a_sfixed32 = 13;
  float a_float = 14;
  string a_string = 15;
  bytes a_bytes = 16;
  repeated int64 numbers = 17;
  repeated float floats = 18;
  repeated sint32 small = 19;
  repeated bool flags = 20;
  repeated string words = 21;
  Everything inside = 22;
  map<string, int32> counts = 536870911;
}
""")
EXAMPLE = bytes.fromhex("08 07 12 02 41 42 22 01 6d")


def spans(field: Field) -> tuple[int, int, int, int]:
    return field.start, field.key_end, field.value_start, field.end


def test_the_slides_message() -> None:
    message = SCHEMA.AddImageRequest(image_id=7, image_data=b"AB", models=["m"])
    assert message.SerializeToString() == EXAMPLE
    fields = annotate(EXAMPLE, message)
    assert [(f.number, f.name, f.kind, f.value) for f in fields] == [
        (1, "image_id", "int32", 7), (2, "image_data", "bytes", b"AB"),
        (4, "models", "string", "m"),
    ]  # fmt: skip
    assert [spans(f) for f in fields] == [(0, 1, 1, 2), (2, 3, 4, 6), (6, 7, 8, 9)]
    assert [f.wire_type for f in fields] == [WireType.VARINT, WireType.LEN, WireType.LEN]


def test_without_a_schema_names_and_types_are_gone() -> None:
    fields = annotate(EXAMPLE)
    assert [(f.number, f.name, f.kind, f.value) for f in fields] == [
        (1, "", "varint", 7), (2, "", "length and bytes", b"AB"), (4, "", "length and bytes", b"m"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "given_as",
    [SCHEMA.AddImageRequest, SCHEMA.AddImageRequest(), SCHEMA.AddImageRequest.DESCRIPTOR],
)
def test_class_message_or_descriptor(given_as: Any) -> None:
    assert annotate(bytearray(EXAMPLE), given_as)[0].name == "image_id"


NUMBERS = {
    "a_int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "a_int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "a_uint32": st.integers(0, (1 << 32) - 1),
    "a_uint64": st.integers(0, (1 << 64) - 1),
    "a_sint32": st.integers(-(1 << 31), (1 << 31) - 1),
    "a_sint64": st.integers(-(1 << 63), (1 << 63) - 1),
    "a_bool": st.booleans(),
    "a_enum": st.sampled_from([0, 7, 3, -1]),
    "a_fixed64": st.integers(0, (1 << 64) - 1),
    "a_sfixed64": st.integers(-(1 << 63), (1 << 63) - 1),
    "a_double": st.floats(allow_nan=False),
    "a_fixed32": st.integers(0, (1 << 32) - 1),
    "a_sfixed32": st.integers(-(1 << 31), (1 << 31) - 1),
    "a_float": st.floats(width=32, allow_nan=False),
    "a_string": st.text(max_size=200),
    "a_bytes": st.binary(max_size=200),
    "numbers": st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=5),
    "floats": st.lists(st.floats(width=32, allow_nan=False), max_size=5),
    "small": st.lists(st.integers(-(1 << 31), (1 << 31) - 1), max_size=5),
    "flags": st.lists(st.booleans(), max_size=5),
    "words": st.lists(st.text(max_size=9), max_size=3),
}
LEAVES = st.fixed_dictionaries({}, optional=NUMBERS)
MESSAGES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(LEAVES, inner).map(lambda two: {**two[0], "inside": two[1]}),
    max_leaves=4,
)


def build(content: dict[str, Any]) -> Any:
    plain = {name: build(value) if name == "inside" else value for name, value in content.items()}
    return SCHEMA.Everything(**plain)


def as_dict(fields: tuple[Field, ...] | list[Field]) -> dict[str, Any]:
    """The fields as a message's content: repeated ones collected, messages as dictionaries."""
    found: dict[str, Any] = {}
    for f in fields:
        if f.name == "words":
            found.setdefault("words", []).append(f.value)
        elif f.name == "counts":
            entry = as_dict(f.children)
            found.setdefault("counts", {})[entry.get("key", "")] = entry.get("value", 0)
        else:
            found[f.name] = as_dict(f.children) if f.name == "inside" else f.value
    return found


def content_of(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for descriptor, value in message.ListFields():
        repeated = descriptor.name in ("numbers", "floats", "small", "flags", "words")
        special = {"inside": content_of, "counts": dict}.get(descriptor.name)
        found[descriptor.name] = special(value) if special else list(value) if repeated else value
    return found


def assert_covered(fields: tuple[Field, ...] | list[Field], start: int, end: int) -> None:
    """One field begins where the other ends, and inside a message as well."""
    for f in fields:
        assert start == f.start <= f.key_end <= f.value_start <= f.end
        if f.children and f.wire_type == WireType.LEN:
            assert_covered(f.children, f.value_start, f.end)
        start = f.end
    assert start == end


@given(MESSAGES, st.dictionaries(st.text(max_size=4), st.integers(-9, 9), max_size=3))
def test_every_message_is_read_as_protobuf_reads_it(
    content: dict[str, Any], counts: dict[str, int]
) -> None:
    message = build({**content, "counts": counts})
    data = message.SerializeToString()
    fields = annotate(data, message)
    assert as_dict(fields) == content_of(message)
    assert not problems(fields)
    assert_covered(fields, 0, len(data))


SEEDS = [
    build({"a_int32": -1, "a_double": 1.5, "a_float": 2.0, "a_string": "text",
           "numbers": [1, -1, 300], "floats": [1.0, 2.0], "words": ["a", "b"],
           "inside": {"a_sint64": -3, "inside": {"flags": [True, False]}}}).SerializeToString(),
    bytes.fromhex("0b 08 01 13 0d 00 00 00 00 14 0c"),  # groups, one in the other
    EXAMPLE,
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A message with some bytes changed, cut out or put in; or mere noise."""
    data = bytearray(draw(st.sampled_from([*SEEDS, b""])))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        noise = draw(
            st.binary(max_size=12)
            | st.lists(st.sampled_from([0, 1, 8, 11, 12, 0x80, 0xFF]), max_size=12).map(bytes)
        )
        data[at : at + draw(st.integers(0, 4))] = noise
    return bytes(data)


@given(damaged())
def test_protobuf_refuses_what_has_a_problem_and_nothing_else(data: bytes) -> None:
    try:
        message = SCHEMA.Everything.FromString(data)
    except DecodeError:
        message = None
    fields = annotate(data, SCHEMA.Everything)
    assert (message is None) == bool(problems(fields))
    assert_covered(fields, 0, len(data))


@pytest.mark.parametrize(
    "data, problem",
    [
        ("08", "the message ends within a number"),
        ("12 05 41", "field 2 has a length of 5, and 1 bytes are left"),
        ("0d 00 00", "field 1 has a length of 4, and 2 bytes are left"),
        ("00 01", "there is no field 0"),
        ("0e", "there is no wire type 6"),
        ("08 ff ff ff ff ff ff ff ff ff ff 01", "a number of more than 10 bytes"),
        ("0c", "the end of a group 1 that does not begin"),
        ("0b 08 01", "the group 1 has no end"),
        ("0b 14", "the group 1 ends as group 2"),
        ("22 01 ff", "a string that is not UTF-8"),
    ],
)
def test_problems_say_what_is_wrong(data: str, problem: str) -> None:
    raw = bytes.fromhex(data)
    assert problems(annotate(raw, SCHEMA.AddImageRequest)) == [problem]
    with pytest.raises(DecodeError):
        SCHEMA.AddImageRequest.FromString(raw)


def test_what_was_read_before_the_damage_is_kept() -> None:
    good, bad = (
        annotate(EXAMPLE[:7], SCHEMA.AddImageRequest)[:2],
        annotate(EXAMPLE[:7], SCHEMA.AddImageRequest)[2],
    )
    assert [f.name for f in good] == ["image_id", "image_data"]
    assert (bad.start, bad.end, bad.number, bad.wire_type) == (6, 7, 0, -1)


def test_a_field_of_another_wire_type_is_unknown() -> None:
    (field,) = annotate(bytes.fromhex("0a 01 41"), SCHEMA.AddImageRequest)
    assert (
        field.name == ""
        and field.kind == "length and bytes, no int32 as image_id is"
        and not field.problem
    )
    assert SCHEMA.AddImageRequest.FromString(bytes.fromhex("0a 01 41")).image_id == 0


@pytest.mark.parametrize(
    "data, values", [("8a 01 02 01 02", [[1, 2]]), ("88 01 01 88 01 02", [1, 2])]
)
def test_repeated_numbers_are_read_packed_or_not(data: str, values: list[Any]) -> None:
    raw = bytes.fromhex(data)
    assert [f.value for f in annotate(raw, SCHEMA.Everything)] == values
    assert SCHEMA.Everything.FromString(raw).numbers == [1, 2]


def nested_messages(depth: int) -> bytes:
    data = b""
    for _ in range(depth):
        length = len(data)
        data = (
            b"\xb2\x01"
            + (bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7]))
            + data
        )
    return data


def nested_groups(depth: int) -> bytes:
    return b"\x0b" * depth + b"\x0c" * depth


@pytest.mark.parametrize("nested", [nested_messages, nested_groups])
@pytest.mark.parametrize("depth", [98, 99, 100, 101, 150])
def test_depth_is_bounded_as_in_protobuf(nested: Callable[[int], bytes], depth: int) -> None:
    try:
        SCHEMA.Everything.FromString(nested(depth))
        fine = True
    except DecodeError:
        fine = False
    assert fine == (depth <= 100) == (not problems(annotate(nested(depth), SCHEMA.Everything)))


def test_floats_are_little_endian() -> None:
    (field,) = annotate(b"\x75" + struct.pack("<f", math.pi), SCHEMA.Everything)
    assert field.value == pytest.approx(math.pi, rel=1e-6) and field.kind == "float"


def test_walk_tells_how_deep() -> None:
    data = SCHEMA.Everything(inside=SCHEMA.Everything(a_bool=True)).SerializeToString()
    assert [(depth, f.name) for depth, f in walk(annotate(data, SCHEMA.Everything))] == [
        (0, "inside"),
        (1, "a_bool"),
    ]
