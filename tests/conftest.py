"""What holds in all tests, and `T`: a test that takes it runs twice, with `internals` and with real PyTorch, which is skipped
where it is not installed.

What such a test asserts is then known to be so in PyTorch, and is checked here without it.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

import internals
from tests.support import oracle

os.environ.setdefault("INTERNALS_VERIFY_PASSES", "1")  # every graph is verified after every pass of the JIT
internals.set_warn_always(True)  # else a test would not see a warning that another test has had


@pytest.fixture(params=["internals", "torch"])
def T(request: pytest.FixtureRequest) -> Any:
    return internals if request.param == "internals" else oracle()
