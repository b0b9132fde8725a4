"""Turns LLVM text into an object file, and an object file into an address (through llvmlite).

Object files are kept on disk: loading one takes a millisecond and no compiler. All that are loaded
stay in one engine, for the life of the process.

LLVM text written by hand enters by `entry_from_ir`. Its function has the type `void (i64 begin, i64
end, ptr args)`: a range of work, and the address of slots of 8 bytes with a pointer, an i64 or a
double in each.

How the real one differs: NNC drives the same JIT from C++
(`torch/csrc/jit/tensorexpr/llvm_jit.cpp`); ATen's own kernels are linked into the library.
"""

from __future__ import annotations

import ctypes.util
import hashlib
import os
import sys
import threading
from collections.abc import Callable
from functools import cache as once
from typing import Any

from . import cache
from .entry import Entry


def entry_from_ir(
    text: str | Callable[[], str], symbol: str, key: str, signature: str, optimize: bool = True
) -> Entry:
    """The function `symbol` of an LLVM module, ready to be called. The module is text, or a
    function that writes it, which is only called if the cache has no object file.

    key: distinguishes this code from all other in the cache; everything that the text depends on,
    but not the CPU. signature: a word for each slot, as in `Kernel.entry`. optimize: run LLVM's
    passes, which text written with explicit vectors does not need.
    """
    (address,) = functions_from_ir(text, (symbol,), key, optimize)
    return Entry(symbol, address, signature, digest("ir", key, host()))


def functions_from_ir(
    text: str | Callable[[], str], symbols: tuple[str, ...], key: str, optimize: bool = True
) -> tuple[int, ...]:
    """The addresses of functions of an LLVM module, which may be of any type. See
    `entry_from_ir`.
    """
    full_key = digest("ir", key, *symbols, host())
    # all code lives in one engine, so each function needs a name of its own
    names = {symbol: f"k_{full_key[:24]}_{symbol}" for symbol in symbols}
    code = stored(full_key, *names.values())
    if code is None:
        code = emit(text if isinstance(text, str) else text(), names, optimize)
        cache.store(full_key, code)
    return tuple(load(code, name) for name in names.values())


def stored(key: str, *symbols: str) -> cache.Code | None:
    """The object file on disk with these functions; None if there is none that can be used in this
    process.

    The checksum says that a file is as it was written. Whether it is an object file for this
    machine, with these functions, is checked as well: otherwise LLVM would crash."""
    code = cache.load(key)
    if code is None:
        return None
    with _lock:
        if not _is_object_file(code.object) or not all(
            symbol.encode() in code.object for symbol in symbols
        ):
            cache.damaged(
                key, "o", f"it is no object file for this machine with {', '.join(symbols)} in it"
            )
            return None
        # it may have been made in a process that had loaded numba's own functions
        return None if _missing(code) else code


