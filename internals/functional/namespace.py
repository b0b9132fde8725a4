"""The part of the top-level namespace that is not generated (`torch/__init__.py`,
`torch/functional.py`).

Some functions are defined here; the others are imported, and `internals` takes all from here.

How the real one differs: most of these are C functions.
"""

from __future__ import annotations

import math
from typing import Any

from internals._tensor import Tensor
from internals._tensor.printing import set_printoptions
from internals.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from internals.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from internals.construction.legacy import TENSOR_TYPES
from internals.construction.tensor_new import as_tensor, asarray, tensor
from internals.construction.tensor_numpy import from_numpy, frombuffer
from internals.core import promotion
from internals.core.dtype import dtype
from internals.core.grad_mode import is_grad_enabled, is_inference_mode_enabled
from internals.core.tensor_impl import TensorImpl
from internals.functional import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    einsum,
    meshgrid,
    nonzero,
    split,
    unravel_index,
    where,
)
from internals.functional.decompositions import eig, lstsq, lu, matrix_rank, solve, symeig
from internals.functional.linalg import chain_matmul, norm, tensordot
from internals.functional.signal import stft
from internals.functional.statistics import cdist, unique, unique_consecutive
from internals.machine_code.parallel import get_num_threads, set_num_threads
from internals.random import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from internals.storage import STORAGE_TYPES, Storage, TypedStorage, UntypedStorage

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, TensorImpl)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage, typed or not."""
    return isinstance(obj, (Storage, TypedStorage))


def numel(input: Tensor) -> int:
    """The number of elements."""
    return _tensor(input, "numel").numel()


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point type, which complex ones are not."""
    return _tensor(input, "is_floating_point").is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return _tensor(input, "is_complex").is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers: all but bool and uint8."""
    return _tensor(input, "is_signed").is_signed()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return _tensor(input, "is_inference").is_inference()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the two tensors have the same shape."""
    return _tensor(input, "is_same_size").shape == _tensor(other, "is_same_size").shape


def get_device(input: Tensor) -> int:
    """The index of the device; -1 for the CPU."""
    index = _tensor(input, "get_device").device.index
    return -1 if index is None else index


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both convert to. Raises TypeError for another type of argument."""
    for name, value in (("type1", type1), ("type2", type2)):
        if not isinstance(value, dtype):
            raise TypeError(
                f"promote_types(): argument '{name}' must be internals.dtype, not "
                f"{type(value).__name__}"
            )
    return promotion.promote_types(type1, type2)


def result_type(tensor1: Tensor, tensor2: float | Tensor) -> dtype:
    """The dtype of an operation on two operands, tensors or numbers."""
    return promotion.result_type([tensor1, tensor2])


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of dtype `from_` may be stored in a tensor of dtype `to`."""
    return promotion.can_cast(from_, to)


def typename(obj: Any) -> str:
    """The name of an object's type, with its module; for a tensor such as
    "internals.FloatTensor".
    """
    if isinstance(obj, TensorImpl):
        return obj.type()  # type: ignore[attr-defined]
    kind = obj if isinstance(obj, type) else type(obj)
    return (
        kind.__name__
        if kind.__module__ in ("", "builtins")
        else f"{kind.__module__}.{kind.__name__}"
    )


def _tensor(value: Tensor, function: str) -> Tensor:
    """`value`. Raises TypeError, which names `function`, for a non-tensor."""
    if not isinstance(value, TensorImpl):
        raise TypeError(
            f"{function}(): argument 'input' (position 1) must be Tensor, not "
            f"{type(value).__name__}"
        )
    return value


globals().update(TENSOR_TYPES)
globals().update(STORAGE_TYPES)
__all__ = [
    "as_tensor", "asarray", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag",
    "broadcast_shapes", "broadcast_tensors", "can_cast", "cartesian_prod", "cdist", "chain_matmul",
    "default_generator", "e", "eig", "einsum", "enable_grad", "from_numpy", "frombuffer",
    "get_device", "get_num_threads", "get_rng_state", "inf", "inference_mode", "initial_seed",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_complex", "is_floating_point",
    "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_same_size", "is_signed",
    "is_storage", "is_tensor", "lstsq", "lu", "manual_seed", "matrix_rank", "meshgrid", "nan",
    "newaxis", "no_grad", "nonzero", "norm", "numel", "pi", "promote_types", "result_type", "seed",
    "set_grad_enabled", "set_num_threads", "set_printoptions", "set_rng_state", "solve", "split",
    "stft", "symeig", "tensor", "tensordot", "typename", "unique", "unique_consecutive",
    "unravel_index", "where", "Tensor", "TypedStorage", "UntypedStorage", *TENSOR_TYPES,
    *STORAGE_TYPES,
]  # fmt: skip
