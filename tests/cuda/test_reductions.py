"""Reductions on the device: against those of the CPU, for every way in which a launch can be laid
out.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import internals
from internals.cuda import fallback
from internals.cuda.kernels import reduction as kernels
from internals.cuda.kernels.accumulators import THREADS
from internals.cuda.native import reducing
from tests.cuda.comparing import (
    FLOATS,
    REALS,
    Function,
    compare,
    compare_gradients,
    same,
    same_error,
    values,
)
from tests.cuda.launched import noted
from tests.support import examples

ROOT = Path(__file__).parents[2]

OVER_DIMS: dict[str, Function] = {
    "sum": lambda t, d, k: t.sum(d, k),
    "amax": lambda t, d, k: t.amax(d, k),
    "amin": lambda t, d, k: t.amin(d, k),
    "any": lambda t, d, k: internals.any(t, d, k),
    "all": lambda t, d, k: internals.all(t, d, k),
    "logsumexp": lambda t, d, k: t.logsumexp(d, k),
}
OF_FLOATS: dict[str, Function] = {
    "mean": lambda t, d, k: t.mean(d, k),
    "var": lambda t, d, k: t.var(d, correction=0, keepdim=k),
    "std": lambda t, d, k: t.std(d, keepdim=k),
    "var_mean": lambda t, d, k: internals.var_mean(t, d, keepdim=k),
    "std_mean": lambda t, d, k: internals.std_mean(t, d, keepdim=k),
    "norm": lambda t, d, k: t.norm(2, d, k),
    "norm 0": lambda t, d, k: t.norm(0, d, k),
    "norm 1": lambda t, d, k: t.norm(1, d, k),
    "norm 3": lambda t, d, k: t.norm(3, d, k),
    "norm inf": lambda t, d, k: t.norm(float("inf"), d, k),
    "norm -inf": lambda t, d, k: t.norm(float("-inf"), d, k),
}
ALONG_ONE: dict[str, Function] = {
    "prod": lambda t, d, k: t.prod(d, k),
    "max": lambda t, d, k: t.max(d, k),
    "min": lambda t, d, k: t.min(d, k),
}
NOT_OF_BOOL: dict[str, Function] = {
    "argmax": lambda t, d, k: t.argmax(d, k),
    "argmin": lambda t, d, k: t.argmin(d, k),
}


CASES = [(name, d) for name in (*OVER_DIMS, *ALONG_ONE) for d in REALS]
CASES += [(name, d) for name in OF_FLOATS for d in FLOATS] + [
    (name, d) for name in NOT_OF_BOOL for d in REALS[:-1]
]


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_reduction_of_every_dtype(name: str, dtype: str) -> None:
    function = {**OVER_DIMS, **OF_FLOATS, **ALONG_ONE, **NOT_OF_BOOL}[name]
    t = values((3, 5, 4), dtype)
    for dim in (0, 1, -1):
        compare(function, t, dim, False)
        compare(function, t, dim, True)
    if name in OVER_DIMS or name in OF_FLOATS:
        compare(function, t, [0, 2], False)
        compare(function, t.permute(2, 0, 1), [0, 1, 2], True)


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin", "std", "norm"]
)
def test_of_all_elements(name: str) -> None:
    for t in (values((7, 9), "float32"), values((6, 4), "float64").t(), values((), "float32")):
        compare(lambda x: getattr(x, name)(), t)


@given(
    st.sampled_from([
        (1, 40), (40, 1), (5, 70), (70, 5), (2, 300), (33, 17), (3, 4, 20), (20, 4, 3), (1, 1),
        (2, 3, 4, 5),
    ]),
    st.randoms(use_true_random=False),
    st.sampled_from(["sum", "argmax", "var"]),
)  # fmt: skip
@examples(25)
def test_any_layout(shape: tuple[int, ...], random: Any, name: str) -> None:
    """Dimensions in any order, with steps and repetitions, reduced over any of them."""
    t = values(tuple(2 * n for n in shape), "float32", seed=random.randrange(1000))
    t = t[tuple(slice(random.randrange(2), 2 * n, random.choice([1, 2])) for n in shape)]
    t = t.permute(random.sample(range(t.dim()), t.dim()))
    if random.random() < 0.3:
        t = t.unsqueeze(0).expand(2, *t.shape)
    dims = random.sample(range(t.dim()), random.randint(1, t.dim()))
    if name == "argmax":
        compare(lambda x: x.argmax(dims[0]), t)
        compare(lambda x: x.argmax(), t)
    else:
        compare(lambda x: getattr(x, name)(dims), t)


def test_a_long_row_is_shared_out_between_blocks() -> None:
    t = values((9000,), "float32")
    rows = reducing.as_rows((9000,), (1,), (0,))
    assert reducing.plan_for(rows, 16).splits == 2
    for function in (
        lambda x: x.sum(),
        lambda x: x.max(0),
        lambda x: x.var(),
        lambda x: x.logsumexp(0),
    ):
        compare(function, t)
    t[[17, 8999]] = 100.0
    assert t.cuda().argmax().item() == 17


def test_how_a_launch_is_laid_out() -> None:
    """Lanes along x where a row lies in memory as one; along y where neighbours belong to different
    rows.
    """

    def plan(shape: tuple[int, ...], dims: tuple[int, ...], processors: int = 100) -> reducing.Plan:
        strides = tuple(int(np.prod(shape[d + 1 :])) for d in range(len(shape)))
        return reducing.plan_for(reducing.as_rows(shape, strides, dims), processors)

    everything = plan((1 << 26,), (0,))
    assert everything.along_x and everything.lanes == THREADS and everything.splits == 800
    long_rows = plan((4096, 4096), (1,))
    assert long_rows == (True, THREADS, 1, 4096, 1)
    short_rows = plan((1 << 20, 64), (1,))
    assert short_rows == (True, 32, 8, 1 << 17, 1)
    columns = plan((4096, 4096), (0,))
    assert (
        not columns.along_x
        and columns.width == 32
        and columns.block == (32, 8)
        and columns.splits > 1
    )
    assert plan((1 << 20, 4), (1,)) == (False, 1, 256, 4096, 1)  # a thread for each row
    for p in (everything, long_rows, short_rows, columns):
        assert p.lanes & (p.lanes - 1) == 0 and p.lanes * p.width <= THREADS


def test_nan_and_infinity() -> None:
    nan, inf = float("nan"), float("inf")
    t = internals.tensor(
        [[1.0, nan, 3.0, nan], [inf, 1.0, -inf, inf], [-inf, -inf, -inf, -inf], [nan, inf, 1, 2]]
    )
    for name in ("amax", "amin", "sum", "logsumexp", "var"):
        compare(lambda x, name=name: getattr(x, name)([1]), t)
        compare(lambda x, name=name: getattr(x, name)([0]), t)
    for name in ("max", "min", "argmax", "argmin"):
        compare(lambda x, name=name: getattr(x, name)(1), t)
        compare(lambda x, name=name: getattr(x, name)(), t)
    compare(lambda x: x.any(), t)


def test_the_first_of_equals_wins() -> None:
    t = internals.zeros(700)
    assert t.cuda().argmax().item() == 0 and t.cuda().argmin().item() == 0
    compare(lambda x: x.max(1), internals.ones(3, 90))


def test_nothing_to_reduce() -> None:
    empty = internals.zeros(0, 3)
    for name in ("sum", "prod", "any", "all", "mean", "var", "logsumexp"):
        compare(lambda x, name=name: getattr(x, name)(0), empty)
        compare(lambda x, name=name: getattr(x, name)(1), empty)
    compare(lambda x: internals.std_mean(x), internals.zeros(0))
    for name in ("max", "min", "argmax", "amax"):
        same_error(lambda x, name=name: getattr(x, name)(), empty)
        same_error(lambda x, name=name: getattr(x, name)(0), empty)


def test_dtype_and_out() -> None:
    t = values((4, 6), "int32")
    for d in (internals.float64, internals.int8, internals.bool, internals.float16):
        compare(lambda x, d=d: x.sum(1, dtype=d), t)
    compare(lambda x: x.sum(0, dtype=internals.int32), values((4, 6), "float32"))
    compare(lambda x: x.mean(1, dtype=internals.float32), t)
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        t.cuda().mean()
    out = internals.zeros(2, 6, device="cuda")[:, ::2]
    internals.sum(t[:3].cuda().float().t()[:2], 1, out=out[:, 0])
    same(out[:, 0], t[:3].float().t()[:2].sum(1))
    resized = internals.empty(0, device="cuda", dtype=internals.int64)
    internals.argmax(t.cuda(), 1, out=resized)
    same(resized, t.argmax(1))
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        internals.argmax(t.cuda(), 1, out=internals.empty(4, device="cuda"))


def test_complex_numbers_are_left_to_the_cpu() -> None:
    t = internals.tensor([1 + 2j, 3 - 1j]).cuda()
    before = fallback.fallbacks().get("aten::sum", 0)
    assert t.sum().item() == 4 + 1j
    assert fallback.fallbacks()["aten::sum"] == before + 1


def test_sums_of_halves_are_taken_in_single_precision() -> None:
    t = internals.full((5000,), 0.1, dtype=internals.float16)
    compare(lambda x: x.sum(), t)
    compare(lambda x: x.mean(), t)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "max", "amax", "prod", "norm", "logsumexp"])
def test_gradients(name: str) -> None:
    compare_gradients(
        lambda t: getattr(t, name)(1) if name == "logsumexp" else getattr(t, name)(),
        values((4, 5), "float64"),
    )


def test_one_kernel_serves_them_all() -> None:
    names = ("sum", "mean", "prod", "amax", "argmin", "max", "var", "norm", "logsumexp", "any")
    found = noted(
        lambda: [
            getattr(internals.ones(3, 4).cuda(), name)(*[1] * (name != "norm")) for name in names
        ]
    )
    assert len(found) == len(names) and all(
        kernel.function is kernels.reduce.function for kernel, _ in found
    )


@pytest.mark.sampled(1 / 4)
def test_the_same_kernels_on_numbas_simulator() -> None:
    """There a thread of the operating system is a thread of the GPU: what relies on their order
    fails.
    """
    pytest.importorskip("numba.cuda", reason="numba-cuda is not installed")
    program = (
        "import internals as torch\n"
        "t = torch.arange(60.0).reshape(3, 20).cuda()\n"
        "r = [t.sum(1), t.sum(0)[:3], *t.max(1), t.var(1), t.softmax(1).sum(1), t.cumsum(1)[:, "
        "-1], t.sort(1, True)[1][:, 0]]\n"
        "print([x.cpu().double().round().tolist() for x in r])"
    )
    environment = {**os.environ, "INTERNALS_CUDA": "numba-simulator"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == [
        [190, 590, 990], [60, 63, 66], [19, 39, 59], [19, 19, 19], [35, 35, 35], [1, 1, 1],
        [190, 590, 990], [19, 19, 19],
    ]  # fmt: skip
