"""The dispatcher: from an operator and its arguments to the kernel that runs
(`aten/src/ATen/core/dispatch/Dispatcher.h`).

Every operator has a table from dispatch key to kernel. A call

1. takes the union of its tensor arguments' key sets,
2. adds and removes the keys that this thread includes and excludes,
3. skips the keys for which the operator falls through,
4. runs the kernel of the highest key left, which may do its part and `redispatch` to those below.

`Dispatcher.call` is these steps as code; it is the reference, and `viz.dispatch` records it. The
generated functions skip the steps: they look up the key set in `OperatorHandle.table`, a cache of
the kernel that was found for it the first time. Registering a kernel empties the cache.

How the real one differs: the table is an array indexed by a runtime key; kernels are C++ functions
that may be boxed (arguments on a stack) or unboxed. Here every kernel is a Python function of the
schema's arguments in order.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from . import dispatch_key as dk
from .dispatch_key import DispatchKey
from .grad_mode import is_inference_mode_enabled
from .hot import hot
from .operators import Operators

if TYPE_CHECKING:
    from .schema import FunctionSchema

Kernel = Callable[..., Any]
Observer = Callable[["OperatorHandle", tuple[Any, ...]], Callable[[Any], None] | None]
Around = Callable[["OperatorHandle", tuple[Any, ...]], Any]


class KernelFunction:
    """A registered kernel.

    `target` is the function, or "module:function", which is imported when first used so that
    `import internals` stays fast. A kernel that `takes_keys` gets the operator and the keys below
    its own as first arguments, to redispatch with. One that `only_records` is skipped where no
    tensor requires a gradient.
    """

    __slots__ = ("target", "place", "takes_keys", "only_records", "note")

    def __init__(
        self,
        target: Kernel | str,
        takes_keys: bool = False,
        only_records: bool = False,
        note: str = "",
    ) -> None:
        self.target, self.place = target, target if isinstance(target, str) else ""
        self.takes_keys, self.only_records, self.note = takes_keys, only_records, note

    def function(self) -> Kernel:
        """The function itself, imported if necessary."""
        if isinstance(self.target, str):
            module, _, name = self.target.partition(":")
            self.target = getattr(importlib.import_module(module), name)
        assert callable(self.target)
        return self.target

    @property
    def name(self) -> str:
        """The module and the name of the function, as traces and pictures show it."""
        if self.place and isinstance(self.target, (str, partial)):
            # a partial has no name of its own: show the one that it was registered with
            return self.place.rpartition(".")[2].replace(":", ".")
        f = getattr(self.target, "func", self.target)
        module = (getattr(f, "__module__", None) or "").rpartition(".")[2]
        return f"{module}.{getattr(f, '__qualname__', repr(f))}"


FALLTHROUGH = KernelFunction(lambda *args: None, note="fallthrough")
AUTOGRAD_NOT_IMPLEMENTED = KernelFunction(
    "internals.autograd.not_implemented:warn_in_backward", True, only_records=True
)


class OperatorHandle:
    """One operator overload: its schema, its kernels, and `table`, the cache for the fast path.

    Calling it goes through all steps, `dispatcher.call(op, *args)`, with arguments in schema order.
    The schema is parsed when first needed.
    """

    __slots__ = ("name", "text", "_schema", "kernels", "table", "_tensor_args")

    def __init__(self, text: str) -> None:
        self.text = text
        self._schema: FunctionSchema | None = None
        head = text.partition("(")[0]
        self.name = head if "::" in head else f"aten::{head}"
        self.kernels: dict[DispatchKey, KernelFunction] = {}
        self.table = _Table(self)
        self._tensor_args: tuple[tuple[int, bool], ...] | None = None

    @property
    def schema(self) -> FunctionSchema:
        if self._schema is None:
            from .schema import parse_schema

            self._schema = parse_schema(self.text)
        return self._schema

    def __call__(self, *args: Any) -> Any:
        return dispatcher.call(self, *args)

    @property
    def call(self) -> Kernel:
        """The fastest function that calls this operator; for a built-in one, it uses `table`."""
        return self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def register(self, key: DispatchKey, kernel: KernelFunction) -> KernelFunction | None:
        """Registers `kernel` for `key`. Returns the kernel that it replaces, or None."""
        old = self.kernels.get(key)
        self.kernels[key] = kernel
        self.table.clear()
        return old

    def unregister(self, key: DispatchKey, restore: KernelFunction | None = None) -> None:
        """Removes the kernel of `key`, or puts `restore` in its place."""
        if restore is None:
            self.kernels.pop(key, None)
        else:
            self.kernels[key] = restore
        self.table.clear()

    def kernel_for(self, key: DispatchKey) -> tuple[KernelFunction, str] | None:
        """The kernel of one key, and the name of the rule that it was found by; or None
        (`OperatorEntry::computeDispatchTableEntry`).

        Rules, first match wins: "kernel", registered for this very key; "default backend kernel"
        (CompositeExplicitAutograd) for a backend; "math kernel" (CompositeImplicitAutograd) for a
        backend or its Autograd key, unless the backend has a kernel of its own; "autograd kernel"
        (the Autograd alias); "backend fallback".
        """
        kernels = self.kernels
        if key in kernels:
            return kernels[key], "kernel"
        is_backend, is_autograd = key in dk.BACKENDS, key in dk.AUTOGRAD_KEYS
        explicit = kernels.get(DispatchKey.CompositeExplicitAutograd)
        if is_backend and explicit:
            return explicit, "default backend kernel"
        implicit = kernels.get(DispatchKey.CompositeImplicitAutograd)
        if implicit and (is_backend or is_autograd) and not explicit:
            backend = (
                DispatchKey(key - DispatchKey.AutogradCPU + DispatchKey.CPU) if is_autograd else key
            )
            if backend not in kernels:
                return implicit, "math kernel"
        if is_autograd and DispatchKey.Autograd in kernels:
            return kernels[DispatchKey.Autograd], "autograd kernel"
        if is_autograd and not self.name.startswith("aten::"):
            # a user's operator; one of ours without a kernel here has nothing to record
            return AUTOGRAD_NOT_IMPLEMENTED, "backend fallback"
        fallback = dispatcher.fallbacks.get(key)
        return (fallback, "backend fallback") if fallback else None

    def keys_of(self, args: tuple[Any, ...]) -> int:
        """The union of the key sets of all tensors among `args` (`DispatchKeyExtractor`)."""
        # (place, whether it is a list) of each argument that has tensors
        if self._tensor_args is None:
            self._tensor_args = tuple(
                (i, a.type.is_list)
                for i, a in enumerate(self.schema.arguments)
                if a.type.base == "Tensor"
            )
        keys = 0
        for i, is_list in self._tensor_args:
            for t in args[i] or () if is_list else (args[i],):
                geometry = getattr(t, "_geometry", None)
                if geometry is not None:
                    keys |= geometry.keys
        return keys


class Dispatcher:
    """The registry of operators, and the path of a call through their kernels.

    `fallbacks` are kernels for all operators that have none for a key.
    """

    def __init__(self) -> None:
        self.operators = Operators()
        self.fallbacks: dict[DispatchKey, KernelFunction] = {
            key: FALLTHROUGH
            for key in DispatchKey
            if DispatchKey.BackendSelect <= key <= DispatchKey.PythonDispatcher
        }
        self.fallbacks[DispatchKey.CUDA] = KernelFunction(
            "internals.cuda.fallback:cpu_fallback", takes_keys=True
        )

    def define(self, text: str) -> OperatorHandle:
        """Declares an operator by the text of its schema. Raises RuntimeError if it exists."""
        op = OperatorHandle(text)
        if op.name in self.operators:
            raise RuntimeError(
                f"Tried to register an operator ({text}) with the same name and overload name "
                "multiple times."
            )
        self.operators.add(op)
        return op

    def find(self, name: str) -> OperatorHandle:
        """The operator called `name`, such as "aten::add.Tensor" or "add.Tensor". Raises
        RuntimeError if there is none.
        """
        op = self.operators.get(name if "::" in name else f"aten::{name}")
        if op is None:
            raise RuntimeError(
                f"Could not find schema for {name}. It is not declared; see "
                "internals.library.Library.define"
            )
        return op

    def call(self, op: OperatorHandle, *args: Any) -> Any:
        """Runs `op` on `args` (in schema order), or hands the call to `tls.around`, if set."""
        around = tls.around
        return self.call_unobserved(op, args) if around is None else around(op, args)

    def call_unobserved(self, op: OperatorHandle, args: tuple[Any, ...]) -> Any:
        """`call` without observers: the union of keys, the thread's keys, and the dispatch."""
        keys = op.keys_of(args)
        if not keys & dk.BACKEND_MASK:
            keys |= _backend_of_factory(op, args)
        result = self.redispatch(op, (keys | tls.included) & ~tls.excluded, *args)
        return _marked(result, op, args) if is_inference_mode_enabled() else result

    def redispatch(self, op: OperatorHandle, keys: int, *args: Any) -> Any:
        """Runs the kernel of the highest of `keys` that does not fall through. Raises
        NotImplementedError if it has none.
        """
        trace = tls.trace
        while True:
            key = dk.highest(keys)
            found = op.kernel_for(key)
            if found is None:
                raise self._missing(op, key)
            kernel, rule = found
            if kernel is not FALLTHROUGH:
                break
            if trace is not None:
                trace.append(
                    {
                        "op": op.name,
                        "key": key,
                        "kernel": "fallthrough",
                        "kind": "fallthrough",
                        "rule": rule,
                    }
                )
            keys &= dk.below(key)  # fell through: the next key
        if trace is not None:
            kind = "composite" if rule in ("math kernel", "default backend kernel") else "kernel"
            left = dk.keys_in(keys & dk.below(key))
            trace.append(
                {
                    "op": op.name,
                    "key": key,
                    "kernel": kernel.name,
                    "kind": kind,
                    "rule": rule,
                    "left": left,
                }
            )
        f = kernel.function()
        return f(op, keys & dk.below(key), *args) if kernel.takes_keys else f(*args)

    def resolve(self, op: OperatorHandle, keys: int) -> Kernel:
        """The kernel that `redispatch` would run for `keys`, as a function of the arguments."""
        while True:
            key = dk.highest(keys)
            found = op.kernel_for(key)
            if found is None:
                raise self._missing(op, key)
            kernel = found[0]
            if kernel is not FALLTHROUGH:
                f = kernel.function()
                return partial(f, op, keys & dk.below(key)) if kernel.takes_keys else f
            keys &= dk.below(key)

    def _missing(self, op: OperatorHandle, key: DispatchKey) -> NotImplementedError:
        """The error for an operator without a kernel for `key`, which lists those that it has."""
        available = [k.name for k in DispatchKey if k in op.kernels]
        return NotImplementedError(
            f"Could not run '{op.name}' with arguments from the '{key.name}' backend. This could "
            f"be because the operator doesn't exist for this backend. '{op.name}' is only "
            f"available for these backends: [{', '.join(available)}]."
        )


