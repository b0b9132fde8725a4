"""Messages taken apart by hand agree with protobuf, and no bytes whatever do harm."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("grpc_tools", reason="the extra `serving` is not installed")

from internals.serving.protocol import wire
from internals.serving.protocol.schema import compile_schema, open_inference

MESSAGE = compile_schema(
    """
    syntax = "proto3";
    message M {
      int64 a = 1; fixed64 b = 2; fixed32 c = 3; bytes d = 4; string e = 5;
      repeated bytes raw = 7; M inner = 20; sint32 f = 2000;
    }
    """
).M
contents = st.lists(st.binary(max_size=300), max_size=4)
numbers = st.integers(-(1 << 63), (1 << 63) - 1)


@given(
    numbers,
    st.integers(0, 1 << 63),
    st.integers(0, (1 << 32) - 1),
    st.binary(),
    st.text(),
    contents,
    contents,
)
def test_taking_out_leaves_the_rest_as_protobuf_would(
    a: int, b: int, c: int, d: bytes, e: str, raw: list[bytes], nested: list[bytes]
) -> None:
    whole = MESSAGE(a=a, b=b, c=c, d=d, e=e, raw=raw, inner=MESSAGE(raw=nested), f=c % 1000)
    head, found = wire.take_out(whole.SerializeToString(), 7)
    assert [bytes(content) for content in found] == raw
    whole.ClearField("raw")
    assert MESSAGE.FromString(head) == whole  # what is nested stayed there


@given(numbers, contents)
def test_putting_in_is_what_protobuf_would_have_written(a: int, raw: list[bytes]) -> None:
    message = wire.put_in(
        MESSAGE(a=a).SerializeToString(), 7, [memoryview(content) for content in raw]
    )
    assert message == MESSAGE(a=a, raw=raw).SerializeToString()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_value_error(content: bytes) -> None:
    try:
        head, found = wire.take_out(content, 7)
    except ValueError:
        return
    # Nothing is lost, and protobuf, stricter about what is inside the fields, sees the same raw
    # contents if it takes them at all.
    assert len(head) + sum(map(len, found)) <= len(content)
    try:
        parsed = open_inference().ModelInferRequest.FromString(content)
    except Exception as error:
        assert type(error).__name__ == "DecodeError"
        return
    assert [bytes(view) for view in found] == list(parsed.raw_input_contents)


@given(st.integers(0, (1 << 64) - 1))
def test_varints_round_trip(value: int) -> None:
    assert wire.read_varint(wire.write_varint(value), 0) == (value, len(wire.write_varint(value)))


@pytest.mark.parametrize(
    "content, why",
    [
        (b"\x0a\x05ab", "field 1 says 5 bytes, 2 are left"),
        (b"\x08", "in the middle of a field"),
        (b"\x08\x80", "in the middle of a field"),
        (b"\x11abc", "in the middle of a field"),
        (b"\x00\x00", "names field 0"),
        (b"\x0b", "wire type 3"),
        (b"\x0f", "wire type 7"),
        (b"\x08" + b"\xff" * 11, "more than 10 bytes"),
        (b"\x3a\x00" * 4097, "more than 4096 fields"),
    ],
)
def test_what_is_wrong_is_named(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        wire.take_out(content, 7)


def test_what_is_found_lies_in_the_message() -> None:
    message = MESSAGE(a=1, raw=[b"x" * 100, b"y" * 50]).SerializeToString()
    _, found = wire.take_out(message, 7)
    assert all(view.obj is message for view in found)


def test_a_schema_with_a_mistake_is_a_value_error_with_the_place() -> None:
    with pytest.raises(ValueError, match=r"schema.proto:1:38: Missing field number"):
        compile_schema('syntax="proto3"; message A { int33 x 1; }')
