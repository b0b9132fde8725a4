"""`internals.save` and `internals.load`: every object comes back as it was; PyTorch's files are
read, and its errors raised.
"""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.serialization import ArchiveError
from tests.answers import answer
from tests.archives.saved_objects import OBJECTS, model
from tests.serialization.pickle_support import FOUR, archive_with, assert_alike, pickle_of, saved
from tests.support import outcome

FILES = Path(__file__).parents[1] / "archives" / "torch_save"


@pytest.mark.parametrize("kind", OBJECTS)
def test_round_trip(kind: str) -> None:
    obj = OBJECTS[kind](torch)
    assert_alike(torch.load(saved(obj)), obj)


@pytest.mark.parametrize("kind", OBJECTS)
def test_files_of_real_pytorch(kind: str) -> None:
    """As written by 2.13; `archives/make_with_torch.py` made them."""
    assert_alike(torch.load(FILES / f"{kind}.pt"), OBJECTS[kind](torch))


@pytest.mark.parametrize("kind", OBJECTS)
def test_pickle_byte_by_byte_as_real_pytorch(kind: str) -> None:
    """But for the name of a device, which PyTorch makes anew each time."""
    theirs = pickle_of((FILES / f"{kind}.pt").read_bytes())
    obj = OBJECTS[kind](torch)
    ours = pickle_of(saved(obj).getvalue())
    assert len(ours) == len(theirs) or kind == "values"
    if kind != "values":
        assert ours == theirs


def test_the_records_are_those_of_real_pytorch() -> None:
    file = saved(OBJECTS["views"](torch))
    with zipfile.ZipFile(file) as ours, zipfile.ZipFile(FILES / "views.pt") as theirs:
        names = [name.partition("/")[2] for name in ours.namelist()]
        assert names == [name.partition("/")[2] for name in theirs.namelist()]
        for name in names:
            same = ours.read(f"archive/{name}") == theirs.read(f"views/{name}")
            assert same or name == ".data/serialization_id"
        assert len(ours.read("archive/.data/serialization_id")) == 40


def test_a_storage_is_saved_once_and_whole() -> None:
    base = torch.arange(1000.0)
    file = saved([base[:2], base[5:8], base[2:4].t()])
    with zipfile.ZipFile(file) as archive:
        assert [n for n in archive.namelist() if n.startswith("archive/data/")] == [
            "archive/data/0"
        ]
        assert archive.getinfo("archive/data/0").file_size == 4000
    file.seek(0)
    a, b, _ = torch.load(file)
    assert a.untyped_storage() is b.untyped_storage() and a.untyped_storage().nbytes() == 4000
    a[0] = 7
    assert a.as_strided((8,), (1,), 0).tolist()[0] == 7


def test_two_dtypes_on_one_storage_are_refused() -> None:
    t = torch.zeros(4)
    with pytest.raises(
        RuntimeError,
        match="Cannot save multiple tensors or storages that view the same data as different types",
    ):
        saved([t, t.view(torch.int32)])


def test_a_loaded_tensor_lies_in_the_file_and_writing_to_it_leaves_the_file_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.pt"
    torch.save({"t": torch.zeros(100)}, path)
    before = path.read_bytes()
    t = torch.load(path)["t"]
    assert (
        type(t.untyped_storage().data_ptr_object.context).__name__ == "mmap"
        and t.data_ptr() % 64 == 0
    )
    t += 1
    assert (
        path.read_bytes() == before
        and torch.load(path)["t"].sum().item() == 0
        and t.sum().item() == 100
    )


