"""Utilities for parameters and their gradients (`torch/nn/utils`).

How the real one differs: it also has parametrizations and pruning.
"""

from internals.nn.utils import rnn
from internals.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)  # fmt: skip
from internals.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from internals.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from internals.nn.utils.init import skip_init
from internals.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from internals.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm",
    "parameters_to_vector", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init",
    "spectral_norm", "vector_to_parameters", "weight_norm",
]  # fmt: skip
