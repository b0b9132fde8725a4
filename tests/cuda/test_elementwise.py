"""Elementwise operators on the device give what they give on the CPU, without falling back to
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.aten.scalar_functions import entries, get
from internals.aten.scalar_functions.table import T, exp, log1p, scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.cuda import fallback
from internals.cuda.kernels import functors
from tests.cuda.elementwise_calls import BINARY, FLOATS, INTEGERS, TERNARY, UNARY, Call
from tests.support import examples

TOLERANCE = {torch.float16: 4e-3, torch.float32: 2e-5, torch.float64: 1e-11}


@pytest.fixture(autouse=True)
def natively() -> Iterator[None]:
    """Nothing in this file falls back to the CPU."""
    with fallback.no_fallback():
        yield


def numbers(dtype: Any, shape: tuple[int, ...], seed: int = 0, zeros: bool = True) -> Any:
    """A tensor on the CPU of numbers from -3 to 3 (0 to 3 if unsigned), some of them integers."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(-3, 3, shape) if dtype.is_floating_point else rng.integers(-3, 4, shape)
    values = np.where(rng.random(shape) < 0.2, np.round(values), values)
    if not zeros:
        values = np.where(values == 0, 1, values)
    return torch.tensor(np.abs(values) if dtype in (torch.uint8, torch.bool) else values).to(dtype)


def same(on_device: Any, on_cpu: Any) -> None:
    """The same tensor, but for the device and for what exp and its kind may differ by."""
    assert on_device.is_cuda and not on_cpu.is_cuda
    assert on_device.dtype is on_cpu.dtype and on_device.shape == on_cpu.shape
    assert on_device.stride() == on_cpu.stride() or not on_cpu.numel()
    a, b = on_device.cpu().numpy(), on_cpu.numpy()
    if on_cpu.dtype.is_floating_point:
        tolerance = TOLERANCE[on_cpu.dtype]
        np.testing.assert_allclose(
            a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=tolerance
        )
    else:
        np.testing.assert_array_equal(a, b)


def compare(call: Call, *tensors: Any) -> None:
    same(call(*(t.cuda() for t in tensors)), call(*tensors))


def cases(table: Any) -> list[Any]:
    return [
        pytest.param(call, getattr(torch, dtype), id=f"{name}-{dtype}")
        for name, (dtypes, call) in table.items()
        for dtype in dtypes
    ]


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("call, dtype", cases(UNARY))
def test_one_operand(call: Call, dtype: Any) -> None:
    compare(call, numbers(dtype, (5, 3)))
    compare(call, numbers(dtype, (4, 3)).t())


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("call, dtype", cases(BINARY))
def test_two_operands(call: Call, dtype: Any) -> None:
    compare(call, numbers(dtype, (5, 3)), numbers(dtype, (5, 3), 1, zeros=False))
    compare(call, numbers(dtype, (3, 5)).t(), numbers(dtype, (5, 3), 1, zeros=False))


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("call, dtype", cases(TERNARY))
def test_three_operands(call: Call, dtype: Any) -> None:
    compare(call, *(numbers(dtype, (5, 3), seed, zeros=False) for seed in range(3)))
    compare(call, *(numbers(dtype, shape, 7, zeros=False) for shape in ((3, 5), (1, 5), (3, 1))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int16, torch.bool], ids=str)
@pytest.mark.parametrize("n", [1, 31, 32, 33, 128, 129, 511, 1024, 1025, 4100])
def test_every_element_of_any_number_is_computed(dtype: Any, n: int) -> None:
    """With several elements a thread under way, whole blocks and the rest."""
    a, b, mask = numbers(dtype, (n,)), numbers(dtype, (n,), 1), numbers(torch.bool, (n,), 2)
    compare(torch.logical_not, a)
    compare(torch.add, a, b)
    compare(torch.where, mask, a, b)
    compare(lambda a: a[::2].logical_not(), a)
    compare(lambda a, b: a[::2] + b[::2], a, b)
    compare(lambda m, a, b: torch.where(m[::2], a[::2], b[::2]), mask, a, b)


