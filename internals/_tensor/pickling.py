"""Copying and pickling tensors (`torch/_utils.py`, `Tensor.__reduce_ex__`, `Tensor.__deepcopy__`).

A tensor is pickled as its storage with offset, sizes and strides, and a storage as its bytes.
Pickle writes an object only once, so views that share a storage share one again after reading; the
same holds for the tensors of one `deepcopy`.

How the real one differs: `torch.save` writes each storage to a file of its own in a zip archive,
and references to these into the pickle.
"""

from __future__ import annotations

import copy
import copyreg
from typing import Any

from internals.core.device import META, device
from internals.core.dtype import dtype
from internals.core.geometry import geometry
from internals.core.storage import Storage, bytes_of
from internals.core.tensor_impl import Tensor, TensorImpl, autograd_meta, make_checked, newly_made


def reduce(t: TensorImpl) -> Any:
    """The result of `__reduce_ex__` for pickle: the function that rebuilds the tensor, its
    arguments, and the attributes set by the user. Raises RuntimeError for a non-leaf tensor, whose
    autograd graph cannot be pickled.
    """
    if getattr(t, "grad_fn", None) is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) can be pickled; detach() "
            "the tensor first."
        )
    arguments = (t._storage, t._offset, tuple(t.shape), t.stride(), t.dtype, t.requires_grad)
    return rebuild_tensor, arguments, getattr(t, "__dict__", None) or None


def rebuild_tensor(
    storage: Storage,
    offset: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    kind: dtype,
    requires_grad: bool,
) -> Any:
    """A tensor on `storage`. The geometry is checked: a pickle may contain anything."""
    t = newly_made(make_checked(storage, geometry(sizes, strides, kind, storage.device), offset))
    return t.requires_grad_() if requires_grad else t


def deepcopy(t: Tensor, memo: dict[int, Any]) -> Any:
    """A copy of a tensor, on a copy of its whole storage. `memo` keeps that for other tensors on
    the same storage. Raises RuntimeError for a non-leaf tensor.
    """
    if id(t) in memo:
        return memo[id(t)]
    if t.grad_fn is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    key = id(t._storage)
    if key not in memo:
        memo[key] = copy_storage(t._storage)
    fresh = rebuild_tensor(memo[key], t._offset, t.shape, t.stride(), t.dtype, t.requires_grad)
    if t.grad is not None:
        autograd_meta(fresh).grad = deepcopy(t.grad, memo)
    memo[id(t)] = fresh
    fresh.__dict__ = copy.deepcopy(t.__dict__, memo)
    return fresh


def copy_storage(storage: Storage) -> Storage:
    """A new storage with the same bytes, on the same device."""
    fresh = Storage.allocate(storage.nbytes(), storage.device)
    return fresh if storage.device is META else fresh.copy_(storage)


def storage_from_bytes(content: bytes, nbytes: int, device: device) -> Storage:
    """A new storage of `nbytes` bytes with this content; one on `meta` has none."""
    fresh = Storage.allocate(nbytes, device)
    return fresh.copy_(bytes_of(content)) if content else fresh


def _reduce_storage(storage: Storage) -> Any:
    return storage_from_bytes, (bytes(storage), storage.nbytes(), storage.device)


copyreg.pickle(Storage, _reduce_storage)
