"""From the text of a kernel to code that runs: made once for each text, whatever group it came
from.

The text becomes a Python function, which is a kernel of `internals/machine_code` like those written
by hand; its text is kept beside the object file.

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
        """See to it that there is machine code and call `when_ready()` then: now, if it is there,
        on disk, or may be waited for."""
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
        """Compile it, and tell those who wait."""
        with self._lock:
            if self.state == "compiling":
                self._compile()
            waiting, self.waiting = self.waiting, []
        if self.state == "ready":
            for call in waiting:
                call()

    def is_on_disk(self) -> bool:
        from internals.machine_code.compile import key_of

        return cache.load(key_of(self.kernel, self.text.signature)) is not None

    def _compile(self) -> None:
        try:
            self.entry = self.kernel.entry(self.text.signature)
            self.state = "ready"
            cache.write(self.entry.key, "py", self.text.text.encode())
        except Exception as error:
            # whatever the compiler has to say: the operators can do without it
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
    """The one kernel of this text."""
    key = text.code, text.signature
    with _lock:
        found = _made.get(key)
        if found is None:
            found = _made[key] = MachineKernel(text)
    return found


def python_function(text: KernelText) -> Any:
    """The Python function of a kernel's text, with what it mentions in its globals."""
    scope = dict(NAMES)
    scope.update((local, on_cpu(name, d)) for local, name, d in text.functions)
    return function_from(text, scope)


def function_from(text: KernelText, scope: dict[str, Any]) -> types.FunctionType:
    """`def` executed: the source can be looked up as that of any function, which errors and
    `inspect` do.
    """
    file = f"<fused kernel {text.name} {abs(hash(text.text)):x}>"
    linecache.cache[file] = (len(text.text), None, text.text.splitlines(keepends=True), file)
    names: dict[str, Any] = {**scope, "__name__": __name__}
    exec(compile(text.text, file, "exec"), names)
    function: Any = names[text.name]
    function.__source__ = text.code
    return function


_lock = threading.Lock()
_made: dict[tuple[str, str], MachineKernel] = {}
