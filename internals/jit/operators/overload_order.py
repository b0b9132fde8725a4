"""The order in which the overloads of an operator are tried (`torch/csrc/jit/runtime/operator.cpp`).

It decides nothing, since at most one overload fits without conversions; but it is the order in which the compiler tells why
others; where PyTorch's order is not that of native_functions.yaml, it is below.

How the real one differs: there is no table. Operators register in the order of generated files, which are sorted by what is
generated into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .registry import Operator

ORDER = {
    "__or__": "Tensor Scalar",
    "__xor__": "Tensor Scalar",
    "all": "default dim dims out dims_out all_out",
    "any": "default dim dims out dims_out all_out",
    "arange": "default start start_step start_out out",
    "bernoulli": "default out p",
    "bitwise_and": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out",
    "bitwise_and_": "Tensor Scalar",
    "bitwise_or": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out",
    "bitwise_or_": "Tensor Scalar",
    "bitwise_xor": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out",
    "bitwise_xor_": "Tensor Scalar",
    "div": "Tensor Scalar Tensor_mode Scalar_mode out out_mode",
    "eq": "Tensor Scalar Scalar_out Tensor_out",
    "fill_": "Scalar Tensor",
    "fmod": "Tensor Scalar Tensor_out Scalar_out",
    "fmod_": "Tensor Scalar",
    "ge": "Tensor Scalar Scalar_out Tensor_out",
    "gt": "Tensor Scalar Scalar_out Tensor_out",
    "le": "Tensor Scalar Scalar_out Tensor_out",
    "lt": "Tensor Scalar Scalar_out Tensor_out",
    "max": "other default dim unary_out out dim_out",
    "mean": "default dim out dtype_out",
    "min": "other default dim unary_out out dim_out",
    "movedim": "int intlist",
    "ne": "Tensor Scalar Scalar_out Tensor_out",
    "norm": "Scalar ScalarOpt_dim ScalarOpt_dim_dtype dtype_out out ScalarOpt_dtype",
    "normal": "Tensor_float Tensor_float_out float_Tensor_out float_Tensor Tensor_Tensor Tensor_Tensor_out float_float",
    "pow": "Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out",
    "pow_": "Scalar Tensor",
    "random_": "from to default",
    "remainder": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out",
    "remainder_": "Tensor Scalar",
    "scatter": "value src reduce value_reduce src_out value_out reduce_out value_reduce_out",
    "set_": "source_Storage_storage_offset source_Tensor default source_Storage source_Tensor_storage_offset",
    "sort": "default stable values_stable values",
    "std": "default dim correction correction_out out",
    "sum": "dim_IntList default IntList_out",
    "to": "device dtype other dtype_layout",
    "upsample_bilinear2d": "default vec out",
    "upsample_nearest2d": "default vec out",
    "var": "default dim correction correction_out out",
    "where": "self ScalarOther ScalarSelf Scalar default self_out",
}


def in_order(symbol: str, operators: Sequence[Operator]) -> list[Operator]:
    """The dispatcher's overloads of a symbol in the order in which they are tried."""
    names = ORDER.get(symbol.removeprefix("aten::"))
    if names is None:
        return sorted(operators, key=_has_out)
    places = {name: i for i, name in enumerate(names.split())}
    return sorted(operators, key=lambda o: places.get(o.name.partition(".")[2] or "default", len(places)))


def _has_out(operator: Operator) -> bool:
    arguments = operator.text.partition(" -> ")[0]
    return "!" in arguments.partition("*, ")[2]
