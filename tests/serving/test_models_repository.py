"""Which models there are, and how one takes the place of another: nothing is lost, and nobody meets
half a model.
"""

from __future__ import annotations

import asyncio
import io
import threading

import pytest

import internals as torch
from internals.serving.engine import Engine
from internals.serving.errors import InvalidRequest, ModelFailed, ModelNotFound, Unavailable
from internals.serving.inference import InferRequest
from internals.serving.models.served_model import ServedModel
from internals.serving.observe.logs import Log
from internals.serving.settings import Settings
from tests.serving import models_support as nets
from tests.serving.models_support import (
    ZERO,
    ask,
    file_of,
    number,
    one_model,
    place,
    repository,
    run,
)

# What there is


@run
async def test_versions_the_newest_counts(folder):
    place(file_of(1.0), folder / "a" / "1" / "model.pt")
    place(file_of(2.0), folder / "a" / "2" / "model.pt")
    place(file_of(3.0), folder / "a" / "10" / "model.pt")
    place(file_of(3.0), folder / "b.pt")
    repo, events = repository(folder)
    await repo.load_all()
    assert [tuple(state) for state in repo.index()] == [
        ("a", "1", "READY", ""), ("a", "2", "READY", ""), ("a", "10", "READY", ""),
        ("b", "1", "READY", ""),
    ]  # fmt: skip
    assert [number(await ask(repo, "a", ZERO, v)) for v in ("", "1", "2", "10")] == [
        3.0,
        1.0,
        2.0,
        3.0,
    ]
    assert repo.versions("a") == ("1", "2", "10") and repo.versions("c") == ()
    assert repo.get("a") is repo.get("a", "10") and repo.get("a").model.version == "10"
    assert events.names() == ["model_loaded"] * 4
    assert events[0][1]["signature"] == "x: FP32 [-1, 2]  ->  OUTPUT__0: FP32 [-1, 2]"
    await repo.close()


@run
async def test_what_there_is_not(folder):
    place(file_of(1.0), folder / "a.pt")
    repo, _ = repository(folder)
    await repo.load_all()
    for name, version, says in [
        ("b", "", "there is no model 'b'; there is a"),
        ("../a", "", "there is no model"),
        ("a", "2", "model 'a' has no version '2'; it has 1"),
        ("a", "x" * 1000, "has no version"),
    ]:
        with pytest.raises(ModelNotFound, match=says) as error:
            repo.get(name, version)
        assert len(str(error.value)) < 200
    for name in ("../a", "", "a/1", "\0"):
        for method in (repo.load, repo.unload, lambda name: repo.add(name, nets.mlp())):
            with pytest.raises(InvalidRequest, match="no name of a model"):
                await method(name)
    for method in (repo.load, repo.unload):
        with pytest.raises(ModelNotFound, match="there is no model 'b'"):
            await method("b")
    with pytest.raises(InvalidRequest, match="versions are whole numbers"):
        await repo.add("c", nets.mlp(), "../1")
    await repo.close()


@run
async def test_modules_and_paths_that_the_operator_chose(folder):
    place(file_of(2.0), folder / "some where.pt")
    repo, _ = repository()
    await repo.add("module", nets.Constant(5.0))
    await repo.add("path", folder / "some where.pt")
    assert (
        number(await ask(repo, "module", ZERO)) == 5.0
        and number(await ask(repo, "path", ZERO)) == 2.0
    )
    with pytest.raises(FileNotFoundError):
        await repo.add("nothing", folder / "none.pt")
    with pytest.raises(Unavailable, match="'nothing' is not available: FileNotFoundError"):
        repo.get("nothing")
    await repo.refresh()  # neither is in a folder: both stay
    assert repo.versions("module") == repo.versions("path") == ("1",)
    await repo.close()


