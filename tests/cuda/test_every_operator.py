"""Every operator runs on the device and gives what it gives on the CPU; which of them fall back to
the CPU is written down.

The list is `tests/cuda/fallback_operators.txt`. An operator leaves it when it gets a CUDA kernel,
and only somebody who edits the list can put one on it: `python -m tests.cuda.test_every_operator`
writes it again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from internals.core.dispatcher import OperatorHandle
from internals.cuda import backend
from tests.cuda.operator_calls import (
    CUDA,
    FALLBACK,
    NATIVE,
    NOT_COMPARED,
    OPERATORS,
    calls,
    difference,
    run,
    way,
)
from tests.support import full

pytestmark = pytest.mark.sampled(1 / 4)

CALLS = 25 if full() else 3
LIST = Path(__file__).parent / "fallback_operators.txt"
UPDATE = (
    "Run `python -m tests.cuda.test_every_operator` to write the list again, look at the "
    "difference, and commit it."
)
HEADER = (
    "# Operators without a CUDA kernel: the CPU's runs, on copies (internals/cuda/fallback.py). "
    "Compared by test_every_operator.py.\n"
)


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("op", OPERATORS, ids=[op.name.removeprefix("aten::") for op in OPERATORS])
def test_it_gives_what_it_gives_on_the_cpu(op: OperatorHandle) -> None:
    name = op.name.removeprefix("aten::")
    reason = NOT_COMPARED.get(name, NOT_COMPARED.get(op.schema.name))
    if reason:
        pytest.skip(f"no arguments are made for it: {reason}")
    succeeded = 0
    for values, expected in calls(op, CALLS):
        if expected[1] is not None and not backend.driver().simulated:
            # it may be the kernel that finds the mistake, and end the context of the GPU for all
            # tests after this one
            continue
        complaint = difference(op, run(op, values, CUDA), expected, values)
        assert not complaint, f"{op.schema}\n{values}\n{complaint}"
        succeeded += expected[1] is None
    assert succeeded, "no call succeeded"


def test_the_operators_that_fall_back_are_those_of_the_list() -> None:
    actual, listed = falling_back(), written_down()
    new, gone = sorted(actual - listed), sorted(listed - actual)
    assert not new, f"these have no CUDA kernel (any more), and run on the CPU: {new}. {UPDATE}"
    assert not gone, f"these have a CUDA kernel now, well done: {gone}. {UPDATE}"


def test_the_list_is_sorted_and_names_operators() -> None:
    names = [
        line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    assert names == sorted(set(names)) and set(names) <= {
        op.name.removeprefix("aten::") for op in OPERATORS
    }


def test_there_are_kernels_of_the_devices_own() -> None:
    assert {"copy_", "clone", "fill_.Scalar"} <= {
        op.name.removeprefix("aten::") for op in OPERATORS if way(op) == NATIVE
    }


def falling_back() -> set[str]:
    return {op.name.removeprefix("aten::") for op in OPERATORS if way(op) == FALLBACK}


def written_down() -> set[str]:
    return {
        line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    }


if __name__ == "__main__":
    LIST.write_text(
        HEADER + "".join(f"{name}\n" for name in sorted(falling_back())), encoding="utf-8"
    )
    print(f"{LIST.name}: {len(falling_back())} of {len(OPERATORS)} operators fall back to the CPU")
