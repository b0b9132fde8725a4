"""Runs a model with a few numbers of rows only, if it has to be laid out anew for each number.

An optimised network with convolutions has buffers and loops for inputs of certain sizes. For other
sizes it is built again, which takes from tenths of a second to many seconds, and only a few are
kept. But batches have any number of rows. So such a model is run with four counts only, 1, 3, 10
and 32 for batches of at most 32, all of them built before the first request. A batch of 8 runs as
10: two rows are zeros, whose results are cut off. Zeros cost as much as other rows: if 16 rows
wait, 10 of them are run first, and the other 6 with those that have come meanwhile (`rows_to_run`),
rather than all of them as 32.

This requires that rows do not depend on each other. So it is tested, before the first request,
whether other rows in place of the zeros change a result; if they do, batches are not padded.

How the real one differs: TensorRT has optimisation profiles for ranges of sizes, and CUDA graphs
are captured for some batch sizes in the same way (vLLM's `cudagraph_capture_sizes`). Triton does
not pad batches; its TensorRT backend runs a smaller batch with a larger graph if
`graph_lower_bound` allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import internals as torch
from internals import Tensor
from internals.jit.runtime.convolution_group import MOST_NETWORKS


def row_counts(most: int, count: int = MOST_NETWORKS) -> tuple[int, ...]:
    """At most `count` numbers from 1 to `most`, in a geometric sequence: 1, 3, 10, 32."""
    steps = max(count - 1, 1)
    return tuple(sorted({round(most ** (k / steps)) for k in range(steps + 1)} | {1, most}))


def next_count(rows: int, counts: Sequence[int]) -> int:
    """The smallest of the counts that is at least `rows`; `rows` itself if there is none."""
    return next((count for count in counts if count >= rows), rows)


def rows_to_run(waiting: int, counts: Sequence[int]) -> int:
    """How many of the waiting rows should run at once: all, unless more than a quarter of the batch
    would be padding; then as many as the next smaller count.
    """
    below = max((count for count in counts if count <= waiting), default=waiting)
    return waiting if 4 * waiting >= 3 * next_count(waiting, counts) else below


def filled_up(inputs: Sequence[Tensor], rows: int, wanted: int) -> list[Tensor]:
    """The inputs (rows, ...) with zeros appended: (wanted, ...)."""
    return [torch.cat([t, t.new_zeros([wanted - rows, *t.shape[1:]])]) for t in inputs]


def others_do_not_matter(
    run: Callable[[Sequence[Any]], Mapping[str, Any]],
    zeros: Callable[[int], list[Any] | None],
    counts: Sequence[int],
) -> bool:
    """Whether the first row of a batch has the same result next to zeros as next to random rows.
    This is an experiment, not a proof.

    `zeros(rows)` are inputs for `run`, whose sizes are used; without them nothing can be tried, and
    the answer is True.
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
    """Whether two tensors are equal, for floats up to rounding."""
    if not a.is_floating_point() or not a.numel():
        return torch.equal(a, b)
    return a.shape == b.shape and torch.allclose(
        a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()), equal_nan=True
    )
