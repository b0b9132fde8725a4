"""Fused groups give what their operators give: dtypes, strides, broadcasting, several outputs, special values."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import internals as torch
from tests.fuser_support import assert_same, both

DTYPES = ("float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")

UNARY = ("aten::neg", "aten::abs", "aten::relu", "aten::reciprocal", "aten::sqrt", "aten::floor", "aten::trunc", "aten::round",
         "aten::frac")  # fmt: skip
BINARY = ("aten::mul", "aten::div", "aten::max", "aten::min", "aten::eq", "aten::lt", "aten::ge", "aten::ne")


@st.composite
def shapes(draw: Any, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast with one another."""
    full = draw(st.lists(st.sampled_from([1, 2, 3, 5, 0, 17]), max_size=4))
    found = []
    for _ in range(count):
        start = draw(st.integers(0, len(full)))
        found.append(tuple(n if draw(st.integers(0, 3)) else 1 for n in full[start:]))
    return found


@st.composite
def arguments(draw: Any, count: int, dtypes: tuple[str, ...] = DTYPES) -> list[Any]:
    """Tensors of any dtypes, whose shapes broadcast; some transposed, some with gaps, some at an offset."""
    found = []
    for shape in draw(shapes(count)):
        dtype = np.dtype(draw(st.sampled_from(dtypes)))
        layout = draw(st.sampled_from(["plain", "plain", "transposed", "gaps", "offset"]))
        if layout == "transposed":
            a = _numbers(draw, shape[::-1], dtype)
            found.append(torch.from_numpy(a).permute(*reversed(range(len(shape)))) if shape else torch.from_numpy(a))
        elif layout == "gaps" and shape:
            a = _numbers(draw, (*shape[:-1], shape[-1] * 2), dtype)
            found.append(torch.from_numpy(a)[..., ::2])
        elif layout == "offset" and shape:
            a = _numbers(draw, (shape[0] + 1, *shape[1:]), dtype)
            found.append(torch.from_numpy(a)[1:])
        else:
            found.append(torch.from_numpy(_numbers(draw, shape, dtype)))
    return found


def _numbers(draw: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    if dtype.kind == "f":
        a = random.normal(size=shape).astype(dtype)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1.0, -1.0, 2.5]
        a = np.where(random.random(shape) < 0.2, random.choice(special, shape).astype(dtype), a)
    elif dtype.kind == "b":
        a = random.random(shape) < 0.5
    else:
        a = random.integers(0 if dtype.kind == "u" else -100, 100, shape)
    return np.array(a, dtype)


@st.composite
def programs(draw: Any, inputs: int) -> tuple[str, int]:
    """The text of a group, and how many outputs it has."""
    values, lines = [f"%x{i}" for i in range(inputs)], ["  %one : int = prim::Constant[value=1]()"]
    for k in range(draw(st.integers(1, 6))):
        name, kind = f"%v{k}", draw(st.sampled_from(["unary", "binary", "add", "scalar", "where", "clamp", "cast"]))
        a, b, c = (draw(st.sampled_from(values)) for _ in range(3))
        if kind == "unary":
            lines.append(f"  {name} : Tensor = {draw(st.sampled_from(UNARY))}({a})")
        elif kind == "binary":
            lines.append(f"  {name} : Tensor = {draw(st.sampled_from(BINARY))}({a}, {b})")
        elif kind == "add":
            alpha = draw(st.sampled_from(["1", "2", "-3"]))
            lines.append(f"  %s{k} : int = prim::Constant[value={alpha}]()")
            lines.append(f"  {name} : Tensor = {draw(st.sampled_from(['aten::add', 'aten::sub']))}({a}, {b}, %s{k})")
        elif kind == "scalar":
            number = draw(st.sampled_from(["int = prim::Constant[value=3]", "float = prim::Constant[value=0.1]"]))
            lines.append(f"  %s{k} : {number}()")
            lines.append(
                f"  {name} : Tensor = {draw(st.sampled_from(['aten::mul', 'aten::div', 'aten::gt']))}({a}, %s{k})"
            )
        elif kind == "where":
            lines.append(f"  %c{k} : Tensor = aten::ne({a}, {b})")
            lines.append(f"  {name} : Tensor = aten::where(%c{k}, {b}, {c})")
        elif kind == "clamp":
            lines.append(f"  %lo{k} : float = prim::Constant[value=-0.5]()")
            lines.append(f"  %hi{k} : float = prim::Constant[value=1.5]()")
            lines.append(f"  {name} : Tensor = aten::clamp({a}, %lo{k}, %hi{k})")
        else:
            lines.append(f"  {name} : Tensor = aten::type_as({a}, {b})")
        values.append(name)
    outputs = values[inputs:][-draw(st.integers(1, 2)) :]
    given_names = ", ".join(f"%x{i} : Tensor" for i in range(inputs))
    return f"graph({given_names}):\n" + "\n".join(lines) + f"\n  return ({', '.join(outputs)})", len(outputs)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_groups_give_what_their_operators_give(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 3))
    text, _ = data.draw(programs(count))
    tensors = data.draw(arguments(count))
    try:
        fused, unfused, _ = both(text, *tensors)
    except (RuntimeError, NotImplementedError):
        return  # the operators refuse such dtypes
    for a, b in zip(fused, unfused):
        assert_same(a, b)