def digest(*parts: str) -> str:
    """The key of what `parts` describe: 64 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@once
def host() -> str:
    """LLVM's description of the CPU that code is compiled for, and LLVM's own version."""
    ll = _binding()
    return (
        f"{ll.get_process_triple()} {ll.get_host_cpu_name()} {_features()} llvm "
        f"{ll.llvm_version_info}"
    )


def emit(text: str, names: dict[str, str], optimize: bool) -> cache.Code:
    """The object file of a module. `names` has its functions that can be seen from outside, and
    their names there.

    Raises CompileError if the text is not a valid LLVM module or lacks one of these functions.
    """
    ll = _binding()
    with _lock:
        try:
            module = ll.parse_assembly(text)
            module.verify()
            visible = {symbol: module.get_function(symbol) for symbol in names}
        except (RuntimeError, NameError) as error:
            raise CompileError(
                f"no LLVM module with a function {', '.join(names)}: {error}"
            ) from error
        # internal functions may be inlined and dropped, and cannot clash with those of other files
        for item in (*module.functions, *module.global_variables):
            if not item.is_declaration and item.name not in names:
                item.linkage = "internal"
        for symbol, function in visible.items():
            function.name = names[symbol]
        machine = _target_machine()
        if optimize:
            builder = ll.create_pass_builder(
                machine, ll.create_pipeline_tuning_options(speed_level=3)
            )
            builder.getModulePassManager().run(module, builder)
        # "llvm." functions are intrinsics, which become instructions
        externals = [
            f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")
        ]
        return cache.Code(machine.emit_object(module), tuple(externals))


def assembly(text: str) -> str:
    """The assembler text of an LLVM module for this CPU."""
    module = _binding().parse_assembly(text)
    return str(_target_machine().emit_assembly(module))


def load(code: cache.Code, symbol: str) -> int:
    """The address of `symbol` in an object file, which is loaded into the process on first use.

    Raises CompileError if the file needs a function that this process does not have, or does not
    have `symbol` itself.
    """
    ll = _binding()
    with _lock:
        address = _loaded.get(symbol)
        if address is None:
            if missing := _missing(code):
                raise CompileError(
                    f"machine code needs {', '.join(missing)}, which this process does not have"
                )
            engine = _engine()
            # the file may have been loaded for another of its functions
            address = engine.get_function_address(symbol)
            if not address:
                engine.add_object_file(ll.ObjectFileRef.from_data(code.object))
                engine.finalize_object()
                address = engine.get_function_address(symbol)
            if not address:
                raise CompileError(f"machine code has no function {symbol}")
            _loaded[symbol] = address
    return address


def whole_at_fork(lock: Any) -> None:
    """Make a fork wait until the lock is free: else the new process could inherit it locked, by a
    thread that it does not have, and wait forever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


class CompileError(RuntimeError):
    """Raised for code that cannot be compiled, or cannot be loaded into this process."""


_lock = threading.RLock()
whole_at_fork(_lock)
_loaded: dict[str, int] = {}


def _missing(code: cache.Code) -> list[str]:
    """The functions that the code calls and this process does not have."""
    return [name for name in code.externals if not _find(name)]


def _find(name: str) -> bool:
    """Whether the process has a function of this name; loads the math library if need be."""
    ll = _binding()
    if not ll.address_of_symbol(name):
        libm = ctypes.util.find_library("m")
        if libm is not None:
            ll.load_library_permanently(libm)
    return bool(ll.address_of_symbol(name))


def _is_object_file(content: bytes) -> bool:
    """Whether it begins like an object file of this machine, and LLVM can read it."""
    return content.startswith(_beginning()) and bool(
        _binding().ObjectFileRef.from_data(content)._ptr
    )


@once
def _beginning() -> bytes:
    """The first bytes of an object file of this machine, which say the format and the machine: 20
    in ELF, 12 in Mach-O, 2 in COFF.
    """
    length = {"darwin": 12, "win32": 2}.get(sys.platform, 20)
    return bytes(_target_machine().emit_object(_binding().parse_assembly(""))[:length])


@once
def _binding() -> Any:
    """llvmlite, imported and initialised when it is first needed."""
    import llvmlite.binding as ll

    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    ll.initialize_native_asmparser()
    return ll


@once
def _features() -> str:
    return str(_binding().get_host_cpu_features().flatten())


@once
def _target_machine() -> Any:
    return _new_target_machine()


@once
def _engine() -> Any:
    ll = _binding()
    return ll.create_mcjit_compiler(ll.parse_assembly(""), _new_target_machine())


def _new_target_machine() -> Any:
    """A code generator of LLVM for this CPU. The engine owns one, so there are two."""
    ll = _binding()
    target = ll.Target.from_default_triple()
    return target.create_target_machine(
        cpu=ll.get_host_cpu_name(),
        features=_features(),
        opt=3,
        # static: addresses need no table, since code is loaded into this process only
        reloc="static" if target.name.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )
