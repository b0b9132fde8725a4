"""What people believe about scripting."""

from __future__ import annotations

from exercises.beliefs import Beliefs

ONCE = "the number was looked up when the function was compiled, and is a constant of the graph"

BELIEFS: Beliefs = {
    "decoupled": [
        ({"after the number changed": 1000.0, "after the code is gone": 1000.0}, ONCE),
        ({"after the number changed": 1000.0, "after the code is gone": 3.0}, ONCE),
        (
            {"after the number changed": 3.0, "after the code is gone": "RuntimeError"},
            "what runs is a graph; Python's code was read once and is not needed again",
        ),
    ],
    "accepted": [
        (
            {"one_arm": True, "two_types": False, "two_types_used": False},
            "after one_arm's if there may be no a; and an a that is not read needs no type",
        ),
        (
            {"one_arm": False, "two_types": False, "two_types_used": False},
            "in two_types the name is never read after the if, so nothing has to be joined",
        ),
        (
            {"one_arm": True, "two_types": True, "two_types_used": True},
            "Python asks when it runs; the compiler has to know the type of every value before",
        ),
    ],
    "carried": [
        (["y", "z"], "y is assigned anew in each turn before it is read: nothing comes in"),
        (["i", "z"], "the counter is an input of every loop's block; it is not carried"),
        (["x", "z"], "x is never assigned in the loop, and a block sees what was made before it"),
        (["i", "y", "z"], "carried is what is assigned inside and known before"),
    ],
    "over a tuple": [
        (
            {"prim::Loop": 1, "aten::mul": 1},
            "one multiplication cannot serve an int, a float and a tensor: these are overloads",
        ),
        (
            {"prim::Loop": 1, "aten::mul": 3},
            "the length is known while compiling, so the body is written out three times",
        ),
    ],
    "and": [
        (
            {"aten::__and__": 1, "prim::If": 0},
            "an operator gets its inputs computed, and xs[i] may not be computed",
        ),
    ],
}
