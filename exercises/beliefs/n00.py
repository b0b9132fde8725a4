"""What people believe about sharing, and about how small PyTorch can be."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "write": [
        (
            {"array": False, "copied": False},
            "from_numpy takes the array's memory as it is, so both look at the same bytes",
        ),
        (
            {"array": True, "copied": True},
            "torch.tensor always copies: it has bytes of its own",
        ),
        (
            {"array": False, "copied": True},
            "it is the other way round: from_numpy borrows, and torch.tensor copies",
        ),
    ],
    "shares": [
        (
            {
                "borrowed.t()": False,
                "borrowed.reshape(6)": False,
                "borrowed[0]": False,
                "borrowed[[0]]": False,
            },
            "a slice of a list copies; of a tensor it is another description of the same bytes",
        ),
        (
            {
                "borrowed.t()": True,
                "borrowed.reshape(6)": True,
                "borrowed[0]": True,
                "borrowed[[0]]": True,
            },
            "a list of indices may name any rows in any order, and strides cannot describe that",
        ),
        (
            {
                "borrowed.t()": False,
                "borrowed.reshape(6)": True,
                "borrowed[0]": True,
                "borrowed[[0]]": False,
            },
            "a transpose only exchanges two strides",
        ),
        (
            {
                "borrowed.t()": True,
                "borrowed.reshape(6)": False,
                "borrowed[0]": True,
                "borrowed[[0]]": False,
            },
            "reshape copies only if it must, and the rows lie one behind the other here",
        ),
    ],
    "additions": [
        (
            {"a = a + 1": 1.0, "a += 1": 1.0},
            "`a + 1` is a new array; the name `a` leaves the old one, which the tensor still sees",
        ),
        (
            {"a = a + 1": 0.0, "a += 1": 0.0},
            "+= on an array writes into its bytes, and the tensor looks at them",
        ),
    ],
    "one page": [
        (200, "both compute the same function, with the same numbers to begin with"),
    ],
}
