"""All parameters as one vector, and back (`torch/nn/utils/convert_parameters.py`): for algorithms
that work on vectors.

How the real one differs: it also compares the indices of several GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from internals import Tensor, cat, typename


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """The elements of all parameters, concatenated: (total,).

    Raises TypeError if they are on different devices.
    """
    parameters = list(parameters)
    _same_device(parameters)
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Make each parameter a view of its slice of `vec`, in order, sharing its memory.

    Raises TypeError if `vec` is not a tensor, or parameters are on different devices.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected internals.Tensor, but got: {typename(vec)}")
    parameters = list(parameters)
    _same_device(parameters)
    start = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].view_as(p).data
        start += p.numel()


def _same_device(parameters: list[Any]) -> None:
    """Raise TypeError unless all parameters are on one device."""
    if len({p.device for p in parameters}) > 1:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
