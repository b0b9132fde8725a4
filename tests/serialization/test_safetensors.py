"""safetensors files: both directions, mapped, atomic; what the format cannot hold is refused."""

from __future__ import annotations

import json
import os
import stat
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.serialization import ArchiveError, load_safetensors, save_safetensors
from tests.serialization.pickle_support import assert_alike
from tests.support import DTYPES, assert_same, examples, oracle

FILES = Path(__file__).parents[1] / "archives" / "torch_save"
# the format has no name for that
SAVABLE = [kind for kind in DTYPES if kind is not torch.complex128]


def tensors() -> dict[str, Any]:
    t = torch.arange(6.0)
    return {
        "weight": t.reshape(2, 3),
        "half": t.half(),
        "bias": torch.tensor(3),
        "mask": t > 2,
        "none": torch.empty(0, 2),
    }


def test_a_file_of_real_pytorch() -> None:
    loaded = load_safetensors(FILES / "tensors.safetensors")
    assert sorted(loaded) == sorted(tensors())
    for name, expected in tensors().items():
        assert_alike(loaded[name], expected.clone())
    assert_alike(torch.load(FILES / "tensors.safetensors")["weight"], loaded["weight"])


@pytest.mark.parametrize("kind", SAVABLE, ids=lambda kind: kind.name)
def test_every_dtype(kind: Any, tmp_path: Path) -> None:
    t = torch.arange(6).reshape(2, 3).to(kind)
    save_safetensors({"t": t}, tmp_path / "t.safetensors")
    assert_alike(load_safetensors(tmp_path / "t.safetensors"), {"t": t})


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.tuples(st.sampled_from(SAVABLE), st.lists(st.integers(0, 4), max_size=4)),
        max_size=5,
    )
)
@examples(40, 1000)
def test_any_tensors_there_and_back(shapes: Any) -> None:
    import tempfile

    made = {
        name: torch.ones(shape).to(kind)
        for name, (kind, shape) in shapes.items()
        if name != "__metadata__"
    }
    with tempfile.TemporaryDirectory() as folder:
        save_safetensors(made, Path(folder) / "t.safetensors")
        loaded = load_safetensors(Path(folder) / "t.safetensors")
    assert loaded.keys() == made.keys()
    for name, t in made.items():
        assert_alike(loaded[name], t)


def test_real_safetensors_reads_ours_and_we_theirs(tmp_path: Path) -> None:
    oracle()
    library = pytest.importorskip("safetensors.torch", reason="reads PyTorch's tensors")
    save_safetensors(tensors(), tmp_path / "a.safetensors", {"format": "pt", "by": "us"})
    there = library.load_file(tmp_path / "a.safetensors")
    for name, t in tensors().items():
        assert_same(t, there[name])
    library.save_file(there, tmp_path / "b.safetensors", {"format": "pt", "by": "us"})
    assert_alike(load_safetensors(tmp_path / "b.safetensors")["half"], tensors()["half"])
    header = [read_header(tmp_path / f"{name}.safetensors") for name in "ab"]
    assert header[0] == header[1] and header[0]["__metadata__"] == {"format": "pt", "by": "us"}


