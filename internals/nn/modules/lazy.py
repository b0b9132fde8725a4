"""Layers that take the size of their input from the first input (`torch/nn/modules/lazy.py`).

Their parameters are uninitialized (`UninitializedParameter`). Before the first `forward`, a hook
calls `initialize_parameters`, which gives them sizes and values. Then the hook is removed, and the
layer becomes an ordinary one by changing its class. Loading a state dict gives the parameters their
sizes too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals import no_grad
from internals.nn.parameter import UninitializedBuffer, is_lazy


class LazyModuleMixin:
    """The first base class of a lazy layer. `cls_to_become` is the ordinary layer; None keeps the
    class.

    The first `forward` raises RuntimeError if `initialize_parameters` leaves a parameter without
    sizes.
    """

    cls_to_become: type[Any] | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give every parameter its sizes, from the arguments of `forward`. Layers override it."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self: Any) -> bool:
        """Whether any parameter or buffer of this layer has no sizes yet."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        """The hook before the first `forward`: initialize, and turn into the ordinary layer."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _lazy_load_hook(self: Any, state_dict: Any, prefix: str, *_: Any) -> None:
        """Give uninitialized tensors the sizes of those that are about to be loaded."""
        for name, t in (*self._parameters.items(), *self._buffers.items()):
            source = state_dict.get(prefix + name)
            if is_lazy(t) and source is not None and not is_lazy(source):
                with no_grad():
                    t.materialize(source.shape)

    def _apply(self: Any, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Convert as usual, but keep uninitialized buffers uninitialized.

        `Module._apply` replaces buffers by plain tensors; from those, only device and dtype are
        taken.
        """
        lazy = [name for name, buffer in self._buffers.items() if is_lazy(buffer)]
        super()._apply(fn, recurse)  # type: ignore[misc]
        for name in lazy:
            converted = self._buffers[name]
            self._buffers[name] = UninitializedBuffer(
                device=converted.device, dtype=converted.dtype
            )
        return self
