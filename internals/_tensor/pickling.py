"""Copying and pickling tensors (`torch/_utils.py`, `Tensor.__reduce_ex__`, `Tensor.__deepcopy__`).

A tensor is pickled as its storage and the geometry to look at it with; the storage as its bytes.
Pickle remembers objects it has seen, so views that share a storage share one again when they are
read back, and so do the tensors of one `deepcopy`.

How the real one differs: `torch.save` writes storages to files of their own inside a zip archive,
and references to them into the pickle.
"""

from __future__ import annotations

import copy
import copyreg
from typing import TYPE_CHECKING, Any

from internals.core.device import META
from internals.core.dtype import dtype
from internals.core.geometry import geometry
from internals.core.storage import Storage, bytes_of
from internals.core.tensor_impl import TensorImpl, autograd_meta, make_checked, newly_made

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.core.device import device


def reduce(t: TensorImpl) -> Any:
    """What pickle stores of a tensor: how to rebuild it, and from what."""
    if getattr(t, "grad_fn", None) is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) can be pickled; detach() "
            "the tensor first."
        )
    how = (t._storage, t._offset, tuple(t.shape), t.stride(), t.dtype, t.requires_grad)
    # attributes the user hung on it
    return rebuild_tensor, how, getattr(t, "__dict__", None) or None


def rebuild_tensor(
    storage: Storage,
    offset: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    kind: dtype,
    requires_grad: bool,
) -> Any:
    t = newly_made(make_checked(storage, geometry(sizes, strides, kind, storage.device), offset))
    return t.requires_grad_() if requires_grad else t


def deepcopy(t: Tensor, memo: dict[int, Any]) -> Any:
    """A copy on a copy of the storage; other tensors on the same storage find that copy in
    `memo`.
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
    """A storage of our own with the same bytes."""
    fresh = Storage.allocate(storage.nbytes(), storage.device)
    return fresh if storage.device is META else fresh.copy_(storage)


def storage_from_bytes(content: bytes, nbytes: int, device: device) -> Storage:
    fresh = Storage.allocate(nbytes, device)
    return fresh.copy_(bytes_of(content)) if content else fresh


def _reduce_storage(storage: Storage) -> Any:
    return storage_from_bytes, (bytes(storage), storage.nbytes(), storage.device)


copyreg.pickle(Storage, _reduce_storage)
