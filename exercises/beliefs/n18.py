"""What people believe about torch.export and torch.compile."""

from __future__ import annotations

from exercises.beliefs import Beliefs

PARTS = "the if", "calls of modules", "the argument scale", "the write to the counter"
CALLS = (9, 8, 8, 9, 4), (9, 9, 8, 9, 4), (20, 19, 8, 20, 4), (9, 8, 7, 9, 4), (2, 1, 8, 2, 4)

BELIEFS: Beliefs = {
    "survivors": [
        (
            dict.fromkeys(PARTS, True),
            "that is a script: export runs the program, and writes down operators only",
        ),
        (
            dict.fromkeys(PARTS, False),
            "a write to a buffer is an operator on a tensor, and recorded like any other",
        ),
        (
            dict(zip(PARTS, (False, False, True, True), strict=True)),
            "scale was not given when the program was exported: its default is a constant",
        ),
        (
            dict(zip(PARTS, (True, False, False, True), strict=True)),
            "the condition asks for a size that was the number 4, so there was no choice",
        ),
    ],
    "let in": [
        (
            dict.fromkeys(CALLS, True),
            "x[1:] + y needs y to be one shorter than x, and pairs are reshaped to two columns",
        ),
        (
            dict(zip(CALLS, (True, False, False, False, False), strict=True)),
            "no length is frozen: they may be others, as long as they fit together",
        ),
        (
            dict(zip(CALLS, (True, False, True, False, True), strict=True)),
            "the ranges count as well: x has at least 3 elements",
        ),
    ],
    "tracers": [
        (
            {"jit.trace": 0, "jit.script": 0, "our FX": 0},
            "a trace has only the branch that its values took, and a proxy has no value",
        ),
        (
            {"jit.trace": 2, "jit.script": 0, "our FX": 2},
            "a proxy has no value, so the if cannot be decided at all",
        ),
        (
            {"jit.trace": "TypeError", "jit.script": 0, "our FX": "TypeError"},
            "the old tracer runs with real values: it decides, and says nothing",
        ),
    ],
    "graphs": [
        ([1, 0, 0, 0, 0], "an if that asks for a value cannot be in a graph: Python decides it"),
        ([2, 0, 0, 2, 0], "the other branch has not been recorded before call 2"),
        ([2, 0, 1, 2, 2], "at the second length it becomes a symbol, and 6 is let in, too"),
        ([2, 0, 1, 0, 0], "the first graph was made for length 3, and its guard says so"),
        ([2, 0, 2, 2, 0], "what comes before the if is the same for both branches"),
    ],
    "recordings": [
        (4, "three ones and three twos have the same sizes, dtype and n"),
        (2, "length 4 is another size, and here a size is a number, not a symbol"),
        (1, "the loop is unrolled for one n, and sizes are numbers"),
    ],
}
