"""Archives as somebody uses them who has read no documentation: many files at once, threads, copies
of what was loaded.
"""

from __future__ import annotations

import copy
import gc
import sys
import threading
import time
from pathlib import Path

import pytest

import internals
from internals import jit, nn
from internals.__main__ import main
from internals.serialization.script.source_importer import parse


class Doubling(nn.Module):
    def forward(self, x: internals.Tensor) -> internals.Tensor:
        return x * 2


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_loaded_files_are_not_kept_open(tmp_path: Path) -> None:
    internals.save(internals.arange(3), tmp_path / "t.pt")
    before = len(list(Path("/proc/self/fd").iterdir()))
    loaded = [internals.load(tmp_path / "t.pt") for _ in range(20)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    loaded[3].add_(1)
    assert (loaded[3].tolist(), loaded[4].tolist()) == ([1, 2, 3], [0, 1, 2])
    assert internals.load(tmp_path / "t.pt").tolist() == [0, 1, 2]


class Collected:
    """Garbage that lets other threads go on, in the middle of whatever the collector has
    interrupted.
    """

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0.0001)


def test_code_is_parsed_in_several_threads() -> None:
    code = "class A(Module):\n" + "".join(
        f"  def f{i}(self, x: Tensor) -> Tensor:\n    return x + {i}\n" for i in range(30)
    )
    problems: list[Exception] = []

    def work() -> None:
        for _ in range(10):
            for _ in range(20):
                Collected()
            try:
                parse(code)
            except Exception as problem:
                problems.append(problem)

    threshold = gc.get_threshold()
    gc.set_threshold(100)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
    assert problems == []


def test_a_loaded_module_with_hooks_is_copied(tmp_path: Path) -> None:
    def twice(self: nn.Module, inputs: tuple[internals.Tensor]) -> tuple[internals.Tensor]:
        return (inputs[0] * 10,)

    module = Doubling()
    module.register_forward_pre_hook(twice)
    jit.save(jit.script(module), tmp_path / "m.pt")
    loaded = jit.load(tmp_path / "m.pt")
    assert (
        copy.deepcopy(loaded)(internals.ones(1)).tolist()
        == loaded(internals.ones(1)).tolist()
        == [20]
    )


def test_prelu_in_the_layout_of_1_0_1(tmp_path: Path) -> None:
    traced = jit.trace(nn.PReLU(), internals.ones(2))
    jit.save(traced, tmp_path / "m.pt", format="1.0.1")
    assert jit.load(tmp_path / "m.pt")(internals.tensor([-2.0, 2.0])).tolist() == [-0.5, 2]


def test_a_page_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    internals.save(1, tmp_path / "one.pt")
    target = str(tmp_path / "nowhere" / "page.html")
    assert main(["inspect", str(tmp_path / "one.pt"), "--html", target]) == 1
    assert capsys.readouterr().err.strip() == f"inspect: {target}: No such file or directory"
