"""Looks up the machine code of a kernel, and runs it. Where it cannot be compiled, numpy does the
work, as for small tensors.

How the real one differs: `DispatchStub` always finds a kernel, if only the one without vector
instructions; templates over a dtype are instantiated for each when the library is built
(`AT_DISPATCH_FLOATING_TYPES`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.core.tensor_impl import TensorImpl, backed_ptr
from internals.machine_code.language import Kernel
from internals.machine_code.records import signature_of

FLOATS = (dt.float32, dt.float64)

_refused: set[Any] = set()  # (kernel, signature) that could not be compiled, so as to try once only
SWITCH = "INTERNALS_COMPILED_KERNELS=0 switches compiled kernels off"


def machine_code_of(kernel: Kernel, signature: str, aliasing: bool = False) -> Any:
    """`kernel.entry(signature)`; None, with one warning, if it cannot be compiled here."""
    found = kernel._entries.get((signature, aliasing))
    if found is None and (kernel, signature) not in _refused:
        from internals.machine_code.llvm import CompileError

        try:
            found = kernel.entry(signature, aliasing)
        except (CompileError, ImportError) as error:
            _refused.add((kernel, signature))
            # without numba no kernel can be compiled, and one warning is enough for all
            missing = isinstance(error, ImportError)
            if not missing or ImportError not in _refused:
                warnings.warn(
                    f"{kernel.name} could not be compiled, so numpy does its work, more slowly: "
                    f"{error}. {SWITCH}",
                    UserWarning,
                    stacklevel=2,
                )
            _refused.add(ImportError if missing else None)
    return found


def run(kernel: Kernel, signature: str, units: int, grain: int, *arguments: Any) -> bool:
    """Run the kernel on 0..units, in parts of at least `grain`. False if numpy has to do it.

    signature: see `Kernel.entry`. arguments: numbers, records of them, tensors and other objects
    with an address; None is a pointer that the kernel does not follow.
    """
    return _run(machine_code_of(kernel, signature), units, grain, arguments)


def run_typed(kernel: Kernel, dtype: dtype, units: int, grain: int, *arguments: Any) -> bool:
    """`run` with T bound to `dtype`, for a kernel whose pointers are `Values` or `Indices`."""
    return _run(typed(kernel, dtype), units, grain, arguments)


def _run(entry: Any, units: int, grain: int, arguments: tuple[Any, ...]) -> bool:
    if entry is not None:
        entry.parallel(units, grain, *_slots(arguments))
    return entry is not None


def _slots(arguments: Iterable[Any]) -> list[Any]:
    """The arguments as numbers: records taken apart, tensors as addresses, None as 0."""
    found: list[Any] = []
    for value in arguments:
        if isinstance(value, int | float):
            found.append(value)
        elif isinstance(value, tuple):
            found += _slots(value)
        elif isinstance(value, TensorImpl):
            found.append(backed_ptr(value))
        else:
            found.append(0 if value is None else value.address)
    return found


@cache
def typed(kernel: Kernel, dtype: dtype) -> Any:
    """The machine code of `kernel` with T bound to `dtype`; None if it cannot be compiled."""
    number: Any = dtype.np
    # in a signature *T is a pointer to values: "*T *i8" becomes "*f4 *i8" for float32
    words = signature_of(kernel.function).replace("T", np.dtype(number).str[1:]).split()
    pointers = " ".join(word for word in words if word.startswith("*"))
    return machine_code_of(kernel.bind(T=number.type), pointers)


def compiles(attempt: Callable[[], object], otherwise: str) -> bool:
    """Whether `attempt()`, which compiles something, succeeds. If not, a warning says why, after
    the words of `otherwise`, which say what is done instead.
    """
    from internals.machine_code.llvm import CompileError

    try:
        attempt()
    except (CompileError, ImportError) as error:
        warnings.warn(f"{otherwise}: {error}. {SWITCH}", UserWarning, stacklevel=3)
        return False
    return True
