"""A weight split into a direction and a length, each a parameter of its own
(`torch/nn/utils/weight_norm.py`).

w = g v / |v|: before each forward pass a hook computes `weight` from `weight_g` and `weight_v`,
which are trained instead.

How the real one differs: the formula is one operator there, `_weight_norm`.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from internals import norm_except_dim
from internals.nn.module import Module
from internals.nn.parameter import Parameter, UninitializedParameter

M = TypeVar("M", bound=Module)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Split parameter `name` of `module`, with a length for each index of `dim`, or a single one if
    that is None. Deprecated, with a warning.

    Raises RuntimeError if it is split already, ValueError for a parameter that has no size yet.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if any(
        isinstance(hook, WeightNorm) and hook.name == name
        for hook in module._forward_pre_hooks.values()
    ):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    weight = getattr(module, name)
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to "
            "run the dummy forward before applying weight normalization"
        )
    hook = WeightNorm(name, -1 if dim is None else dim)
    # `weight` becomes a plain attribute: only the two new parameters are trained and saved
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight.detach(), 2, hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make `name` a single parameter again. Raises ValueError if it is not split."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module).detach()
            delattr(module, name)
            del (
                module._parameters[name + "_g"],
                module._parameters[name + "_v"],
                module._forward_pre_hooks[key],
            )
            setattr(module, name, Parameter(weight))
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")


class WeightNorm:
    """The hook before `forward`."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Any:
        """g v / |v|, with the norm over all dimensions but `dim` (-1: over all)."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))
