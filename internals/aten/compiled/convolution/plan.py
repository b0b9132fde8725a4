"""The decisions made for a network, to be printed: a table with a row for each step.

    resnet18 on 2 threads
    layer               result              algorithm                                       ratio
    7x7 3->64 /2 relu   1 x 64 x 112 x 112  direct, 28 pixels x 16 channels                 1.0
    maximum of 3x3      1 x 64 x 56 x 56
    3x3 64->64 relu     1 x 64 x 56 x 56    Winograd F(4, 3), 4 tiles x 64 channels, ...    0.4

The ratio is the time of the algorithm over that of the best direct convolution, as measured on this
machine when it was chosen.

How the real one differs: `ONEDNN_VERBOSE=1` in the environment has oneDNN print a line for each
primitive that it runs.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple


class Row(NamedTuple):
    layer: str
    sizes: tuple[int, ...]
    algorithm: str
    ratio: float | None


class Plan:
    """The rows of a network; how many algorithms were `tried` for it when it was built (none if all
    were known).
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.threads, self.tried = name, threads, 0
        self.rows: list[Row] = []

    def __str__(self) -> str:
        cells = [("layer", "result", "algorithm", "ratio")]
        cells += [
            (
                r.layer,
                " x ".join(map(str, r.sizes)),
                r.algorithm,
                f"{r.ratio:.2f}" if r.ratio else "",
            )
            for r in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells]
        return "\n".join(
            [f"{self.name} on {self.threads} thread{'s' if self.threads > 1 else ''}", *lines]
        )

    __repr__ = __str__


class Progress:
    """Messages on stderr while a network is built that has layers to be tried; none where all are
    known.

    A terminal sees the layer; other places see that it begins and that it ends.
    """

    def __init__(self, name: str, layers: int) -> None:
        self.name, self.layers = name, layers
        self.begun: float | None = None

    def show(self, number: int, layer: str) -> None:
        first, self.begun = self.begun is None, self.begun or time.perf_counter()
        if sys.stderr.isatty():
            line = f"building {self.name}: layer {number} of {self.layers}, {layer}"
            print(f"\r{line[:78]:78}", end="", file=sys.stderr, flush=True)
        elif first:
            print(
                f"building {self.name}: trying algorithms for {self.layers} layers",
                file=sys.stderr,
                flush=True,
            )

    def end(self, tried: int) -> None:
        if self.begun is not None:
            line = (
                f"built {self.name}: {tried} algorithms tried in "
                f"{time.perf_counter() - self.begun:.1f} s"
            )
            print(f"{chr(13) * sys.stderr.isatty()}{line:78}", file=sys.stderr, flush=True)
