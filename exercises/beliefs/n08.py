"""What people believe about derivatives."""

from __future__ import annotations

from exercises.beliefs import Beliefs

RAISES = "RuntimeError"

BELIEFS: Beliefs = {
    "memory": [
        (
            {"x.sum()": 1, "-x": 2, "x.tanh()": 2, "x.relu()": 2, "x.sin()": 2, "x.abs()": 2},
            "a node does not keep its input, it keeps what its formula mentions, and that may be "
            "the result, a shape, or nothing",
        ),
        (
            {"x.sum()": 1, "-x": 1, "x.tanh()": 1, "x.relu()": 1, "x.sin()": 2, "x.abs()": 2},
            "to spread one number over a shape, sum keeps the shape alone",
        ),
        (
            {"x.sum()": 0, "-x": 1, "x.tanh()": 1, "x.relu()": 1, "x.sin()": 2, "x.abs()": 1},
            "the derivative of abs is the sign of x, and the result has no signs left",
        ),
        (
            {"x.sum()": 0, "-x": 1, "x.tanh()": 1, "x.relu()": 2, "x.sin()": 2, "x.abs()": 2},
            "where relu lets something through, its result is positive: that is enough",
        ),
        (
            {"x.sum()": 0, "-x": 1, "x.tanh()": 2, "x.relu()": 1, "x.sin()": 2, "x.abs()": 2},
            "the derivative of tanh is 1 - tanh², and tanh is the result",
        ),
    ],
    "ctx": [
        (
            {"save_for_backward": RAISES, "ctx.x": RAISES},
            "an attribute has no version, so nothing notices that x was overwritten",
        ),
        (
            {"save_for_backward": "right", "ctx.x": "wrong"},
            "saving copies nothing: x is kept with its version, and the versions differ",
        ),
        (
            {"save_for_backward": "right", "ctx.x": "right"},
            "neither makes a copy: both look at what is in x when backward runs",
        ),
    ],
    "second": [
        (
            {"torch.sin": "right", "NumpySin": "right", "HonestSin": RAISES},
            "what numpy computes leaves no nodes, so its cos(x) is a constant",
        ),
        (
            {"torch.sin": "right", "NumpySin": RAISES, "HonestSin": RAISES},
            "a constant is nothing unusual in a formula: there is nothing to complain about",
        ),
        (
            {"torch.sin": "right", "NumpySin": "wrong", "HonestSin": "right"},
            "once_differentiable computes nothing more, it only refuses",
        ),
    ],
    "step": [
        (1e-12, "the difference of two nearly equal numbers is what rounding left of them"),
        (1e-2, "between two points so far apart the function is not straight"),
    ],
    "checks": [
        (
            {"Wrong": "gradcheck", "NumpySin": "gradgradcheck", "Round": "gradcheck"},
            "where the first derivative of Wrong is wrong, the second does not fit forward either",
        ),
        (
            {"Wrong": "both", "NumpySin": "gradgradcheck", "Round": "none"},
            "a measured slope of round is 0, and backward says 1",
        ),
        (
            {"Wrong": "both", "NumpySin": "gradgradcheck", "Round": "both"},
            "the derivative of what Round pretends is what it pretends: a constant",
        ),
        (
            {"Wrong": "both", "NumpySin": "none", "Round": "gradcheck"},
            "gradgradcheck moves x, and numpy's part of the gradient moves with it",
        ),
    ],
    "kink": [
        (
            {"relu": 0, "maximum": 0, "clamp": 0},
            "three entries, three decisions: maximum gives half to each side of a tie, and clamp "
            "counts its limit as inside",
        ),
        (
            {"relu": 1, "maximum": 1, "clamp": 1},
            "there is no derivative at 0, and each of the three entries decides for itself",
        ),
        (
            {"relu": 0.5, "maximum": 0.5, "clamp": 0.5},
            "that is what a central difference measures; only maximum splits a tie",
        ),
    ],
}