class _Table(dict[int, Kernel]):
    """The cache of an operator: key set → kernel. Keys that are missing are resolved when they are
    first looked up.
    """

    __slots__ = ("op",)

    def __init__(self, op: OperatorHandle) -> None:
        self.op = op

    def __missing__(self, keys: int) -> Kernel:
        # without a backend's key, the tensors are an empty list: the CPU computes
        some = keys if keys & dk.BACKEND_MASK else keys | 1 << DispatchKey.CPU
        # An inference tensor lacks this key, but outside of inference mode each thread includes it.
        if keys & dk.INFERENCE:
            some |= dk.ADINPLACEORVIEW
        if not keys & dk.RECORDS and self._steps_aside(some):
            some &= ~dk.AUTOGRAD_MASK
        kernel = self[keys] = dispatcher.resolve(self.op, some & ~_EXCLUDED)
        return kernel

    def _steps_aside(self, keys: int) -> bool:
        """Whether the kernels of all Autograd keys among `keys` only record."""
        found = [self.op.kernel_for(key) for key in dk.keys_in(keys & dk.AUTOGRAD_MASK)]
        return all(kernel is not None and kernel[0].only_records for kernel in found)


_INCLUDED = dk.ADINPLACEORVIEW | 1 << DispatchKey.BackendSelect
_EXCLUDED = dk.AUTOCAST_MASK


