"""What people believe about fusion and memory traffic."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "arrays": [
        (
            {"one by one": 3, "fused": 3},
            "s, p and t are arrays, too: each is written, and read again by the next operator",
        ),
        (
            {"one by one": 4, "fused": 1},
            "what is read has to travel as well: each operator reads its arguments from memory",
        ),
        (
            {"one by one": 10, "fused": 4},
            "the fused loop has no temporary in memory: two inputs and a result",
        ),
    ],
    "saved": [
        (
            {"gelu": 9.0, "x * y + 1": 2.0},
            "it is not operators that are counted but arrays, and both inputs stay",
        ),
        ({"gelu": 1.0, "x * y + 1": 1.0}, "each temporary is written and read again"),
    ],
    "in place": [
        (
            {"written_to": 1, "not_written_to": 1},
            "what add_ writes to may be looked at from elsewhere, so it stays outside",
        ),
        (
            {"written_to": 1, "not_written_to": 0},
            "in place saves memory where each operator runs alone; it is in a compiler's way",
        ),
        (
            {"written_to": 2, "not_written_to": 1},
            "one operator alone is no group, and nothing moves past a write",
        ),
    ],
    "what ends a group": [
        (
            {"product": 2, "transpose": 1, "chunk": 1, "cat": 1, "softmax": 1},
            "a transpose moves no element, but after it the same place is another place",
        ),
        (
            {"product": 2, "transpose": 2, "chunk": 1, "cat": 2, "softmax": 1},
            "each part of a cat at the end is stored in its own place of the result",
        ),
        (
            {"product": 2, "transpose": 2, "chunk": 1, "cat": 1, "softmax": 0},
            "a softmax works on a row at a time, and so does its loop",
        ),
        (
            {"product": 1, "transpose": 1, "chunk": 1, "cat": 1, "softmax": 1},
            "an element of a matrix product needs a whole row",
        ),
    ],
    "small": [
        (
            {"1,000": 0, "100,000": 0},
            "a thousand elements are in the cache: there is nothing to save, and no kernel is made",
        ),
        ({"1,000": 4, "100,000": 4}, "the large one runs as one kernel"),
    ],
    "shapes": [
        (5, "what can be merged into one dimension is, so the first three share a kernel"),
        (1, "a number is loaded once, before the loop, and gaps are strides: other loops"),
        (4, "two transposed tensors are dense in the same order, and so is the result"),
    ],
    "twice": [
        ([], "the difference is needed in two walks, and there is no place for a row of it"),
        (["n5"], "the mean is one number for a row: it stays in a register"),
    ],
    "stored": [
        (1, "the backward asks for the sigmoid and the tanh"),
        (5, "what the backward can do without is not stored"),
    ],
    "object files": [
        (
            {
                "the first call": 1,
                "another size": 2,
                "float64": 3,
                "by methods": 4,
                "another number": 5,
            },
            "sizes are arguments, and the key is the text of the kernel, not who asked for it",
        ),
        (
            {
                "the first call": 1,
                "another size": 1,
                "float64": 2,
                "by methods": 3,
                "another number": 4,
            },
            "the same formula by methods comes down to the same loop",
        ),
    ],
    "classroom": [
        (
            {"object files": 2, "the third imports numba": False},
            "both write the same name, under which there is one file",
        ),
        (
            {"object files": 1, "the third imports numba": True},
            "an object file needs a linker only",
        ),
    ],
}
