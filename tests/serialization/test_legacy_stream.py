"""The stream of pickles that `torch.save` wrote up to 1.5, and writes when asked to."""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.serialization import ArchiveError
from tests.archives.saved_objects import OBJECTS
from tests.serialization.pickle_support import (
    NONE,
    PERSID,
    PROTO,
    STOP,
    assert_alike,
    integer,
    name,
    sizes,
    tensor,
    text,
    tup,
)
from tests.support import examples, oracle

FILES = Path(__file__).parents[1] / "archives" / "torch_save"
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
SYSTEM = {
    "protocol_version": 1001,
    "little_endian": True,
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def stored(key: str = "a", numel: int = 4, view: bytes = NONE, kind: str = "FloatStorage") -> bytes:
    return (
        tup(text("storage"), name("torch", kind), text(key), text("cpu"), integer(numel), view)
        + PERSID
    )


def stream(
    program: bytes,
    keys: Any = ("a",),
    *storages: bytes,
    magic: Any = MAGIC_NUMBER,
    version: Any = 1001,
) -> io.BytesIO:
    """A file around the pickle of an object; each storage is its count and its bytes."""
    head = b"".join(pickle.dumps(x, 2) for x in (magic, version, SYSTEM))
    return io.BytesIO(
        head + PROTO + program + STOP + pickle.dumps(list(keys), 2) + b"".join(storages)
    )


def elements(*values: float, count: int | None = None) -> bytes:
    return (
        struct.pack("<q", len(values) if count is None else count)
        + np.array(values, np.float32).tobytes()
    )


@pytest.mark.parametrize("kind", OBJECTS)
def test_files_of_real_pytorch(kind: str) -> None:
    assert_alike(torch.load(FILES / f"{kind}_stream.pt"), OBJECTS[kind](torch))


@pytest.mark.parametrize("kind", OBJECTS)
def test_streams_that_real_pytorch_writes_now(kind: str) -> None:
    real = oracle()
    file = io.BytesIO()
    real.save(OBJECTS[kind](real), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert_alike(torch.load(file), OBJECTS[kind](torch))


def test_several_objects_in_one_stream() -> None:
    file = io.BytesIO(
        (FILES / "views_stream.pt").read_bytes() + (FILES / "values_stream.pt").read_bytes()
    )
    assert_alike(torch.load(file), OBJECTS["views"](torch))
    assert_alike(torch.load(file), OBJECTS["values"](torch))
    assert not file.read()


def test_views_of_storages_as_old_files_have_them() -> None:
    """The storage "v" is elements 1 and 2 of the storage "a"."""
    view = stored(view=tup(text("v"), integer(1), integer(2)))
    program = tup(
        *(
            tensor(where, 0, sizes(n), sizes(1))
            for where, n in ((stored(), 4), (view, 2), (view, 1))
        )
    )
    whole, part, again = torch.load(stream(program, ["a"], elements(1, 2, 3, 4)))
    assert part.tolist() == [2, 3] and again.untyped_storage() is part.untyped_storage()
    part[0] = 9
    assert whole.tolist() == [1, 9, 3, 4]


def test_map_location() -> None:
    t = torch.load(
        stream(tensor(stored(), 0, sizes(4), sizes(1)), ["a"], elements(1, 2, 3, 4)),
        map_location="meta",
    )
    assert t.is_meta and t.shape == (4,)


FOUR = elements(1, 2, 3, 4)
ONE = tensor(stored(), 0, sizes(4), sizes(1))
HOSTILE = {
    "magic": (stream(NONE, [], magic=7), "Invalid magic number; corrupt file?"),
    "version": (stream(NONE, [], version=1), "Invalid protocol version: 1"),
    "magic with a class": (
        stream(NONE, [], magic=torch.device("cpu")),
        "numbers and strings, but it names internals",
    ),
    "truncated": (
        io.BytesIO(stream(ONE, ["a"], FOUR).getvalue()[:-1]),
        "has 4 elements and 15 bytes are left",
    ),
    "no storages": (stream(ONE, ["a"]), "storage 'a' has 0 elements and"),
    "fewer elements": (
        stream(ONE, ["a"], elements(1)),
        "has 1 elements and 4 bytes are left, but 4 elements are needed",
    ),
    "negative count": (stream(ONE, ["a"], elements(1, 2, 3, 4, count=-4)), "has -4 elements"),
    "not in the list": (stream(ONE, []), "the list of storages does not have the storages"),
    "too many in the list": (
        stream(ONE, ["a", "b"], FOUR, FOUR),
        "the list of storages does not have the storages",
    ),
    "terabytes": (
        stream(stored(numel=1 << 40), ["a"], FOUR),
        "storages of 4398046511104 bytes are claimed, but the file has",
    ),
    "many times the file": (
        stream(tup(*(stored(key=str(i), numel=20) for i in range(50))), []),
        "bytes are claimed, but the file has"
    ),
    "different sizes": (
        stream(tup(stored(numel=4), stored(numel=5)), ["a"], FOUR),
        "different sizes or dtypes",
    ),
    "different dtypes": (
        stream(tup(stored(), stored(kind="IntStorage")), ["a"], FOUR),
        "different sizes or dtypes",
    ),
    "view beyond": (
        stream(stored(view=tup(text("v"), integer(3), integer(2))), ["a"], FOUR),
        "elements 3 to 5 of a storage that has 4"
    ),
    "view before": (
        stream(stored(view=tup(text("v"), integer(-1), integer(2))), ["a"], FOUR),
        "elements -1 to 1",
    ),
    "view of nothing": (
        stream(stored(view=text("v")), ["a"], FOUR),
        "a view of a storage is a tuple",
    ),
    "module": (
        stream(tup(text("module"), NONE, NONE, NONE) + PERSID, []),
        "a persistent id must be the tuple",
    ),
    "class": (stream(name("os", "system"), []), "GLOBAL os.system was not an allowed global"),
    "tar": (
        io.BytesIO(b"storages".ljust(257, b"\0") + b"ustar"),
        "a tar file of PyTorch 0.1 is not read here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_stream(kind: str) -> None:
    file, message = HOSTILE[kind]
    file.seek(0)
    with pytest.raises(ArchiveError) as caught:
        torch.load(file)
    assert message in str(caught.value) and str(caught.value).startswith("archive: ")


STREAM = (FILES / "views_stream.pt").read_bytes()


@given(st.data())
@examples(200, 10_000)
def test_a_mutated_stream_loads_or_is_refused(data: Any) -> None:
    mutated = bytearray(STREAM)
    for _ in range(data.draw(st.integers(1, 4))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    try:
        torch.load(io.BytesIO(mutated[: data.draw(st.integers(1, len(mutated)))]))
    except ArchiveError as error:
        assert str(error).startswith("archive: ")