@run
async def test_loading_does_not_block_the_loop_and_is_said(folder):
    """While a model loads, others answer, and asking for it is UNAVAILABLE, not NOT_FOUND."""
    place(file_of(1.0), folder / "a.pt")
    repo, _ = repository(folder)
    await repo.load_all()
    gate, entered = threading.Event(), threading.Event()

    class Slow(torch.nn.Module):
        def eval(self):
            entered.set()
            assert gate.wait(60)
            return super().eval()

        def forward(self, x):
            return x

    adding = asyncio.create_task(repo.add("slow", Slow()))
    assert await asyncio.to_thread(entered.wait, 60)
    with pytest.raises(Unavailable, match="'slow' is being loaded"):
        repo.get("slow")
    assert ("slow", "1", "LOADING", "") in repo.index()
    assert number(await ask(repo, "a", ZERO)) == 1.0
    gate.set()
    await adding
    assert number(await ask(repo, "slow", ZERO)) == 0.0
    await repo.close()


# Exchange


@run
async def test_a_stream_of_requests_while_versions_are_swapped(folder):
    """1 -> 2 -> 1 -> ...: every request is answered, by a whole model, and never by one that has
    been replaced.

    `OneByOne.submit` fails for a model that is draining, so a request that came to an old one would
    be seen.
    """
    path, repo, events = await one_model(folder)
    answers: list[float] = []
    sent = 0
    done = False

    async def client(k: int) -> None:
        nonlocal sent
        while not done:
            x = torch.full((1, 2), float(10 * k))
            sent += 1
            answers.append(number(await ask(repo, "a", x)) - 10 * k)

    clients = [asyncio.create_task(client(k)) for k in range(8)]
    current = [1.0]
    for i in range(6):
        current.append(1.0 if i % 2 else 2.0)
        place(file_of(current[-1]), path)
        await repo.refresh()
        before = len(answers)
        while len(answers) < before + 20:  # everyone has asked the new one
            await asyncio.sleep(0)
    done = True
    await asyncio.gather(*clients)
    assert len(answers) == sent and set(answers) == {1.0, 2.0}
    changes = sum(a != b for a, b in zip(answers, answers[1:]))
    assert changes >= 6
    assert events.names() == ["model_loaded"] * 7
    await repo.close()


@run
async def test_the_same_through_the_engine_and_its_batches(folder):
    """Rows of many requests in one batch, and every request still gets the answer of one whole
    model for all of its rows.
    """
    path = folder / "a.pt"
    place(file_of(1.0), path)
    engine = Engine(
        Settings(model_dir=folder, max_batch=8, max_delay=1.0, workers=2), Log(stream=io.StringIO())
    )
    repo = engine.repository
    await repo.load_all()
    answers: list[float] = []
    sent, done = 0, False

    async def client(k: int) -> None:
        nonlocal sent
        while not done:
            sent += 1
            x = torch.full((1 + k % 3, 2), float(10 * k))
            y = (await engine.infer(InferRequest("a", {"x": x}))).outputs["OUTPUT__0"] - 10 * k
            assert y.shape == x.shape and bool((y == y[0, 0]).all())
            answers.append(number(y))

    clients = [asyncio.create_task(client(k)) for k in range(12)]
    for i in range(4):
        place(file_of(1.0 if i % 2 else 2.0), path)
        await repo.load("a")
        before = len(answers)
        while len(answers) < before + 30:
            await asyncio.sleep(0.001)
            for task in clients:
                assert not task.done() or task.exception() is None
    done = True
    await asyncio.gather(*clients)
    assert len(answers) == sent and set(answers) == {1.0, 2.0}
    await engine.close()


@run
async def test_requests_that_the_old_one_accepted_are_answered_by_it(folder):
    path, repo, _ = await one_model(folder)
    old = repo.get("a")
    waiting = [
        asyncio.create_task(old.batcher.submit(InferRequest("a", {"x": ZERO}))) for _ in range(5)
    ]
    await asyncio.sleep(0)
    place(file_of(2.0), path)
    await repo.load("a")
    assert number(await ask(repo, "a", ZERO)) == 2.0
    assert [number((await task)["OUTPUT__0"]) for task in waiting] == [1.0] * 5
    await repo.close()
    assert old.batcher.draining and old.batcher.queued == 0