LAYOUTS: dict[str, Call] = {
    "transposed": lambda t: t.transpose(0, 3),
    "steps": lambda t: t[:, ::2, 1:],
    "permuted": lambda t: t.permute(2, 0, 3, 1),
    "channels_last": lambda t: t.to(memory_format=torch.channels_last),
    "expanded": lambda t: t[:1, :, :, :1].expand(4, 6, 3, 5),
    "selected": lambda t: t[1, :, 2],
    "0-d": lambda t: t[0, 1, 2, 3],
    "empty": lambda t: t[:, :0],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.uint8], ids=str)
def test_layouts(layout: Call, dtype: Any) -> None:
    a, b = numbers(dtype, (4, 6, 3, 5)), numbers(dtype, (4, 6, 3, 5), 1)
    compare(lambda a: layout(a).square(), a)
    compare(lambda a, b: layout(a) + layout(b), a, b)
    compare(lambda a, b: torch.where(layout(a) > 1, layout(a), layout(b)), a, b)
    compare(lambda a: layout(a) * 2 + 1, a)


def test_broadcasting() -> None:
    for shape in ((5, 3), (3,), (5, 1), (1, 1), ()):
        compare(
            lambda a, b: a - b, numbers(torch.float32, (5, 3)), numbers(torch.float32, shape, 1)
        )
        compare(
            lambda a, b: b - a, numbers(torch.float32, (2, 5, 3)), numbers(torch.float32, shape, 1)
        )


def test_type_promotion() -> None:
    dtypes = [getattr(torch, d) for d in (*FLOATS, *INTEGERS, "bool")]
    for x in dtypes:
        for y in dtypes:
            compare(lambda a, b: a * b, numbers(x, (7,)), numbers(y, (7,), 1))
            compare(lambda a, b: a < b, numbers(x, (7,)), numbers(y, (), 1))
            compare(lambda a, b: a + b, numbers(x, ()), numbers(y, (2, 3), 1))


@pytest.mark.parametrize("dtype", [getattr(torch, d) for d in (*FLOATS, *INTEGERS)], ids=str)
def test_numbers_on_either_side(dtype: Any) -> None:
    t = numbers(dtype, (6,), zeros=False)
    for value in (2, 2.5, True):
        for call in WITH_NUMBERS:
            same(call(t.cuda(), value), call(t, value))
    compare(lambda a: a - 2, t)
    compare(lambda a: 2 - a, t)
    compare(lambda a: 2.5 - a, t)
    compare(lambda a: torch.rsub(a, 5, alpha=2), t)


WITH_NUMBERS: tuple[Call, ...] = (
    lambda a, n: a + n, lambda a, n: n + a, lambda a, n: a * n, lambda a, n: a / n, lambda a,
    n: n / a, lambda a, n: a > n, lambda a, n: n >= a, lambda a, n: a // n, lambda a, n: n % a,
    lambda a, n: a**n,
)  # fmt: skip


def test_a_0d_tensor_of_the_cpu_is_a_number() -> None:
    t, two = numbers(torch.float32, (4, 2)), torch.tensor(2.0)
    on_device = t.cuda()
    for call in (
        lambda a: a + two,
        lambda a: two - a,
        lambda a: a.maximum(two),
        lambda a: torch.where(a > 0, two, a),
    ):
        same(call(on_device), call(t))
    same(torch.where(on_device > 0, two, -two), torch.where(t > 0, two, -two))
    same(on_device.addcmul(two, on_device), t.addcmul(two, t))
    same(two.double() * on_device.half(), two.double() * t.half())
    same(torch.tensor(True) & (on_device > 0), torch.tensor(True) & (t > 0))


