"""What people believe about storages and views."""

from __future__ import annotations

from exercises.beliefs import Beliefs

UNEVEN = "contiguous means in order without gaps: "

BELIEFS: Beliefs = {
    "add to all": [
        ([11, 21, 31, 41], "once or three times? PyTorch refuses to guess"),
        ([13, 23, 33, 43], "once or three times? PyTorch refuses to guess"),
        ([10, 20, 30, 40], "expand copies nothing, so a write would reach row; it is refused"),
    ],
    "accepted": [
        (
            {(6, 2): False, (3, 2, 2): False, (2, 6): False, (12,): False},
            "z is not contiguous, but its first two dimensions are one chunk",
        ),
        (
            {(6, 2): True, (3, 2, 2): False, (2, 6): False, (12,): False},
            "a chunk of six can be cut into 3 times 2 as well",
        ),
        (
            {(6, 2): True, (3, 2, 2): True, (2, 6): True, (12,): True},
            "only reshape takes every shape, because it may copy",
        ),
        (
            {(6, 2): True, (3, 2, 2): True, (2, 6): True, (12,): False},
            "in (2, 6) the last dimension would reach from one chunk into the other",
        ),
    ],
    "corners": [
        (
            {
                "ones(2, 3).t()": False,
                "ones(1, 3).t()": False,
                "ones(4, 3)[:, 0]": False,
                "ones(4, 3)[1:]": True,
            },
            "the stride of a dimension of size 1 does not count",
        ),
        (
            {
                "ones(2, 3).t()": False,
                "ones(1, 3).t()": True,
                "ones(4, 3)[:, 0]": True,
                "ones(4, 3)[1:]": True,
            },
            UNEVEN + "a column steps over the rest of each row",
        ),
        (
            {
                "ones(2, 3).t()": False,
                "ones(1, 3).t()": True,
                "ones(4, 3)[:, 0]": False,
                "ones(4, 3)[1:]": False,
            },
            UNEVEN + "where in the storage it begins does not matter",
        ),
    ],
    "kinds": [
        (
            {
                "x[1:2]": "view",
                "x[None]": "view",
                "x[[1]]": "copy",
                "x[x > 100]": "copy",
                "x[[0, 1, 2, 3, 4]]": "view",
            },
            "a list copies, also if it happens to name everything in order",
        ),
        (
            {
                "x[1:2]": "view",
                "x[None]": "view",
                "x[[1]]": "view",
                "x[x > 100]": "copy",
                "x[[0, 1, 2, 3, 4]]": "copy",
            },
            "[1] is a list, and a list copies; 1 would give a view",
        ),
        (
            {
                "x[1:2]": "view",
                "x[None]": "copy",
                "x[[1]]": "copy",
                "x[x > 100]": "copy",
                "x[[0, 1, 2, 3, 4]]": "copy",
            },
            "a new dimension of size 1 needs a size and a stride, no memory",
        ),
    ],
    "writes": [
        ({"a": 2, "b": 4, "c": 4}, "b[mask] is a copy, and the zeros were written into that"),
        ({"a": 6, "b": 6, "c": 4}, "a[mask] = 0 does not copy: it writes into a"),
        ({"a": 2, "b": 6, "c": 6}, "c[0:2] is a view, so what is written to it reaches c"),
    ],
}
