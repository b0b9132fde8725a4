"""What people believe about the machine that runs a graph."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "registers": [
        (5, "only a value that has to wait gets one; the product is used at once"),
        (4, "the product and the sum are made on top of the stack, where they are looked for"),
        (3, "the product is made on top of the stack, where the sum looks for it"),
    ],
    "moved": [
        (
            {"registers": 2, "stack": 3},
            "MOVE clears the register: the last reader of a value takes it",
        ),
        (
            {"registers": 1, "stack": 3},
            "x was read twice, LOAD and then MOVE: the second clears its register, too",
        ),
        ({"registers": 2, "stack": 2}, "x is pushed twice: the sum will need it as well"),
    ],
    "witness": [
        (
            {"Python": "alive", "script": "alive"},
            "b was the last reader of a, and the last reader takes it",
        ),
        (
            {"Python": "freed", "script": "freed"},
            "in Python the name a holds its tensor until the function returns",
        ),
    ],
    "turns": [
        ({"LOOP": 111, "JF": 111}, "LOOP is reached once more, to leave"),
        ({"LOOP": 1, "JF": 111}, "each turn ends with a jump back to LOOP, which decides"),
        ({"LOOP": 112, "JF": 112}, "JF stands in the body, which runs once a turn"),
    ],
    "raised": [
        ("ValueError", "the machine is C++ and does not know Python's classes: it keeps the name"),
        ("RuntimeError", "that is what an operator's error becomes; a raise has a type of its own"),
    ],
    "plans": [
        (
            {
                "another size": True,
                "one dimension": True,
                "float64": True,
                "another number": False,
                "transposed": False,
                "requires grad": True,
            },
            "sizes are not in the key, only how many dimensions there are",
        ),
        (
            {
                "another size": False,
                "one dimension": True,
                "float64": True,
                "another number": False,
                "transposed": True,
                "requires grad": True,
            },
            "strides are not in the key",
        ),
        (
            {
                "another size": False,
                "one dimension": True,
                "float64": True,
                "another number": False,
                "transposed": False,
                "requires grad": False,
            },
            "a plan that is recorded holds its backward as a graph, so it is another one",
        ),
        (
            {
                "another size": True,
                "one dimension": True,
                "float64": True,
                "another number": True,
                "transposed": True,
                "requires grad": True,
            },
            "one plan serves all sizes, strides and numbers",
        ),
    ],
}
