"""The dispatch key sets of tensors and of the thread, which PyTorch's own tests ask for
(`torch/csrc/utils/python_dispatch.cpp`).

How the real one differs: `torch._C` contains everything that is written in C++.
"""

from __future__ import annotations

from internals.core.dispatch_key import DispatchKey, DispatchKeySet
from internals.core.dispatcher import tls
from internals.core.tensor_impl import Tensor

__all__ = ["DispatchKey", "DispatchKeySet"]


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The key set of a tensor."""
    return DispatchKeySet(tensor._geometry.keys)


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The keys that this thread adds to the key set of every call."""
    return DispatchKeySet(tls.included)


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The keys that this thread removes from the key set of every call."""
    return DispatchKeySet(tls.excluded)
