"""`python -m internals inspect`: it tells the truth about every kind of file, whole, damaged or
made to harm.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from internals import nn
from internals.serialization.inspection.inspect import as_json, main
from internals.serialization.inspection.report import examine
from internals.serialization.inspection.text import ALL, as_text
from internals.serialization.inspection.tree import tree
from tests.serialization.inspection_support import ARCHIVES, FILES, report_of

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
    covered = sum(r.end - r.header_offset for r in report.records) + sum(
        s.size for s in report.spans
    )
    assert covered == path.stat().st_size  # every byte is accounted for, once


@pytest.mark.parametrize(
    "name", ["torch_save/state_dict.pt", "torch_save/views.pt", "torch_save/views_stream.pt"]
)
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
        assert (tuple(value.shape), value.stride(), value.storage_offset()) == (
            t.sizes,
            t.strides,
            t.storage_offset,
        )
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
        f"net.pt: tensors and other objects (zip archive of torch.save), {path.stat().st_size:,} "
        "bytes\n"
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
    assert (
        records.count(" stored ") + records.count(" deflated ") == count
        and "data.pkl (protocol" not in records
    )
    main([path, "--code", "--graph"])
    out = capsys.readouterr().out
    assert "def forward(self" in out and "graph(%self" in out and "aten::" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = ARCHIVES / "v101" / "trace101.pt"
    assert main([str(path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["kind"] == "torchscript 1.0" and content["tensors"][0]["path"] == "k"
    assert content["tensors"][0]["first"] == 4 and all(r["aligned"] for r in content["records"])


@pytest.mark.parametrize(
    "name", ["torchscript/function.pt", "torch_save/views.pt", "pt2/everything.pt2"]
)
def test_a_page_is_written(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "page.html"
    assert main([str(ARCHIVES / name), "--html", str(target)]) == 0
    page = target.read_text()
    assert page.startswith("<!DOCTYPE html>") and ">Archive</button>" in page and "<svg" in page
    assert ('data-pane="ir"' in page) == ("torch_save" not in name)
    assert main([str(ARCHIVES / name), "--html", str(tmp_path / "page.doc")]) == 1
    assert "the suffix must be one of" in capsys.readouterr().err


def test_nothing_of_pytorch_is_imported_and_the_output_is_always_the_same() -> None:
    path = ARCHIVES / "torchscript" / "containers.pt"
    program = (
        "import sys\nfrom internals.serialization.inspection.inspect import "
        f"main\nmain([{str(path)!r}, '--all'])\n"
        "assert not {'torch', 'viz', 'safetensors'} & set(sys.modules)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
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


def test_a_state_dict_within_another_object_is_no_call_of_something_strange(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    internals.save({"model": internals.nn.Linear(2, 1).state_dict(), "": 1}, path)
    lines = tree(examine(path).pickles["data.pkl"].root, "")
    assert (
        "  model: collections.OrderedDict of 2" in lines
        and "    _metadata: collections.OrderedDict of 1" in lines
    )
    assert "      '': {'version': 1}" in lines and "  '': 1" in lines


def test_the_dtypes_of_safetensors_are_told_with_their_bits(tmp_path: Path) -> None:
    kinds = "BOOL U8 I8 I16 U16 I32 U32 I64 U64 F16 BF16 F32 F64".split()
    entries = {kind: {"dtype": kind, "shape": [0], "data_offsets": [0, 0]} for kind in kinds}
    header = json.dumps(entries).encode()
    (tmp_path / "t.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    words = {"U": "uint", "I": "int", "F": "float", "BF": "bfloat"}
    expected = {kind: words[kind.rstrip("0123456789")] + kind.lstrip("UIBF") for kind in kinds[1:]}
    assert {t.path: t.dtype for t in examine(tmp_path / "t.safetensors").tensors} == {
        **expected,
        "BOOL": "bool",
    }


def test_a_section_that_is_asked_for_and_empty_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    internals.save(7, tmp_path / "seven.pt")
    assert main([str(tmp_path / "seven.pt"), "--tensors", "--code"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n\ntensors\n  none in this file\n\ncode\n  none in this file\n"
    )
    assert "none in this file" not in as_text(examine(tmp_path / "seven.pt"))
