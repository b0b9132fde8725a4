"""`default_collate`: a list of samples becomes one batch (`torch/utils/data/_utils/collate.py`).

The structure is turned inside out: a list of (image, label) pairs becomes a list of two batches,
one of images and one of labels; a list of dicts becomes a dict of batches. Innermost, tensors are
stacked, (*) to (N, *), and numbers become a tensor (N,). `default_convert` is for a single sample
without batching: it only makes tensors of arrays.

How the real one differs: its workers stack into shared memory.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from internals import Tensor, as_tensor, float64, stack, tensor
from internals.core.tensor_impl import Array

# Matches numpy's names of dtypes that no tensor can have: "|S3" and, as it was once written, "a3"
# (bytes), "<U5" (text), "|O" (Python objects); "<f4" does not match.
_NOT_NUMERIC = re.compile("[SaUO]")
_WANTED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

CollateMap = dict[Any, Callable[..., Any]]


def default_collate(batch: Any) -> Any:
    """The batch made of a list of samples.

    Raises TypeError for unknown types of samples, RuntimeError for unequal sizes.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: object) -> Any:
    """The sample with its numpy arrays as tensors that share their memory; tuples become lists,
    other types stay as they are.
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray):
        return data if _NOT_NUMERIC.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, np.generic) and not isinstance(data, (np.str_, np.bytes_)):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _same_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        values = [default_convert(d) for d in data]
        return type(data)(*values) if hasattr(data, "_fields") else values
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _same_sequence(data, [default_convert(d) for d in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Like `default_collate`, with your own table of functions; containers are handled as usual.

    `collate_fn_map` maps a type, or a tuple of types, to a function `f(batch, *, collate_fn_map)`.
    """
    first = batch[0]
    kind = type(first)
    function = _function_for(first, collate_fn_map or {})
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        values = {
            key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map)
            for key in first
        }
        return _same_mapping(first, values)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)]
        return columns if isinstance(first, tuple) else _same_sequence(first, columns)
    raise TypeError(_WANTED.format(kind))


def _function_for(sample: Any, collate_fn_map: CollateMap) -> Callable[..., Any] | None:
    """The table's function for a sample: that of its exact type, or else that of the first type in
    the table of which it is an instance. None if there is neither.
    """
    kind = type(sample)
    if kind in collate_fn_map:
        return collate_fn_map[kind]
    for key, function in collate_fn_map.items():
        if isinstance(sample, key):
            return function
    return None


def _same_mapping(like: Any, values: dict[Any, Any]) -> Any:
    """`values` in a mapping of the type of `like`, with its other attributes if it can be copied; a
    dict if that fails.
    """
    try:
        if not isinstance(like, MutableMapping):
            return type(like)(values)
        clone = copy.copy(like)
        clone.update(values)
        return clone
    except TypeError:
        return values


def _same_sequence(like: Any, values: list[Any]) -> Any:
    """`values` in a sequence of the type of `like`; a list if that fails."""
    try:
        if not isinstance(like, MutableSequence):
            return type(like)(values)
        clone = copy.copy(like)
        for i, value in enumerate(values):
            clone[i] = value
        return clone
    except TypeError:
        return values


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: CollateMap | None = None) -> Any:
    """N tensors (*) as one (N, *)."""
    return stack(list(batch), 0)


def collate_numpy_array_fn(
    batch: Sequence[Array], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """N arrays (*) as one tensor (N, *). Raises TypeError for strings and objects."""
    if _NOT_NUMERIC.search(batch[0].dtype.str):
        raise TypeError(_WANTED.format(batch[0].dtype))
    return collate([as_tensor(a) for a in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """N numpy scalars as one tensor (N,)."""
    return as_tensor(batch)


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: CollateMap | None = None) -> Any:
    """N floats as one tensor (N,) of float64, which is the precision of Python's floats."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: CollateMap | None = None) -> Any:
    """N ints as one tensor (N,)."""
    return tensor(batch)


def collate_str_fn(
    batch: Sequence[bytes | str], *, collate_fn_map: CollateMap | None = None
) -> Any:
    """A list of strings stays a list."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
