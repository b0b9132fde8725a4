"""Compiles the text of a kernel, once for each text, whichever groups it came from.

The text becomes a Python function, which `internals/machine_code` compiles like the kernels written
by hand. The text is kept beside the object file.

How the real one differs: `FusedKernelCPU` writes a C++ file, runs `g++` on it and loads the
library.
"""

from __future__ import annotations

import linecache
import math
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from internals.machine_code import cache
from internals.machine_code.language import Kernel

from .background import background
from .functions import on_cpu
from .kernel_source import KernelText
from .settings import settings

NAMES: dict[str, Any] = {
    name: getattr(np, name)
    for name in ("float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool_")
}  # fmt: skip
NAMES.update(inf=math.inf, nan=math.nan)


class MachineKernel:
    """A kernel's text and, once it is compiled, its machine code: `entry`. `state` is "new",
    "compiling", "ready" or "failed".
    """

    def __init__(self, text: KernelText) -> None:
        self.text = text
        self.kernel = Kernel(python_function(text))
        self.entry: Any = None
        self.state = "new"
        self.error: Exception | None = None
        self.waiting: list[Any] = []
        self._lock = threading.Lock()

    def prepare(self, when_ready: Callable[..., Any]) -> None:
        """Calls `when_ready()` when there is machine code: at once if there is some already, if it
        is on disk, or if groups wait for their kernels; otherwise once it has been compiled in the
        background. If compiling fails, `when_ready` is never called."""
        with self._lock:
            if self.state in ("new", "compiling") and (
                settings.chosen.synchronous or self.is_on_disk()
            ):
                self._compile()
            if self.state in ("new", "compiling"):
                self.waiting.append(when_ready)
                if self.state == "new":
                    self.state = "compiling"
                    background.submit(self.text.name, self.finish)
                return
        if self.state == "ready":
            when_ready()

    def finish(self) -> None:
        """The background's job: compiles the kernel and calls all `when_ready` that wait."""
        with self._lock:
            if self.state == "compiling":
                self._compile()
            waiting, self.waiting = self.waiting, []
        if self.state == "ready":
            for call in waiting:
                call()

    def is_on_disk(self) -> bool:
        """Whether an earlier process has compiled it: loading takes much less time."""
        from internals.machine_code.compile import key_of

        return cache.load(key_of(self.kernel, self.text.signature)) is not None

    def _compile(self) -> None:
        """Compiles the kernel or loads it from disk, and writes its text beside the object file."""
        try:
            self.entry = self.kernel.entry(self.text.signature)
            self.state = "ready"
            cache.write(self.entry.key, "py", self.text.text.encode())
        except Exception as error:
            # no error of the compiler stops the program, as the operators can do the same
            self.state, self.error = "failed", error
            warnings.warn(
                f"the group {self.text.name} runs operator by operator, because it could not be "
                f"compiled: {error}",
                stacklevel=2,
            )

    @property
    def llvm(self) -> str:
        """Its LLVM module."""
        from internals.machine_code.compile import llvm_text

        return llvm_text(self.kernel, self.text.signature)

    @property
    def assembly(self) -> str:
        """Its instructions for this CPU."""
        from internals.machine_code.llvm import assembly

        return assembly(self.llvm)


def machine_kernel(text: KernelText) -> MachineKernel:
    """The kernel of this text, made once: groups with the same code share it."""
    key = text.code, text.signature
    with _lock:
        found = _made.get(key)
        if found is None:
            found = _made[key] = MachineKernel(text)
    return found


def python_function(text: KernelText) -> Any:
    """The Python function of a kernel's text; its globals are the functions that it calls."""
    scope = dict(NAMES)
    scope.update((local, on_cpu(name, d)) for local, name, d in text.functions)
    return function_from(text, scope)


def function_from(text: KernelText, scope: dict[str, Any]) -> types.FunctionType:
    """The function that a kernel's text defines, with `scope` as its globals. Its source is in
    `linecache`, so that tracebacks and `inspect` show it as for any function.
    """
    file = f"<fused kernel {text.name} {abs(hash(text.text)):x}>"
    linecache.cache[file] = (len(text.text), None, text.text.splitlines(keepends=True), file)
    names: dict[str, Any] = {**scope, "__name__": __name__}
    exec(compile(text.text, file, "exec"), names)
    function: Any = names[text.name]
    function.__source__ = text.code  # by which its machine code is found again
    return function


_lock = threading.Lock()
_made: dict[tuple[str, str], MachineKernel] = {}
