"""What people believe about graphs."""

from __future__ import annotations

from exercises.beliefs import Beliefs

SAME = "%row looks at the memory of %x, and neg_ writes there before the second relu reads"
OUTSIDE = "a value of a block is not defined for the nodes outside: that is a matter of order"

BELIEFS: Beliefs = {
    "nodes": [
        (3, "the numbers are nodes, too: a graph has nothing but nodes to make values"),
        (4, "0.5 and 1 are two constants, and each is a node of its own"),
        (7, "inputs and outputs belong to nodes at both ends that are not counted among the rest"),
    ],
    "the same name": [
        (
            {"older": "x", "newer": "x.1"},
            "the newcomer gets the name: what reads as %x is what x is in the end",
        ),
        ({"older": "x", "newer": "x"}, "no two values of a graph have the same name"),
    ],
    "which add": [
        (
            {"Tensor, Tensor": "Tensor", "Tensor, number": "Tensor", "int, int": None},
            "there is an overload for numbers, and the type says that b is one",
        ),
        (
            {"Tensor, Tensor": "Tensor", "Tensor, number": "Scalar", "int, int": "int"},
            "the overload for two ints takes two arguments, and this node has three",
        ),
        (
            {"Tensor, Tensor": "Tensor", "Tensor, number": "Scalar", "int, int": "Scalar"},
            "Scalar wants a tensor first; the overload for two ints takes only two arguments",
        ),
    ],
    "collatz": [
        (1, "that is what n is in the end; the graph returns the steps"),
        (3, "that is 6 halved, after the first turn; the loop goes on until n is 1"),
        (9, "6, 3, 10, 5, 16, 8, 4, 2, 1 are nine numbers, and eight steps"),
    ],
    "two relus": [
        (
            {"before": [[1.0, 2.0], [3.0, 4.0]], "after": [[1.0, 2.0], [3.0, 4.0]]},
            SAME,
        ),
        (
            {"before": [[0.0, 0.0], [3.0, 4.0]], "after": [[0.0, 0.0], [3.0, 4.0]]},
            "the first relu has run by then, and its result is memory of its own",
        ),
        (
            {"before": [[1.0, 2.0], [3.0, 4.0]], "after": [[-1.0, -2.0], [3.0, 4.0]]},
            "the second relu makes zeros of what is negative",
        ),
    ],
    "damages": [
        (
            {
                "b made before a": "order",
                "b is an int": "schema",
                "an arm gives nothing": "blocks",
                "t leaves its block": "blocks",
            },
            OUTSIDE,
        ),
        (
            {
                "b made before a": "order",
                "b is an int": "attributes",
                "an arm gives nothing": "blocks",
                "t leaves its block": "order",
            },
            "which type an output has is said by the operator's schema",
        ),
    ],
}
