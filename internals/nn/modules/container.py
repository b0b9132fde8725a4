"""The containers, by the path they have in PyTorch (`torch/nn/modules/container.py`).

How the real one differs: what is in `internals.nn.containers` and
`internals.nn.parameter_containers` is in this file there.
"""

from internals.nn.containers import ModuleDict, ModuleList, Sequential
from internals.nn.parameter_containers import ParameterDict, ParameterList

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
