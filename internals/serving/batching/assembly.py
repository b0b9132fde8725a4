"""Joins requests to a batch, and splits the batch's results into those of each request.

`join` concatenates the rows: the only copy that batching needs. A single request is not copied at
all. `split` returns each request's rows of every output as a view: same storage, other offset.

    x: (2, 5), (3, 5)  --join-->  (5, 5)  --model-->  y: (5, 10)  --split-->  (2, 10), (3, 10)

With padding, smaller requests are filled with zeros to the largest size, and the sizes that the
padding added to the outputs are cut off again.

Mirrors `BackendInputCollector` and `BackendOutputResponder` of Triton's `backend/src`.

How the real one differs: Triton gathers into pinned memory, with a CUDA kernel if there are many
small parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import internals as torch
from internals import Tensor

Inputs = dict[str, Tensor]


def join(requests: Sequence[Inputs]) -> Inputs:
    """One tensor for each input name, with the rows of all requests in order. Other sizes that
    differ are padded with zeros to the largest.
    """
    if len(requests) == 1:
        return requests[0]
    return {name: join_rows([inputs[name] for inputs in requests]) for name in requests[0]}


def join_rows(parts: list[Tensor]) -> Tensor:
    """(rows of part 0, ...), (rows of part 1, ...), ... as one tensor (sum of the rows, ...)."""
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
    """The (input, padded sizes, dimension) of all padding in a batch; empty if there is none. Two
    batches with the same value are padded in the same way.
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
    """Returns for each request its own rows of every output, as views.

    If a request was padded, an output that has the padded size in the same dimension is cut to the
    request's size.
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
    """The part of an output that belongs to an input of sizes `own`, padded to `filled`."""
    sizes = list(output.shape)
    for dim in range(1, min(len(sizes), len(own))):
        if own[dim] != filled[dim] and sizes[dim] == filled[dim]:
            sizes[dim] = own[dim]
    return corner(output, sizes)


def corner(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """The first `sizes[d]` elements along each dimension d but the first, as a view."""
    for dim in range(1, len(sizes)):
        if tensor.shape[dim] != sizes[dim]:
            tensor = tensor.narrow(dim, 0, sizes[dim])
    return tensor
