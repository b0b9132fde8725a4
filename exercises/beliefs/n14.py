"""What people believe about passes."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "transposed": [
        (
            {"three": 1, "middle": 2},
            "y stays because it is returned; y.t() is x again, whoever else gets y",
        ),
        ({"three": 3, "middle": 2}, "two of three in a row cancel, and one is left"),
    ],
    "dead writes": [
        (
            {"w": False, "v": False},
            "w writes into a row of copy, and copy is returned: what is written counts, not who "
            "reads w",
        ),
        (
            {"w": True, "v": True},
            "what v writes to is a copy that is never returned, so the write is lost",
        ),
    ],
    "merged": [
        (
            {
                "written_between": False,
                "two_random": False,
                "both_returned": True,
                "inside_a_branch": True,
            },
            "the caller gets both results and may write to one of them",
        ),
        (
            {
                "written_between": False,
                "two_random": False,
                "both_returned": False,
                "inside_a_branch": False,
            },
            "the first sum has surely run when an arm does, so the arm can use it",
        ),
        (
            {
                "written_between": False,
                "two_random": False,
                "both_returned": True,
                "inside_a_branch": False,
            },
            "it is the other way round: an arm can use what surely ran before it, and a caller "
            "who gets two tensors may write to one",
        ),
        (
            {
                "written_between": True,
                "two_random": True,
                "both_returned": True,
                "inside_a_branch": True,
            },
            "the same words are not the same value: a write, a random number and a caller who "
            "gets both stand against it",
        ),
    ],
    "times one": [
        (
            {"float32": False, "int64": False, "bool": False},
            "True * 1 is an int64, so x * 1 is not x for a bool",
        ),
        (
            {"float32": True, "int64": True, "bool": True},
            "exp makes a new tensor anyway, so where the dtype stays, x will do",
        ),
        (
            {"float32": True, "int64": False, "bool": True},
            "times one is exact for floats as well",
        ),
    ],
    "places": [
        (
            {"before the others": False, "after the others": True},
            "after the others the relus are inside a fusion group, where the pass does not look",
        ),
        (
            {"before the others": True, "after the others": True},
            "after the others the relus are inside a fusion group, where the pass does not look",
        ),
    ],
}
