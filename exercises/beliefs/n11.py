"""What people believe about tracing."""

from __future__ import annotations

from exercises.beliefs import Beliefs

COPY = "a constant of a trace is the tensor itself, and the write goes to its memory"
READ = "Python read the number when the line ran, and the trace has no name `scale`"
BAKED = "int() made a Python number of the size, and 2 is in the graph; -1 takes the rest"

BELIEFS: Beliefs = {
    "transposed twice": [
        ({"eager": 2, "optimized": 2}, "who sees both can see that nothing has to be done"),
        ({"eager": 2, "optimized": 1}, "transposing twice gives x back: none is needed"),
        (
            {"eager": 0, "optimized": 0},
            "when the first t runs, eager mode does not know that a second is coming",
        ),
    ],
    "outside changes": [
        ({"after scale": 2010.0, "after table": 1999.0}, READ),
        ({"after scale": 2010.0, "after table": 2010.0}, READ),
        ({"after scale": 16.0, "after table": 16.0}, COPY),
    ],
    "batch of 50": [
        ({"size": [2, 300], "int(size)": [2, 300]}, "a size is a tensor while a trace is recorded"),
        ({"size": [50, 12], "int(size)": [50, 12]}, BAKED),
        ({"size": [50, 12], "int(size)": [2, 12]}, BAKED),
    ],
    "five digits": [
        (45678, "the loop ran twice while it was traced, and is gone: two turns remain"),
        ("IndexError", "nothing looks at the length any more: what is too much is not read"),
        ("RuntimeError", "nothing looks at the length any more: what is too much is not read"),
    ],
    "dropped twice": [
        (
            True,
            "dropout is recorded as one operator, and tosses its coins each time the graph runs",
        ),
    ],
    "factor and mode": [
        (
            {
                "equal after net.factor = 1000": True,
                "traced_net.training": True,
                "traced_net drops something": True,
            },
            "2.0 and the mode were written down as constants; the graph asks for neither",
        ),
        (
            {
                "equal after net.factor = 1000": False,
                "traced_net.training": True,
                "traced_net drops something": True,
            },
            "the attribute is set, but the graph has `False` where dropout asks for the mode",
        ),
        (
            {
                "equal after net.factor = 1000": False,
                "traced_net.training": False,
                "traced_net drops something": False,
            },
            "train() does set the attribute; what nobody does is ask for it",
        ),
    ],
}
