"""What kernels do on a GPU only, run by the interpreter: warp shuffles instead of shared memory,
`by_executor`'s other side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.cuda import interpreter
from internals.cuda.driver import CudaError
from internals.cuda.kernels.assertion import check
from internals.cuda.kernels.block_reduction import accumulator, block_total
from internals.cuda.language import cuda, device_function, kernel, template
from internals.cuda.native import scans
from internals.cuda.recorder import record
from internals.cuda.simulator.driver import SimulatedDriver
from internals.nn import functional as F
from tests.cuda.comparing import FLOATS, REALS, compare, compare_gradients, values
from tests.support import to_numpy

ALL = 0xFFFFFFFF
total = template("total")


@pytest.fixture(autouse=True)
def hardware_forms(simulator: SimulatedDriver) -> Iterator[None]:
    with interpreter.hardware_forms():
        yield
        torch.cuda.synchronize()


@device_function
def from_neighbour(x):
    return cuda.shfl_down_sync(ALL, x, 1)


@kernel
def every_shuffle(out):
    t = cuda.threadIdx.x
    x = np.float32(t)
    out[0, t] = cuda.shfl_sync(ALL, x, 3)
    out[1, t] = cuda.shfl_sync(ALL, x, 33)
    out[2, t] = cuda.shfl_up_sync(ALL, x, 2)
    out[3, t] = from_neighbour(x) + cuda.shfl_down_sync(ALL, from_neighbour(x), 16)
    out[4, t] = cuda.shfl_xor_sync(ALL, x, 5)


@kernel
def between_barriers(out):
    """Shuffles and barriers mixed: warp 1 shuffles more often than warp 0 before both meet."""
    totals = cuda.shared.array(2, np.float32)
    t = cuda.threadIdx.x
    x = np.float32(t)
    if t >= 32:
        x = x + cuda.shfl_xor_sync(ALL, x, 1)
    x = x + cuda.shfl_xor_sync(ALL, x, 2)
    if t % 32 == 0:
        totals[t // 32] = x
    cuda.syncthreads()
    out[t] = totals[0] + totals[1] + cuda.shfl_sync(ALL, x, 0)


@kernel
def half_of_the_warp(out):
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_down_sync(0xFFFF, np.float32(t), 8)
    else:
        out[t] = cuda.shfl_xor_sync(0xFFFF0000, np.float32(t), 1)


@kernel
def divergent(out):
    t = cuda.threadIdx.x
    if t < 16:
        out[t] = cuda.shfl_down_sync(ALL, np.float32(t), 8)


@kernel
def divergent_with_a_barrier(out):
    t = cuda.threadIdx.x
    if t != 7:
        out[t] = cuda.shfl_down_sync(ALL, np.float32(t), 8)
    cuda.syncthreads()


@device_function
def add(a, b):
    return a + b


@kernel
def sum_of_block(out):
    out[cuda.threadIdx.x] = total(np.float32(cuda.threadIdx.x))


@kernel
def checked(x):
    check(x[cuda.threadIdx.x] < 3)


def test_shuffles() -> None:
    out = torch.zeros(5, 64, device="cuda")
    every_shuffle[1, 64](out)
    t = np.arange(64)
    lane, warp = t % 32, t // 32 * 32
    down = warp + np.minimum(lane + 1, 31)
    twice = np.where(lane < 16, warp + np.minimum(lane + 17, 31), down)
    expected = [warp + 3, warp + 1, np.where(lane < 2, t, t - 2), down + twice, t ^ 5]
    assert (to_numpy(out.cpu()) == np.array(expected)).all()


def test_shuffles_and_barriers() -> None:
    out = torch.zeros(64, device="cuda")
    between_barriers[1, 64](out)
    first, second = 0 + 2, (32 + 33) + (34 + 35)
    assert out.cpu().tolist() == [first + second + first] * 32 + [first + second + second] * 32


def test_lanes_of_a_mask() -> None:
    out = torch.zeros(32, device="cuda")
    half_of_the_warp[1, 32](out)
    assert out.cpu().tolist() == [*range(8, 16), *range(8, 16), *(t ^ 1 for t in range(16, 32))]


@pytest.mark.parametrize("program", [divergent, divergent_with_a_barrier])
def test_a_divergent_shuffle_is_an_error(program: Any) -> None:
    line = program.function.__code__.co_firstlineno + 4
    program[1, 32](torch.zeros(32, device="cuda"))
    with pytest.raises(
        CudaError,
        match=f"shfl_down_sync in line {line} is for the lanes 0xffffffff(.|\n)*{program.name}",
    ):
        torch.cuda.synchronize()


def test_assertions() -> None:
    checked[1, 3](torch.arange(3, device="cuda"))
    torch.cuda.synchronize()
    checked[1, 4](torch.arange(4, device="cuda"))
    with pytest.raises(
        CudaError, match="device-side assert triggered(.|\n)*a condition that the kernel checks"
    ):
        torch.cuda.synchronize()


def test_the_recorder_runs_them() -> None:
    out = np.zeros(64, np.float32)
    log = record(between_barriers, 1, 64, out)
    assert out.tolist() == [138.0] * 32 + [270.0] * 32 and log.races == []


def test_each_launch_has_its_form(monkeypatch: pytest.MonkeyPatch) -> None:
    program = sum_of_block.bind(total=block_total(accumulator("number", np.float32), add, True))
    phases = []
    for hardware in (True, False, True):
        monkeypatch.setattr(interpreter, "_hardware", hardware)
        out = np.zeros(64, np.float32)
        phases.append(record(program, 1, 64, out).phases)
        assert (out == 63 * 32).all()
    assert phases == [3, 9, 3]  # by shuffles 2 barriers, in shared memory 1 + log2(64) + 1


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "argmin", "any", "all", "max"])
def test_reductions(name: str, dtype: str) -> None:
    if (name, dtype) == ("argmin", "bool"):
        dtype = "int16"  # truth values have no order for it
    for shape in ((130,), (3, 70)):
        compare(
            lambda x: getattr(x, name)(-1),
            values(shape, dtype),
            tolerance=3e-3 if dtype == "float16" else None,
        )


@pytest.mark.parametrize("name", ["mean", "var", "std", "norm", "logsumexp"])
def test_reductions_of_floats(name: str) -> None:
    for dtype in FLOATS:
        compare(lambda x: getattr(x, name)(dim=-1), values((3, 70), dtype))
        compare(lambda x: getattr(x, name)(dim=0), values((70, 3), dtype))


def test_a_row_of_many_blocks() -> None:
    for name in ("sum", "argmax", "var"):
        compare(lambda x, name=name: getattr(x, name)(0), values((9000,)), tolerance=1e-4)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("n", [1, 33, 1025])
def test_scans(n: int, dtype: str) -> None:
    compare(lambda x: x.cumsum(1), values((2, n), dtype))
    if n < 100:
        compare(lambda x: x.cumprod(1), values((2, n), dtype))


def test_a_scan_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "TILE", 8)
    compare(lambda x: x.cumsum(-1), values((3, 100), "int64"))


LAYERS: dict[str, Callable[..., Any]] = {
    "softmax": lambda x, w: F.softmax(x, -1),
    "log_softmax": lambda x, w: F.log_softmax(x, -1),
    "layer norm": lambda x, w: F.layer_norm(x, x.shape[-1:], w, w + 1),
    "rms norm": lambda x, w: F.rms_norm(x, x.shape[-1:], w),
    "batch norm": lambda x, w: F.batch_norm(x.permute(0, 2, 1), None, None, w, w, training=True),
    "group norm": lambda x, w: F.group_norm(x, 3),
    "instance norm": lambda x, w: F.instance_norm(x),
    "matrix times vector": lambda x, w: x.reshape(-1, 40) @ w,
    "linear of one row": lambda x, w: F.linear(x[0, :1], x[1]),
    "cross entropy": lambda x, w: F.cross_entropy(
        x.reshape(-1, 40), torch.arange(6, device=x.device)
    ),
    "cumulative": lambda x, w: x.cumsum(-1).softmax(-1),
    "average": lambda x, w: F.adaptive_avg_pool2d(x, 1),
    "convolution": lambda x, w: F.conv2d(x[None], x[None, :, :3, :3], w[:1]),
    "convolution by channel": lambda x, w: F.conv2d(
        x[None, :2], x[:, None, :3, :3], w[:2], groups=2
    ),
    "embedding": lambda x, w: F.embedding(torch.tensor([0, 2, 2, 1], device=x.device), x[0]),
    "by index": lambda x, w: x[:, torch.tensor([2, 0, 0], device=x.device)],
    "product of matrices": lambda x, w: x[0] @ x[1].t(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_forward_and_backward(name: str) -> None:
    x, w = values((2, 3, 40), "float64") / 3, values((40,), "float64", seed=1)
    compare(LAYERS[name], x, w)
    compare_gradients(LAYERS[name], x, w)
    compare(LAYERS[name], x.float(), w.float(), tolerance=1e-4)
