"""Sequences of different lengths as one tensor, and back (`torch/nn/utils/rnn.py`).

How the real one differs: packed sequences, with which a recurrent layer skips the padding; there padding is an operator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from internals import Tensor, arange


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Tensors of sizes (L_i, *) as one of (max L, B, *), or (B, max L, *) if `batch_first`, filled up with `padding_value`.

    Raises RuntimeError for no sequences, for sizes that differ after the first, and for another `padding_side` than "left" or
    "right".
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(len(s) for s in sequences)
    trailing = sequences[0].shape[1:]
    lead = (len(sequences), longest) if batch_first else (longest, len(sequences))
    padded = sequences[0].new_full((*lead, *trailing), padding_value)
    for i, s in enumerate(sequences):
        rows = slice(0, len(s)) if padding_side == "right" else slice(longest - len(s), longest)
        padded[(i, rows) if batch_first else (rows, i)] = s
    return padded


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences `pad_sequence` was given, as long as `lengths` says."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    assert isinstance(padded_sequences, Tensor)
    steps = arange(padded_sequences.size(1))
    return [sequence[steps < length] for sequence, length in zip(padded_sequences, lengths)]
