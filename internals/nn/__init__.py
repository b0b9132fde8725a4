"""Neural networks (`torch/nn`): modules and what they are made of, their functions, their
initialization.

    module, parameter     `Module`, `Parameter`: the base of everything
    containers            `Sequential`, `ModuleList`, ...: modules made of modules
    modules               the layers
    functional            the same without state
    init                  the numbers weights start from
    utils                 gradient clipping, parameters as one vector

How the real one differs: `torch.nn` also has quantization, data parallelism and parametrizations.
"""

from __future__ import annotations

from internals.nn import functional, init, modules, utils
from internals.nn.containers import ModuleDict, ModuleList, Sequential
from internals.nn.module import Module
from internals.nn.modules import *  # noqa: F403
from internals.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from internals.nn.parameter_containers import ParameterDict, ParameterList

__all__ = [
    "Buffer", "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList",
    "Sequential", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules",
    "utils", *modules.__all__,
]  # fmt: skip
