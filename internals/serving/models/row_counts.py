"""Few row counts instead of many, for models that are laid out anew for each.

An optimised network with convolutions has its buffers, and the order of its loops, for inputs of
certain sizes; for other sizes it is built again, which takes from tenths of a second to many
seconds, and only a few are kept. Batches come with any number of rows. So such a model is run with
four counts only, 1, 3, 10 and 32 for batches of 32 at most, all of them built before the first
request; a batch of 8 runs as 10, two of them zeros whose results are cut off. Zeros cost as much as
rows: when 16 wait, 10 of them are run, and then the others with those that have come
(`rows_to_run`), rather than all of them as 32.

Rows must not depend on each other for that. So it is tried, before the first request, whether other
rows in the place of the zeros make a difference; where they do, nothing is filled up.

How the real one differs: TensorRT has optimisation profiles for ranges of sizes, and CUDA graphs
are captured for some batch sizes in the same way (vLLM's `cudagraph_capture_sizes`). Triton fills
up no batches; its TensorRT backend runs a smaller batch with a larger graph where
`graph_lower_bound` allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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


def rows_to_run(waiting: int, counts: Sequence[int]) -> int:
    """How many of the rows that wait should run at once: all, unless more than a quarter of the
    batch would be filled up.
    """
    below = max((count for count in counts if count <= waiting), default=waiting)
    return waiting if 4 * waiting >= 3 * next_count(waiting, counts) else below


def filled_up(inputs: Sequence[Tensor], rows: int, wanted: int) -> list[Tensor]:
    """The inputs with rows of zeros after their own."""
    return [torch.cat([t, t.new_zeros([wanted - rows, *t.shape[1:]])]) for t in inputs]


def others_do_not_matter(
    run: Callable[[Sequence[Any]], Mapping[str, Any]],
    zeros: Callable[[int], list[Any] | None],
    counts: Sequence[int],
) -> bool:
    """Whether the first rows of a batch get the same beside rows of zeros as beside others. An
    experiment, not a theorem.

    `zeros(rows)` are inputs for `run`, whose sizes are taken; where there are none, nothing can be
    tried and the answer is yes.
    """
    wanted = next((count for count in counts if count > 1), 1)
    inputs = zeros(wanted)
    if inputs is None or wanted == 1:
        return True
    generator = torch.Generator().manual_seed(0)
    others = [
        torch.randn(t.shape, generator=generator).to(t.dtype) if t.is_floating_point() else t
        for t in inputs
    ]
    beside_zeros = filled_up([t[:1] for t in others], 1, wanted)
    alone, together = run(beside_zeros), run(others)
    return alone.keys() == together.keys() and all(
        _close(alone[name][:1], together[name][:1]) for name in alone
    )


def _close(a: Tensor, b: Tensor) -> bool:
    if not a.is_floating_point() or not a.numel():
        return torch.equal(a, b)
    return a.shape == b.shape and torch.allclose(
        a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()), equal_nan=True
    )
