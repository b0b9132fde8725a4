"""What people believe about allocators."""

from __future__ import annotations

from exercises.beliefs import Beliefs

ITSELF = "three neighbours are in order already, so contiguous() returns the view itself"
SAME_BYTES = "detach() leaves the history behind, not the storage"

BELIEFS: Beliefs = {
    "cures": [
        ({"contiguous": True, "detach": True, "list": True, "times one": True}, ITSELF),
        ({"contiguous": True, "detach": False, "list": True, "times one": True}, ITSELF),
        ({"contiguous": True, "detach": False, "list": False, "times one": True}, ITSELF),
        ({"contiguous": False, "detach": True, "list": True, "times one": True}, SAME_BYTES),
        (
            {"contiguous": False, "detach": False, "list": False, "times one": True},
            "a list as an index always copies, even if its elements are neighbours",
        ),
    ],
    "one dies": [
        (
            {"from the system": 2, "b is where a was": False},
            "the block of a was kept, and 20 and 24 bytes belong to the same size class",
        ),
        (
            {"from the system": 2, "b is where a was": True},
            "the block never went back to the system: b got it from the cache",
        ),
    ],
    "eleven": [
        (2, "the old `temporary` lives until the name is given to the new one"),
        (11, "what is dropped comes back to the cache, and the next tensor takes it"),
        (1, "`kept` keeps its block, and the others need at least one more"),
        (10, "what is dropped comes back to the cache, and the next tensor takes it"),
    ],
    "peaks": [
        (
            {"(a + b) * (a - b)": 3, "(a + b).mul_(a - b)": 3, "a.add_(b).mul_(b)": 2},
            "both brackets live until they are multiplied",
        ),
        (
            {"(a + b) * (a - b)": 4, "(a + b).mul_(a - b)": 4, "a.add_(b).mul_(b)": 2},
            "the product is a third new tensor, and both brackets live until it is there",
        ),
        (
            {"(a + b) * (a - b)": 5, "(a + b).mul_(a - b)": 3, "a.add_(b).mul_(b)": 2},
            "a - b is a new tensor, too, also when the product is written in place",
        ),
    ],
    "on the gpu": [
        (4, "the driver is asked for a large segment, and blocks are cut from it"),
        (6, "blocks that come back are used again, and here they are cut from one segment"),
    ],
}
