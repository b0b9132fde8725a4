"""Damaged archives either load or are refused, and nothing else happens: a sample here, 100,000 in
the long version.
"""

from __future__ import annotations

import pathlib
import struct
from random import Random

import pytest

import internals
from apparatus.fuzzing import fuzz
from apparatus.fuzzing.mutations import instructions, mutate_json, mutate_pickle, mutate_text
from apparatus.fuzzing.starts import starts
from internals.core.geometry import geometry
from internals.core.tensor_impl import make
from internals.serialization import ArchiveError
from tests.support import full

SEED = "tests"


def test_the_archives_to_begin_with_load() -> None:
    found = starts([])
    assert [s.name for s in found] == [
        "values",
        "state_dict",
        "stream",
        "scripted",
        "traced",
        "traced_101",
        "program",
    ]
    for s in found:
        fuzz.touch(fuzz.load(s.data, s.how))
        assert bool(s.records) is (s.name != "stream")


def test_given_files_take_part(tmp_path: pathlib.Path) -> None:
    internals.save({"a": internals.ones(2)}, str(tmp_path / "mine.pt"))
    (tmp_path / "code.pt").write_bytes(next(s.data for s in starts([]) if s.name == "traced"))
    given = starts([str(tmp_path / "mine.pt"), str(tmp_path / "code.pt")])[-2:]
    assert [(s.name, s.how) for s in given] == [("mine.pt", "load"), ("code.pt", "jit")]


@pytest.mark.sampled(1 / 4)
def test_damaged_archives_load_or_are_refused() -> None:
    count = 100_000 if full() else 600
    found = starts([])
    kinds = {"loaded": 0, "refused": 0}
    findings = []
    for outcome in fuzz.run(found, SEED, 0, count, jobs=2):
        if outcome.is_finding:
            findings.append(
                f"input {outcome.number} of seed {SEED}, {outcome.start}: "
                f"{outcome.kind}\n{outcome.details}"
            )
        else:
            kinds[outcome.kind] += 1
    assert not findings, f"{len(findings)} findings; the first:\n" + "\n".join(findings[:3])
    assert kinds["loaded"] > count // 20 and kinds["refused"] > count // 4, kinds


def test_an_input_is_always_the_same() -> None:
    found = starts([])
    first, second = [[fuzz.make(found, SEED, i)[1] for i in range(200)] for _ in range(2)]
    assert first == second and len(set(first)) > 150


# The fuzzer finds what there is to be found


def test_another_exception_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    found = starts([])[:1]
    monkeypatch.setattr(fuzz, "load", lambda data, how: {}["key"])
    outcome = fuzz.attempt(found, SEED, 0)
    assert (
        outcome.is_finding
        and outcome.kind == "KeyError"
        and outcome.place.startswith("test_serialization_fuzz") is False
    )
    monkeypatch.setattr(fuzz, "load", lambda data, how: (_ for _ in ()).throw(ArchiveError("no")))
    assert fuzz.attempt(found, SEED, 0).kind == "refused"


def test_memory_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    if not fuzz.memory():
        pytest.skip("/proc/self/clear_refs is Linux's")
    monkeypatch.setattr(fuzz, "load", lambda data, how: bytearray(b"x") * (300 << 20))
    outcome = fuzz.attempt(starts([])[:1], SEED, 0)
    assert outcome.kind == "memory" and "MiB" in outcome.details


def test_a_tensor_that_is_not_in_its_storage_is_noticed() -> None:
    good = internals.arange(6).reshape(2, 3)
    fuzz.touch([good, {"a": good.t()}])
    for sizes, strides, offset in (
        ((2, 4), (3, 1), 0),
        ((2, 3), (3, 1), 1),
        ((2, 3), (1 << 40, 1), 0),
    ):
        bad = make(good.untyped_storage(), geometry(sizes, strides, internals.int64), offset)
        with pytest.raises(AssertionError):
            fuzz.touch({"a": [bad]})


@pytest.mark.sampled(1 / 8)
def test_crashes_and_hangs_are_findings_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fuzz, "PATIENCE", 1.0)
    monkeypatch.setattr(fuzz, "work", ill_work)
    outcomes = list(fuzz.run(starts([])[:1], SEED, 0, 4))
    assert [o.number for o in outcomes] == [0, 1, 2, 3]
    assert (
        outcomes[0].kind == "loaded"
        and outcomes[1].kind.startswith("crash")
        and outcomes[2].kind == "hang"
    )
    assert outcomes[3].kind == "loaded"


def ill_work(connection: object, found: object, seed: str, numbers: range) -> None:
    import os
    import time

    connection.send("ready")  # type: ignore[attr-defined]
    for number in numbers:
        if number == 1:
            os.abort()
        if number == 2:
            time.sleep(60)
        connection.send((number, "x", "loaded", "", ""))  # type: ignore[attr-defined]


def test_the_command(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--count", "20", "--out", str(tmp_path / "out")]) == 0
    assert "20 damaged archives: " in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


# The mutations


def test_a_pickle_is_cut_into_instructions() -> None:
    assert instructions(b"\x80\x02}q\x00.") == [b"\x80\x02", b"}", b"q\x00", b"."]
    assert (
        b"".join(instructions(b"\x80\x02X" + struct.pack("<I", 3) + b"abc."))
        == b"\x80\x02X\x03\0\0\0abc."
    )
    assert instructions(b"\xff\xff") == [b"\xff\xff"]


@pytest.mark.parametrize(
    "mutation, data",
    [
        (mutate_pickle, b"\x80\x02}q\x00."),
        (mutate_text, b"def f(x):\n  return x\n"),
        (mutate_json, b'{"a": [1]}'),
    ],
)
def test_a_mutation_changes_something(mutation: object, data: bytes) -> None:
    results = {mutation(Random(i), data) for i in range(50)}  # type: ignore[operator]
    assert len(results - {data}) > 20
