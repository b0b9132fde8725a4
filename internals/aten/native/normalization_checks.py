"""Checks of the tensors that normalizations and their gradients take
(`aten/src/ATen/native/{group_norm,layer_norm,Normalization}.cpp`).

How the real one differs: the kernels of PyTorch's gradients do not check that the saved statistics
have the sizes that the forward pass gave them; a wrong size makes them read other memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.aten.dtype_checks import check_dtype, check_same_dtype
from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.core.tensor_impl import Tensor

from .gradient_checks import check_elements, check_sizes


def check_layer_norm(
    input: Tensor, shape: list[int], weight: Tensor | None, bias: Tensor | None
) -> None:
    """Raises RuntimeError unless `shape`, not empty, is that of weight and bias and the end of that
    of the input.
    """
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            f"one element, but got normalized_shape = {shape}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and list(t.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t.shape)} and normalized_shape = {shape}"
            )
    if list(input.shape[-len(shape) :]) != shape:
        wanted = "".join(f", {n}" for n in shape)
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*{wanted}], but got input "
            f"of size{list(input.shape)}"
        )


def check_group_norm(
    input: Tensor, channels: int, groups: int, weight: Tensor | None, bias: Tensor | None
) -> None:
    """Raises RuntimeError unless `groups` divides `channels`, and weight and bias are vectors of as
    many elements as there are channels.
    """
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    sizes = list(input.shape)
    if channels % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {sizes} and num_groups={groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and (t.dim() != 1 or t.numel() != channels):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(t.shape)} and input of shape {sizes}"
            )


def check_elements_of_groups(what: str, t: Tensor, n: int, channels: int, each: int) -> None:
    """Raises RuntimeError unless `t` has `each` elements in each channel of `n` samples."""
    if t.numel() != n * channels * each:
        raise RuntimeError(
            f"Expected {what}.numel() == N * C * HxW to be true, but got sizes {list(t.shape)} and "
            f"{n} * {channels} * {each}"
        )


def check_batch_norm(
    channels: int,
    weight: Any,
    bias: Any,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
) -> None:
    """Raises RuntimeError unless all that are given have `channels` elements, and the running
    statistics are given in evaluation.
    """
    for name, t in (("running_mean", running_mean), ("running_var", running_var)):
        if t is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
        _check_channels(name, t, channels)
    _check_channels("weight", weight, channels)
    _check_channels("bias", bias, channels)


def check_both(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    """Raises ValueError if only one of the two is given."""
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def _check_channels(name: str, t: Tensor | None, n: int) -> None:
    """Raises RuntimeError, naming `name`, unless `t` is None or has `n` elements."""
    if t is not None and t.numel() != n:
        raise RuntimeError(f"{name} should contain {n} elements not {t.numel()}")


def check_floating(kernel: str, input: Tensor) -> None:
    """Raises NotImplementedError, naming `kernel`, unless the dtype is a floating one."""
    check_dtype(kernel, input.dtype, dt.FLOATING)


def check_mixed(input: Tensor, *parameters: Any) -> dtype:
    """The dtype of the statistics: that of the input, or float32 for half-precision input with
    float32 parameters. Raises RuntimeError for other mixtures.
    """
    given = [p.dtype for p in parameters if p is not None]
    if not given or given[0] is input.dtype:
        return input.dtype
    if any(d is not dt.float32 for d in given):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype is not dt.float16:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return dt.float32


def check_layer_norm_backward(
    grad_out: Tensor, input: Tensor, shape: Sequence[int], mean: Tensor, rstd: Tensor,
    weight: Tensor | None, bias: Tensor | None, mask: Sequence[bool],
) -> None:  # fmt: skip
    """Raises RuntimeError unless all sizes and dtypes are those of a forward pass, and `mask` asks
    only for gradients of parameters that are given.
    """
    name = "native_layer_norm_backward"
    for i, what, parameter in ((1, "weight", weight), (2, "bias", bias)):
        if mask[i] and parameter is None:
            raise RuntimeError(
                f"{name}: it has no gradient of {what}, which is None; output_mask[{i}] has to be "
                "False"
            )
    check_layer_norm(input, list(shape), weight, bias)
    check_floating("LayerNormBackwardKernelImpl", input)
    check_sizes(name, "grad_out", grad_out, input.shape)
    check_same_dtype(input, grad_out)
    check_mixed(input, weight, bias, mean, rstd)
    for what, t in (("mean", mean), ("rstd", rstd)):
        check_sizes(name, what, t, (*input.shape[: input.dim() - len(shape)], *(1,) * len(shape)))


def check_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    n: int,
    channels: int,
    each: int,
    groups: int,
) -> None:
    """Raises RuntimeError unless sizes and dtypes are those of a forward pass: `n` samples with
    `each` elements in each of the channels, and n * groups statistics.
    """
    if grad_out.dtype is not input.dtype:
        raise RuntimeError("Expected scalar types of X and dY are same.")
    check_elements_of_groups("dY", grad_out, n, channels, each)
    check_elements_of_groups("X", input, n, channels, each)
    check_group_norm(input, channels, groups, weight, None)
    check_floating("GroupNormBackwardKernelImpl", input)
    check_mixed(input, weight, mean, rstd)
    for what, t in (("mean", mean), ("rstd", rstd)):
        check_elements("native_group_norm_backward", what, t, n * groups)


def check_batch_norm_backward(
    grad_out: Tensor, input: Tensor, weight: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, save_mean: Any, save_invstd: Any, train: bool,
) -> None:  # fmt: skip
    """Raises RuntimeError unless sizes and dtypes are those of a forward pass, and the statistics
    that it used are given: the saved ones if `train`, else the running ones.
    """
    name, channels = "native_batch_norm_backward", input.size(1)
    check_floating("batch_norm_backward_cpu", input)
    check_sizes(name, "grad_out", grad_out, input.shape)
    check_same_dtype(input, grad_out)
    saved = {"save_mean": save_mean, "save_invstd": save_invstd}
    used = saved if train else {"running_mean": running_mean, "running_var": running_var}
    for what, t in used.items():
        if t is None:
            raise RuntimeError(f"{name}(): {what} is None, and needed where train is {train}")
    check_mixed(input, weight, *used.values())
    for what, t in {**used, "weight": weight}.items():
        check_elements(name, what, t, channels)
