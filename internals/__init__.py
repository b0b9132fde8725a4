"""PyTorch's layers, re-implemented so that they can be read, run, changed and seen. `import
internals as torch`.

The floors, from the bottom: `internals.core` (memory, geometry, dispatch), `internals.aten`
(operators), `internals.Tensor` and the functions of this module, `internals.nn`.
`docs/architecture.md` has the map.

How the real one differs: every module says so at the end of its docstring.
"""

from __future__ import annotations

import warnings as _warnings
from typing import TYPE_CHECKING, Any

# first: loaded later, it has Python's collector walk our modules, too: a tenth of the import
import numpy as _numpy
from internals import cpu
from internals._generated import functions as _functions

if TYPE_CHECKING:
    from internals._generated.functions import *
from internals.functional.namespace import *  # type: ignore[assignment,no-redef]  # `where`: see internals/functional/__init__.py
from internals.core.device import device
from internals.core.dtype import (
    bool_ as bool,
)
from internals.core.dtype import (
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    long,
    set_default_dtype,
    short,
    uint8,
)  # fmt: skip
from internals.core.dtype import float_ as float
from internals.core.dtype import int_ as int
from internals.core.formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)  # fmt: skip
from internals.core.size import Size
from internals.core.warn import is_warn_always_enabled, set_warn_always
from internals.library import ops as ops
from internals.core.generator import Generator
from internals._tensor import Tensor

if TYPE_CHECKING:
    from internals import (
        accelerator,
        autograd,
        cuda,
        export,
        fft,
        func,
        jit,
        library,
        linalg,
        models,
        nn,
        optim,
        profiler,
    )
    from internals import signal, source_map, special
    from internals.construction.dlpack import from_dlpack
    from internals.functional.lowrank import pca_lowrank, svd_lowrank

__version__ = "0.1.0"
_SUBPACKAGES = (
    "_C", "accelerator", "autograd", "cuda", "export", "fft", "func", "jit", "library", "linalg",
    "models", "nn", "optim", "profiler", "return_types", "serialization", "signal", "source_map",
    "special", "utils",
)  # fmt: skip

_LATER = {"from_dlpack": "internals.construction.dlpack"}
_LATER |= dict.fromkeys(("pca_lowrank", "svd_lowrank"), "internals.functional.lowrank")

# Overflow and division by zero are ordinary values here, as in PyTorch; numpy would warn from
# inside our loops.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"internals\.")


def __getattr__(name: str) -> Any:
    """Generated functions are made when first used. Sub-packages are imported then, and so are some
    functions, `save`, `load` and the errors of the CUDA backend."""
    import importlib

    if name in _functions.FUNCTIONS.lines:
        return globals().setdefault(name, getattr(_functions, name))
    if name == "__all__":
        return [n for n in __dir__() if not n.startswith("_")]
    if name in _LATER:
        return globals().setdefault(name, getattr(importlib.import_module(_LATER[name]), name))
    if name in _SUBPACKAGES:
        return importlib.import_module(f"internals.{name}")
    if name in ("save", "load"):
        return getattr(importlib.import_module("internals.serialization.save_load"), name)
    if name in ("AcceleratorError", "OutOfMemoryError"):
        return getattr(importlib.import_module("internals.cuda"), name)
    from internals.aten.pytorch_names import missing_attribute

    raise missing_attribute("module 'internals'", name, place="torch")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_functions.FUNCTIONS.lines})


def _dispatch_trace() -> Any:
    """Context manager: the list of dispatcher steps taken while it is open (see
    `internals.core.dispatcher.trace_dispatch`).
    """
    from internals.core.dispatcher import trace_dispatch

    return trace_dispatch()
