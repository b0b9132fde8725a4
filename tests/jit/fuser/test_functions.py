"""exp, tanh and the others in groups: close to the correctly rounded result, NaN and infinities as
the operators give them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as torch
from tests.jit.fuser.support import assert_same, both

# Operators of one tensor: constants that follow it, and units in the last place between the fused
# and the eager result.
EXACT = """
    abs ceil floor trunc round frac sqrt rsqrt reciprocal neg relu sign square isnan isinf isfinite
    logical_not hardswish hardsigmoid relu6
""".split()
FUNCTIONS: dict[str, tuple[tuple[Any, ...], int]] = {
    **dict.fromkeys("exp expm1 log log1p log2 sin cos asin acos atan sinh cosh".split(), ((), 6)),
    **dict.fromkeys("tanh sigmoid erf tan silu".split(), ((), 8)),
    **dict.fromkeys(EXACT, ((), 0)),
    "gelu": (("tanh",), 300),  # 1 + tanh(x) has few digits where tanh(x) is nearly -1
    "mish": ((), 16),
    "hardtanh": ((-1.0, 1.5), 0),
    "leaky_relu": ((0.1,), 0),
    "elu": ((1.5, 2.0, 0.5), 8),
    "softplus": ((2.0, 20.0), 8),
    "threshold": ((0.5, 3.0), 0),
    "hardshrink": ((0.7,), 0),
    "softshrink": ((0.7,), 0),
    "clamp": ((-0.5, 1.5), 0),
    "clamp_min": ((0.25,), 0),
    "clamp_max": ((0.25,), 0),
    "pow": ((2.5,), 6),
}  # fmt: skip
POWERS = [0, 1, 2, 3, -1, -2, 0.5, -0.5]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    0.5,
    -2.5,
    2.5,
    30.0,
    -30.0,
    1e-6,
]


def constant(name: str, value: Any) -> str:
    kind = {bool: "bool", int: "int", float: "float", str: "str"}[type(value)]
    written = str(int(value)) if kind == "bool" else repr(value).replace("'", '"')
    return f"  %{name} : {kind} = prim::Constant[value={written}]()"


def calls(name: str, constants: tuple[Any, ...]) -> str:
    """A group that calls an operator of one tensor, and does one thing more."""
    lines = [constant(f"c{i}", c) for i, c in enumerate(constants)]
    arguments = ", ".join(["%x", *(f"%c{i}" for i in range(len(constants)))])
    lines.append(f"  %y : Tensor = aten::{name}({arguments})")
    return "graph(%x : Tensor):\n" + "\n".join(lines) + "\n  return (%y)"


def close(a: Any, b: Any) -> None:
    """Where differences of nearly equal numbers lose digits, and units in the last place say
    nothing.
    """
    single = a.dtype is torch.float32
    rtol, atol = (4e-5, 1e-6) if single else (1e-12, 1e-14)
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=atol)


def numbers(dtype: str, bounds: tuple[Any, ...] = ()) -> Any:
    """Also the numbers at which an operator does something else, and their neighbours."""
    random = np.random.default_rng(0)
    spread = [random.normal(size=301) * scale for scale in (0.01, 1.0, 8.0)]
    at = np.array(
        [sign * b for b in (3.0, 6.0, *bounds) if isinstance(b, float) for sign in (1, -1)], dtype
    )
    near = [np.nextafter(at, np.array(side, dtype)) for side in (np.inf, -np.inf)]
    return torch.from_numpy(np.concatenate([*spread, SPECIAL, at, *near]).astype(dtype))


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_tensor(name: str, dtype: str) -> None:
    constants, ulps = FUNCTIONS[name]
    (fused,), (unfused,), _ = both(calls(name, constants), numbers(dtype, constants))
    if name in ("gelu", "mish", "silu", "softplus", "elu"):
        close(fused, unfused)
    else:
        assert_same(fused, unfused, ulps if dtype == "float32" else max(ulps, 2 * bool(ulps)))


# Gradients that change at a bound, and their constants.
SLOPES = [
    ("hardtanh_backward", (-1.0, 1.5)), ("threshold_backward", (0.5,)),
    ("threshold_backward", (0,)), ("leaky_relu_backward", (0.1, False)),
    ("leaky_relu_backward", (0.1, True)), ("elu_backward", (1.5, 2.0, 0.5, False)),
    ("elu_backward", (1.5, 2.0, 0.5, True)), ("softplus_backward", (2.0, 5.0)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, constants", SLOPES)
def test_slopes_at_their_bounds(name: str, constants: tuple[Any, ...], dtype: str) -> None:
    lines = [constant(f"c{i}", c) for i, c in enumerate(constants)]
    names = [f"%c{i}" for i in range(len(constants))]
    arguments = ", ".join(["%g", *names, "%x"] if name == "elu_backward" else ["%g", "%x", *names])
    text = (
        "graph(%g : Tensor, %x : Tensor):\n"
        + "\n".join(lines)
        + f"\n  %y : Tensor = aten::{name}({arguments})\n  return (%y)"
    )
    x = numbers(dtype, (*constants, 2.5))
    for g in (x * 0 + 1, x.flip(0)):
        (fused,), (unfused,), _ = both(text, g.nan_to_num(), x)
        (assert_same if name in ("hardtanh_backward", "threshold_backward") else close)(
            fused, unfused
        )


@pytest.mark.parametrize("exponent", POWERS)
def test_powers_that_have_loops_of_their_own(exponent: Any) -> None:
    (fused,), (unfused,), _ = both(calls("pow", (exponent,)), numbers("float32"))
    assert_same(fused, unfused)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name",
    ["atan2", "fmod", "remainder", "pow", "max", "min", "maximum", "logical_xor",
     "sigmoid_backward", "tanh_backward", "silu_backward", "gelu_backward"],
)  # fmt: skip
def test_functions_of_two_tensors(name: str, dtype: str) -> None:
    more = constant("m", "none") + "\n" if name == "gelu_backward" else ""
    text = (
        f"graph(%x : Tensor, %y : Tensor):\n{more}  %z : Tensor = aten::{name}(%x, "
        f"%y{', %m' if more else ''})\n  return (%z)"
    )
    x = numbers(dtype)
    y = x.flip(0)
    if "backward" not in name:  # each special number with each
        special = torch.tensor(SPECIAL, dtype=x.dtype)
        x, y = (
            torch.cat([x, special.repeat(len(SPECIAL))]),
            torch.cat([y, special.repeat_interleave(len(SPECIAL))]),
        )
    (fused,), (unfused,), _ = both(text, x, y)
    if "backward" in name:
        close(fused, unfused)
    else:
        assert_same(fused, unfused, 0 if name not in ("atan2", "pow") else 6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_slope_of_gelu_with_tanh(dtype: str) -> None:
    none, tanh = (
        f"graph(%g : Tensor, %x : Tensor):\n{constant('a', how)}\n  %z : Tensor = "
        "aten::gelu_backward(%g, %x, %a)\n  return (%z)"
        for how in ("none", "tanh")
    )
    x = numbers(dtype).nan_to_num(0.0, 0.0, 0.0).clamp(-30, 30)
    (fused,), (unfused,), _ = both(tanh, x.flip(0), x)
    close(fused, unfused)
    (other,), _, _ = both(none, x.flip(0), x)
    assert not torch.equal(fused, other)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 0.75, 1.0, -0.5, -1.5, 2.0])
def test_lerp_to_the_last_bit(weight: float, dtype: str) -> None:
    text = (
        "graph(%x : Tensor, %y : Tensor, %w : Tensor):\n  %z : Tensor = aten::lerp(%x, %y, %w)\n  "
        "return (%z)"
    )
    x = numbers(dtype)
    (fused,), (unfused,), _ = both(text, x, x.flip(0), torch.full_like(x, weight))
    assert_same(fused, unfused)


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
@pytest.mark.parametrize(
    "call",
    ["add(%x, %c, %one)", "masked_fill(%m, %x, %c)", "clamp_max(%x, %c)", "where(%m, %x, %c)"],
)
def test_constants_that_are_no_numbers(call: str, number: str) -> None:
    call = call.replace("(%m, %x, %c)", "(%x, %m, %c)") if "masked" in call else call
    text = (
        "graph(%x : Tensor, %m : Tensor):\n  %c : float = "
        f"prim::Constant[value={number}]()\n{constant('one', 1)}\n"
        f"  %y : Tensor = aten::{call}\n  return (%y)"
    )
    x = numbers("float32")
    (fused,), (unfused,), _ = both(text, x, x > 0)
    assert_same(fused, unfused)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize(
    "name",
    ["bitwise_and", "bitwise_or", "__xor__", "logical_and", "logical_or", "eq", "maximum", "mul"],
)
def test_integers_and_bools(name: str, dtype: str) -> None:
    text = f"graph(%x : Tensor, %y : Tensor):\n  %z : Tensor = aten::{name}(%x, %y)\n  return (%z)"
    x = torch.arange(40).sub(20).to(getattr(torch, dtype))
    (fused,), (unfused,), _ = both(text, x, x.flip(0))
    assert_same(fused, unfused)
