"""Few row counts instead of many, for models that are laid out anew for each.

An optimised network with convolutions has its buffers, and the order of its loops, for inputs of certain sizes; for other sizes
it is built again, which takes from tenths of a second to many seconds, and only a few are kept. Batches come with any number of
rows. So such a model is run with four counts only, 1, 3, 10 and 32 for batches of 32 at most, all of them built before the
first request; a batch of 5 runs as 10, five of them zeros whose results are cut off.

Rows must not depend on each other for that; where they do, batches are not run at all (`batching/proof.py`).

How the real one differs: TensorRT calls these optimisation profiles, and CUDA graphs are captured for some batch sizes in the
same way (vLLM's `cudagraph_capture_sizes`); Triton fills up batches for them if `preferred_batch_size` and the client say so.
"""

from __future__ import annotations

from collections.abc import Sequence

import internals as torch
from internals import Tensor
from internals.jit.runtime.convolution_group import MOST_NETWORKS


def row_counts(most: int, count: int = MOST_NETWORKS) -> tuple[int, ...]:
    """At most `count` numbers from 1 to `most`, each as many times the one before."""
    steps = max(count - 1, 1)
    return tuple(sorted({round(most ** (k / steps)) for k in range(steps + 1)} | {1, most}))


def next_count(rows: int, counts: Sequence[int]) -> int:
    """The smallest of the counts that has room for so many rows; the number itself if none has."""
    return next((count for count in counts if count >= rows), rows)


def filled_up(inputs: Sequence[Tensor], rows: int, wanted: int) -> list[Tensor]:
    """The inputs with rows of zeros after their own."""
    return [torch.cat([t, t.new_zeros([wanted - rows, *t.shape[1:]])]) for t in inputs]
