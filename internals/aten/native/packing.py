"""Sequences of different lengths, with padding and without
(`aten/src/ATen/native/PackedSequence.cpp`).

A packed batch holds the first steps of all sequences, then the second steps of those that have one,
and so on. Longer sequences come first, so those that take part in step t are always the first
`batch_sizes[t]`. Sequences a a a, b b and c of lengths 3, 2 and 1 are packed as a b c a b a, with
the batch sizes 3, 2, 1.

How the real one differs: it writes padding step by step into a tensor, in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, array, empty_contiguous, from_array, snapshot


def pad_sequence(
    sequences: Sequence[Any], batch_first: bool, padding_value: float, padding_side: str
) -> Any:
    """N sequences (L_i, *) as (max L, N, *), or (N, max L, *) if `batch_first`, of the dtype of the
    first. Padding comes before the elements if `padding_side` is "left".

    Raises RuntimeError for an empty list or another `padding_side`.
    """
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(sequence.shape[0] for sequence in sequences)
    count, rest = len(sequences), sequences[0].shape[1:]
    sizes = (count, longest, *rest) if batch_first else (longest, count, *rest)
    padded = sequences[0].new_full(sizes, padding_value)
    for i, sequence in enumerate(sequences):
        length = sequence.shape[0]
        start = longest - length if padding_side == "left" else 0
        padded.select(0 if batch_first else 1, i).narrow(0, start, length).copy_(sequence)
    return padded


def _check_lengths(lengths: Tensor) -> None:
    """Raises RuntimeError unless `lengths` is a vector of int64 on the CPU."""
    if lengths.dim() != 1 or lengths.dtype is not dt.int64 or lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D "
            f"{lengths.device} {SCALAR_TYPE_NAME[lengths.dtype]} tensor"
        )


def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Any, Any]:
    """(data, batch_sizes) for (T, N, *), or (N, T, *) if `batch_first`, and N lengths, the longest
    first: the rows of all steps, (sum of the lengths, *), and the number of sequences in each step.

    Raises RuntimeError unless the lengths are int64 on the CPU, do not increase, and are positive.
    """
    _check_lengths(lengths)
    x, count = array(input), snapshot(lengths)
    if not x.size:
        raise RuntimeError("Cannot pack empty tensors.")
    batch = input.size(0 if batch_first else 1)
    x = np.swapaxes(x, 0, 1) if batch_first else x
    if len(count) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(count)} "
            f"(batch_size={batch})"
        )
    if (np.diff(count) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if count[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if count[0] > x.shape[0]:
        raise RuntimeError(f"a length of {count[0]} is more than there are steps: {x.shape[0]}")
    # (steps, N): a mask picks in row-major order, which is the packed one, step by step
    taking_part = np.arange(count[0])[:, None] < count
    data = empty_contiguous([int(count.sum()), *x.shape[2:]], input.dtype)
    array(data)[...] = x[: count[0]][taking_part]
    return data, from_array(taking_part.sum(1))


def _pack_padded_sequence_backward(
    grad: Tensor, input_size: Sequence[int], batch_sizes: Tensor, batch_first: bool
) -> Any:
    """The gradient of the padded batch, of `input_size`: each row of `grad` at its position, 0 in
    the padding. Raises RuntimeError unless `input_size` has at least two entries.
    """
    _check_lengths(batch_sizes)
    if len(input_size) < 2:
        raise RuntimeError(
            f"input_size should have at least two entries, but got {list(input_size)}"
        )
    time, batch = (input_size[1], input_size[0]) if batch_first else (input_size[0], input_size[1])
    padded = grad.new_zeros([time * batch, *input_size[2:]]).index_put(
        [_padded_rows(batch_sizes, batch, grad)], grad
    )
    padded = padded.view([time, batch, *input_size[2:]])
    return padded.transpose(0, 1) if batch_first else padded


def _pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: Scalar, total_length: int
) -> tuple[Any, Any]:
    """(padded, lengths): (T, N, *), or (N, T, *) if `batch_first`, filled up with `padding_value`,
    and the N lengths. T is the longest length, or `total_length` if that is positive.

    Raises RuntimeError unless the batch sizes are a vector of int64 on the CPU, and for a
    `total_length` below the longest length.
    """
    if (
        batch_sizes.dim() != 1
        or batch_sizes.dtype is not dt.int64
        or batch_sizes.device.type != "cpu"
    ):
        raise RuntimeError("batch_sizes should always be a 1D CPU tensor of int64")
    sizes = snapshot(batch_sizes)
    if not sizes.size:
        raise RuntimeError("batch_sizes has no entries: there is no sequence to pad")
    batch, time = int(sizes[0]), len(sizes)
    if total_length > 0:
        if total_length < time:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {time}"
            )
        time = total_length
    empty = data.new_full([time * batch, *data.shape[1:]], padding_value)
    padded = empty.index_put([_padded_rows(batch_sizes, batch, data)], data).view(
        [time, batch, *data.shape[1:]]
    )
    # a sequence takes part in as many steps as it is long
    lengths = from_array((sizes[:, None] > np.arange(batch)).sum(0))
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def _padded_rows(batch_sizes: Tensor, batch: int, like: Tensor) -> Any:
    """The index of each row of the packed data among the (time * batch) rows of the padded
    sequences, on the device of `like`.
    """
    sizes = array(batch_sizes)
    return from_array(np.flatnonzero(np.arange(batch) < sizes[:, None])).to(like.device)
