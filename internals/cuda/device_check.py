"""Checks that all tensors of a call are on one device (`RegisterCUDA.cpp`, generated;
`aten/src/ATen/core/op_registration/adaption.cpp`).

A wrapper around each kernel of the CUDA key checks before it calls the kernel. Operators that are
made of a `TensorIterator` are left out (`device_check: NoCheck` in native_functions.yaml): the
iterator checks by itself, and accepts a 0-d tensor of the CPU like a number. A few operators have
rules of their own (`SPECIAL`): indices, for instance, may be on the CPU.

How the real one differs: the wrapper also makes the tensors' device the current one; here launches
and allocations name their device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from internals._generated.op_facts import NO_DEVICE_CHECK, POINTWISE, REDUCTION, STRUCTURED
from internals.aten.decisions import common_device
from internals.core.device import CPU
from internals.core.dispatcher import OperatorHandle
from internals.core.tensor_impl import Tensor, TensorImpl

# A kernel here that is another operator in PyTorch: the method's name in the message there, and the
# names of its arguments.
KNOWN_AS = {"embedding": ("wrapper_CUDA__index_select", {"weight": "self", "indices": "index"})}


def checked(op: OperatorHandle, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel` with the check before it; `kernel` itself if there is nothing to check."""
    name = base_name(op)
    special = SPECIAL.get(name)
    if special is None and (is_iterated(op) or not takes_several(op)):
        return kernel

    def wrapper(*args: Any) -> Any:
        if special is None:
            check(op, args)
        else:
            special(*args)
        return kernel(*args)

    return wrapper


def check_before_fallback(op: OperatorHandle, args: tuple[Any, ...]) -> None:
    """The check that a CUDA kernel of `op` would have before it. Raises RuntimeError."""
    name = base_name(op)
    if name in SPECIAL:
        SPECIAL[name](*args)
    elif is_iterated(op):
        common_device(tensors_of(args), None)
    elif takes_several(op):
        check(op, args)


def is_iterated(op: OperatorHandle) -> bool:
    """Whether the operator's `TensorIterator` checks by itself."""
    name = op.schema.full_name.removeprefix("aten::")
    is_loop = name in POINTWISE or name in REDUCTION
    return name in NO_DEVICE_CHECK or (is_loop and not name.endswith("_backward"))


def check(op: OperatorHandle, args: tuple[Any, ...]) -> None:
    """Compares each tensor's device with that of the first tensor, where `out` comes first. Raises
    RuntimeError, in PyTorch's words, for one that differs.
    """
    common = None
    for i in order(op):
        for t in args[i] if isinstance(args[i], (list, tuple)) else (args[i],):
            if not isinstance(t, TensorImpl):
                continue
            where = t._geometry.device
            common = common or where
            if where is not common:  # devices are interned: equal ones are the same object
                method, names = KNOWN_AS.get(base_name(op), (method_name(op), {}))
                name = op.schema.arguments[i].name
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but got "
                    f"{names.get(name, name)} is on {where}, different from other tensors on "
                    f"{common} (when checking argument in method {method})"
                )


@cache
def order(op: OperatorHandle) -> list[int]:
    """The indices of the arguments in the order of the check: `out` first, then as written."""
    arguments = op.schema.arguments
    # False sorts before True, and sorting is stable
    return sorted(
        range(len(arguments)), key=lambda i: not (arguments[i].is_write and arguments[i].kwarg_only)
    )


def check_indices(
    self: Tensor, indices: Sequence[Tensor | None], values: Tensor | None = None, *rest: Any
) -> None:
    """Accepts indices on the CPU, and a 0-d tensor of the CPU as the values. Raises RuntimeError
    for other differences.
    """
    for index in indices:
        if index is not None and index.device is not CPU and index.device is not self.device:
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({self.device})"
            )
    if isinstance(values, TensorImpl) and values.device is not self.device and values.dim():
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{self.device} and {values.device}!"
        )


def check_mask(self: Tensor, mask: Tensor, *rest: Any) -> None:
    if mask.device is not self.device:
        raise RuntimeError(
            f"expected self and mask to be on the same device, but got mask on {mask.device} and "
            f"self on {self.device}"
        )


def check_convolution(input: Tensor, weight: Tensor, bias: Tensor | None, *rest: Any) -> None:
    """Raises RuntimeError if weight or bias is not on the input's device
    (`check_input_same_type_as_parameters`).
    """
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.device is not input.device:
            types = (
                f"Input type ({_c_name(input)}) and {name} type ({_c_name(t)}) should be the same"
            )
            dense = (
                f" or input should be a MKLDNN tensor and {name} is a dense tensor"
                if input.device is CPU
                else ""
            )
            raise RuntimeError(types + dense)


def check_probabilities(self: Tensor, p: float | Tensor | None = None, *rest: Any) -> None:
    """Accepts a tensor of probabilities on the CPU, which the operator copies to the device. Raises
    RuntimeError for one on another GPU.
    """
    if isinstance(p, TensorImpl) and p.device is not CPU:
        common_device([self, p], self)


def _c_name(t: Tensor) -> str:
    """PyTorch's name for the tensor's type, such as `torch.cuda.FloatTensor`."""
    return t.type().replace("internals.", "torch.")


SPECIAL: dict[str, Callable[..., None]] = {
    "index": check_indices,
    "index_put": check_indices,
    "_index_put_impl": check_indices,
    "masked_fill": check_mask,
    "convolution": check_convolution,
    "bernoulli": check_probabilities,
}


def method_name(op: OperatorHandle) -> str:
    """The name of PyTorch's generated wrapper: `wrapper_CUDA_mm_out_out`,
    `wrapper_CUDA_out_index_select_out`.

    The overload is at the end for structured kernels, and before the name for others
    (`native.name`, `cpp.name` of torchgen).
    """
    schema = op.schema
    name = f"{schema.name}{'_out' if schema.is_out else ''}"
    if schema.full_name.removeprefix("aten::") in STRUCTURED:
        return f"wrapper_CUDA_{name}{schema.overload and '_'}{schema.overload}"
    return f"wrapper_CUDA_{schema.overload}_{name}"


def base_name(op: OperatorHandle) -> str:
    """The operator's name without overload and without the final `_` of in-place operators."""
    name = op.schema.name
    return name if name.startswith("__") else name.rstrip("_")


def takes_several(op: OperatorHandle) -> bool:
    """Whether the operator takes more than one tensor, or a list of them."""
    arguments = [a for a in op.schema.arguments if a.type.base == "Tensor"]
    return len(arguments) > 1 or any(a.type.is_list for a in arguments)


def tensors_of(args: tuple[Any, ...]) -> list[Any]:
    """All tensors among the arguments, including those in lists."""
    flat = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,))]
    return [t for t in flat if isinstance(t, TensorImpl)]
