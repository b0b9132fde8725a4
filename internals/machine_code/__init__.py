"""Compiles loops to machine code: from a Python function to instructions of this CPU, once, and
kept on disk.

    from internals.machine_code import kernel, template
    from internals.machine_code.records import Values

    T = template("T")

    @kernel
    def scaled(begin: int, end: int, x: Values, out: Values, factor: float) -> None:
        for i in range(begin, end):
            out[i] = x[i] * T(factor)

    entry = scaled.bind(T=np.float32).entry("*f4 *f4")
    entry.parallel(n, 32768, x.data_ptr(), out.data_ptr(), 2.0)

The layers, from the top:

- `language`: the Python that a kernel may be written in. It runs as plain Python too, which is the
  reference for tests. `templates`: how names in it get their values, for kernels of the GPU as
  well.
- `compile`: numba turns a kernel into LLVM code, and this adds the C function that calls it.
- `llvm`: LLVM turns that into an object file, and loads object files. Code that is written in
  LLVM's language to begin with (the inner loops of convolutions) enters here.
- `cache`: object files on disk, so that numba is imported only when something is compiled for the
  first time. `trust`: decides which of them may run, those that no other user could have written.
- `records`: many arguments as one. `entry`, `parallel` and `pool`: calling what was loaded, on one
  thread or several. `settings`: when the operators do so.
- Beside them, `vector_math`: exp, sin and the rest for kernels; `limits`: measures the limits of
  this machine.

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
    """Imports the language when it is first used: most operators need `settings` only, and the
    import takes time."""
    if name in ("inline", "kernel", "template"):
        from . import language

        return getattr(language, name)
    raise AttributeError(f"module 'internals.machine_code' has no attribute '{name}'")
