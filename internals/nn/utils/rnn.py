"""Sequences of different lengths as one tensor, and back (`torch/nn/utils/rnn.py`), as a
`collate_fn` for text needs them.

A batch is a rectangle, so shorter sequences are padded with a value that the model has to ignore:
`padding_idx` of an embedding, `ignore_index` of a loss, `key_padding_mask` of attention.

Recurrent layers also take packed sequences, which have no padding: padding costs time, and the
backward direction of an LSTM would start in it. A packed sequence has, step after step, the
elements of all sequences that are long enough, the longest first:

    abc, de, f  ->  data: a d f | b e | c    batch_sizes: 3, 2, 1

How the real one differs: scripts can use packed sequences, too; its `unpad_sequence` leaves its
argument transposed, unless `batch_first`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import internals
from internals import Tensor, arange
from internals._generated import functions as F, nn_functions as nn


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """N sequences (L_i, *) as one tensor (max L, N, *), or (N, max L, *) if `batch_first`, with the
    dtype of the first.

    Gradients flow back to each sequence. Raises RuntimeError for an argument that is not iterable,
    for no sequences, for a side other than "left" and "right", and where the other dimensions
    differ; TypeError for non-tensors.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = tuple(sequences)
    for i, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(sequence).__name__}"
            )
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    return nn.pad_sequence(sequences, batch_first, float(padding_value), padding_side)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The inverse of `pad_sequence`: the first `lengths[i]` elements of each sequence i of
    (max L, N, *), or (N, max L, *) if `batch_first`.

    Raises ValueError unless there is a length for each.
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    positions = arange(batch.shape[1], device=lengths.device)
    return [sequence[positions < length] for sequence, length in zip(batch, lengths, strict=True)]


class _Fields(NamedTuple):
    """The fields of `PackedSequence`, which adds methods and a constructor with checks."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """`data` (sum of lengths, *); `batch_sizes` (T), the number of sequences at each step, on the
    CPU; and the permutations that sort the batch and restore it, None if it was sorted.

    Made by `pack_padded_sequence` and `pack_sequence`. Raises ValueError for batch sizes on another
    device.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """A sequence with data converted or moved as by `Tensor.to`; itself if nothing changes.

        The permutations are only moved, as indices keep their dtype.
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        where = {k: v for k, v in kwargs.items() if k in ("non_blocking", "copy")} | {
            "device": data.device
        }
        permutations = (
            None if p is None else p.to(**where)
            for p in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, *permutations)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, **({"device": "cuda"} | kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, **({"device": "cpu"} | kwargs))

    def pin_memory(self) -> PackedSequence:
        pinned: Any = (None if t is None else t.pin_memory() for t in self)
        return type(self)(*pinned)

    def double(self) -> PackedSequence:
        return self.to(dtype=internals.double)

    def float(self) -> PackedSequence:
        return self.to(dtype=internals.float)

    def half(self) -> PackedSequence:
        return self.to(dtype=internals.half)

    def long(self) -> PackedSequence:
        return self.to(dtype=internals.long)

    def int(self) -> PackedSequence:
        return self.to(dtype=internals.int)

    def short(self) -> PackedSequence:
        return self.to(dtype=internals.short)

    def char(self) -> PackedSequence:
        return self.to(dtype=internals.int8)

    def byte(self) -> PackedSequence:
        return self.to(dtype=internals.uint8)

    @property
    def is_cuda(self) -> bool:
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        return bool(self.data.is_pinned())


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation (n): the new position of each element. None for None."""
    if permutation is None:
        return None
    places = internals.arange(0, permutation.numel(), device=permutation.device)
    return internals.empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """N padded sequences (T, N, *), or (N, T, *) if `batch_first`, packed by their lengths (N).

    With `enforce_sorted` the lengths must not increase; otherwise the sequences are sorted, and
    results are restored to the original order. Raises RuntimeError for lengths that do not fit.
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=internals.int64)
    else:
        lengths = internals.tensor(lengths, dtype=internals.int64)
    order = None
    if not enforce_sorted:
        lengths, order = internals.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = F._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The sequences in their original order, padded to the longest or to `total_length`, and their
    lengths (N).

    Raises ValueError if `total_length` is less than the longest.
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = F._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length or longest
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """N sequences (L_i, *), packed; with `enforce_sorted` they must be sorted, longest first."""
    lengths = internals.tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of `pack_sequence`: N sequences (L_i, *)."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
