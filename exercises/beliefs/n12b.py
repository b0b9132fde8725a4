"""What people believe about what a script may say."""

from __future__ import annotations

from exercises.beliefs import Beliefs

TENSOR = "of the argument `size` nothing is said, so it is a Tensor, and 3 is none"
EMPTY = "an empty list of which nothing is said is a list of tensors"
LOCAL = "between the question and the use an attribute may change; only local names are refined"

BELIEFS: Beliefs = {
    "inferred types": [
        ({"calls_split": "accepted", "collects": "accepted", "empty_dict": "accepted"}, TENSOR),
        ({"calls_split": "accepted", "collects": "refused", "empty_dict": "accepted"}, TENSOR),
        ({"calls_split": "refused", "collects": "accepted", "empty_dict": "accepted"}, EMPTY),
    ],
    "refinement": [
        (
            {
                "by_leaving": "accepted",
                "by_and": "accepted",
                "by_a_flag": "accepted",
                "self.bias": "accepted",
            },
            f"a flag is only a bool, where it came from is forgotten; and {LOCAL}",
        ),
        (
            {
                "by_leaving": "accepted",
                "by_and": "accepted",
                "by_a_flag": "refused",
                "self.bias": "accepted",
            },
            LOCAL,
        ),
        (
            {
                "by_leaving": "refused",
                "by_and": "accepted",
                "by_a_flag": "refused",
                "self.bias": "refused",
            },
            "who gets past `if bias is None: return` has a bias, and the compiler knows",
        ),
    ],
    "calls": [
        ({"graph": 2, "inlined": 2}, "before inlining, the graph has two calls of `square`"),
        ({"graph": 0, "inlined": 1}, "each call is replaced by what it calls, and there are two"),
        ({"graph": 1, "inlined": 2}, "`square` has a graph of its own, with the multiplication"),
    ],
    "counters": [
        (
            {"net.calls": 1, "scripted.calls": 1, "net.seen": 4.0, "scripted.seen": 4.0},
            "the buffer is a tensor, and tensors are shared",
        ),
        (
            {"net.calls": 2, "scripted.calls": 2, "net.seen": 8.0, "scripted.seen": 8.0},
            "a plain number is copied when the module is scripted",
        ),
    ],
    "other answers": [
        (
            {"power": "9", "one_more": "9223372036854775808", "dtype_of": "torch.float32"},
            "a power of ints may be a fraction, ints have 64 bits, and a dtype is a number",
        ),
        (
            {"power": "9", "one_more": "-9223372036854775808", "dtype_of": "6"},
            "3 ** -1 is a fraction, and the type may not depend on the exponent",
        ),
    ],
}
