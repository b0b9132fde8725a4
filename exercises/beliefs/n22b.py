"""What people believe about vectorised loops."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "vectors": [
        (
            {"add_squares": True, "library_exps": True, "total": True, "running_total": False},
            "expf takes one number at a time, and a sum of floats has an order that is kept",
        ),
        (
            {"add_squares": True, "library_exps": False, "total": True, "running_total": False},
            "in another order a sum of floats has another result, so the order is kept",
        ),
        (
            {"add_squares": True, "library_exps": True, "total": False, "running_total": False},
            "a function of the C library takes one number and returns one",
        ),
    ],
    "overlap": [
        (False, "it compares the addresses first, and keeps a slow loop for arrays that overlap"),
    ],
    "constant": [
        ("float32", "0.1 is a float64, and a product of the two is one, too"),
    ],
    "terms": [
        (4, "r is up to 0.35: four terms give four digits, and float32 has seven"),
        (5, "each term is worth a bit more than a digit, and float32 has seven"),
        (6, "seven digits of the result are not yet 2 in the last bit"),
        (7, "close: 2.9 ulp"),
    ],
    "one part": [
        (True, "n is up to 127, and n times the error of log 2 is what r is off by"),
    ],
}
