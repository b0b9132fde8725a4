"""A kernel as machine code for one kind of GPU (a *cubin*), compiled once and kept on disk.

numba and NVVM make PTX of the kernel, and `ptxas` machine code of that: the one in nvJitLink, which
comes with NVVM, as a driver may be too old for NVVM's PTX. That takes some tenths of a second, and
the imports a second more; a process that finds its kernels on disk needs none of them. The files
lie beside those of the CPU's kernels (`internals/machine_code/cache.py`), are looked at as
carefully before they are run, and made anew when they are damaged.

The key under which a cubin is kept says all it depends on: the source of the kernel and of all that
it calls, what the templates were bound to, the types of the arguments, the compute capability, and
what compiles, in which version.

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
FOR_A_GPU = b"\x7fELF", b"\xbe\x00"  # of an ELF file bytes 0 to 3, and 18 and 19 (EM_CUDA)
HOW = ("compiled", "cubins", "ptx_compiler", "assert_fail")  # beside the kernel's own code
COMPILERS = ("numba-cuda", "llvmlite", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink")


def cubin(kernel: Kernel, args: tuple[Any, ...], cc: tuple[int, int]) -> tuple[str, bytes]:
    """Name and machine code of `kernel` for arguments like `args`: from the disk, or compiled."""
    key = key_of(kernel, args, cc)
    found = _stored(key) if key else None
    if found is None:
        found = _compile(kernel, args, cc)
        if key:
            name, code = found
            cache.write(key, KIND, name.encode() + b"\n" + code)
    return found


def key_of(kernel: Kernel, args: tuple[Any, ...], cc: tuple[int, int]) -> str:
    """The name in the cache; empty for a kernel in which an object has no text to be known by."""
    about = description(kernel)
    if " at 0x" in about:
        return ""
    return digest(KIND, about, *map(_type, args), f"sm_{cc[0]}{cc[1]}", versions())


@once
def versions() -> str:
    """What makes a cubin, and how it is told to."""
    how = [Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8") for name in HOW]
    return digest(*how, str(sys.version_info[:2]), *map(_version, COMPILERS))


def _version(package: str) -> str:
    """Of a library of NVIDIA's that did not come as a package: which file it is."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        name = package.removeprefix("nvidia-")
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        path = Path(pathfinder.load_nvidia_dynamic_lib(name.replace("jitl", "JitL")).abs_path)
        return f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}"
    except Exception as error:  # it is missing, and what is on disk is of use all the same
        return f"{name} {type(error).__name__}"


def _type(value: object) -> str:
    """`type_name`, with the names of a NamedTuple."""
    if isinstance(value, tuple):
        kind = f"{type(value).__qualname__}{getattr(value, '_fields', '')}"
        return f"{kind}({', '.join(map(_type, value))})"
    return type_name(value)


def _stored(key: str) -> tuple[str, bytes] | None:
    found = cache.read(key, KIND)
    if found is None:
        return None
    name, _, code = found.partition(b"\n")
    if name and name in code and (code[:4], code[18:20]) == FOR_A_GPU:
        return name.decode(), code
    cache.damaged(key, KIND, "it is no machine code for a GPU")
    return None


def _compile(kernel: Kernel, args: tuple[Any, ...], cc: tuple[int, int]) -> tuple[str, bytes]:
    core: Any = importlib.import_module("cuda.core")
    from .compiled import compile_ptx
    from .ptx_compiler import numba_type

    types = tuple([numba_type(a if hasattr(a, "_fields") else type_name(a)) for a in args])
    text = compile_ptx(kernel, types, cc)
    (name,) = re.findall(r"\.entry\s+([\w$]+)", text)
    arch = re.findall(r"\.target\s+(\w+)", text)[0]  # the nearest that NVVM knows
    linker = core.Linker(
        core.ObjectCode.from_ptx(text.encode()), options=core.LinkerOptions(arch=arch)
    )
    return name, bytes(linker.link("cubin").code)
