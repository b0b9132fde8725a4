"""Compiles a kernel to LLVM code: numba infers the types of its variables and translates the loop.

numba is asked for the bare function: no wrapper for Python objects, no reference counts, no
exceptions, pointers that do not overlap. The function has numba's own calling convention (a place
for the result, one for an error, then the arguments one by one), so a small C function that reads
the arguments from slots is put in front:

    define void @entry(i64 %begin, i64 %end, ptr %args) {
      %p0 = load ptr, ptr %args            ; slot 0
      ...
      call i32 @_ZN...add_squares...(ptr %result, ptr %error, i64 %begin, i64 %end, ptr %p0, ...)

The key of the object file is a digest of everything it depends on: the source of the kernel and of
all it calls, the bindings of the templates, the argument types, numba, LLVM and the CPU.

How the real one differs: for the CPU Inductor writes C++ and runs the system's compiler; Triton,
for GPUs, reads Python as numba does.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
import threading
from collections.abc import Iterator
from functools import cache as once
from importlib.metadata import version
from typing import Any

import numpy as np

from . import cache
from .entry import Entry
from .language import Inline, Kernel, bound
from .llvm import CompileError, digest, emit, host, load, stored, whole_at_fork
from .records import kinds
from .templates import Choice, DeviceFunction, Intrinsic

# LLVM's types for numbers; everything else is a pointer
CALLS = {"f4": "float", "f8": "double", "i8": "i64"}


def compiled(kernel: Kernel, signature: str, aliasing: bool = False) -> Entry:
    """The machine code of `kernel` for these argument types: from the disk, else compiled by numba.
    See `Kernel.entry`.
    """
    key = key_of(kernel, signature, aliasing)
    symbol = f"k_{key[:24]}"
    code = stored(key, symbol)
    if code is None:
        with _lock:
            code = stored(key, symbol)  # another thread may have compiled it meanwhile
            if code is None:
                code = emit(
                    llvm_text(kernel, signature, aliasing), {"entry": symbol}, optimize=False
                )
                cache.store(key, code)
    return Entry(kernel.name, load(code, symbol), signature, key)


def llvm_text(kernel: Kernel, signature: str, aliasing: bool = False) -> str:
    """The optimised LLVM module of `kernel`, whose function `entry` takes the arguments in slots.

    Raises CompileError with numba's explanation if it cannot be compiled.
    """
    from numba.core import compiler, types
    from numba.core.cpu_options import FastMathOptions
    from numba.core.errors import NumbaError
    from numba.core.registry import cpu_target

    words = signature.split()
    flags: Any = compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.nrt = False  # no reference counts
    flags.noalias = not aliasing  # LLVM may then vectorise without testing for overlaps
    flags.error_model = "numpy"  # x / 0 is inf, not an exception
    if kernel.fastmath:
        flags.fastmath = FastMathOptions(set(kernel.fastmath))
    arguments = (types.int64, types.int64, *_argument_types(kernel, words))
    with _lock:
        try:
            result = compiler.compile_extra(
                cpu_target.typing_context,
                cpu_target.target_context,
                bound(kernel, _callable),
                arguments,
                types.void,
                flags,
                {},
            )
        except (NumbaError, NotImplementedError) as error:
            raise CompileError(
                f"numba cannot compile the kernel {kernel.name}({signature}): {error}"
            ) from error
        return str(result.library.get_llvm_str()) + _c_function(result.fndesc.llvm_func_name, words)


def key_of(kernel: Kernel, signature: str, aliasing: bool = False) -> str:
    """The name in the cache of `kernel` compiled for these types on this CPU."""
    return digest("kernel", description(kernel), signature, str(aliasing), versions(), host())


@once
def versions() -> str:
    """The versions of the compilers, as part of a key."""
    return f"numba {version('numba')} llvmlite {version('llvmlite')}"


def _c_function(called: str, words: list[str]) -> str:
    """LLVM code of `entry`, which unpacks the slots and calls numba's function, named `called`."""
    lines, arguments = [], ["ptr %result", "ptr %error", "i64 %begin", "i64 %end"]
    for i, word in enumerate(words):
        lines.append(f"  %slot{i} = getelementptr i64, ptr %args, i64 {i}")
        if word == "f4":  # a slot has 8 bytes, so a float32 travels as a double
            lines += [
                f"  %wide{i} = load double, ptr %slot{i}",
                f"  %v{i} = fptrunc double %wide{i} to float",
            ]
        else:
            lines.append(f"  %v{i} = load {CALLS.get(word, 'ptr')}, ptr %slot{i}")
        arguments.append(f"{CALLS.get(word, 'ptr')} %v{i}")
    body = "\n".join(lines)
    return (
        "\ndefine void @entry(i64 %begin, i64 %end, ptr %args) {\n  %result = alloca ptr\n  %error "
        "= alloca ptr\n"
        f"{body}\n  %status = call i32 @{called}({', '.join(arguments)})\n  ret void\n}}\n"
    )


