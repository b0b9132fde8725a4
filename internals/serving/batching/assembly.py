"""Requests to one batch, and the batch's results back to each request.

`join` puts the rows one below the other: the only copy that batching costs. A request alone is not
copied at all. `split` gives each request its rows of every output as a view: same storage, other
offset. With padding, smaller requests are filled up with zeros to the largest, and what the filling
added to the outputs is cut off again.

Mirrors `BackendInputCollector` and `BackendOutputResponder` of Triton's `backend/src`.

How the real one differs: Triton gathers into pinned memory, with a CUDA kernel when the pieces are
many and small.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import internals as torch
from internals import Tensor

Inputs = dict[str, Tensor]


def join(requests: Sequence[Inputs]) -> Inputs:
    """One input for each name: the rows of all requests, in order. Sizes that differ are filled up
    with zeros to the largest.
    """
    if len(requests) == 1:
        return requests[0]
    return {name: join_rows([inputs[name] for inputs in requests]) for name in requests[0]}


def join_rows(parts: list[Tensor]) -> Tensor:
    if all(part.shape[1:] == parts[0].shape[1:] for part in parts):
        return torch.cat(parts)
    largest = [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts))]
    batch = parts[0].new_zeros([sum(part.shape[0] for part in parts), *largest])
    start = 0
    for part in parts:
        rows = batch.narrow(0, start, part.shape[0])
        corner(rows, part.shape).copy_(part)
        start += part.shape[0]
    return batch


def padding(requests: Sequence[Inputs], joined: Inputs) -> Hashable:
    """To which sizes, and in which dimensions, requests had to be filled up; empty if they did
    not.
    """
    filled = set()
    for inputs in requests:
        for name, t in inputs.items():
            sizes = joined[name].shape[1:]
            filled |= {
                (name, sizes, dim) for dim in range(len(sizes)) if t.shape[dim + 1] != sizes[dim]
            }
    return frozenset(filled)


def split(outputs: Inputs, requests: Sequence[Inputs], joined: Inputs) -> list[Inputs]:
    """For each request its own rows of every output, as views.

    Where a request was padded, an output that is as large as the padded input in the same dimension
    is cut to the request's size.
    """
    if len(requests) == 1:
        return [outputs]
    shares: list[Inputs] = []
    start = 0
    for inputs in requests:
        rows = next(iter(inputs.values())).shape[0]
        share = {name: output.narrow(0, start, rows) for name, output in outputs.items()}
        for name, given in inputs.items():
            filled = joined[name].shape
            if given.shape[1:] != filled[1:]:
                share = {key: cut(output, given.shape, filled) for key, output in share.items()}
        shares.append(share)
        start += rows
    return shares


def cut(output: Tensor, own: Sequence[int], filled: Sequence[int]) -> Tensor:
    """The output without what padding added to it."""
    sizes = list(output.shape)
    for dim in range(1, min(len(sizes), len(own))):
        if own[dim] != filled[dim] and sizes[dim] == filled[dim]:
            sizes[dim] = own[dim]
    return corner(output, sizes)


def corner(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """The first `sizes[d]` of every dimension but the first, as a view."""
    for dim in range(1, len(sizes)):
        if tensor.shape[dim] != sizes[dim]:
            tensor = tensor.narrow(dim, 0, sizes[dim])
    return tensor
