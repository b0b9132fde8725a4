"""What people believe about the bytes and the copies of a request."""

from __future__ import annotations

from exercises.beliefs import Beliefs

RAW, BASE64 = "floats as they are", "floats in base64"
LIST, PIXELS = "floats as a JSON list", "pixels as a JSON list"

BELIEFS: Beliefs = {
    "shortest first": [
        (
            [RAW, BASE64, PIXELS, LIST],
            "a pixel as text is three digits, a comma and a space at most, and base64 has to write "
            "four times as many bytes",
        ),
        (
            [RAW, PIXELS, LIST, BASE64],
            "base64 takes 5.3 letters for a float32, and a float as text some twenty",
        ),
        (
            [PIXELS, RAW, BASE64, LIST],
            "a pixel is one byte in memory, but as text it takes almost five characters",
        ),
    ],
    "copies": [
        (
            {"JSON, base64": 2, "protobuf": 0},
            "encoding and decoding are two, but making a bytes, a str or a message copies, too",
        ),
        (
            {"JSON, base64": 2, "protobuf": 2},
            "each step whose result owns its memory copies, not only the encoding and the decoding",
        ),
        (
            {"JSON, base64": 7, "protobuf": 2},
            "protobuf's classes copy on assignment, on serializing, on parsing and on each look",
        ),
    ],
    "minus one": [
        (5, "four bytes are what it takes in memory; a varint of -1 has all its 64 bits"),
        (2, "that would be sint32, which writes -1 as 1; int32 extends it to 64 bits"),
        (6, "a varint of 32 bits would be five bytes, but a negative int32 is extended to 64"),
    ],
    "unknown field": [
        ("", "an unknown field is kept, and written again behind the known ones"),
        (
            "DecodeError",
            "a wire type says how long a value is, so an unknown one can be skipped and kept",
        ),
    ],
    "renumbered": [
        ("", "both fields are bytes, so the value of number 2 fits, and goes where 2 is now"),
        (
            '{"by": "me"}',
            "names are not sent: what comes as number 2 is read as what 2 means to the reader",
        ),
        ("DecodeError", "number and wire type fit, so nothing in the bytes could be wrong"),
    ],
    "stays": [
        (
            {"resnet1": True, "resnet18": True},
            "one more letter moves the image by a byte, and 33 is no multiple of 4",
        ),
        (
            {"resnet1": False, "resnet18": False},
            "behind a name of seven letters the image begins at byte 32, a multiple of 4",
        ),
        (
            {"resnet1": False, "resnet18": True},
            "it is where the image begins that counts, not the length of the name",
        ),
    ],
}
