"""Fused groups give what their operators give: dtypes, strides, broadcasting, several outputs,
special values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import internals as torch
from internals.jit.fuser import fuser, kernels_of
from internals.jit.fuser.compiled_group import CompiledGroup
from tests.jit.fuser.support import assert_same, both, group

DTYPES = ("float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")

UNARY = ("aten::neg", "aten::abs", "aten::relu", "aten::reciprocal", "aten::sqrt", "aten::floor",
         "aten::trunc", "aten::round", "aten::frac")  # fmt: skip
BINARY = (
    "aten::mul",
    "aten::div",
    "aten::max",
    "aten::min",
    "aten::eq",
    "aten::lt",
    "aten::ge",
    "aten::ne",
)


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
    """Tensors of any dtypes, whose shapes broadcast; some transposed, some with gaps, some at an
    offset.
    """
    found = []
    for shape in draw(shapes(count)):
        dtype = np.dtype(draw(st.sampled_from(dtypes)))
        layout = draw(st.sampled_from(["plain", "plain", "transposed", "gaps", "offset"]))
        if layout == "transposed":
            a = _numbers(draw, shape[::-1], dtype)
            found.append(
                torch.from_numpy(a).permute(*reversed(range(len(shape))))
                if shape
                else torch.from_numpy(a)
            )
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
        name, kind = (
            f"%v{k}",
            draw(st.sampled_from(["unary", "binary", "add", "scalar", "where", "clamp", "cast"])),
        )
        a, b, c = (draw(st.sampled_from(values)) for _ in range(3))
        if kind == "unary":
            lines.append(f"  {name} : Tensor = {draw(st.sampled_from(UNARY))}({a})")
        elif kind == "binary":
            lines.append(f"  {name} : Tensor = {draw(st.sampled_from(BINARY))}({a}, {b})")
        elif kind == "add":
            alpha = draw(st.sampled_from(["1", "2", "-3"]))
            lines.append(f"  %s{k} : int = prim::Constant[value={alpha}]()")
            lines.append(
                f"  {name} : Tensor = {draw(st.sampled_from(['aten::add', 'aten::sub']))}({a}, "
                f"{b}, %s{k})"
            )
        elif kind == "scalar":
            number = draw(
                st.sampled_from(
                    ["int = prim::Constant[value=3]", "float = prim::Constant[value=0.1]"]
                )
            )
            lines.append(f"  %s{k} : {number}()")
            operator = draw(st.sampled_from(["aten::mul", "aten::div", "aten::gt"]))
            lines.append(f"  {name} : Tensor = {operator}({a}, %s{k})")
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
    return f"graph({given_names}):\n" + "\n".join(
        lines
    ) + f"\n  return ({', '.join(outputs)})", len(outputs)


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


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8"])
@pytest.mark.parametrize("number", ["int", "float"])
def test_numbers_are_arguments(number: str, dtype: str) -> None:
    """One kernel for all of them, computing in the dtype that tensor and number promote to."""
    text = f"""graph(%x : Tensor, %n : {number}):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %n, %1)
  %b : Tensor = aten::mul(%a, %n)
  %c : Tensor = aten::lt(%b, %n)
  return (%b, %c)"""
    x = torch.arange(7).to(getattr(torch, dtype))
    sources = set()
    for n in (3, -5, 0, 250):
        fused, unfused, kernels = both(text, x, n if number == "int" else n / 4)
        for a, b in zip(fused, unfused):
            assert_same(a, b)
        sources |= {k.source for k in kernels}
    assert len(sources) == 1


@pytest.mark.parametrize(
    "sizes",
    [
        [(3,), (2, 3)],
        [(1,), (4, 1), (1, 5)],
        [(), (3, 2)],
        [(0, 3), (3,)],
        [(2, 1, 3), (4, 1)],
        [(1, 1), (1,)],
    ],
)
def test_values_of_several_shapes_are_outputs(sizes: Any) -> None:
    names = [f"%x{i}" for i in range(len(sizes))]
    lines = [f"  %e{i} : Tensor = aten::mul({n}, {n})" for i, n in enumerate(names)]
    lines += [
        f"  %s{i} : Tensor = aten::mul(%e{i}, {'%s' + str(i - 1) if i else names[-1]})"
        for i in range(len(names))
    ]
    outputs = [f"%e{i}" for i in range(len(names))] + [f"%s{i}" for i in range(len(names))]
    text = (
        f"graph({', '.join(f'{n} : Tensor' for n in names)}):\n"
        + "\n".join(lines)
        + f"\n  return ({', '.join(outputs)})"
    )
    fused, unfused, _ = both(text, *[torch.randn(s) for s in sizes])
    for a, b in zip(fused, unfused):
        assert_same(a, b)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("channels_last", [False, True])
def test_chunk_and_cat(dim: int, channels_last: bool) -> None:
    text = f"""graph(%x : Tensor, %y : Tensor):
  %a : Tensor, %b : Tensor = prim::ConstantChunk[chunks=2, dim={dim}](%x)
  %c : Tensor = aten::mul(%a, %b)
  %d : Tensor = aten::neg(%y)
  %e : Tensor = prim::FusedConcat[dim={dim}](%c, %d, %a, %y)
  return (%e, %c)"""
    x, y = torch.randn(4, 6, 2, 4), torch.randn(2, 3, 2, 2)
    y = torch.randn(*[n // 2 if d == dim % 4 else n for d, n in enumerate(x.shape)])
    if channels_last:
        x, y = (t.contiguous(memory_format=torch.channels_last) for t in (x, y))
    fused, unfused, kernels = both(text, x, y)
    for a, b in zip(fused, unfused):
        assert_same(a, b)
    assert len(kernels) == 1


def test_cat_of_several_dtypes_and_sizes() -> None:
    text = """graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul(%x, %x)
  %e : Tensor = prim::FusedConcat[dim=0](%a, %y)
  return (%e)"""
    (a,), (b,), kernels = both(
        text, torch.arange(6).reshape(2, 3), torch.randn(5, 3, dtype=torch.float64)
    )
    assert_same(a, b)
    assert a.dtype is torch.float64 and len(kernels) == 2


def test_what_comes_out_unchanged_is_the_same_tensor() -> None:
    text = """graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::type_as(%x, %y)
  %b : Tensor = aten::mul(%x, %y)
  %c : Tensor = aten::type_as(%b, %a)
  return (%a, %b, %c)"""
    x, y = torch.randn(3), torch.randn(3)
    for outputs in both(text, x, y)[:2]:
        a, b, c = outputs
        assert a is x and b is c


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_other_dtypes_run_operator_by_operator(dtype: str) -> None:
    text = (
        "graph(%x : Tensor):\n  %a : Tensor = aten::mul(%x, %x)\n  %b : Tensor = aten::mul(%a, "
        "%x)\n  return (%b)"
    )
    compiled = CompiledGroup(group(text))
    x = torch.ones(3, dtype=getattr(torch, dtype))
    (kernel,) = kernels_of(compiled, x)
    assert kernel.tier == "unfused" and dtype in kernel.reason
    with pytest.raises(RuntimeError, match="this group has no kernel: .*" + dtype):
        kernel.llvm  # noqa: B018
    assert compiled(x).tolist() == [1, 1, 1]


def test_what_the_operators_refuse_is_refused_in_their_words() -> None:
    text = (
        "graph(%x : Tensor, %y : Tensor):\n  %a : Tensor = aten::mul(%x, %y)\n  %b : Tensor = "
        "aten::neg(%a)\n  return (%b)"
    )
    compiled = CompiledGroup(group(text))
    with fuser(threshold=0, synchronous=True):
        with pytest.raises(
            RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)"
        ):
            compiled(torch.ones(3), torch.ones(4))
        compiled(torch.ones(3), torch.ones(3))


def test_tensors_that_autograd_records_are_left_to_it() -> None:
    text = (
        "graph(%x : Tensor):\n  %a : Tensor = aten::mul(%x, %x)\n  %b : Tensor = aten::neg(%a)\n  "
        "return (%b)"
    )
    compiled = CompiledGroup(group(text))
    with fuser(threshold=0, synchronous=True):
        assert compiled(torch.ones(3, requires_grad=True)).requires_grad


def test_a_kernel_is_plain_python() -> None:
    """Its text, run by Python on numpy arrays, gives what the machine code gives."""
    text = """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::tanh(%a)
  %c : Tensor = aten::add(%b, %x, %1)
  %d : Tensor = aten::gt(%c, %y)
  %e : Tensor = aten::where(%d, %c, %y)
  return (%e)"""
    x, y = torch.randn(4, 3), torch.randn(3)
    (fused,), _, (kernel,) = both(text, x, y)
    out = np.zeros(12, np.float32)
    kernel.function(0, 12, x.numpy().ravel(), y.numpy(), out, *kernel.sizes_and_strides)
    # multiply-add instructions round once, Python twice, and in a sum the terms may cancel
    assert torch.allclose(torch.from_numpy(out.reshape(4, 3)), fused, rtol=1e-6, atol=1e-6)


def test_another_default_dtype() -> None:
    """It is what a quotient of integers is computed in."""
    compiled = CompiledGroup(
        group("graph(%x : Tensor):\n  %y : Tensor = aten::div(%x, %x)\n  return (%y)")
    )
    x = torch.arange(1, 4)
    with fuser(threshold=0, synchronous=True):
        assert compiled(x).dtype is torch.float32
        torch.set_default_dtype(torch.float64)
        try:
            assert compiled(x).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        assert compiled(x).dtype is torch.float32
