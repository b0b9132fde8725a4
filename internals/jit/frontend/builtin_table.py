"""The operator that a Python callable stands for: `torch.relu` is `aten::relu`, `math.sqrt` is
`aten::sqrt` (`torch/jit/_builtins.py`).

A function in this table is not compiled: a call of it becomes a node. The table has every function
that PyTorch implements in C++ (here those generated from `native_functions/`), and those listed
below. Functions of `torch.nn.functional` that are written in Python are compiled like the user's
own (`recursion.py`).

How the real one differs: operators that are not in `torch` come from `torch._C._nn`, `_linalg`,
`_fft` and the like; and a few more functions of `torch` are compiled from their Python source.
"""

from __future__ import annotations

import cmath
import math
import warnings
from collections import OrderedDict
from functools import cache
from typing import Any

import internals
from internals._generated import (
    fft_functions,
    functions,
    linalg_functions,
    nn_functions,
    special_functions,
)
from internals.core.device import device
from internals.functional.scripting import is_scripting, unwrap_optional
from internals.jit.operators import find_operators
from internals.jit.runtime.future import wait
from internals.nn.modules.utils import _pair, _single, _triple

MATH = (
    "ceil", "copysign", "erf", "erfc", "exp", "expm1", "fabs", "floor", "gamma", "lgamma", "log",
    "log10", "log1p", "pow", "sqrt", "isnan", "asinh", "atanh", "cosh", "sinh", "tanh", "acos",
    "asin", "atan", "atan2", "cos", "sin", "tan", "acosh", "fmod", "modf", "factorial", "frexp",
    "isinf", "degrees", "radians", "ldexp", "gcd", "isfinite",
)  # fmt: skip
# the generated modules, and the prefix of their operators: torch.linalg.det is aten::linalg_det
MODULES = (
    (functions, ""), (nn_functions, ""), (linalg_functions, "linalg_"), (fft_functions, "fft_"),
    (special_functions, "special_"),
)  # fmt: skip
# These have an operator of the same name, but do more than call it: their Python source is compiled
# (as in PyTorch).
COMPILED = {"stft", "cdist", "unique_consecutive", "norm", "tensordot"}
CMATH = (
    "isnan", "isfinite", "isinf", "log", "log10", "sqrt", "exp", "sin", "tan", "cos", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip


def find_builtin(thing: object) -> str | None:
    """The operator that a Python callable stands for, or None."""
    try:
        return _table().get(thing)
    except TypeError:  # not hashable
        return None


@cache
def _table() -> dict[Any, str]:
    """Callable -> operator. Built when first asked for: until then the package is not imported
    completely.
    """
    table: dict[Any, str] = {
        getattr(math, name): f"aten::{name}" for name in MATH if hasattr(math, name)
    }
    table |= {getattr(cmath, name): f"aten::{name}" for name in CMATH}
    table |= {
        cmath.phase: "aten::angle",
        cmath.rect: "aten::polar",
        math.remainder: "aten::mathremainder",
    }
    table |= {OrderedDict: "aten::dict", dict: "aten::dict", warnings.warn: "aten::warn"}
    table |= {is_scripting: "aten::is_scripting", device: "aten::device", wait: "aten::wait"}
    table |= {_single: "aten::_single", _pair: "aten::_pair", _triple: "aten::_triple"}
    table |= {internals.Size: "aten::Size", unwrap_optional: "aten::_unwrap_optional"}
    for module, prefix in MODULES:
        for name in module.FUNCTIONS.lines:
            table.setdefault(getattr(module, name), f"aten::{prefix}{name}")
    # the rest of `torch`: every function with an operator of its name
    for name in dir(internals):
        value = getattr(internals, name)
        if name in COMPILED:
            continue
        if _is_function(value) and not isinstance(value, type) and find_operators(f"aten::{name}"):
            table.setdefault(value, f"aten::{name}")
    return table


def _is_function(value: object) -> bool:
    return callable(value) and getattr(value, "__module__", "").startswith("internals")
