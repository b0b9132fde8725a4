"""The archives that `fuzz-archive` begins with: small ones, one of every kind that is read, made by
our own writers.

How the real one differs: a fuzzer of PyTorch would begin with a corpus of files.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from pathlib import Path
from random import Random
from typing import Any

import internals
from internals import jit, nn
from internals.serialization.container.zip_writer import ArchiveWriter
from internals.serialization.legacy_stream import MAGIC_NUMBER, PROTOCOL_VERSION
from internals.serialization.pickles.pickler import BINPERSID, Global, Pickler
from internals.serialization.pickles.storages import StorageTable
from internals.serialization.save_load import save

from .mutations import Start, start
from .programs import program


def starts(files: list[str]) -> list[Start]:
    """One archive of each kind, and the given files: what holds code is read by `jit.load`, the
    rest by `load`.
    """
    found = [start(name, how, data) for name, how, data in ours()]
    for file in files:
        data = Path(file).read_bytes()
        given = start(Path(file).name, "load", data)
        is_code = "constants.pkl" in given.records or "model.json" in given.records
        found.append(given._replace(how="jit") if is_code else given)
    return found


def ours() -> list[tuple[str, str, bytes]]:
    internals.manual_seed(0)
    traced, scripted, tensors = (
        jit.trace(convolutions(), internals.rand(1, 1, 6, 6)),
        jit.script(Several()),
        values(),
    )
    buffer = io.BytesIO()
    save(tensors, buffer)
    state = io.BytesIO()
    save(convolutions().state_dict(), state)
    return [
        ("values", "load", buffer.getvalue()),
        ("state_dict", "load", state.getvalue()),
        (
            "stream",
            "load",
            old_stream(
                {"t": internals.ones(2, 3).t(), "n": [1, 2.5], "p": nn.Parameter(internals.ones(2))}
            ),
        ),
        ("scripted", "jit", scripted.save_to_buffer()),
        ("traced", "jit", traced.save_to_buffer()),
        ("traced_101", "jit", traced.save_to_buffer(format="1.0.1")),
        ("program", "run", around(program(Random(0)))),
    ]


def around(code: str) -> bytes:
    """An archive of a module `M` without values that has this code."""
    buffer = io.BytesIO()
    records = {
        "data.pkl": b"\x80\2c__torch__\nM\n)\x81}X\x08\0\0\0training\x89sb.",
        "code/__torch__.py": code.encode(),
    }
    with ArchiveWriter(buffer) as writer:
        for name, data in {**records, "constants.pkl": b"\x80\2).", "version": b"10\n"}.items():
            writer.write(name, data, compress=name.startswith("code/"))
    return buffer.getvalue()


class Several(nn.Module):
    """A module with an attribute of every sort."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(internals.rand(3))
        self.register_buffer("count", internals.zeros(2, dtype=internals.int64))
        self.inner = nn.Linear(3, 3)
        self.sizes = [1, 2, 3]
        self.table = {"a": [internals.ones(1)], "b": [internals.ones(2)]}
        self.pair = (1, "text")
        self.scale = 0.5

    def forward(self, x, n: int = 3):  # type: ignore[no-untyped-def]
        names = {"a": self.scale, "b": 2.0}
        for i in range(n):
            if i % 2 == 0:
                x = self.inner(x) + self.weight * i
            else:
                x = internals.relu(x)
        while bool(x.sum() > 100.0):
            x = x / 2
        assert len(self.sizes) == 3, "three sizes"
        return x * names["a"] + float(self.pair[0]) + self.table["a"][0], self.count


def convolutions() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 1, 2)
    ).eval()


def values() -> dict[Any, Any]:
    whole = internals.rand(3, 4)
    return {
        "view": whole[1:, ::2],
        "whole": whole,
        "numbers": [1, -1, 2**40, 2**70, 1.5, 1j, True, None, "text", b"bytes"],
        "types": (internals.float32, internals.Size([1, 2]), internals.device("cpu")),
        "ordered": OrderedDict(
            a=internals.arange(3), b=internals.tensor(1.0, dtype=internals.float16)
        ),
        "parameter": nn.Parameter(internals.ones(2)),
        "set": {1, 2},
        3: internals.tensor([True, False]),
        "empty": internals.zeros(0, 3),
    }


def old_stream(obj: Any) -> bytes:
    """What torch.save wrote before there were zip files: pickles one after the other, then the
    storages.
    """
    storages = StorageTable()
    pickle = OldPickler(storages).dump(obj)
    system = {
        "protocol_version": 1001,
        "little_endian": True,
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    before = [Pickler(storages).dump(part) for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system)]
    keys = Pickler(storages).dump(sorted(storages.storages))
    elements = [storage.nbytes() // 4 for storage in storages.storages.values()]
    raw = [
        n.to_bytes(8, "little") + bytes(storage)
        for n, storage in zip(elements, storages.storages.values())
    ]
    return b"".join([*before, pickle, keys, *raw])


class OldPickler(Pickler):
    """Names a storage, here always of float32, with a sixth item: which part of another storage it
    is.
    """

    def save_persistent_id(self, storage: Any, kind: Any) -> None:
        key = self.storages.key_of(storage, kind)
        self.save_tuple(
            ("storage", Global("torch", "FloatStorage"), key, "cpu", storage.nbytes() // 4, None)
        )
        self.out += BINPERSID
