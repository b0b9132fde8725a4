"""Every native operator on the way that it takes on a real GPU, up to the machine code of its
kernels (`on_fake_gpu.py`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cuda import test_gpu_binding

pytestmark = test_gpu_binding.pytestmark


@pytest.mark.sampled(1 / 4)
def test_every_native_operator(tmp_path: Path) -> None:
    printed, calls = test_gpu_binding.run(
        tmp_path, "from tests.cuda.on_fake_gpu import main\nmain()\n"
    )
    *complaints, counts = printed
    assert not complaints, "\n".join(complaints)
    operators, kernels = map(int, counts.split())
    assert operators > 450 and kernels > 300
    assert sum(call.startswith("launch") for call in calls) > operators
