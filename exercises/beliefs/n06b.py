"""What people believe about PyTorch's functions of 2017."""

from __future__ import annotations

from exercises.beliefs import Beliefs

NAMED = "y.addmv_(alpha=10, mat=mat, vec=vec)"
DOUBLES = "y.addmv_(mat.double(), vec)"
FIRST = "y.addmv_(10, mat, vec)"

BELIEFS: Beliefs = {
    "sums": [
        (
            {"one by one": 1.0, "addmv_ of 2017": 1.0},
            "a float32 has 24 bits: next to 100000000, a 1 is lost",
        ),
        (
            {"one by one": 0.0, "addmv_ of 2017": 0.0},
            "its sum is an `accreal`: a double, which has room for both",
        ),
    ],
    "options": [
        (1, "what has a default may be left out"),
        (3, "beta and alpha can be left out both, too"),
        (2, "each of the two optional arguments is there or not"),
    ],
    "calls": [
        (
            {FIRST: "works", DOUBLES: "works", NAMED: "works"},
            "each wrapper is made for one type, and checks every tensor for it",
        ),
        (
            {FIRST: "refused", DOUBLES: "refused", NAMED: "works"},
            "a number, a matrix and a vector are the option with beta",
        ),
        (
            {FIRST: "works", DOUBLES: "refused", NAMED: "refused"},
            "what is given by name needs no position",
        ),
        (
            {FIRST: "works", DOUBLES: "works", NAMED: "refused"},
            "what is given by name needs no position, but its type is checked",
        ),
    ],
}
