"""Converting a whole module: `to`, `float`, `half`, `cuda`, ... (`torch/nn/modules/module.py`,
`_apply`).

A module is converted in place. Parameters stay the same objects, so that an optimizer still holds
them: they get the converted memory through `.data`, even on a GPU. Only between "meta", where there
is no memory, and another device a new parameter replaces the old one. Buffers are simply replaced.

How the real one differs: flags in `torch.__future__` choose other methods (always new parameters,
or swapping the contents of old and new); there are more device types.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

from internals import empty_like, no_grad
from internals._tensor import _parse_to
from internals.core.device import META, DeviceLike
from internals.core.tensor_impl import Tensor
from internals.nn._tree import Tree
from internals.nn.parameter import Parameter


class Conversion(Tree):
    """The part of `Module` that converts its parameters and buffers."""

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """`to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`, with `non_blocking=` and
        `memory_format=`.

        A dtype converts floating-point (and complex) parameters and buffers only; a memory format
        those of 4 or 5 dimensions only. Returns the module. Raises TypeError for an integer dtype,
        RuntimeError for `copy=True`.
        """
        device, dtype, non_blocking, copy, memory_format = _parse_to(args, kwargs)
        if copy:
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may "
                "change, and some modules might not work as expected when using complex tensors "
                "as parameters or buffers.",
                stacklevel=2,
            )

        def convert(t: Tensor) -> Any:
            # integers keep their dtype: they may be indices or counts
            kind = dtype if t.is_floating_point() or t.is_complex() else None
            try:
                return t.to(
                    device,
                    kind,
                    non_blocking,
                    memory_format=memory_format if t.dim() in (4, 5) else None,
                )
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use internals.nn.Module.to_empty() instead of "
                    "internals.nn.Module.to() when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integers too, to a dtype or a legacy type."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: DeviceLike | None = None) -> Self:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device: DeviceLike, recurse: bool = True) -> Self:
        """Give all parameters and buffers uninitialized memory on `device`, as is needed after
        building a module on "meta".
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace every parameter, its gradient, and every buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = _applied(fn, parameter)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self


def _applied(fn: Callable[[Any], Any], parameter: Parameter) -> Parameter:
    """The parameter with its memory, and its gradient's, replaced; to or from "meta" a new one."""
    with no_grad():
        data = fn(parameter)
        grad = None if parameter.grad is None else fn(parameter.grad)
    if (data.device is META) == (parameter.device is META):
        parameter.data = data
        if grad is not None:
            parameter.grad.data = grad
        return parameter
    fresh: Parameter = Parameter(data, parameter.requires_grad)
    if grad is not None:
        fresh.grad = grad.requires_grad_(parameter.grad.requires_grad)
    return fresh
