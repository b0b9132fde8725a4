"""Kernels that divide element numbers do so in 64 bits where there are so many that 32 are too
few.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals.cuda import launch
from internals.cuda.simulator.driver import SimulatedDriver

F = torch.nn.functional


def calls() -> list[Any]:
    """One for each place on the host that launches such a kernel."""
    x = torch.arange(48.0, device="cuda").reshape(2, 4, 2, 3).requires_grad_()
    w = torch.ones(4, 4, 2, 2, device="cuda", requires_grad=True)
    i = torch.tensor([[1, 0], [0, 1]], device="cuda")
    d = x.detach()
    return [
        lambda: d.transpose(0, 3).contiguous(), lambda: d.flip(1), lambda: d.roll(1, 1),
        lambda: d[0].tril(), lambda: d.nonzero(), lambda: d[d > 3], lambda: d[i],
        lambda: d.transpose(0, 3).sum((0, 2)), lambda: d.transpose(0, 3) + d.transpose(0, 3),
        lambda: F.conv2d(x, w).sum().backward(), lambda: F.max_pool2d(x, 2).sum().backward(),
        lambda: F.avg_pool2d(x, 2).sum().backward(), lambda: F.group_norm(x, 2).sum().backward(),
        lambda: F.conv2d(x, w[:, :1], groups=4).sum().backward(),
        lambda: F.batch_norm(d, d[0, :, 0, 0], d[0, :, 0, 0] + 9),
        lambda: F.unfold(x, 2).sum().backward(), lambda: d.unfold(3, 2, 1).contiguous(),
        lambda: d[0, 0].gather(0, i),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(18))
def test_no_launch_forgets_to_count(
    number: int, simulator: SimulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[Any] = []
    run = SimulatedDriver.launch

    def noting(self: Any, device: int, stream: int, kernel: Any, *rest: Any) -> None:
        launched.append(kernel)
        run(self, device, stream, kernel, *rest)

    call = calls()[number]
    monkeypatch.setattr(SimulatedDriver, "launch", noting)
    monkeypatch.setattr(launch, "INDEX_LIMIT", 1)
    call()
    assert launched and not [kernel for kernel in launched if "INDEX" in kernel.open_parameters()]
