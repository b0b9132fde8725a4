"""Which source the compiler takes for a function of `nn.functional` (`functional_sources.py`).

How the real one differs: see there.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import internals
from internals.nn import functional

from . import functional_sources as plain
from . import functional_sources_attention as attention
from . import functional_sources_decompositions as decompositions
from . import functional_sources_dropout as dropout
from . import functional_sources_embedding as embedding
from . import functional_sources_layers as layers
from . import functional_sources_losses as losses
from . import functional_sources_pooling as pooling
from . import functional_sources_rare as rare
from . import functional_sources_signal as signal
from . import functional_sources_statistics as statistics

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction


def scripted(obj: Any) -> ScriptFunction | None:
    """The compiled form of a function of `nn.functional`; None for other things, and for functions there is no source for."""
    from .recursion import compile_python_function

    source = _sources().get(obj) if callable(obj) and getattr(obj, "__hash__", None) else None
    return None if source is None else compile_python_function(source)


def boolean_dispatch(obj: Any) -> dict[str, Any] | None:
    """For a function that is two functions, by a flag that must be constant: where the flag is, and which functions."""
    flag = {"index": 6, "arg_name": "return_indices", "default": False}
    if obj is functional.max_pool2d:
        return {**flag, "if_true": plain.max_pool2d_with_indices, "if_false": plain.max_pool2d}
    if obj is functional.max_pool1d:
        return {**flag, "if_true": layers.max_pool1d_with_indices, "if_false": layers.max_pool1d}
    if obj is functional.max_pool3d:
        return {**flag, "if_true": rare.max_pool3d_with_indices, "if_false": pooling.max_pool3d}
    for name in ("fractional_max_pool2d", "fractional_max_pool3d"):
        if obj is getattr(functional, name):
            both = {"if_true": getattr(rare, f"{name}_with_indices"), "if_false": getattr(rare, name)}
            return {**flag, "index": 4, **both}
    for name in ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"):
        if obj is getattr(functional, name):
            both = {"if_true": getattr(pooling, f"{name}_with_indices"), "if_false": getattr(pooling, name)}
            return {**flag, "index": 2, **both}
    if obj is internals.lu:
        both = {"if_true": decompositions.lu_with_infos, "if_false": decompositions.lu}
        return {"index": 2, "arg_name": "get_infos", "default": False, **both}
    for at, name in ((2, "unique"), (1, "unique_consecutive")):
        if obj is getattr(internals, name):
            return _by_two_flags(at, *[getattr(statistics, name + suffix) for suffix in _UNIQUE])
    return None


def _by_two_flags(at: int, plain: Any, with_inverse: Any, with_counts: Any, with_both: Any) -> dict[str, Any]:
    """The choice by `return_inverse`, an argument at place `at`, of a choice by `return_counts`, the one after it."""
    counts = {"index": at + 1, "arg_name": "return_counts", "default": False}
    return {
        "index": at,
        "arg_name": "return_inverse",
        "default": False,
        "if_true": {**counts, "if_true": with_both, "if_false": with_inverse},
        "if_false": {**counts, "if_true": with_counts, "if_false": plain},
    }


@cache
def _sources() -> dict[Any, Any]:
    found = {}
    for sources in (plain, attention, dropout, embedding, layers, losses, pooling, rare):
        for name, value in vars(sources).items():
            if getattr(value, "__module__", "") == sources.__name__ and hasattr(functional, name):
                found[getattr(functional, name)] = value
    return {**found, internals.stft: signal.stft, internals.cdist: statistics.cdist}


_UNIQUE = ("", "_with_inverse", "_with_counts", "_with_both")
