"""`viz.archive` and `viz.explore` of a file: every byte is drawn once, where it is, and what is
hidden is marked.
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from zlib import crc32

import pytest

import internals as torch
import viz
from internals import jit, nn
from internals.serialization import ArchiveError, ArchiveReader, ArchiveWriter
from tests.serialization.inspection_support import ARCHIVES, FILES
from tests.viz.support import assert_good, same_in_two_processes
from viz.rooms.archive import Archive, RecordRow, strip


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    base = torch.arange(12.0).view(3, 4)
    path = tmp_path / "shared.pt"
    torch.save(
        {
            "base": base,
            "row": base[1],
            "turned": base.t(),
            "part": torch.zeros(8)[2:4],
            "other": torch.ones(2),
        },
        path,
    )
    return path


def row_of(picture: Archive, name: str) -> RecordRow:
    return next(row for row in picture.rows if row.name == name)


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ARCHIVES)))
def test_every_file_is_drawn_well(path: Path) -> None:
    picture = viz.archive(path)
    assert_good(picture, kept=crc32(path.name.encode()) % 4 == 0)  # all would be long to read
    assert sum(size for _, size, _ in picture.runs) == picture.size == path.stat().st_size
    ends = [start + size for start, size, _ in picture.runs]
    assert [start for start, _, _ in picture.runs] == [0, *ends[:-1]]  # in order, without a gap
    assert picture.canvas().sheet().w <= 768  # fits into a window of 800


def test_rows_say_where_the_bytes_are(shared: Path) -> None:
    picture, content = viz.archive(shared), shared.read_bytes()
    with zipfile.ZipFile(shared) as archive:
        for info in archive.infolist():
            row = row_of(picture, info.filename.partition("/")[2])
            assert content[row.start : row.start + 4] == b"PK\3\4"
            assert content[row.start + row.header : row.start + row.header + 2] == b"FB"
            assert row.offset % 64 == 0 and row.payload == info.file_size
            assert content[row.offset + row.payload : row.offset + row.payload + 4] == b"PK\7\x08"
    directory = row_of(picture, "central directory")
    assert (
        content[directory.start : directory.start + 4] == b"PK\1\2"
        and directory.kind == "directory"
    )


def test_shared_storages_and_views(shared: Path) -> None:
    picture = viz.archive(shared)
    zero = row_of(picture, "data/0")
    assert [(t.name, t.first, t.last, t.whole, t.shared) for t in zero.tensors] == [
        ("base", 0, 48, True, True), ("row", 16, 32, False, True), ("turned", 0, 48, False, True),
    ]  # fmt: skip
    assert zero.note == "3 tensors share it:"
    part = row_of(picture, "data/1")
    assert [(t.first, t.last, t.shared) for t in part.tensors] == [
        (8, 16, False)
    ] and "a part of it" in part.note
    assert "5 tensors, 3 of which share a storage that is there once" in picture.summary
    text = picture.text()
    assert "turned  float32 (4, 3) strides (1, 4)  shared" in text and "dict of 5" in text
    roles = {mark.fill for mark in picture.canvas().marks if hasattr(mark, "fill")}
    assert {"shared-soft", "view-soft", "storage-soft"} <= roles


def test_a_transposed_tensor_is_all_of_its_storage_in_another_order(tmp_path: Path) -> None:
    six = torch.arange(6.0)
    torch.save({"turned": six.view(2, 3).t(), "gaps": torch.arange(5.0)[::2]}, tmp_path / "t.pt")
    picture = viz.archive(tmp_path / "t.pt")
    assert row_of(picture, "data/0").note == "one tensor, all of it, in another order:"
    assert row_of(picture, "data/1").note == "one tensor, a part of it:"


def test_payloads_line_up(shared: Path) -> None:
    """In the drawing each header begins as many units before the line as it has bytes before its
    payload.
    """
    from viz.rooms.archive_canvas import PAYLOAD, SCALE

    picture = viz.archive(shared)
    tips = {
        mark.tip: mark.box
        for mark in picture.canvas().marks
        if getattr(mark, "tip", "").startswith("payload")
    }
    for row in picture.rows:
        if row.kind != "directory":
            assert tips[f"payload: {row.payload:,} bytes at {row.offset:#x}"].x == PAYLOAD
    headers = [
        m.box
        for m in picture.canvas().marks
        if getattr(m, "tip", "").startswith("header with the name")
    ]
    rows = [row for row in picture.rows if row.header]
    for box, row in zip(headers, rows, strict=True):
        assert box.x == pytest.approx(PAYLOAD - (row.header + row.padding) * SCALE)


def test_what_does_not_fit_is_marked_as_hidden(tmp_path: Path) -> None:
    path = tmp_path / "many.pt"
    state = {f"layer{i}.weight": torch.ones(4) for i in range(60)}
    state["tied.weight"] = state["layer50.weight"]
    torch.save(state, path)
    picture = viz.archive(path)
    hidden = [row for row in picture.rows if row.kind == "hidden"]
    shown = [row for row in picture.rows if row.kind not in ("hidden", "directory")]
    assert len(shown) <= 26 and sum(int(row.name.split()[0]) for row in hidden) + len(shown) == 66
    assert "tensors" in hidden[0].note and "not shown" in picture.text()
    assert any(len(row.tensors) == 2 for row in shown)  # what is shared is never hidden
    assert row_of(picture, "data.pkl") in shown
    assert_good(picture)
    whole = viz.archive(path, limit=100)
    assert not any(row.kind == "hidden" for row in whole.rows) and picture.runs == whole.runs
    assert picture.panels[0].hidden == 62 - 18
    with pytest.raises(ValueError, match="at least 1, not 0"):
        viz.archive(path, limit=0)


def test_the_strip_is_to_scale(tmp_path: Path) -> None:
    path = tmp_path / "big.pt"
    torch.save(torch.zeros(50_000), path)
    characters = strip(viz.archive(path))
    assert len(characters) == 62 and characters.count("█") >= 58


def test_a_module_shows_its_pickle_and_its_code() -> None:
    picture = viz.archive(ARCHIVES / "torchscript" / "scripted_net.pt")
    titles = [panel.title for panel in picture.panels]
    assert titles[0] == "data.pkl asks for" and titles[1].startswith("code/__torch__")
    assert "class " in "\n".join(picture.panels[1].lines)
    old = viz.archive(ARCHIVES / "v101" / "trace101.pt")
    assert [panel.title for panel in old.panels] == ["code/trace101.py", "model.json"]


def test_dangers_and_damages_are_warned_of(shared: Path) -> None:
    picture = viz.archive(ARCHIVES / "torch_save" / "refused_module.pt")
    assert picture.warnings == [
        "loading it would import torch.nn.modules.linear.Linear, which is refused"
    ]
    content = bytearray(shared.read_bytes())
    content[row_of(viz.archive(shared), "data/0").offset] ^= 1
    shared.write_bytes(content)
    picture = viz.archive(shared)
    assert "the checksum" in picture.warnings[0] and row_of(picture, "data/0").problem
    assert_good(picture)
    shared.write_bytes(content[: len(content) // 2])
    picture = viz.archive(shared)
    assert (
        picture.what == "a damaged zip archive"
        and row_of(picture, "data.pkl").kind == "description"
    )
    assert_good(picture)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_text("hello")
    with pytest.raises(ArchiveError, match="x.pt: it is neither a zip archive"):
        viz.archive(tmp_path / "x.pt")
    with pytest.raises(FileNotFoundError):
        viz.archive(tmp_path / "no.pt")


def test_it_is_saved_in_every_format(shared: Path, tmp_path: Path) -> None:
    picture = viz.archive(shared)
    for suffix, begin in {
        "svg": b"<svg",
        "html": b"<!DOCTYPE html>",
        "txt": b"shared.pt: tensors",
    }.items():
        assert picture.save(tmp_path / f"map.{suffix}").read_bytes().startswith(begin)
    pytest.importorskip("matplotlib", reason="PNG needs matplotlib")
    assert picture.save(tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_in_two_processes() -> None:
    path = os.fspath(ARCHIVES / "torchscript" / "containers.pt")
    program = (
        f"import viz; p = viz.archive({path!r}); print(p.html()); print(p); "
        f"print(viz.explore({path!r}))"
    )
    assert "containers.pt" in same_in_two_processes(program)


# explore

TENSORS = ["archive", "description", "tensors"]
PROGRAM = [*TENSORS, "code", "syntax tree", "graph", "graph as text"]
RUN = ["phases", "optimised graph", "bytecode", "Python", "interpreter"]


def titles(picture: viz.Picture) -> list[str]:
    return [stage.title for stage in picture.stages]  # type: ignore[attr-defined]


def test_exploring_a_file_of_tensors(shared: Path) -> None:
    picture = viz.explore(shared)
    assert titles(picture) == TENSORS and picture.title() == "shared.pt, stage by stage"
    assert "turned  " in picture.stage("tensors") and isinstance(picture.stage("archive"), Archive)


@pytest.mark.parametrize("made", ["scripted", "traced", "function"])
def test_exploring_a_program(made: str, tmp_path: Path) -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    net, x = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), torch.ones(1, 2)
    path = tmp_path / "net.pt"
    program = {
        "scripted": lambda: jit.script(net),
        "traced": lambda: jit.trace(net, x),
        "function": lambda: jit.script(double),
    }[made]()
    jit.save(program, path)
    expected = [s for s in PROGRAM if made != "function" or s != "tensors"]
    assert titles(viz.explore(str(path))) == [*expected, "bytecode"]
    picture = viz.explore(str(path), x)
    assert titles(picture) == [*expected, *RUN]
    assert not any(str(stage.picture).startswith("not shown") for stage in picture.stages)
    for stage in picture.stages:
        assert stage.why.endswith(".") and len(stage.why) > 60
    assert "def forward" in picture.stage("code") and "graph(%" in picture.stage("graph as text")
    assert "what was made of each line" in picture.html()


def test_exploring_what_others_wrote() -> None:
    old = viz.explore(ARCHIVES / "v101" / "trace101.pt", torch.ones(2, 2))
    assert titles(old) == [*PROGRAM, *RUN] and "op_version_set = 0" in old.stage("code")
    today = viz.explore(ARCHIVES / "pt2" / "counting.pt2", torch.ones(3, 2), torch.ones(2))
    assert [t for t in titles(today) if t not in ("tensors",)] == [
        "archive",
        "description",
        "graph",
        "graph as text",
        *RUN,
    ]
    branches = viz.explore(ARCHIVES / "pt2" / "choice.pt2")
    assert "prim::If" in branches.stage("graph").text()


def test_exploring_what_asks_for_an_unknown_operator(tmp_path: Path) -> None:
    path = tmp_path / "unknown.pt2"
    with (
        ArchiveReader(ARCHIVES / "pt2" / "choice.pt2") as reader,
        ArchiveWriter(path, top=reader.top) as writer,
    ):
        for name in reader.records:
            writer.write(
                name,
                reader.read(name).replace(
                    b"torch.ops.aten.relu.default", b"torch.ops.mine.relu.default"
                ),
            )
    unknown = viz.explore(path)
    assert "operators that are not known here: torch.ops.mine.relu.default" in unknown.stage(
        "graph"
    )


def test_exploring_executes_nothing(tmp_path: Path) -> None:
    marker, path = tmp_path / "harmed", tmp_path / "bad.pt"
    data = (
        b"\x80\x02cos\nsystem\nX"
        + len(f"echo > {marker}").to_bytes(4, "little")
        + f"echo > {marker}".encode()
        + b"\x85R."
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("bad/data.pkl", data)
    path.write_bytes(buffer.getvalue())
    picture = viz.explore(path)
    assert (
        "CALL os.system" in picture.stage("description")
        and str(marker) in picture.stage("description")
        and not marker.exists()
    )
    assert "os.system, which is refused" in picture.text()
