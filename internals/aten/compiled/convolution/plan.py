"""Prints the decisions made for a network: a table with a row for each step.

    resnet18 on 2 threads
    layer               result              algorithm                                       ratio
    7x7 3->64 /2 relu   1 x 64 x 112 x 112  direct, 28 pixels x 16 channels                 1.0
    maximum of 3x3      1 x 64 x 56 x 56
    3x3 64->64 relu     1 x 64 x 56 x 56    Winograd F(4, 3), 4 tiles x 64 channels, ...    0.4

The ratio is the time of the algorithm over that of the best one that is not Winograd's, as measured
on this machine when it was chosen.

How the real one differs: `ONEDNN_VERBOSE=1` in the environment has oneDNN print a line for each
primitive that it runs.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple


class Row(NamedTuple):
    """A row of the table."""

    layer: str
    sizes: tuple[int, ...]  # of the result
    algorithm: str  # "" for a step that has only one
    ratio: float | None


class Plan:
    """The table of a network. `tried` counts the algorithms that were tried when it was built: 0 if
    all choices were on disk.
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
    """Messages on stderr while algorithms are tried for a network; none if all choices are on disk.

    A terminal shows the current layer; a file gets one line at the start and one at the end.
    """

    def __init__(self, name: str, layers: int) -> None:
        self.name, self.layers = name, layers
        self.begun: float | None = None

    def show(self, number: int, layer: str) -> None:
        """Say that layer `number` of all is being tried."""
        first, self.begun = self.begun is None, self.begun or time.perf_counter()
        if sys.stderr.isatty():
            line = f"building {self.name}: layer {number} of {self.layers}, {layer}"
            # \r goes back to the beginning of the line, so each layer overwrites the one before
            print(f"\r{line[:78]:78}", end="", file=sys.stderr, flush=True)
        elif first:
            print(
                f"building {self.name}: trying algorithms for {self.layers} layers",
                file=sys.stderr,
                flush=True,
            )

    def end(self, tried: int) -> None:
        """Say how long it took; nothing if `show` was never called."""
        if self.begun is not None:
            line = (
                f"built {self.name}: {tried} algorithms tried in "
                f"{time.perf_counter() - self.begun:.1f} s"
            )
            print(f"{chr(13) * sys.stderr.isatty()}{line:78}", file=sys.stderr, flush=True)
