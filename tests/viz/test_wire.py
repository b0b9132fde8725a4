"""`viz.wire`: every byte of a message is in the picture where it is in the message, or the picture
says how many are not.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import viz
from tests.viz.support import assert_good, same_in_two_processes

pytest.importorskip("grpc_tools", reason="the extra `serving` is not installed")

from internals.serving.protocol.schema import compile_schema, open_inference
from viz.canvas import Rect
from viz.rooms.wire import Wire
from viz.rooms.wire_canvas import key_tip

SCHEMA = """
syntax = "proto3";
message AddImageRequest {
  int32 image_id = 1;
  bytes image_data = 2;
  bytes image_metadata = 3;
  repeated string models = 4;
}
"""
AddImageRequest = compile_schema(SCHEMA).AddImageRequest
EXAMPLE = AddImageRequest(image_id=7, image_data=b"AB", models=["m"])


def infer_request(nbytes: int = 602_112) -> object:
    request = open_inference().ModelInferRequest(
        model_name="resnet18", raw_input_contents=[bytes(nbytes)]
    )
    request.inputs.add(name="x", datatype="FP32", shape=[1, 3, 224, 224])
    return request


def shown(picture: Wire) -> bytes:
    """The bytes in the cells of the drawing, in order."""
    texts = [
        t.text
        for t in picture.canvas().texts()
        if re.fullmatch("([0-9a-f]{2} ?)+", t.text) and t.anchor == "middle"
    ]
    return bytes.fromhex(" ".join(texts))


def test_text_of_the_slides_message() -> None:
    picture = viz.wire(EXAMPLE)
    assert_good(picture)
    assert (
        picture.text()
        == """message AddImageRequest: 9 bytes, 3 fields
  at  key  length  value  field         says
   0  08           07     1 image_id    int32  7
   2  12   02      41 42  2 image_data  bytes  b'AB'
   6  22   01      6d     4 models      string  'm'"""
    )
    assert shown(picture) == EXAMPLE.SerializeToString() == bytes.fromhex("080712024142" + "22016d")


def test_a_message_its_bytes_and_its_class_make_the_same_picture() -> None:
    data = EXAMPLE.SerializeToString()
    pictures = [
        viz.wire(EXAMPLE),
        viz.wire(data, AddImageRequest),
        viz.wire(bytearray(data), AddImageRequest.DESCRIPTOR),
    ]
    assert (
        len({picture.text() for picture in pictures})
        == len({picture.html() for picture in pictures})
        == 1
    )


def test_without_the_schema_there_are_no_names() -> None:
    picture = viz.wire(EXAMPLE.SerializeToString())
    assert_good(picture)
    assert "without its schema" in picture.text() and "image_id" not in picture.html()
    assert [row.kind for row in picture.rows] == ["varint", "length and bytes", "length and bytes"]


def test_messages_in_messages_and_what_is_long() -> None:
    picture = viz.wire(infer_request())
    assert_good(picture)
    assert [row.depth for row in picture.rows] == [0, 0, 1, 1, 1, 0]
    last = picture.rows[-1]
    assert len(last.value) == 6 and last.hidden == 602_106
    assert (
        last.at + len(last.key) + len(last.length) + len(last.value) + last.hidden == picture.size
    )
    assert "+ 602,106" in [t.text for t in picture.canvas().texts()]
    assert picture.canvas().sheet().w <= 768 and len(picture.svg()) < 30_000
    assert f"from byte {picture.size - 602_112} on" in picture.text()


def test_colours_say_what_a_byte_is_for() -> None:
    picture = viz.wire(EXAMPLE)
    fills = [m.fill for m in picture.canvas().marks if isinstance(m, Rect) and m.tip]
    assert fills == [
        f"{role}-soft"
        for role in "owner storage owner allocator storage owner allocator storage".split()
    ]


def test_fields_that_the_schema_does_not_have_are_grey() -> None:
    picture = viz.wire(infer_request(8).SerializeToString(), AddImageRequest)  # type: ignore[attr-defined]
    assert_good(picture)
    assert [row.known for row in picture.rows] == [False, False, False]
    fills = {m.fill for m in picture.canvas().marks if isinstance(m, Rect)}
    assert "free-soft" in fills and "storage-soft" not in fills
    assert "not in the schema: length and bytes, no int32 as image_id is" in picture.text()


def test_what_is_damaged_is_drawn_as_far_as_it_can_be_read() -> None:
    data = EXAMPLE.SerializeToString()[:-1]
    picture = viz.wire(data, AddImageRequest)
    assert_good(picture)
    assert shown(picture) == data
    assert "WARNING: field 4 has a length of 1, and 0 bytes are left" in picture.text()
    assert picture.rows[-1].value == b"\x22\x01" and picture.rows[-1].problem
    for broken in (b"\xff" * 30, b"\x0e", b"\x0b\x08", b"\x08"):
        assert_good(viz.wire(broken))


def test_negative_numbers_are_shown_whole() -> None:
    picture = viz.wire(AddImageRequest(image_id=-1))
    assert shown(picture) == b"\x08" + b"\xff" * 9 + b"\x01" and picture.rows[0].says == "-1"


def test_tips_take_the_key_apart() -> None:
    rows = viz.wire(EXAMPLE).rows
    assert [key_tip(row) for row in rows] == [
        "0x8 = 1 × 8 + 0: field 1, varint",
        "0x12 = 2 × 8 + 2: field 2, length and bytes",
        "0x22 = 4 × 8 + 2: field 4, length and bytes",
    ]


def test_many_fields_are_cut_and_it_says_so() -> None:
    picture = viz.wire(AddImageRequest(models=["m"] * 60))
    assert_good(picture)
    assert (
        len(picture.rows) == 24
        and picture.hidden == 36
        and "(36 more fields hidden)" in picture.text()
    )
    assert len(viz.wire(AddImageRequest(models=["m"] * 60), limit=60).rows) == 60


def test_an_empty_message() -> None:
    picture = viz.wire(AddImageRequest())
    assert_good(picture)
    assert picture.text() == "message AddImageRequest: 0 bytes, 0 fields"


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes of a message or a message, got str"):
        viz.wire("08 07")
    with pytest.raises(ValueError, match="at least 1, not 0"):
        viz.wire(b"", limit=0)


def test_hostile_names_and_values_are_escaped() -> None:
    picture = viz.wire(AddImageRequest(image_data=b"<script>", models=["<b>&amp;</b>"]))
    assert_good(picture)
    assert "<script>" not in picture.html() and "<b>" not in picture.html()


def test_viz_is_imported_without_what_serving_needs() -> None:
    program = (
        "import viz, sys; print([m for m in sys.modules if m.partition('.')[0] in ('google', "
        "'grpc', 'aiohttp')])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


@pytest.mark.sampled(1 / 4)
def test_same_bytes_in_every_process() -> None:
    program = f"""
import viz
from internals.serving.protocol.schema import compile_schema
request = compile_schema({SCHEMA!r}).AddImageRequest
message = request(image_id=-5, image_data=bytes(300), models=["a", "b"])
picture = viz.wire(message)
print(picture, picture.html())
"""
    assert "AddImageRequest" in same_in_two_processes(program)
