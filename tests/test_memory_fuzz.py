"""Operators with wrong arguments on guarded memory (tests/memory_fuzz): a sample here, ten calls of each in the long version.

That the guards hold, and that the fuzz sees what is wrong, is tested too.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import internals
from internals.core.geometry import geometry
from internals.core.tensor_impl import make as make_tensor
from tests.support import full

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="guard pages and limits of memory are Linux's here"
)
if sys.platform.startswith("linux"):
    from tests.memory_fuzz import calls, judging, recipes, workers

SEED = 1
SERIOUS = ("died", "outside", "unwritten")


def test_wrong_arguments_reach_no_memory() -> None:
    count = 10 * len(calls.operators()) if full() else 400
    reports = list(workers.run(SEED, 0, count))
    assert [r.number for r in reports] == list(range(count))
    found = [
        f"{r.kind}: call {r.number} of seed {SEED}, {r.call}\n{r.details}"
        for r in reports
        if r.kind in SERIOUS
    ]
    assert not found, f"{len(found)} findings; the first:\n" + "\n".join(found[:3])
    kinds = [r.kind for r in reports]
    assert kinds.count("answered") > count // 4 and kinds.count("refused") > count // 4


def test_a_call_is_always_the_same() -> None:
    first, second = [[repr(calls.make(SEED, n)) for n in range(60)] for _ in range(2)]
    assert first == second and len(set(first)) == 60


def test_every_gradient_has_a_forward_operator_to_listen_to() -> None:
    named = {op.schema.name for op in calls.operators() if "_backward" in op.schema.name}
    assert len(named) > 80
    assert not [
        name
        for name in named
        if not recipes.forward_of(name) and not recipes.recipe(op_of(name).schema)
    ]
    stream = np.random.default_rng(0)
    assert recipes.overheard(op_of("native_layer_norm_backward"), stream)["mean"].values.ndim
    assert recipes.overheard(op_of("gelu_backward"), stream).keys() == {
        "grad_output",
        "self",
        "approximate",
    }


def op_of(name: str) -> Any:
    return next(op for op in calls.operators() if op.name == f"aten::{name}")


# The guards


BEFORE = """
import ctypes, sys
import numpy as np
from tests.memory_fuzz import guarded, guarded_arrays
guarded.under_the_cache()
guarded_arrays.under_numpy()
import internals as torch
from internals.core.hot import hot
read = lambda address: ctypes.string_at(address, 1)
"""
TOO_FAR = {
    "behind, short way": "with guarded.memory(True, True):\n t = torch.ones(5) + 1; assert not hot.off; at = t.data_ptr() + {}",
    "behind, long way": "with guarded.memory(False, True):\n t = torch.ones(5) + 1; at = t.data_ptr() + {}",
    "before": "with guarded.memory(True, False):\n t = torch.ones(5) + 1; at = t.data_ptr() - 20 + {}",
    "behind an array": "a = np.ones(5, 'f4') + 1; at = a.ctypes.data + {}",
}


@pytest.mark.parametrize("name", TOO_FAR)
def test_the_first_byte_too_far_is_one_too_many(name: str) -> None:
    step = -1 if name == "before" else 1
    last, beyond = (20, 19) if step < 0 else (19, 20)
    for offset, status in ((last, 0), (beyond, -signal.SIGSEGV)):
        script = (
            BEFORE
            + TOO_FAR[name].format(offset)
            + "\n"
            + (" " * ("with" in TOO_FAR[name]))
            + "read(at)\nimport os; os._exit(0)"
        )
        assert (
            subprocess.run(
                [sys.executable, "-c", script], env=workers.environment(), capture_output=True
            ).returncode
            == status
        )


def test_memory_that_was_given_back_stays_forbidden() -> None:
    script = (
        BEFORE
        + "with guarded.memory(False, True):\n t = torch.ones(5); at = t.data_ptr(); read(at); del t; print('so far', flush=True); read(at)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=workers.environment(), capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGSEGV and done.stdout == "so far\n"


# What counts as a finding


class Made:
    """A call that does what a test says."""

    op = calls.operators()[0] if sys.platform.startswith("linux") else None

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run

    def has_shrunk(self) -> bool:
        return False


def refused() -> Any:
    return [internals.ones(2, 3) @ internals.ones(2, 3)]


def out_of_memory() -> Any:
    raise MemoryError("no")


def reaching_out() -> Any:
    t = internals.ones(4)
    return [make_tensor(t.untyped_storage(), geometry([5], [1], t.dtype))]


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (lambda: [internals.ones(2)], "answered"),
        (refused, "refused"),
        (out_of_memory, "error"),
        (lambda: np.ones(2) + np.ones(3), "words"),  # a ValueError, but numpy's
        (reaching_out, "outside"),
        (lambda: [internals.rand(3)], "unwritten"),  # another one the second time
    ],
)
def test_outcomes(run: Callable[[], Any], kind: str) -> None:
    assert judging.judge(Made(run)).kind == kind


def test_a_death_is_told_with_as_many_calls_before_it_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def process(seed: int, first: int, count: int, only: str) -> Iterator[Any]:
        """Call 50 dies where call 47 was made before it, and so does every call 60."""
        for n in range(first, first + count):
            dies = (n == 50 and first <= 47) or n == 60
            yield workers.Report(n, "died" if dies else "answered")
            if dies:
                return

    monkeypatch.setattr(workers, "process", process)
    reports = list(workers.run(7, 0, 100))
    assert [r.number for r in reports] == list(range(100))
    deaths = {r.number: r.details for r in reports if r.kind == "died"}
    assert (
        "--seed 7 --first 45 --count 6" in deaths[50]
        and "--first 60 --count 1" in deaths[60]
        and len(deaths) == 2
    )
