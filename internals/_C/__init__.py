"""What PyTorch's own tests ask its C++ side about key sets
(`torch/csrc/utils/python_dispatch.cpp`).

How the real one differs: `torch._C` is the whole C++ side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.core.dispatch_key import DispatchKey, DispatchKeySet
from internals.core.dispatcher import tls

if TYPE_CHECKING:
    from internals._tensor import Tensor

__all__ = ["DispatchKey", "DispatchKeySet"]


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The key set of a tensor."""
    return DispatchKeySet(tensor._geometry.keys)


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """What this thread adds to the key set of every call."""
    return DispatchKeySet(tls.included)


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """What this thread takes from it."""
    return DispatchKeySet(tls.excluded)
