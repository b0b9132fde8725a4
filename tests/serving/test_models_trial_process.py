"""`--try-models`: a file that would end, hang or fill the server does so to another process; the
old model answers on.
"""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

pytest.importorskip("google.protobuf", reason="the extra `serving` is not installed")

import internals as torch
from internals import nn
from internals.serving.models import trial_process
from internals.serving.models.reload import Watcher
from internals.serving.models.trial_process import try_in_process
from internals.serving.settings import Settings
from tests.serving.models_support import (
    ZERO,
    Constant,
    archive,
    ask,
    file_of,
    number,
    place,
    repository,
    run,
)

KEY = ("a", "1")
needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="the system does not tell memory"
)
DIES = "import ctypes; ctypes.string_at(0)"


class Forever(nn.Module):
    def forward(self, x):
        while bool((x * 0 == 0).all()):
            x = x + 1
        return x


class Hungry(nn.Module):
    def forward(self, x):
        kept = [x]
        while bool((x * 0 == 0).all()):
            kept.append(torch.ones(1000, 1000))
        return kept[0]


INPUT = ("x:FP32:-1,2",)


def refused(data: bytes, told: str, **settings: Any) -> None:
    with pytest.raises(RuntimeError, match=told):
        try_in_process(data, "a.pt", KEY, Settings(**{"inputs": INPUT, **settings}))


def test_a_good_model_passes() -> None:
    try_in_process(file_of(1.0), "a.pt", KEY, Settings())
    try_in_process(archive(Constant(1.0, bulk=3_000_000)), "a.pt", KEY, Settings(optimize=True))


@pytest.mark.sampled(1 / 4)
def test_one_that_hangs_is_refused() -> None:
    refused(archive(Forever()), r"had not finished after 4 s \(try_seconds\)", try_seconds=4.0)


@pytest.mark.sampled(1 / 4)
@needs_proc
def test_one_that_takes_all_memory_is_refused() -> None:
    refused(
        archive(Hungry()),
        r"bytes of memory, more than 600,000,000 \(try_bytes\)",
        try_bytes=600_000_000,
    )


def test_one_that_cannot_be_loaded_says_why_in_its_own_words() -> None:
    refused(b"nothing", "no archive, or a damaged one")
    refused(
        file_of(1.0),
        "model 'a' has no input 'y', which was declared; it has x",
        inputs=("y:FP32:1",),
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to die of")
def test_a_process_that_dies_is_told_with_its_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_process, "PROGRAM", DIES)
    refused(archive(Constant(1.0, bulk=3_000_000)), "ended with SIGSEGV: it is not loaded")
    monkeypatch.setattr(trial_process, "PROGRAM", "raise SystemExit(7)")
    refused(file_of(1.0), "ended with status 7")


def test_a_server_that_stops_does_not_wait_for_it() -> None:
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="shutting down"):
        try_in_process(
            archive(Forever()),
            "a.pt",
            KEY,
            Settings(inputs=INPUT),
            lambda: time.monotonic() > began + 1,
        )


def test_the_token_and_what_a_model_prints_stay_here(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Chatty(nn.Module):
        def forward(self, x):
            print("all is well")
            return x

    try_in_process(archive(Chatty()), "a.pt", KEY, Settings(inputs=INPUT))
    monkeypatch.setenv("INTERNALS_SERVE_TOKEN", "secret")
    monkeypatch.setattr(
        trial_process,
        "PROGRAM",
        "import os; raise SystemExit(9 if 'INTERNALS_SERVE_TOKEN' in os.environ else 0)",
    )
    try_in_process(file_of(1.0), "a.pt", KEY, Settings())
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to die of")
@pytest.mark.sampled(1 / 4)
@run
async def test_the_old_version_goes_on_and_the_log_says_why(folder):
    path = folder / "a.pt"
    place(file_of(1.0), path)
    # a busy machine starts Python slowly
    repo, events = repository(folder, try_models=True, try_seconds=15.0, inputs=INPUT)
    await repo.load_all()
    watcher = Watcher(repo)
    good, hostile = trial_process.PROGRAM, archive(Forever())
    try:
        for data, program, told in (
            (hostile, good, "try_seconds"),
            (file_of(3.0), DIES, "SIGSEGV"),
        ):
            trial_process.PROGRAM = program
            place(data, path)
            await watcher.look()
            await watcher.look()
            assert number(await ask(repo, "a", ZERO)) == 1.0
            assert events.names()[-1] == "model_failed" and told in events[-1][1]["reason"]
    finally:
        trial_process.PROGRAM = good
    place(file_of(2.0), path)
    await watcher.look()
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 2.0 and events.names()[-1] == "model_loaded"
    await repo.close()


def test_the_limits_make_sense() -> None:
    for wrong in ({"try_seconds": 0.0}, {"try_bytes": 0}, {"try_seconds": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Settings(**wrong)
