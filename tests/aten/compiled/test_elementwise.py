"""Elementwise operators as machine code give the bits that numpy gives, whatever the operands look
like in memory.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import internals
from internals.aten.compiled import elementwise, loops, walks
from internals.aten.scalar_functions import entries, get, of_loop
from internals.machine_code import compiled_kernels
from internals.machine_code.language import Inline
from tests.answers import answer
from tests.core.large_results import fingerprint

pytestmark = pytest.mark.sampled(1 / 6)

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.5, 3e38, 1e-40]


def both(call: Any, *operands: Any) -> tuple[Any, Any]:
    """What `call` gives with numpy, and what it gives with machine code."""
    with compiled_kernels(False):
        expected = call(*operands)
    with compiled_kernels(threshold=0):
        return expected, call(*operands)


def assert_same_bits(call: Any, *operands: Any) -> None:
    expected, found = both(call, *operands)
    assert (found.dtype, found.shape, found.stride()) == (
        expected.dtype,
        expected.shape,
        expected.stride(),
    )
    a, b = expected.contiguous().numpy(), found.contiguous().numpy()
    if a.dtype.kind == "f":  # all NaN are one
        a, b = (
            np.where(np.isnan(a), np.nan, a).astype(a.dtype),
            np.where(np.isnan(b), np.nan, b).astype(b.dtype),
        )
    assert a.tobytes() == b.tobytes()


def compiled_calls(monkeypatch: Any) -> list[Any]:
    """A list that fills with every plan that is run."""
    ran: list[Any] = []
    run = elementwise.Plan.run

    def note(plan: Any, *addresses: int) -> None:
        ran.append(plan)
        run(plan, *addresses)

    monkeypatch.setattr(elementwise.Plan, "run", note)
    return ran


def values(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    stream = np.random.default_rng(seed)
    if dtype.is_floating_point:
        a = stream.standard_normal(shape)
        if a.size:
            a.reshape(-1)[: len(SPECIAL)] = SPECIAL[: a.size]
    elif dtype is internals.bool:
        a = stream.integers(0, 2, shape)
    else:
        a = stream.integers(-(1 << 62), 1 << 62, shape)  # whatever is left of it in the dtype
    return internals.tensor(a).to(dtype)


FLOATS = [internals.float32, internals.float64]
INTEGERS = [internals.int64, internals.int32, internals.int16, internals.int8, internals.uint8]
LAYOUTS = ["contiguous", "transposed", "strided", "row", "column", "one", "reversed order"]


def laid_out(layout: str, shape: tuple[int, int], dtype: Any, seed: int) -> Any:
    n, m = shape
    if layout == "transposed":
        return values((m, n), dtype, seed).t()
    if layout == "strided":
        return values((2 * n, 3 * m), dtype, seed)[::2, ::3]
    if layout == "row":
        return values((1, m), dtype, seed)
    if layout == "column":
        return values((n, 1), dtype, seed)
    if layout == "one":
        return values((), dtype, seed)
    if layout == "reversed order":
        return values((1, m, n, 1), dtype, seed).permute(3, 2, 1, 0)[0, :, :, 0]
    return values(shape, dtype, seed)


T = internals
FLOAT_OPS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": T.maximum, "minimum": T.minimum, "add scaled": lambda a, b: T.add(a, b, alpha=0.3),
    "sub scaled": lambda a, b: T.sub(a, b, alpha=2), "lerp": lambda a, b: T.lerp(a, b, 0.3),
    "addcmul": lambda a, b: T.addcmul(a, b, b, value=0.5), "addcdiv": lambda a,
    b: T.addcdiv(a, b, b + 7, value=-2),
    "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b, "ne": lambda a,
    b: a != b,
    "and": T.logical_and, "where": lambda a, b: T.where(a > b, a, b), "masked_fill": lambda a,
    b: (a + b).masked_fill(a > b, 2),
    "clamp": lambda a, b: T.clamp(a + b, -0.5, 1), "clamp tensor": lambda a,
    b: T.clamp(a, b - 1, b + 1),
    "relu": lambda a, b: (a + b).relu(), "abs": lambda a, b: a.abs() + b.neg(), "sign": lambda a,
    b: (a + b).sign(),
    "sqrt": lambda a, b: (a * b).sqrt(), "rsqrt": lambda a, b: (a * b).rsqrt(), "square": lambda a,
    b: a**2 - b**3,
    "reciprocal": lambda a, b: a.reciprocal() + b**-2, "isnan": lambda a, b: T.isnan(a / b),
    "number": lambda a, b: 2 - a * 0.3 + b,
    "leaky": lambda a, b: T.nn.functional.leaky_relu(a + b, 0.1), "hardswish": lambda a,
    b: T.nn.functional.hardswish(a + b),
    "threshold": lambda a, b: T.threshold(a + b, 0.3, 7),
    "mse": lambda a, b: T.nn.functional.mse_loss(a + b, a - b, reduction="none"),
    "huber": lambda a, b: T.nn.functional.huber_loss(a + b, a - b, reduction="none", delta=0.7),
}  # fmt: skip
INTEGER_OPS = [
    "add",
    "sub",
    "mul",
    "maximum",
    "eq",
    "lt",
    "ne",
    "and",
    "where",
    "abs",
    "sign",
    "square",
    "relu",
]


@pytest.mark.parametrize("name", FLOAT_OPS)
def test_floats(name: str) -> None:
    for dtype in FLOATS:
        for first, second in (
            ("contiguous", "contiguous"),
            ("contiguous", "transposed"),
            ("strided", "row"),
            ("column", "row"),
        ):
            a, b = laid_out(first, (33, 20), dtype, 1), laid_out(second, (33, 20), dtype, 2)
            assert_same_bits(FLOAT_OPS[name], a, b)


@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integers_wrap_around(name: str) -> None:
    for dtype in INTEGERS:
        for layout in ("contiguous", "transposed"):
            a, b = laid_out("contiguous", (9, 17), dtype, 1), laid_out(layout, (9, 17), dtype, 2)
            assert_same_bits(FLOAT_OPS[name], a, b)


@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", LAYOUTS)
def test_every_pair_of_layouts(first: str, second: str) -> None:
    for shape in ((35, 18), (3, 40), (40, 3)):
        a, b = laid_out(first, shape, T.float32, 1), laid_out(second, shape, T.float32, 2)
        assert_same_bits(T.sub, a, b)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_shape_strides_and_dtypes(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 9), min_size=0, max_size=5)))
    operands = []
    for i in range(2):
        own = tuple(n if data.draw(st.booleans()) else 1 for n in shape)
        dims = data.draw(st.permutations(range(len(own))))
        dtype = data.draw(st.sampled_from([T.float32, T.float64, T.int64, T.int8, T.bool]))
        steps = tuple(data.draw(st.integers(1, 2)) for _ in own)
        whole = values(tuple(own[d] * steps[d] for d in dims), dtype, i)
        back = [dims.index(d) for d in range(len(own))]
        whole = whole.permute(back) if own else whole
        operands.append(whole[tuple(slice(None, None, s) for s in steps)] if own else whole)
    a, b = operands
    name = data.draw(st.sampled_from(["maximum", "eq", "where", "lt"]))
    assert_same_bits(FLOAT_OPS[name], a, b)
    assert_same_bits(lambda: a * 1.5 + b)


def test_in_place_and_out() -> None:
    a, b = values((30, 20), T.float32, 1), values((30, 20), T.float32, 2)

    def in_place() -> Any:
        x = a.clone()
        x.add_(b).mul_(x).sub_(x, alpha=0.5).clamp_(-3, 3).masked_fill_(x > 1, 4)
        return x

    def onto_a_part() -> Any:
        x = T.zeros(60, 40)
        x[::2, ::2].add_(b)
        x.t()[1:21, 1:31].copy_(b.t())
        T.add(a, b, out=x[30:, 20:])
        return x

    def onto_another_dtype() -> Any:
        return T.gt(a, b, out=T.empty(30, 20, dtype=T.float64)) + T.add(
            a, b, out=T.empty(30, 20, dtype=T.float64)
        )

    for call in (in_place, onto_a_part, onto_another_dtype):
        assert_same_bits(call)


def test_second_operand_in_place_is_not_the_first() -> None:
    a, b = values((30, 20), T.float64, 1), values((30, 20), T.float64, 2)
    assert_same_bits(lambda: T.sub(x := a.clone(), b, out=x))
    assert_same_bits(lambda: T.sub(a, y := b.clone(), out=y))


def test_views_of_one_storage() -> None:
    """Halves side by side are worked on; a window that moved by one is left to numpy, which copies
    first.
    """

    def halves() -> Any:
        x = values((64,), T.float32, 3)
        x[:32].add_(x[32:])
        return x

    def window() -> Any:
        x = values((8, 64), T.float32, 3)
        T.add(x[:, 2:-1:2], 1, out=x[:, 1:-2:2])
        with pytest.raises(RuntimeError, match="single memory location"):
            x.view(-1)[1:].add_(x.view(-1)[:-1])
        x[:, 1:] = x[:, :-1].clone()
        return x

    assert_same_bits(halves)
    assert_same_bits(window)


def test_large_tensors_are_compiled_and_small_ones_are_not(monkeypatch: Any) -> None:
    ran = compiled_calls(monkeypatch)
    n = elementwise.WORTH_COMPILING
    small, large = T.ones(n // 2), T.ones(n)
    T.where(small > 0, small, 0.0), small.relu()
    assert not ran
    T.where(large > 0, large, 0.0), large.relu()
    assert len(ran) == 2  # the comparison numpy does as quickly
    square = T.ones(256, 256)
    square + square.t()
    assert len(ran) == 3
    with compiled_kernels(False):
        large.relu()
    assert len(ran) == 3


def test_walks() -> None:
    choose = elementwise.choose_walk
    assert choose((100,), [(1,), (1,)]) == ("flat", [0])
    assert choose((50, 60), [(60, 1), (0, 1)]) == ("rows", [0, 1])
    assert choose((50, 60), [(60, 1), (1, 50)]) == ("tiles", [0, 1])
    assert choose((4, 50, 60), [(3000, 60, 1), (1, 60, 4)]) == ("rows", [0, 1, 2])
    assert choose((50, 4, 60), [(240, 60, 1), (1, 7, 50)]) == ("tiles", [1, 0, 2])
    assert choose((50, 3), [(3, 1), (1, 50)]) == ("rows", [1, 0])


@pytest.mark.parametrize("in_place", [frozenset(), frozenset({0})])
def test_a_walk_is_python_too(in_place: frozenset[int]) -> None:
    """What the compiler gets, run by Python."""
    add = Inline(get("add").formula.function)
    types = {"A": np.float32, "B": np.float32, "R": np.float32}
    x, y = (np.random.default_rng(k).standard_normal((20, 10)).astype(np.float32) for k in range(2))
    transposed = np.ascontiguousarray(y.T).reshape(-1)
    out = x.copy().reshape(-1) if in_place else np.zeros(200, np.float32)
    read = [out, transposed] if in_place else [out, x.reshape(-1), transposed]
    steps = {"OUT_STEP": 1, "B_STEP": walks.ANY} | ({} if in_place else {"A_STEP": 1})
    run = walks.walk("tiles", 2, in_place).bind(OP=add, **types, **steps)
    strides = [(0, 0, 10, 1)] * (len(read) - 1) + [(0, 0, 1, 20)]
    run(0, 2, *read, 1, 20, 10, *(s for row in strides for s in row))
    assert np.array_equal(out.reshape(20, 10), x + y)


def test_every_function_is_known_by_its_loop_and_is_a_template_of_its_dtype() -> None:
    compiled = 0
    for entry in entries():
        function = loops.on_cpu(entry)
        assert function is None or function.open_parameters() <= {"T"}
        if function is not None and entry.compiled and entry.name not in ("int_power",):
            assert of_loop(entry.loop) is entry
            assert loops.functor(entry, np.dtype(np.float32)) is (
                function if "f" in entry.dtypes else None
            )
            compiled += 1
    assert compiled > 100


def test_against_torch() -> None:
    a = np.random.default_rng(0).standard_normal((257, 130)).astype(np.float32)
    a.reshape(-1)[: len(SPECIAL)] = SPECIAL
    b = np.random.default_rng(1).standard_normal((130, 257)).astype(np.float32)
    for call in (
        lambda T, x, y: x + y.t(), lambda T, x, y: T.where(x > y.t(), x, y.t()), lambda T, x,
        y: x * y.t()[:1] - y.t()[:, :1], lambda T, x, y: x.clamp(-1, 1), lambda T, x, y: x.relu(),
        lambda T, x, y: (x != x).logical_or(y.t() > 1), lambda T, x,
        y: x.masked_fill(y.t() > 0, -0.0), lambda T, x, y: x.double() + y.t(), lambda T, x,
        y: x[::2, ::2] / 3,
    ):  # fmt: skip
        with compiled_kernels(threshold=0):
            ours = call(internals, internals.tensor(a), internals.tensor(b))
        theirs = answer(
            lambda torch, call=call: described(call(torch, torch.tensor(a), torch.tensor(b)))
        )
        assert described(ours) == theirs


def described(t: Any) -> Any:
    return fingerprint(t), tuple(t.stride())


def test_importing_internals_imports_no_compiler() -> None:
    code = (
        "import sys, internals as T; x = T.ones(4); x + x; T.where(x > 0, x, x); x.relu()\n"
        "found = {'numba', 'llvmlite', 'internals.aten.compiled'} & set(sys.modules); assert not "
        "found, found"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_where_nothing_can_be_compiled_numpy_serves(monkeypatch: Any) -> None:
    from internals.machine_code import language
    from internals.machine_code.llvm import CompileError

    def refuse(*args: Any) -> Any:
        raise CompileError("no machine code on Sundays")

    monkeypatch.setattr(language.Kernel, "entry", refuse)
    elementwise.plan_for_operands.cache_clear()
    walks.walk.cache_clear()  # kernels that nobody has asked for yet
    x = values((11, 13), T.float64)
    try:
        with compiled_kernels(threshold=0), pytest.warns(UserWarning, match="on Sundays"):
            y = T.nn.functional.hardshrink(x, 0.123)
    finally:
        elementwise.plan_for_operands.cache_clear()
    with compiled_kernels(False):
        assert np.array_equal(
            y.numpy(), T.nn.functional.hardshrink(x, 0.123).numpy(), equal_nan=True
        )


def test_number_of_threads_like_torch() -> None:
    before = internals.get_num_threads()
    try:
        internals.set_num_threads(1)
        assert internals.get_num_threads() == 1
        a = values((300, 300), T.float32)
        one = a + a.t()
        internals.set_num_threads(2)
        assert internals.get_num_threads() == 2
        assert np.array_equal(one.numpy(), (a + a.t()).numpy(), equal_nan=True)
        for wrong in (0, -3, 1.5, True):
            with pytest.raises(RuntimeError) as ours:
                internals.set_num_threads(wrong)  # type: ignore[arg-type]
            with pytest.raises(RuntimeError) as theirs:
                answer(lambda torch, wrong=wrong: torch.set_num_threads(wrong))
            assert str(ours.value).split(",")[0] == str(theirs.value).split(",")[0].split("\n")[0]
    finally:
        internals.set_num_threads(before)


@pytest.mark.parametrize("dtype", [internals.float32, internals.float64], ids=str)
@pytest.mark.parametrize("update", ["add", "add_", "sub", "sub_"])
def test_the_update_of_an_optimizer(update: str, dtype: Any, monkeypatch: Any) -> None:
    """`p.add_(grad, alpha=-lr)` is one loop; a number that does not fit is an error there too."""
    p, grad = values((40, 1000), dtype), values((40, 1000), dtype, seed=1)
    run_loop, compiled = elementwise.run_loop, list[bool]()

    def told(*args: Any) -> bool:
        compiled.append(run_loop(*args))
        return compiled[-1]

    monkeypatch.setattr(elementwise, "run_loop", told)
    assert_same_bits(lambda: getattr(p.clone(), update)(grad, alpha=-0.1))
    assert compiled == [True]
    copy = p.clone()
    copy.add_(grad, alpha=0.5)
    assert copy._version == 1
    if dtype is internals.float32:
        with pytest.raises(RuntimeError, match="without overflow"):
            getattr(p, update)(grad, alpha=1e300)
