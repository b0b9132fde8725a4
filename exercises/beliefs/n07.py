"""What people believe about the graph and the engine."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "loop": [
        ([1, 1, 1], "there is one product in the text, but each time it runs it leaves a node"),
        ([4, 3, 2], "the comparison leaves no node: from True and False no gradient comes back"),
        ([3, 3, 3], "a graph is made for one run: 99 is above the limit after one product"),
    ],
    "leak": [
        (
            {"total": 1, "total_of_numbers": 0},
            "total is a tensor, so each addition is recorded, and leads to the one before it",
        ),
        (
            {"total": 4, "total_of_numbers": 4},
            "item() gives a float, and behind a float there is no graph",
        ),
        (
            {"total": 0, "total_of_numbers": 0},
            "total keeps its grad_fn, and from there all batches can be reached",
        ),
    ],
    "kept": [
        (
            {"x * y": 2, "x * c": 2, "x * 2": 1, "x + y": 2, "x.exp()": 1, "x.sum()": 1},
            "a node does not keep its inputs, it keeps what its formula mentions: a sum needs "
            "none, and x is needed only for a gradient of c, which is not wanted",
        ),
        (
            {"x * y": 2, "x * c": 2, "x * 2": 0, "x + y": 0, "x.exp()": 1, "x.sum()": 0},
            "x is needed only for the gradient of c, and c wants none",
        ),
        (
            {"x * y": 2, "x * c": 1, "x * 2": 1, "x + y": 0, "x.exp()": 1, "x.sum()": 0},
            "the gradient of x * 2 is grad * 2; the 2 is a number, not a tensor",
        ),
        (
            {"x * y": 2, "x * c": 1, "x * 2": 0, "x + y": 0, "x.exp()": 1, "x.sum()": 1},
            "to spread one number over a shape, sum needs the shape of x and not its values",
        ),
    ],
    "order": [
        ("a b c d e x", "backward begins at the result: only e has a gradient to begin with"),
        ("e c d b a x", "both are ready, and d was made later than c"),
        ("e d b c a x", "after d only one of the two gradients for b is there"),
        ("e d c a b x", "both are ready, and b was made later than a"),
    ],
    "twice": [
        (
            {"w.grad": [2, 2, 2], "same object": False, "the very memory": True},
            "the second gradient does not replace the first, it is added to it",
        ),
        (
            {"w.grad": [4, 4, 4], "same object": False, "the very memory": True},
            "the second gradient is added in place",
        ),
        (
            {"w.grad": [4, 4, 4], "same object": True, "the very memory": False},
            "nothing else holds the gradient that arrives, so a copy would be a waste",
        ),
    ],
}
