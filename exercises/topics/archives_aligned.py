"""The last exercise of notebook 16: an archive whose tensors the real reader can map."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise

SOLUTION = """
def write_aligned(path, records):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in records.items():
            info = zipfile.ZipInfo(name)
            begin = archive.fp.tell() + 30 + len(name) + 4
            padding = -begin % 64
            info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
            archive.writestr(info, data)
""".strip()


@exercise(
    level=3,
    title="One boundary in sixty-four",
    ask="""
        Write `write_aligned(path, records)`: a zip file of these records (a dict from names to
        bytes, in its order), all stored, every payload on a multiple of 64 bytes, by means of an
        extra field in the local header as PyTorch makes it. Python's `zipfile` writes the rest.
        `torch.load` will open your file, and must not copy a single tensor out of it.""",
    given="import struct\nimport zipfile",
    start="""
        def write_aligned(path, records):
            ...""",
    passes=("write_aligned",),
    hints=(
        "Section 2 took a local header apart: 30 bytes, the name, the extra field, and then the "
        "payload. Where will the header begin? `archive.fp.tell()`.",
        "An extra field has four bytes of its own: two letters, and the length of what follows as "
        "a little-endian H. `info = zipfile.ZipInfo(name)`, `info.extra = ...`, "
        "`archive.writestr(info, data)`.",
    ),
    solution=SOLUTION,
    why="""
        `-begin % 64` is how far it is to the next boundary. `zip_writer.py` does this, and so does
        `PyTorchStreamWriter`. A name of other letters than ASCII has more bytes than letters:
        `len(name.encode())`.""",
    mistakes=[
        Mistake(
            "Any zip will do.",
            """
            def write_aligned(path, records):
                with zipfile.ZipFile(path, "w") as archive:
                    for name, data in records.items():
                        archive.writestr(name, data)""",
            "nothing moves it",
        ),
        Mistake(
            "The extra field is its padding.",
            SOLUTION.replace(" + len(name) + 4", " + len(name)"),
            "four bytes of its own",
        ),
        Mistake(
            "Every record begins anew.",
            SOLUTION.replace("archive.fp.tell() + 30", "30"),
            "the records before it",
        ),
        Mistake(
            "A zip is compressed.",
            SOLUTION.replace(
                "archive.writestr(info, data)", "archive.writestr(info, data, zipfile.ZIP_DEFLATED)"
            ),
            "compressed",
        ),
        Mistake(
            "Zeros in front of the data move it, too.",
            """
            def write_aligned(path, records):
                with zipfile.ZipFile(path, "w") as archive:
                    for name, data in records.items():
                        begin = archive.fp.tell() + 30 + len(name)
                        archive.writestr(name, bytes(-begin % 64) + data)""",
            "are part of the record",
        ),
        Mistake(
            "A header has 30 bytes.",
            SOLUTION.replace(" + len(name) + 4", " + 4"),
            "its name",
        ),
    ],
)
def archives_4(write_aligned: Callable[[str, dict[str, bytes]], Any]) -> str:
    from internals.serialization import ArchiveReader

    content = {
        "weight": torch.arange(6.0).view(2, 3).t(),
        "step": torch.tensor(7),
        "a longer name": torch.ones(100),
    }
    saved = io.BytesIO()
    torch.save(content, saved)
    saved.seek(0)
    with ArchiveReader(saved) as reader:
        records = {f"mine/{name}": reader.read(name) for name in reader.records}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "mine.pt")
        write_aligned(path, dict(records))
        if not zipfile.is_zipfile(path):
            raise Wrong("write_aligned left no zip file at `path`")
        _check_form(path, records)
        before = torch.cpu.memory_stats()["allocated_bytes.all.allocated"]
        loaded = torch.load(path)
        copied = torch.cpu.memory_stats()["allocated_bytes.all.allocated"] - before
        if not all(torch.equal(loaded[name], tensor) for name, tensor in content.items()):
            raise Wrong("torch.load reads other tensors from your file than were written")
        if copied:
            raise Wrong(f"torch.load opened your file, and had to copy {copied} bytes out of it")
        del loaded
    return (
        f"{len(records)} records on boundaries, and torch.load mapped them all: nothing was "
        "allocated for the tensors"
    )


def _check_form(path: str, records: dict[str, bytes]) -> None:
    from internals.serialization import ArchiveReader

    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED:
                raise Wrong(
                    f"{info.filename} is compressed: it would have to be unpacked into memory of "
                    "its own"
                )
        found = {name: archive.read(name) for name in archive.namelist()}
    if list(found) != list(records):
        raise Wrong(f"the records should be {list(records)}, and are {list(found)}")
    for name, data in records.items():
        if found[name] != data and found[name].endswith(data):
            raise Wrong(
                f"{name} has {len(found[name]) - len(data)} more bytes than it should: those in "
                "front are part of the record"
            )
        if found[name] != data:
            raise Wrong(f"{name} holds other bytes than it was given")
    with ArchiveReader(path) as reader:
        places = [(name, record.offset) for name, record in reader.records.items()]
        extras = [len(record.extra) for record in reader.records.values()]
    off = [(number, name, offset) for number, (name, offset) in enumerate(places) if offset % 64]
    if not off:
        return
    number, name, offset = off[0]
    at = f"the payload of {name} is at byte {offset}, {offset % 64} behind a boundary"
    if not any(extras):
        raise Wrong(f"{at}, and nothing moves it: there is no extra field")
    if all(place % 64 == 4 for _, place in places):
        raise Wrong(
            f"{at}, as all of them: an extra field has four bytes of its own, in front of its "
            "padding"
        )
    if number > 0:
        raise Wrong(
            f"{at}; the one before is right. Where it begins depends on all the records before it"
        )
    raise Wrong(
        f"{at}: in front of it are the 30 bytes of the header, its name, and the extra field"
    )
