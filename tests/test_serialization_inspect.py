"""`python -m internals inspect`: it tells the truth about every kind of file, whole, damaged or made to harm."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import internals
from internals import jit, nn
from internals.serialization import ArchiveError
from internals.serialization.inspection.inspect import as_json, main
from internals.serialization.inspection.pickle_listing import Call, Global, Items, Pairs, describe
from internals.serialization.inspection.report import examine
from internals.serialization.inspection.text import ALL, as_text
from internals.serialization.inspection.tree import tree

ARCHIVES = Path(__file__).parent / "archives"
FILES = sorted(p for p in ARCHIVES.rglob("*") if p.suffix in (".pt", ".pt2", ".safetensors"))
ZIPS = [p for p in FILES if zipfile.is_zipfile(p)]
KINDS = {
    "torch_save/views.pt": "torch.save",
    "torch_save/views_stream.pt": "legacy stream",
    "torch_save/tensors.safetensors": "safetensors",
    "torchscript/scripted_net.pt": "torchscript",
    "torchscript/function.pt": "torchscript",
    "v101/trace101.pt": "torchscript 1.0",
    "pt2/everything.pt2": "pt2",
}
REFUSED = {
    "refused_module.pt": ["torch.nn.modules.linear.Linear"],
    "refused_frozenset.pt": ["__builtin__.frozenset"],
    "refused_sparse.pt": ["torch._utils._rebuild_sparse_tensor"],
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ARCHIVES))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_of_real_pytorch_have_no_problems(path: Path) -> None:
    report = examine(path)
    assert report.problems == []
    assert report.refused == REFUSED.get(path.name, [])
    assert report.name in as_text(report) and as_text(report, ALL, "the graph").count("\n") > 3
    json.dumps(as_json(report))


@pytest.mark.parametrize("name", KINDS)
def test_kinds_are_told_by_the_bytes(name: str, tmp_path: Path) -> None:
    renamed = tmp_path / "file.txt"
    renamed.write_bytes((ARCHIVES / name).read_bytes())
    assert examine(renamed).kind == KINDS[name]


@pytest.mark.parametrize("path", ZIPS, ids=name_of)
def test_records_are_those_of_the_zip(path: Path) -> None:
    report = examine(path)
    with zipfile.ZipFile(path) as archive:
        infos = {info.filename.partition("/")[2]: info for info in archive.infolist()}
        assert set(infos) == {r.name for r in report.records}
        for r in report.records:
            info = infos[r.name]
            assert (r.header_offset, r.size, r.stored_size, r.crc32) == (
                info.header_offset, info.file_size, info.compress_size, info.CRC,
            )  # fmt: skip
            assert r.header_offset + r.header + r.padding == r.offset
    covered = sum(r.end - r.header_offset for r in report.records) + sum(s.size for s in report.spans)
    assert covered == path.stat().st_size  # every byte is accounted for, once


@pytest.mark.parametrize("name", ["torch_save/state_dict.pt", "torch_save/views.pt", "torch_save/views_stream.pt"])
def test_the_bytes_of_a_tensor_are_where_it_is_said(name: str) -> None:
    path = ARCHIVES / name
    report, content, loaded = examine(path), path.read_bytes(), internals.load(path)
    assert report.tensors
    for t in report.tensors:
        record = report.record(t.record)
        assert record is not None
        value: Any = loaded
        for step in t.path.replace("[", ".").replace("]", "").split("."):
            if isinstance(value, dict) and t.path in value:
                value = value[t.path]
                break
            value = value[int(step)] if isinstance(value, (list, tuple)) else value[step]
        assert (tuple(value.shape), value.stride(), value.storage_offset()) == (t.sizes, t.strides, t.storage_offset)
        array = value.detach().numpy()
        assert str(array.dtype) == t.dtype and t.nbytes == array.nbytes
        data = content[record.offset + t.first : record.offset + t.last]
        strides = tuple(s * t.itemsize for s in t.strides)
        read = np.ndarray(t.sizes, array.dtype, data, strides=strides) if t.numel else array
        np.testing.assert_array_equal(read, array)


def test_who_shares_a_storage_is_said() -> None:
    base = internals.arange(12.0).view(3, 4)
    buffer = io.BytesIO()
    internals.save({"base": base, "row": base[1], "other": internals.ones(2)}, buffer)
    report = report_of(buffer.getvalue())
    shares = {t.path: t.shares_with for t in report.tensors}
    assert shares == {"base": ["row"], "row": ["base"], "other": []}
    row = next(line for line in as_text(report).splitlines() if line.startswith("  row"))
    assert row.endswith(" shared with base") and "  16 to 32  " in row


def report_of(content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "file.pt")
        path.write_bytes(content)
        return examine(path)


def test_the_overview(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.pt"
    with internals.no_grad():
        net = nn.Linear(2, 1)
        net.weight.fill_(1.0)
        net.bias.fill_(0.5)
    internals.save({"weight": net.weight.detach(), "epoch": 3}, path)
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        f"net.pt: tensors and other objects (zip archive of torch.save), {path.stat().st_size:,} bytes\n"
    )
    assert "  weight  float32  (1, 2)  (2, 1)       8  data/0     all\n" in out
    assert out.endswith("  dict of 2\n    weight: tensor float32 (1, 2) in data/0\n    epoch: 3\n")


def test_sections_are_whole_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ARCHIVES / "torchscript" / "scripted_net.pt")
    main([path])
    short = capsys.readouterr().out
    main([path, "--records"])
    records = capsys.readouterr().out
    count = len(examine(path).records)
    assert f"... {count - 12} more (--records)" in short and "more (--records)" not in records
    assert records.count(" stored ") + records.count(" deflated ") == count and "data.pkl (protocol" not in records
    main([path, "--code", "--graph"])
    out = capsys.readouterr().out
    assert "def forward(self" in out and "graph(%self" in out and "aten::" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = ARCHIVES / "v101" / "trace101.pt"
    assert main([str(path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["kind"] == "torchscript 1.0" and content["tensors"][0]["path"] == "k"
    assert content["tensors"][0]["first"] == 4 and all(r["aligned"] for r in content["records"])


@pytest.mark.parametrize("name", ["torchscript/function.pt", "torch_save/views.pt", "pt2/everything.pt2"])
def test_a_page_is_written(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "page.html"
    assert main([str(ARCHIVES / name), "--html", str(target)]) == 0
    page = target.read_text()
    assert page.startswith("<!DOCTYPE html>") and "1. archive" in page and "<svg" in page
    assert ("graph as text" in page) == ("torch_save" not in name)
    assert main([str(ARCHIVES / name), "--html", str(tmp_path / "page.doc")]) == 1
    assert "the suffix must be one of" in capsys.readouterr().err


def test_nothing_of_pytorch_is_imported_and_the_output_is_always_the_same() -> None:
    path = ARCHIVES / "torchscript" / "containers.pt"
    program = (
        f"import sys\nfrom internals.serialization.inspection.inspect import main\nmain([{str(path)!r}, '--all'])\n"
        "assert not {'torch', 'viz', 'safetensors'} & set(sys.modules)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in "12"
    ]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    assert runs[0].stdout == runs[1].stdout and "constants.pkl" in runs[0].stdout


# Files that are none of these


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"hello world, hello world", "begins with the bytes 68 65 6c 6c 6f"),
        (b"\x93NUMPY\x01\x00", "read it with numpy.load"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<!DOCTYPE html><html>", "the download went wrong"),
        (b"PYTORCH1" + bytes(30), "unsupported archive format from the preview release"),
        (b"\x80\x02" + bytes(20), "looks like a pickle at first, but"),
    ],
    ids=["empty", "text", "numpy", "lfs", "html", "preview", "no pickle"],
)
def test_other_files_are_refused(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.pt"
    path.write_bytes(content)
    assert main([str(path)]) == 1
    said = capsys.readouterr()
    assert message in said.err and said.err.startswith("inspect: file.pt: ") and said.out == ""
    assert said.err.count("\n") == 1


def test_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "no.pt")]) == 1
    assert "no.pt: No such file or directory" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 1
    assert "is a folder" in capsys.readouterr().err


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
    assert lines[2].strip() == "again: the same list of 1 as above" and "(1,000 characters)" in lines[3]
    tower: list[Any] = []
    for _ in range(200):
        tower = [tower, tower]  # 2**200 leaves when written out
    assert len(tree(describe(pickle.dumps(tower, 2)).root)) < 1000
    calls = b"\x80\x02" + b"cos\nsystem\n" * 5000 + b"K\x01" + b"\x85R" * 5000 + b"."
    assert tree(describe(calls).root)[0].startswith("CALL os.system")
    chain = b"\x80\x02cos\nsystem\n" + b")R" * 5000 + b"."
    assert "what a call returns" in tree(describe(chain).root)[0]


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner) | st.frozensets(st.integers()),
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
    assert found["data.pkl"] == (64, whole.records[0].size, "") and found["data/0"] == (record.offset, 48, "")
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
    assert examine(path).problems == ["tensor base: needs 144 bytes of record 'data/0', which has 48"]


@pytest.mark.parametrize(
    "name", ["torch_save/views_stream.pt", "torch_save/tensors.safetensors", "torchscript/function.pt"]
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


def test_a_state_dict_within_another_object_is_no_call_of_something_strange(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    internals.save({"model": internals.nn.Linear(2, 1).state_dict(), "": 1}, path)
    lines = tree(examine(path).pickles["data.pkl"].root, "")
    assert "  model: collections.OrderedDict of 2" in lines and "    _metadata: collections.OrderedDict of 1" in lines
    assert "      '': {'version': 1}" in lines and "  '': 1" in lines
