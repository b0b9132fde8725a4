"""Another thread writes to indices, masks and counts while they are used: an error at most, never
foreign memory.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.aten.index_races import CASES


def end_of(seconds: float, *names: str) -> str:
    """How a process ends in which operators run for so many seconds each, with a thread that
    disturbs them.
    """
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "tests.aten.index_races",
        str(seconds),
        *names,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{done.returncode}: {done.stdout.splitlines()[-1]}\n{done.stderr}"


@pytest.mark.sampled(1 / 4)
def test_an_index_that_changes_leads_nowhere_else() -> None:
    assert end_of(0.01).startswith("0: all of them")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_index_that_keeps_changing_leads_nowhere_else(name: str) -> None:
    assert end_of(1.0, name).startswith("0: all of them")
