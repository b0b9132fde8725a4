"""What people believe about files of models."""

from __future__ import annotations

from exercises.beliefs import Beliefs

COPIED = "the mapping is private: whoever writes to a page goes on with a copy of it"
FILES = (
    "2 by 255 elements, of a storage of 6",
    "two billion elements",
    "the last 60 bytes are missing",
    "a wrong letter in the pickle",
    "a wrong byte in a weight",
)

BELIEFS: Beliefs = {
    "sevens": [
        ({"this tensor": True, "the file": True, "the model, loaded again": True}, COPIED),
        ({"this tensor": True, "the file": False, "the model, loaded again": True}, COPIED),
        (
            {"this tensor": False, "the file": False, "the model, loaded again": False},
            "the tensor can be written to: its page is copied when that happens",
        ),
    ],
    "six numbers": [
        ({"view": 24, "clone": 24}, "a record is a storage, and the view's has a million numbers"),
        ({"view": 4_000_000, "clone": 4_000_000}, "clone allocates only what the tensor shows"),
    ],
    "refused": [
        (
            dict.fromkeys(FILES, True),
            "any four bytes are a float32, and no checksum is computed for what is not read",
        ),
        (
            {
                FILES[0]: False,
                FILES[1]: False,
                FILES[2]: True,
                FILES[3]: True,
                FILES[4]: False,
            },
            "sizes and strides are compared with the bytes that are there",
        ),
        (
            {
                FILES[0]: False,
                FILES[1]: False,
                FILES[2]: True,
                FILES[3]: True,
                FILES[4]: True,
            },
            "it is the other way round: sizes are compared with the bytes that are there, and a "
            "weight may be any number",
        ),
    ],
    "versions": [
        ({"version 4": 3.5, "version 3": 3.5}, "the version says which div is meant"),
        ({"version 4": 3, "version 3": 3}, "since version 4 div of integers is a division"),
        (
            {"version 4": 3.5, "version 3": "ArchiveError"},
            "old files can be read: their operators are replaced by what these meant then",
        ),
    ],
}
