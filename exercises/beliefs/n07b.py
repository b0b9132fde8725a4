"""What people believe about hooks, modes and a second backward."""

from __future__ import annotations

from exercises.beliefs import Beliefs

RAISES = "RuntimeError"

BELIEFS: Beliefs = {
    "second": [
        (
            {"w * w": RAISES, "w.exp()": RAISES, "w + w": RAISES},
            "what is freed is what nodes keep, and the node of a sum keeps no tensor",
        ),
        (
            {"w * w": RAISES, "w.exp()": "works", "w + w": "works"},
            "exp keeps its result, which is freed as well",
        ),
        (
            {"w * w": "works", "w.exp()": "works", "w + w": "works"},
            "the nodes are still there, but what they kept is not",
        ),
    ],
    "weights": [
        ([6, 9], "these are the sums of the columns, with all weights 1"),
        ([111, 111], "each weight multiplies a row of m, and the rows are added"),
        (RAISES, "weights are just what was missing"),
    ],
    "hooks": [
        (
            {"y.grad": 12, "x.grad": 360},
            "retain_grad looks after all hooks of the tensor, wherever it stood among them",
        ),
        (
            {"y.grad": 12, "x.grad": 36},
            "what a hook returns replaces the gradient, for all that comes after it",
        ),
        (
            {"y.grad": 60, "x.grad": 180},
            "y is used twice, and the hook sees the sum of both gradients",
        ),
    ],
    "later": [
        (
            {"no_grad": "works", "detach": "works", "inference_mode": "works"},
            "w * it would have to save it, and without a version counter no write to it would be "
            "noticed",
        ),
        (
            {"no_grad": RAISES, "detach": RAISES, "inference_mode": RAISES},
            "what no_grad and detach return are ordinary tensors without a history",
        ),
        (
            {"no_grad": "works", "detach": RAISES, "inference_mode": RAISES},
            "a detached tensor is an ordinary tensor, on the same memory",
        ),
    ],
    "inside": [
        (
            {"new leaf": False, "w * 2": False, "another thread": False},
            "no_grad is about recording, not about leaves; and it is a mode of one thread",
        ),
        (
            {"new leaf": True, "w * 2": False, "another thread": False},
            "the mode belongs to the thread, and a new thread begins with recording on",
        ),
        (
            {"new leaf": False, "w * 2": False, "another thread": True},
            "requires_grad=True is the wish of a new leaf: nothing is recorded for it",
        ),
    ],
}
