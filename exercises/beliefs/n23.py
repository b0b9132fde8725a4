"""What people believe about measuring."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "operators": [
        (
            {"operators": 6, "aten::mm": 2},
            "the backward pass and the optimizer call operators, too, and so does each layer",
        ),
        (
            {"operators": 10, "aten::mm": 4},
            "the images want no gradient, so the first layer has one product less",
        ),
    ],
    "fooled": [
        (
            {"mean": True, "median": False, "min": False},
            "of the runs of B not one was without the neighbour, so its least is high as well",
        ),
        (
            {"mean": True, "median": True, "min": False},
            "the least resists noise that comes and goes, not a machine that has changed",
        ),
    ],
    "functions": [
        (
            {"a + b": 1, "p + b": 1, "the long way": 1},
            "each layer of the dispatcher is a function here",
        ),
    ],
    "parts": [
        (
            {"12, grain 1": 4, "10, grain 2": 5, "5, grain 4": 2},
            "there are at most as many parts as threads, and five pieces are no two grains",
        ),
        (
            {"12, grain 1": 12, "10, grain 2": 5, "5, grain 4": 2},
            "there are at most as many parts as threads",
        ),
    ],
    "at once": [
        (0, "the caller does a part as well, while the other thread has the other"),
        (1, "both waited for each other, and went on"),
    ],
    "same bits": [
        (4, "the blocks are of a fixed length, and their sums are added in their order"),
    ],
    "fewer": [
        (2.25, "that is F(2, 3): 36 for 16"),
        (2.0, "in one dimension; it is squared"),
    ],
}
