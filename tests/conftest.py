"""What holds in all tests, and `T`: a test that takes it runs with `internals`, and with real
PyTorch where it is installed.

What such a test asserts is then known to be so in PyTorch, and is checked here without it.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

import internals
from tests import answers

# every graph is verified after every pass of the JIT
os.environ.setdefault("INTERNALS_VERIFY_PASSES", "1")
internals.set_warn_always(True)  # else a test would not see a warning that another test has had


@pytest.fixture(params=["internals", "torch"] if answers.HAS_TORCH else ["internals"])
def T(request: pytest.FixtureRequest) -> Any:
    return internals if request.param == "internals" else answers.oracle()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    answers.begin(item)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        answers.forget()


def pytest_sessionfinish() -> None:
    answers.write_recorded()
