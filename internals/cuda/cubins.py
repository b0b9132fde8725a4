"""Compiles a kernel to machine code for one kind of GPU (a *cubin*), once, and keeps it on disk.

numba and NVVM make PTX of the kernel, and `ptxas` makes machine code of the PTX. It is the `ptxas`
in nvJitLink, which comes with NVVM; the driver has one too, but may be too old for NVVM's PTX.
Compiling takes some tenths of a second, and the imports a second more; a process that finds its
kernels on disk needs neither. The files lie beside those of the CPU's kernels
(`internals/machine_code/cache.py`). They are checked as carefully before they run, and compiled
anew if they are damaged.

The key of a cubin covers everything it depends on: the source of the kernel and of all functions
that it calls, the values of template parameters, the types of the arguments, the compute
capability, and the versions of the compilers.

How the real one differs: `nvcc` puts cubins for several architectures into the library; Triton
keeps those of its kernels in ~/.triton/cache.
"""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache as once
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from internals.machine_code import cache
from internals.machine_code.compile import description
from internals.machine_code.llvm import digest

from .device_array import type_name

if TYPE_CHECKING:
    from .language import Kernel

KIND = "cubin"
FOR_A_GPU = b"\x7fELF", b"\xbe\x00"  # bytes 0-3 of an ELF file, and its machine, 18-19 (EM_CUDA)
# modules of this package whose text is in the key: they decide what is compiled, and how
MODULES_IN_KEY = ("compiled", "cubins", "ptx_compiler", "assert_fail")
COMPILERS = ("numba-cuda", "llvmlite", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink")


def cubin(kernel: Kernel, args: tuple[Any, ...], cc: tuple[int, int]) -> tuple[str, bytes]:
    """The mangled name and the machine code of `kernel` for arguments like `args` and compute
    capability `cc`, from the disk or compiled.
    """
    key = key_of(kernel, args, cc)
    found = _stored(key) if key else None
    if found is None:
        found = _compile(kernel, args, cc)
        if key:
            name, code = found
            cache.write(key, KIND, name.encode() + b"\n" + code)
    return found


def key_of(kernel: Kernel, args: tuple[Any, ...], cc: tuple[int, int]) -> str:
    """The key in the cache; empty for a kernel that must not be cached."""
    # a repr with an address names an object of this process: in another one it means nothing
    about = description(kernel)
    if " at 0x" in about:
        return ""
    return digest(KIND, about, *map(_type, args), f"sm_{cc[0]}{cc[1]}", versions())


@once
def versions() -> str:
    """A digest of the modules in `MODULES_IN_KEY`, and of the versions of Python and of the
    compilers.
    """
    how = [
        Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        for name in MODULES_IN_KEY
    ]
    return digest(*how, str(sys.version_info[:2]), *map(_version, COMPILERS))


def _version(package: str) -> str:
    """The version of a package; for a library of NVIDIA's that was not installed as a package, the
    path, size and time of its file.
    """
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        name = package.removeprefix("nvidia-")
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        # the name that pathfinder knows is nvJitLink
        path = Path(pathfinder.load_nvidia_dynamic_lib(name.replace("jitl", "JitL")).abs_path)
        return f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}"
    except Exception as error:  # it is missing, but a cubin on disk can be used without it
        return f"{name} {type(error).__name__}"


def _type(value: object) -> str:
    """The `type_name` of an argument; for a tuple with its class, and a NamedTuple's fields."""
    if isinstance(value, tuple):
        kind = f"{type(value).__qualname__}{getattr(value, '_fields', '')}"
        return f"{kind}({', '.join(map(_type, value))})"
    return type_name(value)


def _stored(key: str) -> tuple[str, bytes] | None:
    """The name and the machine code on disk; None if there is none, or if it is damaged. A file has
    the name in its first line, then the cubin.
    """
    found = cache.read(key, KIND)
    if found is None:
        return None
    name, _, code = found.partition(b"\n")
    if name and name in code and (code[:4], code[18:20]) == FOR_A_GPU:
        return name.decode(), code
    cache.damaged(key, KIND, "it is no machine code for a GPU")
    return None


def _compile(kernel: Kernel, args: tuple[Any, ...], cc: tuple[int, int]) -> tuple[str, bytes]:
    """Compile `kernel` to PTX and link that into a cubin. Returns its name in there, and the
    cubin.
    """
    core: Any = importlib.import_module("cuda.core")
    from .compiled import compile_ptx
    from .ptx_compiler import numba_type

    types = tuple([numba_type(a if hasattr(a, "_fields") else type_name(a)) for a in args])
    text = compile_ptx(kernel, types, cc)
    (name,) = re.findall(r"\.entry\s+([\w$]+)", text)
    arch = re.findall(r"\.target\s+(\w+)", text)[0]  # the architecture that NVVM chose for `cc`
    linker = core.Linker(
        core.ObjectCode.from_ptx(text.encode()), options=core.LinkerOptions(arch=arch)
    )
    return name, bytes(linker.link("cubin").code)