class _ThreadLocal(threading.local):
    """The keys that this thread includes in and excludes from every call's key set
    (`c10/core/impl/LocalDispatchKeySet.h`), and the observers of its calls.
    """

    included: int = _INCLUDED
    excluded: int = _EXCLUDED
    trace: list[dict[str, Any]] | None = None
    around: Around | None = None


tls = _ThreadLocal()
dispatcher = Dispatcher()


@contextmanager
def include_keys(*keys: DispatchKey) -> Iterator[None]:
    """A block in which calls also go through `keys` (`c10::impl::IncludeDispatchKeyGuard`).

    Keys of Autocast, which every tensor has and every thread at first excludes, are no longer
    excluded (`torch.autocast`).
    """
    outer = tls.included, tls.excluded
    tls.included |= dk.key_set(keys)
    tls.excluded &= ~(dk.key_set(keys) & dk.AUTOCAST_MASK)
    try:
        with hot.detour():
            yield
    finally:
        tls.included, tls.excluded = outer


@contextmanager
def exclude_keys(*keys: DispatchKey) -> Iterator[None]:
    """A block in which calls skip `keys` (`c10::impl::ExcludeDispatchKeyGuard`)."""
    outer = tls.excluded
    tls.excluded |= dk.key_set(keys)
    try:
        with hot.detour():
            yield
    finally:
        tls.excluded = outer


