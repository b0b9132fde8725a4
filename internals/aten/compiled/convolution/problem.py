"""A convolution with its sizes and its memory, for which an algorithm is chosen.

How the real one differs: oneDNN calls this a primitive descriptor, and takes the first of its
implementations that supports it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..registers import LANES
from .buffers import NOWHERE, Buffer, Place
from .layers import Convolution


@dataclass(frozen=True)
class Problem:
    """A convolution layer, the buffers that it reads and writes, and the number of threads."""

    layer: Convolution
    x: Buffer
    out: Buffer
    residual: Buffer | None
    threads: int

    @property
    def key(self) -> str:
        """Everything that decides which algorithm is the quickest, except the CPU. The residual is
        not part of it: adding one takes the same time in all algorithms.
        """
        a = self.layer
        what = (
            f"{self.x.sizes} {a.weight.shape} {a.stride} {a.padding} {a.dilation} groups {a.groups}"
        )
        memory = f"lanes {self.x.lanes} borders {self.x.border} {self.out.border}"
        return f"{what} {memory} threads {self.threads}"

    @property
    def depthwise(self) -> bool:
        """Whether each channel has its own kernel, and there are as many outputs as inputs."""
        return self.layer.groups == self.layer.weight.shape[0] == self.x.sizes[1] > 1

    def bias(self) -> Any:
        """One number for each output channel, and zeros to fill up the last block."""
        found = np.zeros(self.out.blocks * LANES, np.float32)
        if self.layer.bias is not None:
            found[: len(self.layer.bias)] = self.layer.bias
        return found


@dataclass(frozen=True)
class View:
    """The loop over images, rows and columns of output, and where it finds them. Every place is
    that of the first output pixel.
    """

    batch: int
    height: int
    width: int
    x: Place  # its `row` is the distance between the inputs of two rows of output
    pixel_step: int  # the distance between the inputs of two pixels of a row
    out: Place
    residual: Place

    @staticmethod
    def of(p: Problem) -> View:
        """The loop for a problem, with longer rows than the picture's where the memory allows it:
        tiles then have fewer edges.

        Where results have one pixel each (linear layers), the images become the pixels of a column.
        With a 1x1 kernel and no borders, all pixels of a picture are one row.
        """
        a, (n, _, h, w) = p.layer, p.out.sizes
        # the first window begins in the border, `padding` before the first pixel
        x = p.x.place(*a.padding)
        x = x._replace(row=x.row * a.stride[0])
        residual = p.residual.place() if p.residual is not None else NOWHERE
        view = View(n, h, w, x, a.stride[1] * p.x.lanes, p.out.place(), residual)
        if h == w == 1:
            x, out, residual = (
                place._replace(row=place.image) for place in (view.x, view.out, view.residual)
            )
            return replace(view, batch=1, height=n, x=x, out=out, residual=residual)
        buffers = [b for b in (p.x, p.out, p.residual) if b is not None]
        if (
            a.weight.shape[2:] == (1, 1)
            and a.stride == (1, 1)
            and not any(b.border for b in buffers)
        ):
            return replace(view, height=1, width=h * w)
        return view
