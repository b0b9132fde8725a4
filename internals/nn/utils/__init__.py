"""Utilities for parameters and their gradients (`torch/nn/utils`).

How the real one differs: it also has weight and spectral normalization, pruning, and the fusing of layers.
"""

from internals.nn.utils import rnn
from internals.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)  # fmt: skip
from internals.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
           "rnn", "vector_to_parameters"]  # fmt: skip
