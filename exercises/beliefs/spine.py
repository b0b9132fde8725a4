"""What people believe about the neuron of the spine."""

from __future__ import annotations

from exercises.beliefs import Beliefs

SUM = "a sum needs all products before it has a result, so a group ends there"

BELIEFS: Beliefs = {
    "bytes": [
        (24, "a Python float has 64 bits, but a tensor made from it has the default dtype"),
        (3, "that is the number of elements; each has four bytes"),
    ],
    "change": [
        (
            {"piece": 2.0, "array": 2.0, "copy": 2.0},
            "a slice of a list copies; a slice of a tensor looks at the same bytes",
        ),
        (
            {"piece": 20.0, "array": 2.0, "copy": 2.0},
            "numpy() copies nothing: the array looks at the tensor's bytes",
        ),
    ],
    "no_grad": [
        (
            ["CPU"],
            "w still requires a gradient, so its key is still there: the kernel of autograd runs, "
            "and decides not to record",
        ),
    ],
    "gradients": [
        (
            {"w": [0.5, -1, 1], "b": 1},
            "the derivative of a product by one factor is the other factor",
        ),
        ({"w": [1, 2, 3], "b": 0.5}, "the derivative of s + b by b is 1, whatever b is"),
    ],
    "write to the sum": [
        (
            "RuntimeError",
            "the derivative of a sum keeps no values, only sizes: nothing that it needs is gone",
        ),
    ],
    "zero_grad": [
        (0.832, "gradients are added to .grad, and those of the first step are still there"),
        (0.88, "the second step goes on from there"),
    ],
    "branch": [
        ({"traced": -0.005, "scripted": -0.005}, "a trace has only the branch that was taken"),
        ({"traced": -0.5, "scripted": -0.5}, "the text of the function has both branches"),
    ],
    "cse": [
        (True, "x.add_ changes what the second product reads; the pass sees that, and keeps both"),
    ],
    "kernels": [
        ([4], SUM),
        ([3], SUM),
        ([2, 2], f"one operator alone is not worth a kernel, and {SUM}"),
        ([1, 2], f"one operator alone is not worth a kernel, and {SUM}"),
    ],
}
