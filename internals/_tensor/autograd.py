"""The methods of `Tensor` for autograd: `backward`, `grad`, `grad_fn`, hooks (`torch/_tensor.py`,
`torch/csrc/autograd/python_variable.cpp`).

Until PyTorch 0.4, these were methods of another class, `Variable`, which wrapped a tensor.

How the real one differs: the same methods also handle `_backward_hooks`, named tensors and
`__torch_function__`.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

from internals.autograd.node_hooks import RemovableHandle
from internals.core.dispatch_key import RECORDS
from internals.core.dtype import COMPLEX, FLOATING
from internals.core.geometry import requiring_grad
from internals.core.tensor_impl import Tensor, TensorImpl, autograd_meta, make


class Differentiable(TensorImpl):
    """The part of `Tensor` for autograd. A tensor that has never required a gradient has no
    `_autograd_meta`: it is None.
    """

    __slots__ = ()

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Compute the gradient of this tensor with respect to the leaves of its graph, and add it
        to their `.grad`.

        `gradient`, of this tensor's shape, weights its elements; it may be omitted if there is only
        one element. See `internals.autograd.backward`.
        """
        from internals.autograd.api import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    @property
    def grad(self) -> Any:
        """The gradient accumulated by `backward`, or None. Warns for a non-leaf tensor, which gets
        none unless it retains it (`retain_grad`).
        """
        meta = self._autograd_meta
        if meta is None:
            return None
        if meta.grad is None and meta.edge is not None and not meta.retains_grad:
            warnings.warn(_NOT_A_LEAF, stacklevel=2)
        return meta.grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            _check_grad(self, value)
        autograd_meta(self).grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def grad_fn(self) -> Any:
        """The node of the autograd graph that computed this tensor; None for a leaf."""
        if self._autograd_meta is None:
            return None
        from internals.autograd.history import grad_fn

        return grad_fn(self)

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was not computed from tensors that require gradients."""
        return not self._geometry.keys & RECORDS or self.grad_fn is None

    @property
    def output_nr(self) -> int:
        """The index of this tensor among the outputs of its `grad_fn`; 0 for a leaf."""
        return self._autograd_meta.edge[1] if self.grad_fn is not None else 0  # type: ignore[union-attr,index]

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf tensor keeps its gradient (`retain_grad`)."""
        return self._autograd_meta is not None and self._autograd_meta.retains_grad

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad`. Raises RuntimeError if it does not
        require a gradient; does nothing for a leaf.
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node, meta = self.grad_fn, autograd_meta(self)
        if node is None or meta.retains_grad:
            return
        ref = weakref.ref(self)  # the node must not keep its own output alive

        def store(grad: Tensor) -> None:
            t = ref()
            if t is not None and grad is not None:
                m = autograd_meta(t)
                m.grad = grad.clone() if m.grad is None else m.grad + grad

        node._extras().retain_grad_hooks[meta.edge[1]] = store  # type: ignore[index]
        meta.retains_grad = True

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(grad)` when the gradient of this tensor has been computed. If it returns a
        tensor, that replaces the gradient. Returns a handle to remove the hook.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, meta = self.grad_fn, autograd_meta(self)
        extras = self._leaf_extras() if node is None else node._extras()
        handle = RemovableHandle(extras.tensor_pre_hooks)
        extras.tensor_pre_hooks[handle.id] = (0 if node is None else meta.edge[1], hook)  # type: ignore[index]
        return handle

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call `hook(tensor)` whenever a gradient has been added to `.grad` of this leaf. Raises
        RuntimeError for a non-leaf tensor.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        hooks = self._leaf_extras().post_accumulate
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def _leaf_extras(self) -> Any:
        """The hooks of a leaf, which all its `AccumulateGrad` nodes share: a node lives only as
        long as a graph uses it, the hooks as long as the tensor.
        """
        from internals.autograd.history import grad_accumulator

        meta = autograd_meta(self)
        node = grad_accumulator(self, meta)
        meta.hooks = node._extras()
        return meta.hooks

    @property
    def data(self) -> Any:
        """A tensor on the same memory, without history. Writes to it do not change the version
        counter of this tensor, so autograd does not notice them.
        """
        return make(self._storage, self._geometry.without_grad, self._offset)

    @data.setter
    def data(self, value: Any) -> None:
        """Let this tensor be on the memory of `value`, with its geometry. The history, and whether
        it requires a gradient, are kept.
        """
        if not isinstance(value, TensorImpl):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and value.dtype.category not in (FLOATING, COMPLEX):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        g, meta = value._geometry.without_grad, self._autograd_meta
        if meta is not None and (g.dtype is not self.dtype or g.device is not self.device):
            meta.accumulator = None  # it expects gradients of the old dtype and device
        self._storage, self._offset, self._array = value._storage, value._offset, None
        self._geometry = requiring_grad(g) if self.requires_grad else g
        if meta is not None and meta.accumulator is not None:
            meta.accumulator.look_at(self)


_NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)


def _check_grad(t: Any, grad: Tensor) -> None:
    """Raises TypeError or RuntimeError unless `grad` is a tensor with the dtype, device and shape
    of `t`, and not `t` itself.
    """
    if not isinstance(grad, TensorImpl):
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(grad).__name__}"
        )
    if grad is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.dtype is not t.dtype:
        from internals.aten.dtype_checks import TYPE_META_NAME
        from internals.core.dtype import SCALAR_TYPE_NAME

        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{TYPE_META_NAME[grad.dtype]}' to a "
            f"tensor with grad_dtype '{SCALAR_TYPE_NAME[t.dtype]}'. The gradient must match the "
            "tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
            "grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
            "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match."
        )
    if grad.device is not t.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{grad.device.type}' to a tensor "
            f"with device type '{t.device.type}'. Please ensure that the gradient and the tensor "
            "are on the same device"
        )
    if grad.shape != t.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad.shape)}' to a tensor of size "
            f"'{list(t.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
