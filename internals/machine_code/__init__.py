"""Machine code for loops: from a Python function to instructions of this CPU, compiled once, kept
on disk.

    from internals.machine_code import kernel, template
    from internals.machine_code.records import Values

    T = template("T")

    @kernel
    def scaled(begin: int, end: int, x: Values, out: Values, factor: float) -> None:
        for i in range(begin, end):
            out[i] = x[i] * T(factor)

    entry = scaled.bind(T=np.float32).entry("*f4 *f4")
    entry.parallel(n, 32768, x.data_ptr(), out.data_ptr(), 2.0)

The floors, from the top:

- `language`: what such a function may say. It is plain Python too, and running it as that is the
  reference for tests. `templates`: how names in it are given a meaning, for kernels of the GPU as
  well.
- `compile`: numba makes LLVM code of it, and this adds the C function by which it is called.
- `llvm`: LLVM makes an object file of that, and loads object files. Code that was written in LLVM's
  language to begin with (the inner loops of convolutions) enters here.
- `cache`: object files on disk, so that numba is imported only where something is compiled for the
  first time. `trust`: which of them are run, those that no other user could have written.
- `records`: many arguments as one. `entry`, `parallel` and `pool`: calling what was loaded, on one
  thread or several. `settings`: when the operators do so.
- Beside them, `vector_math`: exp, sin and the rest for kernels; `limits`: what this machine can do
  at most, measured.

How the real one differs: ATen's kernels are C++, compiled ahead of time for three levels of vector
instructions (`aten/src/ATen/native/cpu`, `DispatchStub.h`), and called through function pointers as
here; Inductor writes C++ and calls the compiler when a function is first run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parallel import get_num_threads, set_num_threads
from .settings import compiled_kernels

if TYPE_CHECKING:
    from .language import inline, kernel, template

__all__ = ["compiled_kernels", "get_num_threads", "inline", "kernel", "set_num_threads", "template"]


def __getattr__(name: str) -> Any:
    """The language is imported when it is first used: operators ask for `settings` only, in every
    call.
    """
    if name in ("inline", "kernel", "template"):
        from . import language

        return getattr(language, name)
    raise AttributeError(f"module 'internals.machine_code' has no attribute '{name}'")
