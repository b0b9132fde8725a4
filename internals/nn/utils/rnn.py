"""Sequences of different lengths as one tensor, and back (`torch/nn/utils/rnn.py`): what a `collate_fn` for text needs.

A batch is a rectangle. Shorter sequences are filled up with a value that the model is told to ignore: `padding_idx` of an
embedding, `ignore_index` of a loss, `key_padding_mask` of attention.

How the real one differs: it also has packed sequences, which recurrent layers take instead of padded ones; its `unpad_sequence`
leaves the tensor it was given transposed, unless `batch_first`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from internals import Tensor, arange


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """N sequences (L_i, *) as one tensor (max L, N, *), or (N, max L, *) if `batch_first`, of the dtype of the first.

    The gradient goes back to each of them. Raises RuntimeError for what cannot be iterated over, for no sequences, for another
    side than "left" and "right", and where the other dimensions differ; TypeError for what is no tensor.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = tuple(sequences)
    for i, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(sequence).__name__}")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(sequence.size(0) for sequence in sequences)
    count, rest = len(sequences), sequences[0].shape[1:]
    sizes = (count, longest, *rest) if batch_first else (longest, count, *rest)
    padded = sequences[0].new_full(sizes, padding_value)
    for i, sequence in enumerate(sequences):
        length = sequence.size(0)
        start = longest - length if padding_side == "left" else 0
        padded.select(0 if batch_first else 1, i).narrow(0, start, length).copy_(sequence)
    return padded


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences again: from each of (max L, N, *), or (N, max L, *) if `batch_first`, the first `lengths[i]` elements.

    Raises ValueError unless there is a length for each.
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    positions = arange(batch.shape[1], device=lengths.device)
    return [sequence[positions < length] for sequence, length in zip(batch, lengths, strict=True)]
