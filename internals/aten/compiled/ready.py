"""The machine code of a kernel, or None where there cannot be any: then numpy serves, as for small tensors.

How the real one differs: `DispatchStub` always finds a kernel, if only the one without vector instructions.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals.machine_code.language import Kernel

_refused: set[Any] = set()


def ready(kernel: Kernel, signature: str, aliasing: bool = False) -> Any:
    """`kernel.entry(signature)`; None, with one warning, if it cannot be compiled here."""
    found = kernel._entries.get((signature, aliasing))
    if found is None and (kernel, signature) not in _refused:
        from internals.machine_code.llvm import CompileError

        try:
            found = kernel.entry(signature, aliasing)
        except (CompileError, ImportError) as error:
            _refused.add((kernel, signature))
            missing = isinstance(error, ImportError)
            if not missing or ImportError not in _refused:  # a compiler is missing for all kernels alike
                warnings.warn(
                    f"{kernel.name} could not be compiled, so numpy does its work, more slowly: {error}. "
                    "INTERNALS_COMPILED_KERNELS=0 switches compiled kernels off",
                    UserWarning,
                    stacklevel=2,
                )
            _refused.add(ImportError if missing else None)
    return found