def read_header(path: Path) -> Any:
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def test_tensors_lie_in_the_file_which_never_changes(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_safetensors({"t": torch.zeros(1000), "u": torch.ones(2)}, path)
    before = path.read_bytes()
    loaded = load_safetensors(path)
    assert {
        type(t.untyped_storage().data_ptr_object.context).__name__ for t in loaded.values()
    } == {"mmap"}
    loaded["t"] += 1
    assert path.read_bytes() == before and loaded["u"].tolist() == [1, 1]


def test_what_is_not_aligned_is_copied(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    header += b" " * (3 - len(header) % 8 + 8)
    (tmp_path / "t.safetensors").write_bytes(
        struct.pack("<Q", len(header)) + header + struct.pack("<d", 2.5)
    )
    t = load_safetensors(tmp_path / "t.safetensors")["a"]
    assert t.tolist() == [2.5] and t.data_ptr() % 8 == 0
    assert type(t.untyped_storage().data_ptr_object.context).__name__ != "mmap"


def test_device() -> None:
    assert torch.load(FILES / "tensors.safetensors", map_location="meta")["weight"].is_meta
    assert (
        torch.load(str(FILES / "tensors.safetensors"), map_location=torch.device("cpu"))[
            "bias"
        ].item()
        == 3
    )
    for where, kind in (({"cpu": "meta"}, "dict"), (lambda storage, location: None, "callable")):
        with pytest.raises(
            RuntimeError,
            match=f"Loading safetensors file with {kind} map_location is not supported",
        ):
            torch.load(FILES / "tensors.safetensors", map_location=where)


t = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "content, error, message",
    [
        ({"a": t, "b": t[1:]}, RuntimeError, r"Some tensors share memory, .*: \[\['a', 'b'\]\]"),
        (
            {"a": t.t()},
            ValueError,
            "You are trying to save a non contiguous tensor: `a` which is not allowed",
        ),
        (
            {"a": 1},
            ValueError,
            "Key `a` is invalid, expected internals.Tensor but received <class 'int'>",
        ),
        ({1: t}, ValueError, "Key `1` is invalid"),
        (
            [t],
            ValueError,
            r"Expected a dict of \[str, internals.Tensor\] but received <class 'list'>",
        ),
        (
            {"a": t.to("meta")},
            NotImplementedError,
            "the tensor `a` is on 'meta' and has no data to save",
        ),
        (
            {"a": torch.ones(2, dtype=torch.complex128)},
            ValueError,
            "the tensor `a` is complex128, for which the format has no",
        ),
        ({"__metadata__": t}, ValueError, "Key `__metadata__` is invalid"),
    ],
)
def test_what_cannot_be_saved(
    content: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    (tmp_path / "t.safetensors").write_bytes(b"old")
    with pytest.raises(error, match=message):
        save_safetensors(content, tmp_path / "t.safetensors")
    assert (
        os.listdir(tmp_path) == ["t.safetensors"]
        and (tmp_path / "t.safetensors").read_bytes() == b"old"
    )


def test_parts_of_one_storage_that_do_not_overlap(tmp_path: Path) -> None:
    save_safetensors({"a": t[:1], "b": t[1:]}, tmp_path / "t.safetensors")
    assert load_safetensors(tmp_path / "t.safetensors")["b"].tolist() == [[3, 4, 5]]


def test_permissions_are_those_of_an_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "ordinary").write_bytes(b"")
    save_safetensors({"t": t}, tmp_path / "t.safetensors")
    modes = {
        stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", "t.safetensors")
    }
    assert len(modes) == 1 and sorted(os.listdir(tmp_path)) == ["ordinary", "t.safetensors"]


def test_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_safetensors(tmp_path / "missing.safetensors")
    with pytest.raises(ArchiveError, match="record 'b': there are no tensors of dtype BF16 here"):
        load_safetensors(FILES / "refused_bfloat16.safetensors")
    good = (FILES / "tensors.safetensors").read_bytes()
    path = tmp_path / "bad.safetensors"
    huge = json.dumps(
        {"a": {"dtype": "F32", "shape": [0, 1 << 62], "data_offsets": [0, 0]}}
    ).encode()
    for bad in (
        b"",
        b"x",
        good[:20],
        good[:-1],
        good + b"x",
        b"\xff" * 8 + good[8:],
        struct.pack("<Q", len(huge)) + huge,
    ):
        path.write_bytes(bad)
        with pytest.raises(ArchiveError, match="^bad.safetensors: "):
            load_safetensors(path)


@given(st.data())
@examples(100, 3000)
def test_a_mutated_file_loads_or_is_refused(data: Any) -> None:
    import tempfile

    mutated = bytearray((FILES / "tensors.safetensors").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(mutated)
        file.flush()
        try:
            loaded = load_safetensors(file.name)
        except ArchiveError:
            return
        for t in loaded.values():
            np.asarray(t.numpy()).sum()
