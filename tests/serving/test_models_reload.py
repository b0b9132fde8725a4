"""Files that change under a server: noticed when they have come to rest, not before; and nothing is
lost meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from internals.serving.errors import ModelNotFound
from internals.serving.models.reload import Watcher, compare, reload_on_hangup, watch
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


def test_two_looks_have_to_agree():
    assert compare({}, {"a": 1}) == ({}, {"a"})
    assert compare({"a": 1}, {"a": 1}) == ({"a": 1}, set())
    assert compare({"a": 1}, {"a": 2}) == ({}, {"a"})
    assert compare({"a": 1}, {}) == ({}, {"a"})
    assert compare({"a": 1, "b": 1}, {"b": 1, "c": 1}) == ({"b": 1}, {"a", "c"})


@run
async def test_a_file_that_grows_slowly_is_loaded_when_it_is_whole(folder):
    path, repo, events = await one_model(folder)
    watcher = Watcher(repo)
    await watcher.look()
    data = file_of(2.0)
    with open(path, "wb") as file:  # in place, as `cp` does
        for part in range(5):
            file.write(data[part * len(data) // 5 : (part + 1) * len(data) // 5])
            file.flush()
            await watcher.look()
            assert number(await ask(repo, "a", ZERO)) == 1.0 and events.names() == ["model_loaded"]
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 2.0 and events.names() == ["model_loaded"] * 2
    await watcher.look()
    assert events.names() == ["model_loaded"] * 2
    await repo.close()


@run
async def test_a_writer_who_pauses_is_not_believed(folder):
    """Two equal looks at half a file: it has no checksums. It is reported once, and loaded when it
    is whole.
    """
    path, repo, events = await one_model(folder)
    watcher = Watcher(repo)
    path.write_bytes(file_of(2.0)[:-1000])
    for _ in range(4):
        await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 1.0 and events.names() == [
        "model_loaded",
        "model_failed",
    ]
    path.write_bytes(file_of(2.0))
    await watcher.look()
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 2.0
    await repo.close()


@run
async def test_a_file_of_the_same_size_and_time_is_noticed(folder):
    path = folder / "a.pt"
    place(file_of(1.0), path)
    os.utime(path, (1e9, 1e9))
    repo, _ = repository(folder)
    await repo.load_all()
    watcher = Watcher(repo)
    assert len(file_of(1.0)) == len(file_of(2.0))
    path.write_bytes(file_of(2.0))
    os.utime(path, (1e9, 1e9))
    await watcher.look()
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 2.0
    await repo.close()


@run
async def test_versions_that_come_and_go(folder):
    place(file_of(1.0), folder / "a" / "1" / "model.pt")
    repo, events = repository(folder)
    await repo.load_all()
    watcher = Watcher(repo)
    await watcher.look()
    place(file_of(2.0), folder / "a" / "2" / "model.pt")
    place(file_of(3.0), folder / "b.pt")
    await watcher.look()
    assert repo.versions("a") == ("1",)
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 2.0 and number(await ask(repo, "b", ZERO)) == 3.0
    (folder / "a" / "2").rename(folder / "a" / "two")
    (folder / "b.pt").unlink()
    await watcher.look()  # it may be on its way back
    assert repo.versions("a") == ("1", "2")
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 1.0
    assert [tuple(state) for state in repo.index()] == [("a", "1", "READY", "")]
    with pytest.raises(ModelNotFound):
        repo.get("b")
    assert events[-1] == (
        "model_unloaded",
        {"model": "b", "version": "1", "reason": "its file is gone"},
    )
    await repo.close()


@run
async def test_a_file_replaced_by_removing_it_first_is_never_missed(folder):
    path, repo, events = await one_model(folder)
    watcher = Watcher(repo)
    await watcher.look()
    path.unlink()
    await watcher.look()
    place(file_of(2.0), path)
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 1.0
    await watcher.look()
    assert number(await ask(repo, "a", ZERO)) == 2.0 and "model_unloaded" not in events.names()
    await repo.close()


@run
async def test_a_folder_that_cannot_be_read_changes_nothing(folder):
    root = folder / "models"
    place(file_of(1.0), root / "a.pt")
    repo, events = repository(root)
    await repo.load_all()
    watching = asyncio.create_task(watch(repo, 0.001))
    root.rename(folder / "elsewhere")
    while "watch_failed" not in events.names():
        await asyncio.sleep(0.001)
    assert number(await ask(repo, "a", ZERO)) == 1.0
    (folder / "elsewhere").rename(root)
    place(file_of(2.0), root / "a.pt")
    while repo.get("a").model.run([ZERO])["OUTPUT__0"][0, 0] != 2.0:
        await asyncio.sleep(0.001)
    assert events.names().count("watch_failed") == 1
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    await repo.close()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no hang-up signal here")
@run
async def test_a_hangup_loads_at_once(folder):
    path, repo, events = await one_model(folder)
    reload_on_hangup(repo)
    place(file_of(2.0), path)
    os.kill(os.getpid(), signal.SIGHUP)
    while events.names() != ["model_loaded"] * 2:
        await asyncio.sleep(0.001)
    assert number(await ask(repo, "a", ZERO)) == 2.0
    asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
    await repo.close()
