"""What people believe about a GPU's memory."""

from __future__ import annotations

from exercises.beliefs import Beliefs

ENTIRELY = "only segments that are entirely free go back, and a tensor lives in each of the three"
HELD = "the blocks are free, but the segments are kept for the next tensors: that is the cache"
SCALAR = "the scalar lives in the small pool's segment of 2 MiB, which therefore stays"

BELIEFS: Beliefs = {
    "empty_cache": [
        ({"MiB reserved": 30, "12 MiB fit": True}, ENTIRELY),
        ({"MiB reserved": 30, "12 MiB fit": False}, ENTIRELY),
        ({"MiB reserved": 0, "12 MiB fit": True}, ENTIRELY),
        (
            {"MiB reserved": 60, "12 MiB fit": True},
            "the largest free block has 5 MiB, and the GPU has only 4 left for a new segment",
        ),
    ],
    "best fit": [
        (
            {"d": True, "e": True},
            "the hole has 512 bytes, and e needs 1,024 after rounding",
        ),
        (
            {"d": False, "e": False},
            "of all free blocks that are large enough the smallest is taken, and that is the hole",
        ),
        (
            {"d": False, "e": True},
            "the hole has 512 bytes: large enough for d, and too small for e",
        ),
    ],
    "segments": [
        ({"4 bytes": 1, "5 MiB": 5, "12 MiB": 12}, "small requests share a segment"),
        (
            {"4 bytes": 2, "5 MiB": 6, "12 MiB": 12},
            "from 1 to 10 MiB the large pool asks for 20 MiB at a time",
        ),
        (
            {"4 bytes": 2, "5 MiB": 20, "12 MiB": 20},
            "from 10 MiB on it is just what is needed, in multiples of 2 MiB",
        ),
        (
            {"4 bytes": 20, "5 MiB": 20, "12 MiB": 20},
            "requests up to 1 MiB have a pool of their own, with segments of 2 MiB",
        ),
    ],
    "reserved": [
        ({"all alive": 38, "after del": 2, "after empty_cache": 2}, HELD),
        ({"all alive": 38, "after del": 38, "after empty_cache": 0}, SCALAR),
        ({"all alive": 38, "after del": 0, "after empty_cache": 0}, HELD),
        (
            {"all alive": 21, "after del": 0, "after empty_cache": 0},
            "that is what is allocated; segments are larger than what is in them",
        ),
        (
            {"all alive": 21, "after del": 21, "after empty_cache": 0},
            "that is what is allocated; segments are larger than what is in them",
        ),
        (
            {"all alive": 22, "after del": 22, "after empty_cache": 2},
            "5 MiB lie in a segment of 20, and the 16 do not fit behind them",
        ),
    ],
    "second step": [
        (
            {"cudaMalloc": 0, "higher peak": False},
            "in the first step Adam's averages were made only after the peak of backward",
        ),
        (
            {"cudaMalloc": 15, "higher peak": True},
            "each tensor gets a block from the cache; the segment is there already",
        ),
    ],
}
