"""Elementwise operators, each with a call of it: what `test_elementwise.py` runs on the device and
on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch

F = torch.nn.functional

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
ALL = (*FLOATS, *INTEGERS, "bool")
Call = Callable[..., Any]
Table = dict[str, tuple[tuple[str, ...], Call]]

# What takes one tensor; its elements lie between -3 and 3.
UNARY: Table = {
    "abs": (FLOATS + INTEGERS, lambda a: a.abs()),
    "neg": (FLOATS + INTEGERS, lambda a: -a),
    "sign": (ALL, lambda a: a.sign()),
    "square": (FLOATS + INTEGERS, lambda a: a.square()),
    "pow 0": (FLOATS + INTEGERS, lambda a: a**0),
    "pow 3": (FLOATS + INTEGERS, lambda a: a**3),
    "pow 5": (FLOATS + INTEGERS, lambda a: a**5),
    "pow 0.5": (FLOATS, lambda a: a.abs() ** 0.5),
    "pow -0.5": (FLOATS, lambda a: (a.abs() + 1) ** -0.5),
    "pow -1": (FLOATS, lambda a: a**-1),
    "pow -2": (FLOATS, lambda a: a**-2),
    "pow 1.7": (FLOATS, lambda a: a.abs() ** 1.7),
    "number to the power": (FLOATS + INTEGERS, lambda a: 2 ** a.abs()),
    "exp": (ALL, lambda a: a.exp()),
    "expm1": (ALL, lambda a: a.expm1()),
    "log": (ALL, lambda a: a.log()),
    "log1p": (ALL, lambda a: a.log1p()),
    "log2": (ALL, lambda a: a.log2()),
    "sqrt": (ALL, lambda a: a.sqrt()),
    "rsqrt": (ALL, lambda a: a.rsqrt()),
    "reciprocal": (ALL, lambda a: a.reciprocal()),
    "sin": (ALL, lambda a: a.sin()),
    "cos": (ALL, lambda a: a.cos()),
    "tan": (ALL, lambda a: a.tan()),
    "asin": (ALL, lambda a: a.asin()),
    "acos": (ALL, lambda a: a.acos()),
    "atan": (ALL, lambda a: a.atan()),
    "sinh": (ALL, lambda a: a.sinh()),
    "cosh": (ALL, lambda a: a.cosh()),
    "tanh": (ALL, lambda a: a.tanh()),
    "erf": (ALL, lambda a: a.erf()),
    "sigmoid": (ALL, lambda a: a.sigmoid()),
    "floor": (FLOATS + INTEGERS, lambda a: a.floor()),
    "ceil": (FLOATS + INTEGERS, lambda a: a.ceil()),
    "trunc": (FLOATS + INTEGERS, lambda a: a.trunc()),
    "round": (FLOATS + INTEGERS, lambda a: a.round()),
    "round to 2": (FLOATS, lambda a: a.round(decimals=2)),
    "round to -1": (FLOATS, lambda a: (a * 10).round(decimals=-1)),
    "frac": (FLOATS, lambda a: a.frac()),
    "logical_not": (ALL, lambda a: a.logical_not()),
    "bitwise_not": (INTEGERS + ("bool",), lambda a: ~a),
    "isnan": (ALL, lambda a: a.isnan()),
    "isinf": (ALL, lambda a: a.isinf()),
    "isfinite": (ALL, lambda a: a.isfinite()),
    "clamp": (FLOATS + INTEGERS, lambda a: a.clamp(1, 2)),
    "clamp crossed": (FLOATS + INTEGERS, lambda a: a.clamp(2, 1)),
    "clamp_min": (FLOATS + INTEGERS, lambda a: a.clamp_min(1)),
    "clamp_max": (FLOATS + INTEGERS, lambda a: a.clamp(max=1)),
    "relu": (FLOATS + INTEGERS, lambda a: a.relu()),
    "relu6": (FLOATS, lambda a: F.relu6(a)),
    "hardtanh": (FLOATS, lambda a: F.hardtanh(a, -0.5, 0.75)),
    "gelu": (FLOATS, lambda a: F.gelu(a)),
    "gelu tanh": (FLOATS, lambda a: F.gelu(a, approximate="tanh")),
    "silu": (FLOATS, lambda a: F.silu(a)),
    "leaky_relu": (FLOATS, lambda a: F.leaky_relu(a, 0.1)),
    "elu": (FLOATS, lambda a: F.elu(a, 1.5)),
    "celu": (FLOATS, lambda a: F.celu(a, 0.5)),
    "selu": (FLOATS, lambda a: F.selu(a)),
    "softplus": (FLOATS, lambda a: F.softplus(a, 2, 3)),
    "logsigmoid": (FLOATS, lambda a: F.logsigmoid(a)),
    "hardsigmoid": (FLOATS, lambda a: F.hardsigmoid(a)),
    "hardswish": (FLOATS, lambda a: F.hardswish(a)),
    "mish": (FLOATS, lambda a: F.mish(a)),
    "hardshrink": (FLOATS, lambda a: F.hardshrink(a, 0.7)),
    "softshrink": (FLOATS, lambda a: F.softshrink(a, 0.7)),
    "threshold": (FLOATS + INTEGERS, lambda a: F.threshold(a, 1, 20)),
    "glu": (FLOATS, lambda a: F.glu(torch.cat([a, a]) if a.dim() else torch.stack([a, a]), 0)),
}

# What takes two; the elements of the second are not 0.
BINARY: Table = {
    "add": (ALL, lambda a, b: a + b),
    "add scaled": (FLOATS + INTEGERS, lambda a, b: a.add(b, alpha=3)),
    "sub": (FLOATS + INTEGERS, lambda a, b: a - b),
    "sub scaled": (FLOATS, lambda a, b: a.sub(b, alpha=0.3)),
    "mul": (ALL, lambda a, b: a * b),
    "div": (ALL, lambda a, b: a / b),
    "div trunc": (FLOATS + INTEGERS, lambda a, b: a.div(b, rounding_mode="trunc")),
    "div floor": (FLOATS + INTEGERS, lambda a, b: a // b),
    "remainder": (FLOATS + INTEGERS, lambda a, b: a % b),
    "fmod": (FLOATS + INTEGERS, lambda a, b: a.fmod(b)),
    "pow": (FLOATS + INTEGERS, lambda a, b: a**b),
    "atan2": (ALL, lambda a, b: a.atan2(b)),
    "maximum": (ALL, lambda a, b: a.maximum(b)),
    "minimum": (ALL, lambda a, b: a.minimum(b)),
    "eq": (ALL, lambda a, b: a == b),
    "ne": (ALL, lambda a, b: a != b),
    "lt": (ALL, lambda a, b: a < b),
    "le": (ALL, lambda a, b: a <= b),
    "gt": (ALL, lambda a, b: a > b),
    "ge": (ALL, lambda a, b: a >= b),
    "logical_and": (ALL, lambda a, b: a.logical_and(b)),
    "logical_or": (ALL, lambda a, b: a.logical_or(b)),
    "logical_xor": (ALL, lambda a, b: a.logical_xor(b)),
    "bitwise_and": (INTEGERS + ("bool",), lambda a, b: a & b),
    "bitwise_or": (INTEGERS + ("bool",), lambda a, b: a | b),
    "bitwise_xor": (INTEGERS + ("bool",), lambda a, b: a ^ b),
    "lerp": (FLOATS, lambda a, b: a.lerp(b, 0.3)),
    "clamp_min tensor": (FLOATS + INTEGERS, lambda a, b: a.clamp(min=b)),
    "clamp_max tensor": (FLOATS + INTEGERS, lambda a, b: a.clamp(max=b)),
    "where": (ALL, lambda a, b: torch.where(a > b, a, b)),
    "where number": (FLOATS + INTEGERS, lambda a, b: torch.where(a > b, a, 2)),
    "where number first": (FLOATS + INTEGERS, lambda a, b: torch.where(a > b, 2, b)),
    "masked_fill": (ALL, lambda a, b: a.masked_fill(a > b, 1)),
    "masked_fill tensor": (FLOATS + INTEGERS, lambda a, b: a.masked_fill(a > b, b.new_tensor(2))),
    "mse_loss": (FLOATS, lambda a, b: F.mse_loss(a, b, reduction="none")),
    "smooth_l1_loss": (FLOATS, lambda a, b: F.smooth_l1_loss(a, b, reduction="none", beta=0.8)),
    "huber_loss": (FLOATS, lambda a, b: F.huber_loss(a, b, reduction="none", delta=0.8)),
    "binary_cross_entropy": (
        FLOATS,
        lambda a, b: F.binary_cross_entropy(a.sigmoid(), b.sigmoid(), reduction="none"),
    ),
    "with logits": (
        FLOATS,
        lambda a, b: F.binary_cross_entropy_with_logits(a, b.sigmoid(), reduction="none"),
    ),
    "kl_div": (FLOATS, lambda a, b: F.kl_div(a, b.sigmoid(), reduction="none")),
    "l1_loss": (FLOATS, lambda a, b: F.l1_loss(a, b, reduction="none")),
    "prelu": (FLOATS, lambda a, b: F.prelu(a, b.reshape(-1)[:1])),
}

TERNARY: Table = {
    "addcmul": (FLOATS + INTEGERS, lambda a, b, c: a.addcmul(b, c, value=2)),
    "addcdiv": (FLOATS, lambda a, b, c: a.addcdiv(b, c, value=0.5)),
    "lerp tensor": (FLOATS, lambda a, b, c: a.lerp(b, c)),
    "clamp tensors": (FLOATS + INTEGERS, lambda a, b, c: a.clamp(b, c)),
    "where": (ALL, lambda a, b, c: torch.where(a == b, b, c)),
}