def _argument_types(kernel: Kernel, words: list[str]) -> list[Any]:
    """numba's types of the arguments. Like slots, numba's convention has the fields of a record one
    by one."""
    rest = iter(words)
    return [_of_kind(kind, rest) for kind in kinds(kernel.function).values() or words]


def _of_kind(kind: Any, words: Iterator[str]) -> Any:
    """The type of an argument, or of a record, whose fields take as many of the words."""
    from numba.core import types

    if not hasattr(kind, "_fields"):
        return _numba_type(next(words))
    return types.NamedTuple([_of_kind(k, words) for k in kinds(kind).values()], kind)


def _numba_type(word: str) -> Any:
    """numba's type for a word of a signature. Raises CompileError for an unknown word."""
    from numba.core import types

    names = {
        "f4": types.float32, "f8": types.float64, "i8": types.int64, "i4": types.int32,
        "i2": types.int16, "i1": types.int8, "u1": types.uint8, "b1": types.boolean,
    }  # fmt: skip
    element = names.get(word.removeprefix("*"))
    if element is None or (word not in CALLS and not word.startswith("*")):
        raise CompileError(
            f"'{word}' is no argument type of a kernel; there are i8, f4, f8 and pointers: "
            f"*{', *'.join(names)}"
        )
    return types.CPointer(element) if word.startswith("*") else element


_lock = threading.RLock()
whole_at_fork(_lock)
_dispatchers: dict[Inline, Any] = {}


def _callable(called: Inline) -> Any:
    """numba's dispatcher for an inline function, which it always inlines."""
    found = _dispatchers.get(called)
    if found is None:
        import numba

        njit: Any = numba.njit
        found = _dispatchers[called] = njit(
            bound(called, _callable),
            forceinline=True,
            error_model="numpy",
            fastmath=set(called.fastmath) or False,
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            _nrt=False,
        )
    return found


def description(instance: DeviceFunction) -> str:
    """Everything that the code of `instance` depends on, as text; also for kernels of the GPU."""
    options = [repr(getattr(instance, name, None)) for name in ("fastmath", "launch_bounds")]
    records = [str(kinds(k)) for k in _records(instance.function)]
    parts = [instance.name, _source(instance), *options, *records]
    for name in instance.names():
        value = instance.meaning(name)
        if isinstance(value, Choice):
            value = value.gpu
        if isinstance(value, DeviceFunction):
            parts.append(f"{name}: {description(value)}")
        elif isinstance(value, Intrinsic):
            parts.append(f"{name}: {value.target}")
        elif name != "cuda" and not inspect.ismodule(value):
            # `cuda` differs from executor to executor, so it is left out; repr shows only a part of
            # a long array, so its bytes are added
            array = value.tobytes() if isinstance(value, np.ndarray) else b""
            parts.append(f"{name}={getattr(value, '__qualname__', None) or value!r}{array!r}")
    return "\n".join(parts)


def _records(record: Any) -> Iterator[Any]:
    """The record types among the arguments of a kernel, and those nested in them."""
    for kind in kinds(record).values():
        if hasattr(kind, "_fields"):
            yield kind
            yield from _records(kind)


def _source(instance: DeviceFunction) -> str:
    """The source of a function. A generated function carries its own as `__source__`; for one typed
    at a prompt it is the bytecode.
    """
    carried = getattr(instance.function, "__source__", None)
    if carried is not None:
        return str(carried)
    try:
        return textwrap.dedent(inspect.getsource(instance.function))
    except OSError:
        code = instance.function.__code__
        return repr((sys.version, code.co_code, code.co_consts, code.co_names))
