"""One small operator of each family on numba's own simulator, beside the CPU: numba is a second
opinion on what our kernels mean.

All in one process of its own, where numba.cuda is the simulator from its import on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json
import internals as torch
from internals.nn import functional as F

torch.manual_seed(0)
x, y, image = torch.randn(3, 5), torch.randn(5, 4), torch.randn(1, 2, 5, 5)
weight, index = torch.randn(3, 2, 3, 3), torch.tensor([[0, 2], [1, 1], [2, 0]])

OPERATORS = {
    "copy": lambda t: t.t().clone().t(),
    "elementwise": lambda t: torch.exp(t) * 2 + t[:, :1],
    "comparison": lambda t: t > 0,
    "reduction": lambda t: t.sum(1),
    "mean of all": lambda t: t.mean(),
    "extrema": lambda t: t.max(1)[1],
    "matmul": lambda t: t @ y.to(t.device),
    "softmax": lambda t: torch.softmax(t, 1),
    "layer norm": lambda t: F.layer_norm(t, (5,)),
    "conv2d": lambda t: F.conv2d(image.to(t.device), weight.to(t.device)),
    "pooling": lambda t: F.max_pool2d(image.to(t.device), 2),
    "gather": lambda t: torch.gather(t, 1, index.to(t.device)),
    "index_select": lambda t: torch.index_select(t, 0, torch.tensor([2, 0], device=t.device)),
    "cat": lambda t: torch.cat([t, t * 2], 1),
    "cumsum": lambda t: torch.cumsum(t, 1),
}
import internals.cuda
found = {}
for name, operator in OPERATORS.items():
    before = dict(internals.cuda.fallbacks())
    on_cpu, on_gpu = operator(x), operator(x.to("cuda"))
    assert str(on_gpu.device) == "cuda:0", name
    close = torch.allclose(on_gpu.cpu().to(torch.float32), on_cpu.to(torch.float32), atol=1e-5)
    fell = [op for op, n in internals.cuda.fallbacks().items() if n > before.get(op, 0)]
    same_shape = list(on_gpu.shape) == list(on_cpu.shape)
    found[name] = {"close": close, "shape": same_shape, "fallback": fell}
import numba
from internals.cuda import backend
assert numba.config.ENABLE_CUDASIM and backend.choice()[0] == "numba-simulator"
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, object]]:
    environment = {**os.environ, "INTERNALS_CUDA": "numba-simulator", "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.sampled(1 / 4)
def test_each_family_agrees_with_the_cpu(found: dict[str, dict[str, object]]) -> None:
    wrong = {
        name: result for name, result in found.items() if not (result["close"] and result["shape"])
    }
    assert len(found) == 15 and not wrong


def test_kernels_did_the_work(found: dict[str, dict[str, object]]) -> None:
    """An operator that fell back would agree with the CPU whatever numba did."""
    native = (
        "copy",
        "elementwise",
        "comparison",
        "reduction",
        "mean of all",
        "matmul",
        "softmax",
        "layer norm",
        "conv2d",
    )
    assert not {name: found[name]["fallback"] for name in native if found[name]["fallback"]}