@contextmanager
def trace_dispatch() -> Iterator[list[dict[str, Any]]]:
    """Collects a dict for each step of a dispatch while the block runs: `op`, `key`, `kernel`,
    `kind` and the `rule` that chose the kernel.

    A step that ran a kernel also has the keys that were `left` below it.
    """
    outer = tls.trace
    steps: list[dict[str, Any]] = []
    tls.trace = steps
    try:
        with hot.paused():
            yield steps
    finally:
        tls.trace = outer


@contextmanager
def observe_calls(observer: Observer) -> Iterator[None]:
    """A block in which `observer(op, args)` is called before each operator call of this thread
    (`at::RecordFunction`).

    If it returns a function, that is called with the result.
    """
    inner = tls.around or dispatcher.call_unobserved

    def around(op: OperatorHandle, args: tuple[Any, ...]) -> Any:
        finish = observer(op, args)
        result = inner(op, args)
        if finish is not None:
            finish(result)
        return result

    with around_calls(around):
        yield


@contextmanager
def around_calls(around: Around) -> Iterator[None]:
    """A block in which `around(op, args)` is called in place of each operator call of this thread.

    It returns the result of the call, which it makes itself: by the previous `tls.around`, or by
    `dispatcher.call_unobserved` if that was None.
    """
    outer, tls.around = tls.around, around
    try:
        with hot.detour():
            yield
    finally:
        tls.around = outer


def _marked(result: object, op: OperatorHandle, args: tuple[Any, ...]) -> Any:
    """The result of a call in inference mode: tensors on new memory become inference tensors, while
    views and results that are arguments stay as they are.
    """
    from .tensor_impl import newly_made

    known = {
        id(t._storage)
        for a in args
        for t in (a if isinstance(a, (list, tuple)) else (a,))
        if hasattr(t, "_storage")
    }
    for t in result if isinstance(result, (list, tuple)) else (result,):
        if hasattr(t, "_storage") and id(t._storage) not in known:
            newly_made(t)
    return result


def _backend_of_factory(op: OperatorHandle, args: tuple[Any, ...]) -> int:
    """The keys for an operator without tensor arguments: the backend of its `device` argument, the
    CPU by default, as PyTorch's BackendSelect kernels have it.
    """
    from . import device

    where = device.CPU
    for argument, value in zip(op.schema.arguments, args):
        if argument.name == "device" and value is not None:
            where = device.resolve(value)
    return 1 << dk.backend_key(where.type) | 1 << DispatchKey.BackendSelect
