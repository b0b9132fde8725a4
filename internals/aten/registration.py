"""How generated code declares its operators, and the key sets it computes (`RegisterDispatchKey.cpp`,
`DispatchKeyExtractor.h`).

Kernels are registered by name and imported when first called. An operator whose schema says that it writes to an argument
or returns a view also gets a kernel for the ADInplaceOrView key; every other op falls through there.

How the real one differs: registration runs in static initialisers when libtorch_cpu is loaded, for all kernels at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from internals.core import device as _device
from internals.core.dispatch_key import DispatchKey, backend_key
from internals.core.dispatcher import Kernel, KernelFunction, OperatorHandle, dispatcher

_INPLACE = KernelFunction("internals.aten.adinplaceorview:inplace", takes_keys=True)
_VIEW = KernelFunction("internals.aten.adinplaceorview:view", takes_keys=True)
_DETACHED_VIEW = KernelFunction("internals.aten.adinplaceorview:detached_view", takes_keys=True)
_DETACH_ = KernelFunction("internals.aten.adinplaceorview:detach_", takes_keys=True)
_CPU_FACTORY = 1 << DispatchKey.CPU | 1 << DispatchKey.BackendSelect


def define(text: str, **kernels: str) -> OperatorHandle:
    """Declare an op and its kernels, given as KEY="module.function" under internals.aten.native.

    A module may also lie under _generated or autograd, and one that begins with "cuda." under internals.cuda.native.
    """
    op = dispatcher.define(text)
    for key, target in kernels.items():
        module, _, function = target.rpartition(".")
        package = "internals" if module.startswith(("_generated", "autograd")) else "internals.aten.native"
        if module.startswith("cuda."):
            package, module = "internals.cuda.native", module.removeprefix("cuda.")
        full = f"{package}.{module}:{function}"
        op.kernels[DispatchKey[key]] = (
            CUDAKernel(full, op) if key == "CUDA" else KernelFunction(full, takes_keys=key == "Autograd")
        )
    if "CompositeImplicitAutograd" not in kernels:
        arguments, _, returns = text.rpartition("->")
        if op.name == "aten::detach_":
            op.kernels[DispatchKey.ADInplaceOrView] = _DETACH_
        elif "!)" in arguments and op.name != "aten::record_stream":  # which writes nothing
            op.kernels[DispatchKey.ADInplaceOrView] = _INPLACE
        elif "(a)" in returns:
            op.kernels[DispatchKey.ADInplaceOrView] = _DETACHED_VIEW if op.name in ("aten::detach", "aten::view.dtype") else _VIEW
    return op


class CUDAKernel(KernelFunction):
    """A kernel of the CUDA key: it is called once all tensors are known to be on one device."""

    __slots__ = ("op", "checked")

    def __init__(self, target: str, op: OperatorHandle) -> None:
        super().__init__(target)
        self.op = op
        self.checked: Kernel | None = None

    def function(self) -> Kernel:
        if self.checked is None:
            from internals.cuda.device_check import checked

            self.checked = checked(self.op, super().function())
        return self.checked


def list_keys(tensors: Iterable[Any]) -> int:
    """The union of the key sets in a list of tensors; None entries count for nothing."""
    keys = 0
    for t in tensors:
        if t is not None:
            keys |= t._geometry.keys
    return keys


def factory_keys(device: Any) -> int:
    """The key set of an op without tensor arguments: its device's backend, chosen by BackendSelect."""
    if device is None or device is _device.CPU:
        return _CPU_FACTORY
    return 1 << backend_key(_device.resolve(device).type) | 1 << DispatchKey.BackendSelect