@run
async def test_a_damaged_file_leaves_the_old_one_serving(folder):
    path = folder / "a" / "1" / "model.pt"
    place(file_of(1.0), path)
    repo, events = repository(folder)
    await repo.load_all()
    entry = repo.get("a")
    damaged = bytearray(file_of(2.0))
    damaged[len(damaged) // 2] ^= 1
    for data in (bytes(damaged), file_of(2.0)[:-100], b"", b"not a model"):
        place(data, path)
        await repo.refresh()
        assert repo.get("a") is entry and number(await ask(repo, "a", ZERO)) == 1.0
        (state,) = repo.index()
        assert state.state == "READY" and state.reason.endswith("the one loaded before goes on")
        assert events[-1][0] == "model_failed" and "model.pt" in events[-1][1]["reason"]
        with pytest.raises(Unavailable, match="model.pt"):
            await repo.load("a")
    place(file_of(2.0), path)
    await repo.refresh()
    assert number(await ask(repo, "a", ZERO)) == 2.0 and repo.index()[0].reason == ""
    await repo.close()


@run
async def test_a_broken_newer_version_is_not_the_newest(folder):
    place(file_of(1.0), folder / "a" / "1" / "model.pt")
    place(b"broken", folder / "a" / "2" / "model.pt")
    repo, _ = repository(folder)
    await repo.load_all()
    assert number(await ask(repo, "a", ZERO)) == 1.0 and repo.versions("a") == ("1",)
    with pytest.raises(Unavailable, match="version 2 of model 'a' is not available: .*model.pt"):
        repo.get("a", "2")
    assert [state.state for state in repo.index()] == ["READY", "UNAVAILABLE"]
    await repo.close()


@run
async def test_unload_finishes_what_was_accepted_and_stays_away(folder):
    place(file_of(1.0), folder / "a.pt")
    repo, _ = repository(folder)
    await repo.load_all()
    waiting = asyncio.create_task(repo.get("a").batcher.submit(InferRequest("a", {"x": ZERO})))
    await asyncio.sleep(0)
    await repo.unload("a")
    assert number((await waiting)["OUTPUT__0"]) == 1.0
    for _ in range(2):
        with pytest.raises(Unavailable, match="unloaded"):
            repo.get("a")
        assert [tuple(state) for state in repo.index()] == [("a", "1", "UNAVAILABLE", "unloaded")]
        await repo.refresh()  # the watcher does not bring it back
    await repo.load("a")
    assert number(await ask(repo, "a", ZERO)) == 1.0
    await repo.close()
    with pytest.raises(Unavailable, match="shutting down"):
        repo.get("a")


@run
async def test_a_model_that_raises_is_still_a_model(folder):
    class Raises(torch.nn.Module):
        def forward(self, x):
            raise ValueError("never")

    repo, _ = repository()
    await repo.add("a", Raises())
    with pytest.raises(ModelFailed, match="ValueError: never"):
        await ask(repo, "a", ZERO)
    await repo.close()


@run
async def test_an_old_model_is_dropped(folder):
    import gc
    import weakref

    place(file_of(1.0), folder / "a.pt")
    repo, _ = repository(folder)
    await repo.load_all()
    old = weakref.ref(repo.get("a").model)
    place(file_of(2.0), folder / "a.pt")
    await repo.load("a")
    await ask(repo, "a", ZERO)
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()
    assert old() is None
    await repo.close()


def test_no_such_folder(tmp_path):
    with pytest.raises(NotADirectoryError):
        repository(tmp_path / "none")


def test_a_model_says_what_it_is():
    model = ServedModel.from_module(nets.Constant(1.0), "a", "7", Settings())
    assert (
        repr(model) == "ServedModel('a', version 7: x: FP32 [-1, 2]  ->  OUTPUT__0: FP32 [-1, 2])"
    )
