"""Automatic differentiation: a graph recorded while operators run, and an engine that runs it
backwards (`torch/autograd`, `torch/csrc/autograd`).

The parts, in the order in which a program meets them:

    derivatives/        the formula of every operator; codegen makes nodes and kernels of it
    formulas/           the functions those formulas call
    history.py          what those kernels do around an operator: edges, history, in-place writes
    node.py             a node of the graph          saved_variable.py  what it keeps, with versions
    engine.py           running the graph            accumulate_grad.py where gradients arrive
    node_hooks.py       hooks around a node          validation.py      whether a gradient fits
    copy_slices.py      writing to a view            manual.py          kernels written by hand
    api.py              backward, grad               function.py        nodes written by users
    grad_mode.py        no_grad and its kind         anomaly.py         the forward line to blame
    graph.py            hooks on saved tensors       variable.py        tensors' name before 0.4
    gradcheck.py        formulas against differences functional.py      jacobian, hessian, vjp, ...
    not_implemented.py  operators with no formula    streams.py         on which stream of a GPU
    complex_views.py    views of complex as real     profiler.py        internals.profiler by its
    old name

How the real one differs: it also has forward-mode differentiation and batched gradients (vmap).
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from internals.core.grad_mode import is_grad_enabled, is_inference_mode_enabled

from .anomaly import detect_anomaly, set_detect_anomaly
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

if TYPE_CHECKING:
    from . import functional, graph, profiler
    from .api import backward, grad
    from .function import Function
    from .gradcheck import GradcheckError, gradcheck, gradgradcheck
    from .variable import Variable

__all__ = [
    "Function", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad",
    "functional", "grad", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "profiler", "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip
_HOMES = {
    "Function": "function", "Variable": "variable", "functional": "", "graph": "", "function": "",
    "profiler": "", "backward": "api", "grad": "api", "GradcheckError": "gradcheck",
    "gradgradcheck": "gradcheck",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imports the modules that not every program needs when they are first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'internals.autograd' has no attribute '{name}'")
    if not _HOMES[name]:
        return importlib.import_module(f"internals.autograd.{name}")
    value = globals()[name] = getattr(
        importlib.import_module(f"internals.autograd.{_HOMES[name]}"), name
    )
    return value


class _Autograd(ModuleType):
    """The class of this package. `internals.autograd.gradcheck` is the function, as in PyTorch, but
    importing the module of that name would put the module in its place; hence the setter.
    """

    @property
    def gradcheck(self) -> Any:
        return importlib.import_module("internals.autograd.gradcheck").gradcheck

    @gradcheck.setter
    def gradcheck(self, module: ModuleType) -> None:
        pass


sys.modules[__name__].__class__ = _Autograd