def test_saving_over_a_file_that_is_still_mapped(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    torch.save(torch.arange(1000), path)
    old = torch.load(path)
    torch.save(old + 1, path)
    torch.save(torch.load(path), path)
    assert old[:3].tolist() == [0, 1, 2] and torch.load(path)[:3].tolist() == [1, 2, 3]
    assert os.listdir(tmp_path) == ["t.pt"]


def test_mmap_false_copies(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    torch.save(torch.arange(10), path)
    t = torch.load(path, mmap=False)
    assert (
        type(t.untyped_storage().data_ptr_object.context).__name__ != "mmap"
        and t.untyped_storage().resizable()
    )
    assert torch.load(path, mmap=True).tolist() == t.tolist()


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    torch.save(1, path)
    with pytest.raises(TypeError):
        torch.save([torch.ones(2), lambda: 0], path)
    assert torch.load(path) == 1 and os.listdir(tmp_path) == ["t.pt"]


def test_every_kind_of_file(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    for target in (path, str(path)):
        torch.save([1], target)
        assert torch.load(target) == [1]
    with open(path, "wb") as file:
        torch.save([2], file)
    with open(path, "rb") as file:
        assert torch.load(file) == [2]
    buffer = io.BytesIO(b"before")
    buffer.seek(6)
    torch.save(torch.ones(3), buffer)
    buffer.seek(6)
    assert torch.load(buffer).tolist() == [1, 1, 1]


def test_permissions_are_those_of_an_ordinary_file(tmp_path: Path) -> None:
    path, ordinary = tmp_path / "t.pt", tmp_path / "ordinary"
    ordinary.write_bytes(b"")
    torch.save(1, path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


def test_a_model_from_its_file(tmp_path: Path) -> None:
    source, target = model(torch), model(torch)
    with torch.no_grad():
        source[0].weight.add_(1)
    torch.save(source.state_dict(), tmp_path / "m.pt")
    loaded = torch.load(tmp_path / "m.pt")
    assert loaded._metadata == source.state_dict()._metadata
    assert str(target.load_state_dict(loaded)) == "<All keys matched successfully>"
    x = torch.ones(1, 2, 4, 4)
    assert torch.equal(source.eval()(x), target.eval()(x))


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_an_optimizer_goes_on_where_it_was(kind: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"momentum": 0.9} if kind == "SGD" else {}

    def step(p: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()

    p = torch.nn.Parameter(torch.arange(4.0))
    optimizer = getattr(torch.optim, kind)([p], lr=0.1, **options)
    step(p, optimizer)
    torch.save({"p": p, "optimizer": optimizer.state_dict()}, tmp_path / "o.pt")
    checkpoint = torch.load(tmp_path / "o.pt")
    q = checkpoint["p"]
    other = getattr(torch.optim, kind)([q], lr=0.5)
    other.load_state_dict(checkpoint["optimizer"])
    step(p, optimizer)
    step(q, other)
    assert torch.equal(p, q)


def test_storages_themselves() -> None:
    t = torch.arange(3.0)
    untyped, typed, again = torch.load(
        saved([t.untyped_storage(), torch.ones(2).storage(), t.untyped_storage()])
    )
    # as in PyTorch
    assert bytes(untyped.untyped()) == t.numpy().tobytes() and untyped.dtype is torch.uint8
    assert (
        typed.tolist() == [1, 1]
        and typed.dtype is torch.float32
        and again.untyped() is untyped.untyped()
    )


def test_a_computed_tensor_comes_back_as_a_leaf() -> None:
    y = torch.ones(2, requires_grad=True) * 2
    back = torch.load(saved(y))
    assert back.requires_grad and back.is_leaf and back.tolist() == [2, 2]


def test_inference_mode() -> None:
    with torch.inference_mode():
        assert torch.load(saved(torch.ones(2))).is_inference()


# map_location


def test_map_location_to_meta() -> None:
    for where in ("meta", torch.device("meta"), {"cpu": "meta"}, b"meta"):
        t = torch.load(saved(torch.ones(2, 3)), map_location=where)
        assert t.is_meta and t.shape == (2, 3)


def test_map_location_by_a_function() -> None:
    calls = []

    def where(storage: Any, location: str) -> Any:
        calls.append((storage.nbytes(), location))
        return None

    a, b = torch.load(saved([torch.ones(2), torch.ones(3, dtype=torch.int64)]), where)
    assert calls == [(8, "cpu"), (24, "cpu")] and a.tolist() == [1, 1] and b.tolist() == [1, 1, 1]


def test_an_error_of_the_function_is_its_own() -> None:
    def where(storage: Any, location: str) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        torch.load(saved(torch.ones(2)), where)


@pytest.mark.parametrize("where", ["cuda", 0, torch.device("cuda:1"), {"cpu": "cuda"}])
def test_no_cuda_here(where: Any) -> None:
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(saved(torch.ones(2)), map_location=where)


def test_an_unknown_location() -> None:
    with pytest.raises(
        RuntimeError, match=r"don't know how to restore data location .*\(tagged with moon\)"
    ):
        torch.load(saved(torch.ones(2)), map_location="moon")


def test_big_endian_archives_are_turned_around() -> None:
    obj = [
        torch.tensor([1.5, -2.0]),
        torch.tensor([1, 258]),
        torch.tensor([True]),
        torch.tensor([1 + 2j]),
    ]
    pickle = pickle_of(saved(obj).getvalue())
    swapped = {f"s{i}": t.numpy().byteswap().tobytes() for i, t in enumerate(obj)}
    assert_alike(torch.load(archive_with(pickle, byteorder=b"big", **swapped)), obj)
    with pytest.raises(ArchiveError, match="Unknown endianness type: 'middle'"):
        torch.load(archive_with(pickle, byteorder=b"middle", s0=FOUR))


# What cannot be saved


class Bag:
    pass


@pytest.mark.parametrize(
    "obj, message",
    [
        (Bag(), r"cannot save an object of type .*\.Bag: a file holds tensors"),
        ({"a": [1, (2, {3: frozenset((1,))})]},
         r"frozenset.* with set\(\.\.\.\) \(it is at \['a'\]\[1\]\[1\]\[3\] of"),
        (torch.nn.Linear(1, 1),
         r"save its state_dict\(\), or, code and all, internals.jit.script\(module\).save\(f\)"),
        ([torch.optim.SGD([torch.ones(1, requires_grad=True)])],
         r"save its state_dict\(\) \(it is at \[0\]"),
        ({"x": np.ones(2)}, r"numpy.ndarray: save internals.from_numpy\(array\).*\['x'\]"),
        (np.float32(1), r"the number that its item\(\) is"),
        (torch.ones(2, 2).max(0), r"convert it with tuple\(\.\.\.\)"),
        (lambda: 0, "type function"),
        ([1 << 3000], r"an int of 376 bytes"),
        ({frozenset(): 1}, "the key frozenset"),
        ({(1, (2, lambda: 0)): 1}, "of a dict: keys are"),
        (OrderedDict(a=Bag()), r"\['a'\]"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved(obj: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        saved(obj)


def test_what_cannot_be_saved_for_other_reasons() -> None:
    loop: Any = []
    loop.append((loop,))
    with pytest.raises(TypeError, match="a tuple that contains itself"):
        saved(loop[0])
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError, match="nested too deeply"):
        saved(deep)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        saved(torch.empty(2, device="meta").untyped_storage())
    with pytest.raises(
        AttributeError,
        match="expected 'f' to be string, path, or a file-like object with a 'write' attribute",
    ):
        torch.save(1, 7)
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(1, "no/such/folder/t.pt")


# What cannot be loaded


def test_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)
    (tmp_path / "empty.pt").write_bytes(b"")
    for empty in (tmp_path / "empty.pt", io.BytesIO()):
        with pytest.raises(EOFError, match="Ran out of input"):
            torch.load(empty)
    with pytest.raises(ArchiveError, match="neither a zip archive nor a stream of pickles"):
        torch.load(io.BytesIO(b"hello"))
    with pytest.raises(
        AttributeError, match="You can only torch.load from a file that is seekable"
    ):
        torch.load(object())
    with pytest.raises(TypeError, match="has to be open in binary mode"):
        torch.load(io.StringIO("text"))
    with pytest.raises(ArchiveError, match="failed locating file data.pkl"):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as other:
            other.writestr("a/b", b"")
        archive.seek(0)
        torch.load(archive)


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="would execute whatever the file says, which is not done here"
    ):
        torch.load(saved(1), weights_only=False)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(saved(1), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(FILES / "values_stream.pt", mmap=True)
    with pytest.raises(TypeError, match="pickle_module"):
        torch.load(saved(1), pickle_module=None)


@pytest.mark.parametrize(
    "kind, message",
    [
        (
            "module",
            r"GLOBAL torch.nn.modules.linear.Linear was not an allowed global by default\. Nothing "
            r"that a file names is imp",
        ),
        (
            "bfloat16",
            r"torch.BFloat16Storage: there are no tensors of this dtype here; save t.float\(\)",
        ),
        ("conjugate", r"a tensor with \['conj'\]: save it after resolve_conj"),
        ("sparse", "GLOBAL torch._utils._rebuild_sparse_tensor was not an allowed global"),
        ("frozenset", "GLOBAL builtins.frozenset was not an allowed global"),
        (
            "protocol4",
            "opcode 0x95 is no instruction that a file may contain: save it with pickle protocol 2",
        ),
    ],
)
def test_files_of_real_pytorch_that_are_refused(kind: str, message: str) -> None:
    with pytest.raises(
        ArchiveError, match=rf"^refused_{kind}.pt: record 'data.pkl': at byte \d+: .*{message}"
    ):
        torch.load(FILES / f"refused_{kind}.pt")


def test_a_compiled_module_goes_to_jit_load() -> None:
    with pytest.warns(
        UserWarning, match="looks like a TorchScript archive dispatching to 'torch.jit.load'"
    ):
        relu = torch.load(FILES / "script.pt")
    assert relu(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]


def test_saving_and_loading_import_neither_layers_nor_the_jit(tmp_path: Path) -> None:
    program = (
        "import internals as torch, sys, io; f = io.BytesIO(); torch.save({'a': torch.ones(2)}, "
        "f); f.seek(0); torch.load(f)\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "internals.serialization.save_load" in loaded
    assert not {"internals.nn", "internals.jit", "pickle5", "safetensors"}.intersection(loaded)


def test_the_errors_are_those_of_real_pytorch(tmp_path: Path) -> None:
    file = tmp_path / "t.pt"
    file.write_bytes(b"")
    cases: list[Any] = [
        lambda T: T.load(tmp_path / "missing.pt"),
        lambda T: T.load(tmp_path),
        lambda T: T.load(file),
        lambda T: T.load(object()),
        lambda T: T.save(1, 7),
        lambda T: T.save(1, tmp_path / "no" / "t.pt"),
        lambda T: T.save([T.zeros(2), T.empty(2, device="meta").untyped_storage()], io.BytesIO()),
        lambda T: save_two_dtypes(T),
    ]

    def errors(T: Any) -> list[tuple[str, str]]:
        found = []
        for case in cases:
            _, error = outcome(lambda: case(T))  # noqa: B023
            words = "" if isinstance(error, EOFError) else str(error).split("\n")[0]
            found.append((type(error).__name__, words.replace(str(tmp_path), "FOLDER")))
        return found

    assert errors(torch) == answer(errors, family="archives")


def save_two_dtypes(T: Any) -> None:
    t = T.zeros(2)
    T.save([t, t.view(T.int32)], io.BytesIO())