def test_in_place() -> None:
    for dtype in (torch.float32, torch.float16):
        a, b = numbers(dtype, (4, 3)), numbers(dtype, (4, 3), 1, zeros=False)
        compare(lambda a, b: a.clone().add_(b, alpha=-0.1), a, b)
        compare(lambda a, b: a.clone().mul_(b).div_(3).sub_(1), a, b)
        compare(lambda a, b: a.clone().exp_().clamp_(0.5, 2).sqrt_(), a, b)
        compare(
            lambda a, b: (
                a.clone().addcmul_(a, b, value=0.5).addcdiv_(a, b, value=-0.1).lerp_(b, 0.9)
            ),
            a,
            b,
        )
        compare(lambda a, b: a.clone().masked_fill_(b > 0, -1).relu_(), a, b)
        compare(lambda a, b: a.clone().t().add_(b.t()), a, b)
        compare(lambda a, b: a.clone().lt_(b), a, b)
        compare(lambda a, b: a.clone().add_(b.int()), a, b)


def test_in_place_on_part_of_a_tensor_leaves_the_rest() -> None:
    def call(t: Any) -> Any:
        u = t.clone()
        u[1:, ::2].mul_(10)
        u[0] += u[2]
        return u

    compare(call, numbers(torch.float32, (4, 5)))


def test_into_a_given_output() -> None:
    a, b = numbers(torch.int32, (3, 4)), numbers(torch.int32, (3, 4), 1)

    def into(make: Call, f: Call) -> None:
        compare(lambda a, b: f(a, b, out=make(a)), a, b)

    into(lambda a: torch.empty(0, dtype=a.dtype, device=a.device), torch.add)
    into(lambda a: torch.empty(3, 4, dtype=torch.float64, device=a.device), torch.mul)
    into(lambda a: torch.empty(3, 4, dtype=torch.uint8, device=a.device), torch.sub)
    into(lambda a: torch.empty(4, 3, dtype=torch.int32, device=a.device).t(), torch.maximum)
    into(lambda a: torch.zeros(3, 8, dtype=torch.float16, device=a.device)[:, ::2], torch.div)
    into(lambda a: torch.empty(3, 4, dtype=torch.int64, device=a.device), torch.lt)
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Int"
    ):
        torch.div(a.cuda(), b.cuda(), out=torch.empty(3, 4, dtype=torch.int32, device="cuda"))


def test_nan_and_infinity() -> None:
    special = torch.tensor([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5], dtype=torch.float32)
    a, b = special[:, None], special[None, :]
    for name in (
        "add",
        "sub",
        "mul",
        "div",
        "maximum",
        "minimum",
        "atan2",
        "remainder",
        "fmod",
        "floor_divide",
        "pow",
    ):
        compare(getattr(torch, name), a, b)
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"):
        compare(getattr(torch, name), a, b)
    for name in (
        "sign",
        "relu",
        "isnan",
        "isinf",
        "isfinite",
        "abs",
        "floor",
        "ceil",
        "trunc",
        "round",
        "frac",
        "sigmoid",
    ):
        compare(getattr(torch, name), special)
    for low, high in ((None, 1.0), (-1.0, None), (-1.0, 1.0), (float("nan"), 1.0)):
        same(special.cuda().clamp(low, high), special.clamp(low, high))
    compare(lambda a, b: a.clamp(b, b + 1), a, b)


NAN, INF = np.nan, np.inf
# What functions treat in a way of its own: the special values, their bounds, and the numbers of
# OWN.
AWKWARD = (
    NAN, INF, -INF, 0.0, -0.0, 0.25, 0.5, -0.5, 0.75, 1.0, -1.0, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0,
    6.0, -6.0, 20.0, 100.0, -100.0, 1e-30,
)  # fmt: skip
OWN = (0.5, 2.0, 0.75)  # for the numbers that belong to a loop
TO_INTEGERS = (-7, -3, -2, -1, 0, 1, 2, 3, 7)


LINES = [entry for entry in entries() if entry.name != "exp2" and not entry.name.startswith("int_")]
# its mask is of bools
OF_FLOATS = [entry.name for entry in LINES if "f" in entry.dtypes and entry.name != "masked"]
OF_INTEGERS = [
    entry.name for entry in LINES if entry.on_integers is not None or entry.dtypes == "ib"
]
DIVIDE = ("floor_divide", "trunc_divide", "remainder", "fmod")


