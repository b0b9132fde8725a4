"""An old client meets a new server, and the reverse, over a real gRPC connection: which changes of
a schema are harmless.

The message is the talk's, EuclidesDB's AddImageRequest. Each test changes one thing about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")
pytest.importorskip("grpc_tools", reason="the extra `serving` is not installed")

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from apparatus.payloads.two_schemas import Server, call, meet
from internals.serving.protocol.schema import compile_schema

IMAGE_ID, IMAGE_DATA = "int32 image_id = 1;", "bytes image_data = 2;"
METADATA, MODELS = "bytes image_metadata = 3;", "repeated string models = 4;"
TALK = (IMAGE_ID, IMAGE_DATA, METADATA, MODELS)


def request_class(*fields: str) -> Any:
    """The class of an AddImageRequest with these fields."""
    text = 'syntax = "proto3";\nmessage AddImageRequest {\n' + "\n".join(fields) + "\n}\n"
    return compile_schema(text).AddImageRequest


Old = request_class(*TALK)


def image(cls: Any = Old, **fields: Any) -> Any:
    return cls(
        **{
            "image_id": 7,
            "image_data": b"pixels",
            "image_metadata": b'{"from": "talk"}',
            "models": ["resnet18"],
            **fields,
        }
    )


def unknown_numbers(message: Any) -> list[int]:
    """The fields that the message keeps without knowing them: those that are on the wire but not in
    the class.
    """
    from apparatus.payloads.annotated import annotate

    return [f.number for f in annotate(message.SerializeToString(), message) if not f.name]


@pytest.fixture(scope="module")
def old_server() -> Iterator[Server]:
    """One that answers with what it got."""
    with Server(Old, lambda request: request) as server:
        yield server


# what may be done


def test_the_same_schema_on_both_sides(old_server: Server) -> None:
    assert call(old_server.address, image(), Old) == image()


def test_an_added_field_is_skipped_by_an_old_server() -> None:
    new = request_class(*TALK, "string camera = 5;")
    seen = meet(image(new, camera="left"), Old)
    assert (seen.image_id, seen.image_data, list(seen.models)) == (7, b"pixels", ["resnet18"])
    assert not hasattr(seen, "camera")


def test_an_added_field_is_empty_for_a_new_server_when_an_old_client_calls() -> None:
    new = request_class(*TALK, "string camera = 5;", "optional int32 priority = 6;")
    seen = meet(image(), new)
    assert seen.image_data == b"pixels" and seen.camera == ""
    assert not seen.HasField("priority")  # `optional` tells "not sent" from 0
    assert meet(image(new, priority=0), new).HasField("priority")


def test_unknown_fields_come_back_from_an_old_server(old_server: Server) -> None:
    """It keeps what it does not know, and writes it again."""
    new = request_class(*TALK, "string camera = 5;")
    assert call(old_server.address, image(new, camera="left"), new).camera == "left"


def test_unknown_fields_pass_through_an_old_proxy() -> None:
    new = request_class(*TALK, "string camera = 5;")
    with Server(new, lambda request: request) as behind:

        def forward(request: Any) -> Any:
            request.image_id += 1  # it works with what it knows
            return call(behind.address, request, Old)

        with Server(Old, forward) as proxy:
            reply = call(proxy.address, image(new, camera="left"), new)
        (arrived,) = behind.received
    assert (arrived.image_id, arrived.camera) == (8, "left")
    assert (reply.image_id, reply.camera) == (8, "left")


def test_unknown_fields_do_not_pass_when_a_proxy_copies_field_by_field() -> None:
    new = request_class(*TALK, "string camera = 5;")
    seen = meet(image(new, camera="left"), Old)
    by_hand = Old(image_id=seen.image_id, image_data=seen.image_data, models=seen.models)
    assert unknown_numbers(seen) == [5] and unknown_numbers(by_hand) == []


def test_a_removed_field_is_skipped_by_a_new_server_and_empty_for_an_old_one() -> None:
    new = request_class(IMAGE_ID, IMAGE_DATA, "reserved 3; reserved 'image_metadata';", MODELS)
    assert meet(image(), new).models == ["resnet18"]
    seen = meet(new(image_id=7, image_data=b"pixels"), Old)
    assert seen.image_metadata == b"" and seen.image_data == b"pixels"


def test_a_renamed_field_is_the_same_field(old_server: Server) -> None:
    new = request_class(IMAGE_ID, "bytes pixels = 2;", METADATA, MODELS)
    assert meet(image(), new).pixels == b"pixels"
    assert meet(new(pixels=b"pixels"), Old).image_data == b"pixels"
    assert new(pixels=b"p").SerializeToString() == Old(image_data=b"p").SerializeToString()


def test_a_renamed_field_is_another_one_in_json() -> None:
    new = request_class(IMAGE_ID, "bytes pixels = 2;", METADATA, MODELS)
    text = json_format.MessageToJson(Old(image_data=b"AB"), indent=None)
    assert text == '{"imageData": "QUI="}'  # lowerCamelCase, and base64
    with pytest.raises(json_format.ParseError, match="imageData"):
        json_format.Parse(text, new())
    assert json_format.Parse(text, new(), ignore_unknown_fields=True) == new()


def test_the_order_in_the_file_does_not_matter() -> None:
    shuffled = request_class(MODELS, METADATA, IMAGE_DATA, IMAGE_ID)
    assert meet(image(), shuffled) == image(shuffled)


# integers


@pytest.mark.parametrize("number", [0, 7, -1, 2**31 - 1, -(2**31)])
def test_int32_becomes_int64(number: int) -> None:
    wider = request_class("int64 image_id = 1;")
    assert meet(Old(image_id=number), wider).image_id == number


@pytest.mark.parametrize(
    "number, seen", [(7, 7), (-1, -1), (2**31, -(2**31)), (2**32, 0), (2**32 + 7, 7)]
)
def test_int64_becomes_int32_and_its_high_half_is_lost_without_a_word(
    number: int, seen: int
) -> None:
    assert meet(request_class("int64 image_id = 1;")(image_id=number), Old).image_id == seen


@pytest.mark.parametrize(
    "kind, sent, seen",
    [
        ("uint32", -1, 2**32 - 1),
        ("uint64", -1, 2**64 - 1),
        ("bool", 7, True),
        ("sint32", 7, -4),  # zigzag: the bits are there, they mean something else
        ("sint32", 8, 4),
    ],
)
def test_other_varints_read_the_same_bits(kind: str, sent: int, seen: int) -> None:
    assert meet(Old(image_id=sent), request_class(f"{kind} image_id = 1;")).image_id == seen


@pytest.mark.parametrize("kind", ["fixed32", "float", "string", "double"])
def test_another_wire_type_is_another_field(kind: str) -> None:
    """What cannot be an int32 is skipped as if it were not known: the server sees 0, and no
    error.
    """
    new = request_class(f"{kind} image_id = 1;")
    seen = meet(Old(image_id=7, image_data=b"p"), new)
    assert seen.image_id == new().image_id and unknown_numbers(seen) == [1, 2]


def test_text_and_bytes_are_the_same_while_the_bytes_are_text() -> None:
    as_text = request_class("string image_metadata = 3;")
    assert meet(image(), as_text).image_metadata == '{"from": "talk"}'
    with Server(as_text, lambda request: request) as server, pytest.raises(grpc.RpcError) as raised:
        call(server.address, image(image_metadata=b"\xff\xfe"), as_text)
    assert raised.value.code() == grpc.StatusCode.INTERNAL and not server.received  # type: ignore[attr-defined]


def test_one_becomes_many_and_many_become_the_last() -> None:
    many = request_class("repeated string models = 4;", "repeated bytes image_data = 2;")
    assert meet(Old(image_data=b"p"), many).image_data == [b"p"]
    assert meet(many(image_data=[b"p", b"q"]), Old).image_data == b"q"


# what may not be done


def test_renumbered_fields_of_one_type_change_places_without_an_error() -> None:
    """The worst case: everything works, and the model is run on the metadata."""
    renumbered = request_class(
        IMAGE_ID, "bytes image_metadata = 2;", "bytes image_data = 3;", MODELS
    )
    seen = meet(image(), renumbered)
    assert seen.image_data == b'{"from": "talk"}' and seen.image_metadata == b"pixels"
    back = meet(image(renumbered), Old)
    assert back.image_data == b'{"from": "talk"}' and back.image_metadata == b"pixels"


def test_renumbered_fields_of_two_types_are_gone() -> None:
    """A new field put in front, and the others counted up."""
    renumbered = request_class(
        "string tenant = 1;",
        "int32 image_id = 2;",
        "bytes image_data = 3;",
        "bytes image_metadata = 4;",
    )
    seen = meet(image(), renumbered)
    # sent as a varint and as bytes: not what the schema says, skipped
    assert (seen.tenant, seen.image_id) == ("", 0)
    assert seen.image_data == b'{"from": "talk"}' and seen.image_metadata == b"resnet18"
    assert unknown_numbers(seen) == [1, 2]


def test_a_number_used_again_takes_old_clients_values() -> None:
    reused = request_class(IMAGE_ID, IMAGE_DATA, "string callback_url = 3;", MODELS)
    assert meet(image(), reused).callback_url == '{"from": "talk"}'


def test_a_number_used_again_for_a_message_is_an_error_or_worse() -> None:
    text = (
        'syntax = "proto3"; message Box { int32 left = 1; int32 right = 2; } message '
        "AddImageRequest { Box box = 3; }"
    )
    reused = compile_schema(text).AddImageRequest
    with pytest.raises(DecodeError):
        reused.FromString(image().SerializeToString())
    # four bytes that happen to be a Box
    seen = meet(image(image_metadata=bytes.fromhex("08 05 10 06")), reused)
    assert (seen.box.left, seen.box.right) == (5, 6)


def test_what_the_server_cannot_read_is_an_error_of_the_call() -> None:
    text = (
        'syntax = "proto3"; message Box { int32 left = 1; } message AddImageRequest { Box box = 3; '
        "}"
    )
    reused = compile_schema(text).AddImageRequest
    with Server(reused, lambda request: request) as server, pytest.raises(grpc.RpcError) as raised:
        call(server.address, image(), reused)
    assert raised.value.code() == grpc.StatusCode.INTERNAL  # type: ignore[attr-defined]
    assert server.received == []


@pytest.mark.parametrize(
    "field, said",
    [
        ("string url = 3;", 'Field "url" uses reserved number 3'),
        ("bytes image_metadata = 5;", 'Field name "image_metadata" is reserved'),
        (
            "string url = 2;",
            'Field number 2 has already been used in "AddImageRequest" by field "image_data"',
        ),
    ],
)
def test_reserved_numbers_cannot_be_used_again_by_mistake(field: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        request_class(IMAGE_ID, IMAGE_DATA, 'reserved 3; reserved "image_metadata";', MODELS, field)


# our own protocol, and what is said about defaults


def test_defaults_are_not_sent() -> None:
    assert Old(image_id=0, image_data=b"").SerializeToString() == b""
    assert (
        request_class("optional int32 image_id = 1;")(image_id=0).SerializeToString() == b"\x08\x00"
    )


def test_later_fields_of_the_protocol_do_not_disturb_our_server() -> None:
    """A client of a future version of the Open Inference Protocol sends a field that our schema
    does not have.
    """
    from internals.serving.protocol.messages import read_request
    from internals.serving.protocol.schema import open_inference
    from internals.serving.settings import Settings

    request = open_inference().ModelInferRequest(model_name="m", raw_input_contents=[bytes(8)])
    request.inputs.add(name="x", datatype="FP32", shape=[2])
    future = compile_schema(
        'syntax = "proto3"; message Future { string tenant = 9; int64 budget = 100; fixed32 crc = '
        "12; }"
    ).Future
    extra = future(tenant="t", budget=-1, crc=5).SerializeToString()
    for data in (extra + request.SerializeToString(), request.SerializeToString() + extra):
        read, _ = read_request(data, Settings())
        assert read.model == "m" and read.inputs["x"].tolist() == [0.0, 0.0]
