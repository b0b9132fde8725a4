"""Makes an operator from a line of `_generated/ops.py` (`RegisterDispatchKey.cpp`), and the
function that calls it (`Operators.cpp`).

The line has the schema, the place of its entry, and a kernel for each key:

    relu(Tensor self) -> Tensor | activations.yaml:3 | CPU=pointwise.relu

The operator is made when it is first looked up, its call function when it is first called, and a
kernel's module is imported when the kernel first runs. An operator whose schema says that it writes
to an argument or returns a view also gets a kernel for the ADInplaceOrView key; all others fall
through that key.

How the real one differs: static initialisers register all kernels at once when libtorch_cpu is
loaded, and the call functions are compiled into it.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from internals.core import device as _device
from internals.core.device import DeviceLike
from internals.core.dispatch_key import DispatchKey, backend_key
from internals.core.dispatcher import Kernel, KernelFunction, OperatorHandle
from internals.core.hot import hot
from internals.core.schema import Argument

_INPLACE = KernelFunction("internals.aten.adinplaceorview:inplace", takes_keys=True)
_VIEW = KernelFunction("internals.aten.adinplaceorview:view", takes_keys=True)
_DETACHED_VIEW = KernelFunction("internals.aten.adinplaceorview:detached_view", takes_keys=True)
_DETACH_ = KernelFunction("internals.aten.adinplaceorview:detach_", takes_keys=True)
FOLDER = Path(__file__).parent / "native_functions"
_CPU_FACTORY = 1 << DispatchKey.CPU | 1 << DispatchKey.BackendSelect


class DeclaredOperator(OperatorHandle):
    """An operator of `native_functions`; `place` is the file and line of its entry there. `call`
    is a function generated for its arguments."""

    __slots__ = ("_call", "place")

    def __init__(self, line: str) -> None:
        text, self.place, *kernels = line.split(" | ")
        super().__init__(text)
        self._call: Kernel | None = None
        for kernel in kernels:
            key, _, target = kernel.partition("=")
            self.kernels[DispatchKey[key]] = _kernel(self, key, target)
        if DispatchKey.CompositeImplicitAutograd not in self.kernels:
            self._add_inplace_or_view()

    @property
    def identifier(self) -> str:
        """Its name in Python: `add_Tensor` for add.Tensor."""
        return identifier(self.name)

    @property
    def call(self) -> Kernel:
        """The function that calls the operator, made by `call_text` on first use."""
        if self._call is None:
            text, file = call_text(self), f"{FOLDER / self.place}, generated for {self.identifier}"
            linecache.cache[file] = len(text), None, text.splitlines(True), file  # for tracebacks
            scope: dict[str, Any] = {f"{self.identifier}_op": self, **TOOLS}
            exec(compile(text, file, "exec"), scope)
            self._call = scope[self.identifier]
        return self._call

    def _add_inplace_or_view(self) -> None:
        """Give it a kernel for ADInplaceOrView, if its schema marks a written argument, "(a!)", or
        a returned view, "(a)"."""
        arguments, _, returns = self.text.rpartition("->")
        kernel = None
        if self.name == "aten::detach_":
            kernel = _DETACH_
        elif "!)" in arguments and self.name != "aten::record_stream":  # which writes nothing
            kernel = _INPLACE
        elif "(a)" in returns:
            kernel = _DETACHED_VIEW if self.name in ("aten::detach", "aten::view.dtype") else _VIEW
        if kernel is not None:
            self.kernels[DispatchKey.ADInplaceOrView] = kernel


def read(table: str) -> dict[str, str]:
    """The lines of a table of declarations, by the operators' names."""
    return {f"aten::{line.partition('(')[0]}": line for line in table.split("\n") if line}


def identifier(name: str) -> str:
    """An operator's name as an identifier: add_Tensor for aten::add.Tensor."""
    return name.removeprefix("aten::").replace(".", "_")