@pytest.mark.parametrize("name", OF_FLOATS)
def test_every_function_of_the_device_is_the_loop_of_the_cpu(name: str) -> None:
    """For all mixtures of special values and bounds."""
    values = np.array(AWKWARD)
    if name in ("binary_cross_entropy", "binary_cross_entropy_backward"):
        values = values[(values >= 0) & (values <= 1)]
    elif name == "pow":
        # numpy takes it for a square root, if all exponents are the same
        values = values[values != 0.5]
    same_function(name, values)


@pytest.mark.parametrize("name", [*OF_INTEGERS, "int_power", "bitwise_not of bools"])
def test_and_that_of_integers(name: str) -> None:
    name, _, of_bools = name.partition(" of ")
    values = np.array([0, 1], bool) if of_bools else np.array(TO_INTEGERS)
    same_function(name, values, values[values != 0] if name in DIVIDE else values)


def same_function(name: str, *values: Any) -> None:
    """For all mixtures of values, the last of which are those of all further operands."""
    entry = get(name)
    function = functors.on_gpu(entry)
    assert function is not None
    count = function.function.__code__.co_argcount - len(entry.numbers)
    run = partial(entry.loop, **dict(zip(entry.numbers, OWN))) if entry.numbers else entry.loop
    each = [values[min(i, len(values) - 1)][: 600 // count**3] for i in range(count)]
    operands = [torch.from_numpy(grid.copy()) for grid in np.meshgrid(*each, indexing="ij")]
    with np.errstate(all="ignore"):
        expected = TensorIterator(operands).run(run)
    found = TensorIterator([t.cuda() for t in operands]).run(run)
    same(found, expected)
    if expected.is_floating_point() and name not in ("fmax", "fmin"):  # they may give either 0
        a, b = found.cpu().numpy(), expected.numpy()
        np.testing.assert_array_equal(np.signbit(a)[a == 0], np.signbit(b)[a == 0])


def test_a_new_line_of_the_table_runs_on_the_device() -> None:
    entry = scalar(lambda x: log1p(exp(x * T(2))))
    x = numbers(torch.float32, (40,))
    for dtype in (torch.float32, torch.float16):
        t = x.to(dtype)
        same(TensorIterator((t.cuda(),)).run(entry.loop), TensorIterator((t,)).run(entry.loop))


def test_half_of_an_integer_is_rounded_to_even() -> None:
    halves = torch.arange(-6, 7).double() / 2
    for dtype in (torch.float64, torch.float32, torch.float16):
        compare(lambda a: a.round(), halves.to(dtype))
    near = torch.tensor([0.49999997, 8388609.0, -0.2, 1e30, -2.5000002], dtype=torch.float32)
    compare(lambda a: a.round(), near)
    assert np.signbit(torch.tensor([-0.2, -0.0]).cuda().round().cpu().numpy()).all()


@pytest.mark.parametrize("dtype", [getattr(torch, d) for d in INTEGERS], ids=str)
def test_integers_wrap_around(dtype: Any) -> None:
    info = torch.iinfo(dtype)
    extremes = torch.tensor([info.min, info.max, info.max - 1, 1, 2, 3], dtype=dtype)
    for call in (
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a.add(b, alpha=2),
        lambda a, b: -a, lambda a, b: a.abs(), lambda a, b: a**5, lambda a,
        b: a.addcmul(a, b, value=3), lambda a, b: a.square(),
    ):  # fmt: skip
        compare(call, extremes, extremes.flip(0))


DIVISIONS: tuple[Call, ...] = (
    lambda x, y: x // y,
    lambda x, y: x % y,
    lambda x, y: x.fmod(y),
    lambda x, y: x.div(y, rounding_mode="trunc"),
)


@given(
    st.integers(-128, 127),
    st.integers(-128, 127).filter(bool),
    st.sampled_from(["int8", "int32", "int64"]),
)
@examples(60)
def test_integer_division_and_its_remainder(a: int, b: int, dtype: str) -> None:
    x, y = (
        torch.tensor([a], dtype=getattr(torch, dtype)),
        torch.tensor([b], dtype=getattr(torch, dtype)),
    )
    if (a, b, dtype) != (-128, -1, "int8"):
        for call in DIVISIONS:
            compare(call, x, y)
    compare(lambda x, y: x**y, x, y.remainder(7) - 2)


def test_an_integer_divided_by_zero_is_no_error_on_the_device() -> None:
    """The GPU goes on, as PyTorch's does; on the CPU it is an error."""
    a, zero = torch.tensor([7, -7]), torch.tensor([0, 0])
    for call in DIVISIONS:
        assert call(a.cuda(), zero.cuda()).tolist() == [0, 0]
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call(a, zero)


def test_bits_of_dtypes_without_them_are_refused() -> None:
    t = torch.ones(2, device="cuda")
    for call in (
        lambda: t & t,
        lambda: t.bitwise_not(),
        lambda: torch.ones(2, dtype=torch.bool, device="cuda").abs(),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call()
    with pytest.raises(RuntimeError, match="two bool tensors is not supported"):
        (t > 0) - (t > 0)


def test_memory_written_to_while_it_is_read_is_refused() -> None:
    t = torch.arange(6.0, device="cuda")
    with pytest.raises(
        RuntimeError,
        match="unsupported operation: some elements of the input tensor and the written-to tensor",
    ):
        t[1:].add_(t[:-1])
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory location",
    ):
        t[:1].expand(3).mul_(2)


def test_tensors_on_different_devices(second_device: int) -> None:
    here, there, host = (
        torch.ones(3, device="cuda:0"),
        torch.ones(3, device=f"cuda:{second_device}"),
        torch.ones(3),
    )
    text = (
        "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"
    )
    with pytest.raises(RuntimeError, match=text.format("cuda:0", f"cuda:{second_device}")):
        here + there
    with pytest.raises(RuntimeError, match=text.format("cuda:0", "cpu")):
        here + host
    with pytest.raises(RuntimeError, match=text.format("cuda:0", "cpu")):
        host * here
    with pytest.raises(RuntimeError, match=text.format("cuda:0", "cpu")):
        host.add_(torch.ones((), device="cuda:0"))
    with pytest.raises(
        RuntimeError, match="Trying to pass too many CPU scalars to non-CPU kernel!"
    ):
        here.clamp(torch.tensor(0.0), torch.tensor(1.0))
    assert (there + there).device == there.device


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(
        RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)"
    ):
        torch.ones(3, device="cuda") + torch.ones(4, device="cuda")
    with pytest.raises(
        RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"
    ):
        torch.ones(3, device="cuda").add_(torch.ones(2, 3, device="cuda"))


@st.composite
def walks(draw: Any) -> tuple[Any, Any]:
    """Two tensors that broadcast, of any rank to 4, with strides of any kind."""
    shape = draw(st.lists(st.integers(1, 4), min_size=0, max_size=4))
    result = []
    for seed in range(2):
        sizes = [n if draw(st.booleans()) else 1 for n in shape]
        t = numbers(torch.float32, tuple(2 * n for n in sizes), seed)[
            tuple(slice(0, 2 * n, 2) for n in sizes)
        ]
        t = t if draw(st.booleans()) else t.contiguous()
        order = draw(st.permutations(range(len(sizes))))
        back = np.argsort(order).tolist()
        result.append(
            t.permute(order).contiguous().permute(back) if order and draw(st.booleans()) else t
        )
    return result[0], result[1]


@given(walks())
@examples(60, 600)
def test_any_two_layouts(operands: tuple[Any, Any]) -> None:
    compare(lambda a, b: a + b, *operands)
    compare(lambda a, b: torch.where(a > 0, a, b), *operands)
