"""`python -m internals inspect` of files that are damaged or made to harm: they are told of, and
nothing happens.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import internals
from internals import jit, nn
from internals.serialization import ArchiveError
from internals.serialization.inspection.inspect import as_json, main
from internals.serialization.inspection.pickle_listing import Call, Global, Items, Pairs, describe
from internals.serialization.inspection.report import examine
from internals.serialization.inspection.text import ALL, as_text
from internals.serialization.inspection.tree import tree
from tests.serialization.inspection_support import ARCHIVES, report_of

# Files made to harm


class Payload:
    """Unpickling it would make a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"echo > {self.marker}",)


def inst_pickle(command: str) -> bytes:
    return b"(S'" + command.encode() + b"'\nios\nsystem\n."


def obj_pickle(command: str) -> bytes:
    return b"(cos\nsystem\nX" + struct.pack("<I", len(command)) + command.encode() + b"o."


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("file", ["archive", "pickle", "stream"])
def test_what_a_malicious_pickle_would_do_is_told_not_done(
    file: str, protocol: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker, path = tmp_path / "harmed", tmp_path / "model.pt"
    data = pickle.dumps({"weight": [1, 2], "x": Payload(marker)}, protocol)
    if file == "archive":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", data)
            archive.writestr("model/version", "3")
    elif file == "pickle":
        path.write_bytes(data)
    else:
        head = [pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
        path.write_bytes(b"".join([*head, data, pickle.dumps([], 2)]))
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    system = f"{os.system.__module__}.system"
    assert f"loading it would import {system}" in out and f"{system}   REFUSED" in out
    assert f"CALL {system}" in out and str(marker) in out.replace("\n", "") and not marker.exists()
    pickle.loads(data)
    assert marker.exists()  # the payload is a real one


@pytest.mark.parametrize("make", [inst_pickle, obj_pickle])
def test_old_ways_to_call_are_seen(make: Any, tmp_path: Path) -> None:
    described = describe(make(f"echo > {tmp_path / 'harmed'}"))
    assert described.globals == [Global("os", "system")] and isinstance(described.root, Call)
    assert "CALL os.system" in tree(described.root)[0] and not (tmp_path / "harmed").exists()


def test_globals_behind_a_broken_instruction_are_still_named() -> None:
    described = describe(b"\x80\x020cos\nsystem\n.")  # POP of an empty stack
    assert "POP at byte 2" in described.problem and described.globals == [Global("os", "system")]


def test_pickles_that_never_end() -> None:
    knot: list[Any] = []
    knot.append({"again": knot, "long": "x" * 1000})
    lines = tree(describe(pickle.dumps(knot, 2)).root)
    assert (
        lines[2].strip() == "again: the same list of 1 as above"
        and "(1,000 characters)" in lines[3]
    )
    tower: list[Any] = []
    for _ in range(200):
        tower = [tower, tower]  # 2**200 leaves when written out
    assert len(tree(describe(pickle.dumps(tower, 2)).root)) < 1000
    calls = b"\x80\x02" + b"cos\nsystem\n" * 5000 + b"K\x01" + b"\x85R" * 5000 + b"."
    assert tree(describe(calls).root)[0].startswith("CALL os.system")
    chain = b"\x80\x02cos\nsystem\n" + b")R" * 5000 + b"."
    assert "what a call returns" in tree(describe(chain).root)[0]


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner)
    | st.frozensets(st.integers()),
    max_leaves=20,
), st.sampled_from(range(pickle.HIGHEST_PROTOCOL + 1)))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_what_python_pickles_is_described_as_it_is(value: Any, protocol: int) -> None:
    described = describe(pickle.dumps(value, protocol))
    assert described.problem == "" and tree(described.root)
    if protocol >= 4:  # before, bytes and sets are calls
        assert plain(described.root) == value


def plain(node: Any) -> Any:
    """A description without calls as the value."""
    makers: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
    if isinstance(node, Items):
        return makers[node.kind](map(plain, node.items))
    if isinstance(node, Pairs):
        return {plain(key): plain(value) for key, value in node.pairs}
    return node


# Damaged files


def saved() -> bytes:
    buffer = io.BytesIO()
    base = internals.arange(12.0).view(3, 4)
    internals.save({"base": base, "row": base[1], "list": [1, "x", None]}, buffer)
    return buffer.getvalue()


def scripted() -> bytes:
    return bytes(jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU())).save_to_buffer())


def test_a_file_that_was_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, path = saved(), tmp_path / "cut.pt"
    whole = report_of(content)
    record = whole.record("data/0")
    path.write_bytes(content[: record.end])
    assert main([str(path)]) == 1
    out = capsys.readouterr().out
    assert "a damaged zip archive" in out and "failed finding central directory" in out
    assert "base: tensor float32 (3, 4) in data/0" in out and "by what is left of it" in out
    found = {r.name: (r.offset, r.size, r.problem) for r in examine(path).records}
    assert found["data.pkl"] == (64, whole.records[0].size, "") and found["data/0"] == (
        record.offset,
        48,
        "",
    )
    path.write_bytes(content[: record.offset + 20])
    assert main([str(path)]) == 1
    assert "has no end: the file was cut short here" in capsys.readouterr().out


def test_a_changed_byte_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = bytearray(saved())
    record = report_of(bytes(content)).record("data/0")
    content[record.offset] ^= 1
    path = tmp_path / "changed.pt"
    path.write_bytes(content)
    assert main([str(path)]) == 1
    out = capsys.readouterr().out
    assert "record 'data/0': the data does not have the checksum (CRC-32)" in out
    assert [t.path for t in examine(path).tensors] == ["base", "row"]


def test_a_tensor_that_needs_more_than_its_storage_has(tmp_path: Path) -> None:
    content = saved()
    longer = content.replace(b"K\x03K\x04\x86", b"K\x09K\x04\x86")  # sizes (3, 4) become (9, 4)
    assert longer != content
    report = report_of(longer)
    assert any("the checksum" in p for p in report.problems)
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        path = tmp_path / "longer.pt"
        with zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                new.writestr(name, data.replace(b"K\x03K\x04\x86", b"K\x09K\x04\x86"))
    assert examine(path).problems == [
        "tensor base: needs 144 bytes of record 'data/0', which has 48"
    ]


@pytest.mark.parametrize(
    "name",
    ["torch_save/views_stream.pt", "torch_save/tensors.safetensors", "torchscript/function.pt"],
)
def test_every_beginning_of_a_file_is_looked_at_in_peace(name: str, tmp_path: Path) -> None:
    content, path = (ARCHIVES / name).read_bytes(), tmp_path / "cut.pt"
    for size in range(0, len(content), 13):
        path.write_bytes(content[:size])
        try:
            report = examine(path)
        except ArchiveError:
            continue
        assert report.problems, size
        as_text(report, ALL, "")


@given(st.sampled_from(["saved", "scripted", "stream", "safetensors", "v101"]), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mutated_files_are_looked_at_in_peace(kind: str, data: st.DataObject) -> None:
    content = bytearray(CONTENTS[kind]())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    try:
        report = report_of(bytes(content))
    except ArchiveError:
        return
    as_text(report, ALL, "")
    json.dumps(as_json(report))


CONTENTS = {
    "saved": saved,
    "scripted": scripted,
    "stream": lambda: (ARCHIVES / "torch_save" / "views_stream.pt").read_bytes(),
    "safetensors": lambda: (ARCHIVES / "torch_save" / "tensors.safetensors").read_bytes(),
    "v101": lambda: (ARCHIVES / "v101" / "trace101.pt").read_bytes(),
}