def _kernel(op: OperatorHandle, key: str, target: str) -> KernelFunction:
    """The kernel that `target` names: `module.function` is in internals.aten.native,
    `cuda.module.function` in internals.cuda.native, and a module that begins with _generated or
    autograd in internals itself."""
    module, _, function = target.rpartition(".")
    full = f"internals.aten.native.{module}:{function}"
    if module.startswith("cuda."):
        full = f"internals.cuda.native.{module.removeprefix('cuda.')}:{function}"
    if module.startswith(("_generated", "autograd")):
        full = f"internals.{module}:{function}"
    if module == "_generated.autograd_nodes":  # one kernel serves all; the class of node differs
        return GeneratedKernel(full, op, "internals.autograd.kernel:recording", takes_keys=True)
    if key == "CUDA":  # called once all tensors are known to be on one device
        return GeneratedKernel(full, op, "internals.cuda.fallback:kernel")
    if key == "Meta":
        return GeneratedKernel(full, op, "internals.aten.meta:checked")
    return KernelFunction(full, takes_keys=key == "Autograd", only_records=key == "Autograd")


def call_text(op: DeclaredOperator) -> str:
    """The text of the function that calls `op`:

        def add_Tensor(self, other, alpha, _table=add_Tensor_op.table):
            if hot.off:
                return add_Tensor_op(self, other, alpha)
            return _table[self._geometry.keys | other._geometry.keys](self, other, alpha)

    While a tool watches calls (`hot.off`), it takes the dispatcher's long path, which tells the
    tool."""
    name, arguments = op.identifier, ", ".join(a.python_name for a in op.schema.arguments)
    return (
        f"def {name}({arguments}, _table={name}_op.table):\n"
        f"    if hot.off:\n        return {name}_op({arguments})\n"
        f"    return _table[{_keys(op.schema.arguments)}]({arguments})\n"
    )


def _keys(arguments: Sequence[Argument]) -> str:
    """The expression for the union of the arguments' key sets: "a._geometry.keys |
    b._geometry.keys"."""
    parts = []
    for a in arguments:
        if a.type.base != "Tensor":
            continue
        if a.type.is_list:
            parts.append(f"list_keys({a.python_name})")
        elif a.type.optional:
            parts.append(f"(0 if {a.python_name} is None else {a.python_name}._geometry.keys)")
        else:
            parts.append(f"{a.python_name}._geometry.keys")
    has_device = any(a.name == "device" for a in arguments)
    return " | ".join(parts) or f"factory_keys({'device' if has_device else None})"


class GeneratedKernel(KernelFunction):
    """A kernel that `maker(op, target)` makes for one operator when it is first called."""

    __slots__ = ("op", "maker", "made")

    def __init__(
        self, target: str, op: OperatorHandle, maker: str, takes_keys: bool = False
    ) -> None:
        super().__init__(target, takes_keys, only_records=takes_keys)
        self.op, self.maker = op, KernelFunction(maker)
        self.made: Kernel | None = None

    def function(self) -> Kernel:
        """The function that the maker made."""
        if self.made is None:
            self.made = self.maker.function()(self.op, super().function())
        return self.made


def list_keys(tensors: Iterable[Any]) -> int:
    """The union of the key sets of the tensors in a list, which may contain None."""
    keys = 0
    for t in tensors:
        if t is not None:
            keys |= t._geometry.keys
    return keys


def factory_keys(device: DeviceLike | None) -> int:
    """The key set of an op without tensor arguments: its device's backend, chosen by
    BackendSelect.
    """
    if device is None or device is _device.CPU:
        return _CPU_FACTORY
    return 1 << backend_key(_device.resolve(device).type) | 1 << DispatchKey.BackendSelect


# The globals of the call functions.
TOOLS = {"hot": hot, "list_keys": list_keys, "factory_keys": factory_keys}
TOOLS["__name__"] = "internals._generated.ops"
