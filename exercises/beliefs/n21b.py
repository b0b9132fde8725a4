"""What people believe about streams, and reading too early."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "what arrived": [
        (
            {"at once": 1.0, "after the event": 1.0},
            "the copy was only queued: the copy engine reads the buffer when its turn comes",
        ),
    ],
    "other stream": [
        (
            {"without a word": 43.0, "after wait_stream": 43.0},
            "two streams know nothing of each other: the second one did not wait for the first",
        ),
    ],
    "overlap": [
        (
            {4: True, 16: True},
            "16 blocks fill the device's 16 multiprocessors, and nothing is left for the second",
        ),
        ({4: False, 16: False}, "4 blocks leave 12 of the 16 multiprocessors to the second kernel"),
    ],
    "given away": [
        (
            {"without record_stream": 6.0, "with record_stream": 6.0},
            "the allocator knows the stream that made the tensor, and no other reader of it",
        ),
    ],
    "in place": [
        (
            {"bytes": 1.0, "floats": 240.0},
            "to(float32) copies bytes, but gives floats back as the very same tensor",
        ),
        (
            {"bytes": 240.0, "floats": 240.0},
            "to(float32) gives a float tensor back as it is, and div_ writes into it",
        ),
    ],
}
