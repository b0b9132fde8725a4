"""What people believe about loops."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "asked": [
        (
            {"no cache": 10, "caching": 1},
            "while t + 1 is computed, the old t and the new one both live",
        ),
        ({"no cache": 10, "caching": 10}, "what one sum drops, a later one takes"),
        ({"no cache": 1, "caching": 1}, "each operator makes a new array for its result"),
    ],
    "vectors": [
        (
            {"by_definition": True, "along_rows": True, "four_rows": True},
            "the sum of the first is a chain, whose order has to be kept",
        ),
        (
            {"by_definition": False, "along_rows": False, "four_rows": True},
            "neighbours in a row of c do not depend on each other",
        ),
    ],
    "furthest": [
        ("lanes", "many short chains keep their sums small, and small sums round less"),
        ("x.sum()", "it adds in float64, in blocks, and rounds once"),
    ],
    "fetched": [
        (
            {"row by row": 1.0, "tiles of 8": 1.0, "tiles of 16": 1.0},
            "a line of 16 numbers is thrown out before all of them were written",
        ),
        (
            {"row by row": 16.0, "tiles of 8": 2.0, "tiles of 16": 1.0},
            "that is so for what is written; what is read comes along rows, once",
        ),
    ],
    "columns": [
        (1.0, "windows overlap: each number of the picture is in nine of them"),
        (3.0, "a window is three by three"),
        (576.0, "that is the height of a column; a pixel is in nine columns"),
    ],
}
