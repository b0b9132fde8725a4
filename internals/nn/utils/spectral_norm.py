"""A weight divided by its largest singular value (`torch/nn/utils/spectral_norm.py`): Miyato et
al., "Spectral normalization for generative adversarial networks", 2018.

A linear layer with such a weight makes no vector longer. The singular value is only approximated:
its vectors u and v are kept in buffers, and before each forward pass in training a hook improves
them by one step of the power iteration, `v = Wᵀu`, `u = Wv`, each normalized. As the weight changes
little from step to step, one is enough.

How the real one differs: it also reads state dictionaries from before version 1, which have no v.
"""

from __future__ import annotations

from typing import Any, TypeVar

from internals import dot, mv, no_grad
from internals.core.tensor_impl import Tensor
from internals.nn.functional import normalize
from internals.nn.module import Module
from internals.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from internals.nn.parameter import Parameter, UninitializedParameter

M = TypeVar("M", bound=Module)


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Rename parameter `name` of `module` to `weight_orig` (for "weight"), and compute `weight`
    from it before each forward pass.

    The weight counts as a matrix with a row for each index of `dim`, the dimension of the outputs.
    Raises RuntimeError if it is normalized already, ValueError for a parameter that is None or has
    no size yet.
    """
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    if any(
        isinstance(hook, SpectralNorm) and hook.name == name
        for hook in module._forward_pre_hooks.values()
    ):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight: Any = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to "
            "run the dummy forward before applying spectral normalization"
        )
    with no_grad():
        u, v = (
            normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)
            for n in hook.as_matrix(weight).shape
        )
    # `weight` becomes a plain attribute: only `weight_orig` is trained and saved
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(SpectralNormStateDictHook(hook))
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make `name` a parameter again, with its normalized value.

    Raises ValueError if it is not normalized.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            with no_grad():
                weight = hook.compute_weight(module, False)
            for suffix in ("", "_u", "_v", "_orig"):
                delattr(module, name + suffix)
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for key, saved in module._state_dict_hooks.items():
        if isinstance(saved, SpectralNormStateDictHook) and saved.fn.name == name:
            del module._state_dict_hooks[key]
            break
    return module


class SpectralNorm:
    """The hook before `forward`. Raises ValueError for less than one iteration."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """The weight divided by its norm uᵀWv, of which u and v count as constants in gradients."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = self.as_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v = normalize(mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    u = normalize(mv(matrix, v), dim=0, eps=self.eps, out=u)
                # the next forward pass overwrites the buffers, possibly before this backward pass
                u, v = u.clone(), v.clone()
        return weight / dot(u, mv(matrix, v))

    def as_matrix(self, weight: Tensor) -> Any:
        """(outputs, all other elements)."""
        return weight.movedim(self.dim, 0).reshape(weight.size(self.dim), -1)


class SpectralNormStateDictHook:
    """Stores the version in the metadata of a state dict."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        local_metadata.setdefault("spectral_norm", {})[self.fn.name + ".version"] = self.fn._version
