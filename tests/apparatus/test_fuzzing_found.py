"""What `fuzz-archive` has found, by hand."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import internals
from apparatus.fuzzing.starts import starts
from internals import jit
from internals.serialization import ArchiveError, ArchiveReader, ArchiveWriter


def records_of(name: str) -> dict[str, bytes]:
    return dict(next(s for s in starts([]) if s.name == name).records)


def archive(records: dict[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with ArchiveWriter(buffer) as writer:
        for name, data in records.items():
            writer.write(name, data, compress=name.startswith("code/"))
    return io.BytesIO(buffer.getvalue())


def test_code_that_is_small_when_deflated_and_endless_to_parse() -> None:
    records = records_of("scripted")
    name = next(name for name in records if name.endswith(".py"))
    records[name] += b"x = 1\n" * 100_000
    with pytest.raises(
        ArchiveError,
        match=f"record '{name}': more text to be parsed than the archive of a network has",
    ):
        jit.load(archive(records))


def test_a_code_record_that_is_named_by_many_modules() -> None:
    records = records_of("traced_101")
    name = next(name for name in records if name.endswith(".py"))
    model = json.loads(records["model.json"])
    records[name] += b"\n" * 30_000
    submodule = {"name": "sub", "optimize": True, "torchscriptArena": {"key": name}}
    model["mainModule"]["submodules"] = [submodule | {"name": f"sub{i}"} for i in range(10)]
    records["model.json"] = json.dumps(model).encode()
    with pytest.raises(
        ArchiveError,
        match=f"record '{name}': more text to be parsed than the archive of a network has",
    ):
        jit.load(archive(records))


def test_a_location_that_is_none() -> None:
    buffer = io.BytesIO()
    internals.save({"a": internals.ones(2)}, buffer)
    with ArchiveReader(buffer.getvalue()) as reader:
        records = {name: reader.read(name) for name in reader.records}
    for location in ("cpU", "mars"):
        pickle = records["data.pkl"].replace(
            b"X\3\0\0\0cpu", b"X" + len(location).to_bytes(4, "little") + location.encode()
        )
        damaged: Any = archive(records | {"data.pkl": pickle})
        with pytest.raises(
            ArchiveError,
            match=f"record 'data.pkl'.* don't know how to restore data location .*{location}",
        ):
            internals.load(damaged)
