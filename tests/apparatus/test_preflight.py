"""The pre-flight check for a workshop: what it tries is tried, and what fails says what to do."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from apparatus import doctor, preflight
from apparatus.preflight import Failed, Trial


def sees(text: str) -> Trial:
    return Trial("eyes", lambda: text, "open them")


def test_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        preflight.preflight([sees("light"), Trial("ears", lambda: "sound", "listen", needed=False)])
        == 0
    )
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["eyes  light", "ears  sound"]
    assert re.fullmatch(
        r"READY\. \w+ \S+, Python 3\.\d+\.\d+, \d+ cores, code [0-9a-f]{6}", out[-1]
    )


def test_what_fails_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    def dark() -> str:
        raise Failed("it is dark")

    def broken() -> str:
        return str(1 // 0)

    assert preflight.preflight([Trial("eyes", dark, "light a lamp", needed=False)]) == 0
    assert "eyes  warning: it is dark\n      do this: light a lamp" in capsys.readouterr().out
    assert (
        preflight.preflight(
            [Trial("eyes", dark, "light a lamp"), Trial("sum", broken, "count"), sees("all")]
        )
        == 1
    )
    out = capsys.readouterr().out
    assert (
        "FAILED: ZeroDivisionError" in out and "NOT READY: eyes, sum." in out and "eyes  all" in out
    )


def test_the_code_is_that_of_the_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    code = preflight.verdict_code()
    assert code == preflight.verdict_code()
    monkeypatch.setattr(preflight, "installed", lambda name: "0.0")
    assert code != preflight.verdict_code()


def test_other_versions_than_the_projectors_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preflight.locked()["numpy"]
    monkeypatch.setattr(preflight, "locked", lambda: {"numpy": "0.1", "no-such-package": "1"})
    with pytest.raises(Failed, match=r"not the versions of requirements.lock: numpy \d"):
        preflight.same_packages()


def test_little_memory_and_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "available_memory", lambda: 2**29)
    with pytest.raises(Failed, match="0.5 GiB are free, 1.0 are wanted"):
        preflight.enough_memory()
    monkeypatch.setattr(preflight, "available_memory", lambda: None)
    assert preflight.enough_memory() == "not known on this system"
    monkeypatch.setattr(preflight, "DISK_WANTED", 1e9)
    with pytest.raises(Failed, match="are wanted"):
        preflight.enough_disk()


@pytest.mark.sampled(1 / 4)
def test_a_cell_that_stops_is_told() -> None:
    with preflight.kernel() as run:
        assert run("6 * 7") == {"text/plain": "42"} and run("x = 1") == {}
        assert "<svg" in run(preflight.CELL)["text/html"]
        with pytest.raises(
            Failed, match="a cell stopped with ModuleNotFoundError: No module named 'nowhere'"
        ):
            run("import nowhere")


def test_a_server_that_ends_at_once() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with pytest.raises(TimeoutError):
        preflight.answer_of(ended, "http://127.0.0.1:1/api")


def test_a_loop_is_compiled_and_its_numbers_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preflight.a_compiled_loop() == "compiled a loop"
    monkeypatch.setattr(preflight, "square", wrong)
    with pytest.raises(Failed, match=r"computed \[0.0, 0.0, 0.0, 0.0\] instead of the squares"):
        preflight.a_compiled_loop()


def wrong(begin, end, out):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        out[i] = i - i


@pytest.mark.slow
def test_jupyterlab_answers_here() -> None:
    assert preflight.the_lab().startswith("answers (server ")


def test_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preflight, "preflight", lambda: print("tried") or 7)
    monkeypatch.setattr(
        doctor, "probes", lambda: [doctor.Probe("eyes", "seeing", "open them", lambda: "two", True)]
    )
    assert doctor.main(["--workshop"]) == 7 and capsys.readouterr().out.endswith("tried\n")
    assert doctor.main([]) == 0 and "tried" not in capsys.readouterr().out
