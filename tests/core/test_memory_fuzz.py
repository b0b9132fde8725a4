"""Operators with wrong arguments on guarded memory (tests/core/memory_fuzz): a sample, ten of each
in the long version.

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

if not sys.platform.startswith("linux"):
    pytest.skip("guard pages are Linux's here", allow_module_level=True)

from tests.core.memory_fuzz import calls, judging, recipes, workers

SEED = 2
SERIOUS = ("died", "outside", "unwritten", "error")


@pytest.mark.sampled(1 / 8)
def test_wrong_arguments_reach_no_memory() -> None:
    count = 10 * len(calls.operators()) if full() else 400
    reports = list(workers.run(SEED, 0, count))
    assert [r.number for r in reports] == list(range(count))
    found = [
        f"{r.kind}: call {r.number} of seed {SEED}, {r.call}\n{r.place}\n{r.details}"
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
    named = {op.schema.name: op for op in calls.operators() if "_backward" in op.schema.name}
    assert len(named) > 80
    unknown = {name for name, op in named.items() if not recipes.recipe(op.schema)}
    assert not [name for name in unknown if not recipes.forward_of(name)]
    stream = np.random.default_rng(0)
    heard = recipes.overheard(named["native_layer_norm_backward"], stream)
    assert heard is not None and heard["mean"].values.dtype.kind == "f"
    assert recipes.overheard(named["masked_scatter_backward"], stream) is not None


# The guards

BEFORE = """
import ctypes, os
import numpy as np
from tests.core.memory_fuzz import guarded, guarded_arrays
guarded.under_the_cache()
guarded_arrays.under_numpy()
import internals as torch
from internals.core.hot import hot
def read(address):
    ctypes.string_at(address, 1)
"""
BLOCKS = {
    "short way": "with guarded.memory(True, True): t = torch.ones(5) + 1; read(t.data_ptr() + {})",
    "long way": "with guarded.memory(False, True): t = torch.ones(5) + 1; read(t.data_ptr() + {})",
    "at the front": "with guarded.memory(True, False): t = torch.ones(5); read(t.data_ptr() + {})",
    "array": "a = np.ones(5, 'f4') + 1; read(a.ctypes.data + {})",
}
GIVEN_BACK = """
with guarded.memory(False, True):
    t = torch.ones(5)
    address = t.data_ptr()
    read(address)
    del t
    {}
"""


def status(script: str) -> int:
    command = [sys.executable, "-c", f"{BEFORE}\n{script}\nos._exit(0)"]
    done = subprocess.run(command, env=workers.environment(), capture_output=True)
    assert done.returncode in (0, -signal.SIGSEGV), done.stderr.decode()
    return done.returncode


@pytest.mark.parametrize("block", BLOCKS)
def test_the_first_byte_too_far_is_one_too_many(block: str) -> None:
    last, too_far = (0, -1) if block == "at the front" else (19, 20)
    assert status(BLOCKS[block].format(last)) == 0
    assert status(BLOCKS[block].format(too_far)) == -signal.SIGSEGV


def test_memory_that_was_given_back_stays_forbidden() -> None:
    assert status(GIVEN_BACK.format("pass")) == 0
    assert status(GIVEN_BACK.format("read(address)")) == -signal.SIGSEGV


def test_the_short_ways_are_open() -> None:
    assert status("with guarded.memory(True, True): assert not hot.off") == 0
    assert status("with guarded.memory(False, True): assert hot.off") == 0


# What counts as a finding


class Made:
    """A call that does what a test says."""

    op, ways = calls.operators()[0], {"parsed"}

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run

    def has_shrunk(self) -> bool:
        return False


def out_of_memory() -> Any:
    raise MemoryError("no")


def reaching_out() -> Any:
    t = internals.ones(4)
    return [make_tensor(t.untyped_storage(), geometry([5], [1], t.dtype))]


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (lambda: [internals.ones(2)], "answered"),
        (lambda: internals.ones(2, 3) @ internals.ones(2, 3), "refused"),
        (lambda: np.ones(2) + np.ones(3), "words"),  # a ValueError, but numpy's
        (out_of_memory, "error"),
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
        """Call 50 dies where call 47 was made before it, call 60 always."""
        for n in range(first, first + count):
            dies = (n == 50 and first <= 47) or n == 60
            yield workers.Report(n, "died" if dies else "answered")
            if dies:
                return

    monkeypatch.setattr(workers, "process", process)
    reports = list(workers.run(7, 0, 100))
    assert [r.number for r in reports] == list(range(100))
    deaths = {r.number: r.details for r in reports if r.kind == "died"}
    assert deaths.keys() == {50, 60}
    assert "--seed 7 --first 45 --count 6" in deaths[50]
    assert "--first 60 --count 1" in deaths[60]
