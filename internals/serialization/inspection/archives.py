"""The part of `inspect` for zip archives: recognises which of PyTorch's layouts a file has, and the
purpose of each record.

    code/ and data.pkl            jit.save: source text, attributes, tensors in data/ and constants/
    code/ and model.json          jit.save of PyTorch 1.0: tensors/ and a table of modules
    archive_format, models/       torch.export.save: a graph as JSON, data/weights/
    data.pkl                      torch.save: tensors in data/

How the real one differs: each of PyTorch's loaders knows only its own layout, and reports a missing
record for the others.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ..container.zip_directory import find_end
from ..container.zip_reader import ArchiveReader
from ..container.zip_records import (
    DEFLATED,
    DESCRIPTOR,
    DESCRIPTOR64,
    END64,
    HAS_DESCRIPTOR,
    LOCAL_HEADER,
    MAX32,
)
from ..errors import ArchiveError
from ..pickles.pickled_types import find_allowed
from .pickle_listing import describe
from .report import RecordFacts, Report, Span
from .salvage import Salvaged
from .tensors import ITEMSIZE, TensorFacts, find_tensors

if TYPE_CHECKING:
    from internals.serialization.container.zip_records import Record

# records of a few bytes that the report shows as they are
SHORT_TEXTS = (
    "version",
    "byteorder",
    ".format_version",
    ".storage_alignment",
    "archive_format",
    "archive_version",
    ".data/version",
)


def fill(report: Report, path: str | os.PathLike[str], content: memoryview) -> None:
    """Fills in the report on a zip archive. If it cannot be read as one, it is searched for records
    that are left.
    """
    reader: ArchiveReader | Salvaged
    try:
        reader = ArchiveReader(path)
    except ArchiveError as error:
        report.problems.append(str(error))
        reader = Salvaged(content, report.name)
        report.kind = "damaged zip"
        if not reader.records:
            return
    report.top = reader.top
    whole = isinstance(reader, ArchiveReader)
    kind = kind_of(reader.records)
    report.kind = kind if whole else "damaged zip"
    report.written_by = WRITERS[kind] if whole else f"{WRITERS[kind]}, by what is left of it"
    # Storages are in a folder named like the pickle that refers to them: `data.pkl`, `data/0`.
    folders = {name.removesuffix(".pkl") for name in reader.records if name.endswith(".pkl")} | {
        "data",
        "constants",
        "tensors",
    }
    for record in reader.records.values():
        report.records.append(record_facts(record, kind, content, folders))
    report.records.sort(key=lambda r: r.header_offset)
    if whole:
        report.spans += end_of_file(report, content)
    for facts in report.records:
        check_record(facts, reader, report)
    sound = {r.name for r in report.records if not r.problem}
    for name in SHORT_TEXTS:
        if name in sound and reader.records[name].size < 200:
            report.facts[name.removeprefix(".")] = (
                reader.read(name).decode(errors="replace").strip()
            )
    read_texts(report, reader, sound)
    try:
        TENSORS[kind](report, reader)
    except (ArchiveError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        known = isinstance(error, ArchiveError)
        report.problems.append(
            str(error) if known else f"the table of tensors is not what it should be: {error!r}"
        )


def kind_of(records: Any) -> str:
    """The kind of an archive, a key of `WRITERS`, by the names of its records."""
    has_code = any(name.startswith("code/") for name in records)
    if "model.json" in records and has_code:
        return "torchscript 1.0"
    if "data.pkl" in records:
        return "torchscript" if has_code or "constants.pkl" in records else "torch.save"
    if "archive_format" in records or "models/model.json" in records:
        return "pt2"
    return "zip"


WRITERS = {
    "torchscript": "torch.jit.save or internals.jit.save",
    "torchscript 1.0": "torch.jit.save of PyTorch 1.0, or internals.jit.save(..., format='1.0.1')",
    "torch.save": "torch.save or internals.save",
    "pt2": "torch.export.save",
    "zip": "some other program",
}


def record_facts(record: Record, kind: str, content: memoryview, folders: set[str]) -> RecordFacts:
    """The report's line on a record: its purpose, and the size of each part in bytes."""
    name_bytes = len(record.full_name.encode(errors="surrogateescape"))
    header = LOCAL_HEADER.size + name_bytes
    descriptor = 0
    if record.flags & HAS_DESCRIPTOR:
        big = max(record.size, record.compressed_size) >= MAX32
        descriptor = DESCRIPTOR64.size if big else DESCRIPTOR.size
        at = record.offset + record.compressed_size
        if content[at : at + 4] != DESCRIPTOR.signature:
            descriptor -= 4  # the signature is optional
    return RecordFacts(
        name=record.name,
        header_offset=record.header_offset,
        offset=record.offset,
        stored_size=record.compressed_size,
        size=record.size,
        deflated=record.method == DEFLATED,
        crc32=record.crc32,
        what=purpose(record.name, kind, folders),
        header=header,
        padding=record.offset - record.header_offset - header,
        descriptor=descriptor,
    )


def purpose(name: str, kind: str, folders: set[str]) -> str:
    """The purpose of a record: "tensor", "pickle", "code", "json", "positions" (of code in its
    source), "archive" (inside of another), "text" or "bytes".
    """
    if name.endswith(".json"):
        return "json"
    if name.endswith(".debug_pkl"):
        return "positions"
    if name.endswith(".pkl"):
        return "pickle"
    if name.endswith(".pt") and kind == "pt2":
        return "archive"
    if name.startswith("code/") or name.endswith(".py"):
        return "code"
    if kind != "zip" and name.partition("/")[0] in folders:
        return "tensor"
    return "text" if kind != "zip" else "bytes"


def end_of_file(report: Report, content: memoryview) -> list[Span]:
    """The bytes after the last record: unused ones, the central directory, and the end records,
    which have its offset.
    """
    last = max((r.end for r in report.records), default=0)
    found = find_end(content.obj, report.name)
    stop = found.directory + found.size
    spans = [Span(last, found.directory - last, "between")] if found.directory > last else []
    spans.append(Span(found.directory, found.size, "central directory"))
    is_zip64 = content[stop : stop + 4] == END64.signature
    return [*spans, Span(stop, report.size - stop, "end records" if is_zip64 else "end record")]


def check_record(facts: RecordFacts, reader: Any, report: Report) -> None:
    """Computes a record's checksum, and adds a problem to the report if it is not as saved."""
    try:
        reader.verify(facts.name)
    except ArchiveError as error:
        facts.problem = error.message
        report.problems.append(str(error))


def read_texts(report: Report, reader: ArchiveReader | Salvaged, sound: set[str]) -> None:
    """Adds the code, the JSON and the pickles of an archive to the report. `sound` are the names
    of the records without a problem.
    """
    for facts in report.records:
        if facts.name not in sound:
            continue
        if facts.what in ("code", "json"):
            try:
                text = reader.read(facts.name).decode()
            except UnicodeDecodeError:
                report.problems.append(f"{report.name}: record '{facts.name}': not UTF-8 text")
                continue
            (report.code if facts.what == "code" else report.texts)[facts.name] = text
        elif facts.what == "pickle":
            add_pickle(report, facts.name, reader.read(facts.name))


def add_pickle(report: Report, name: str, data: bytes) -> None:
    """Adds the tree of a pickle to the report, and why it cannot be read or loaded, if so."""
    described = describe(data)
    report.pickles[name] = described
    if described.problem:
        report.problems.append(f"{report.name}: record '{name}': {described.problem}")
    note_refused(report, name)


def note_refused(report: Report, name: str) -> None:
    """Adds the globals of a pickle that are not on the list of allowed ones: because of them,
    loading the file is refused. A TorchScript archive defines its own classes, `__torch__...`.
    """
    own_classes = report.kind == "torchscript" or (
        report.kind == "damaged zip" and bool(report.code)
    )
    for found in report.pickles[name].globals:
        if own_classes and found.module.startswith("__torch__"):
            continue
        try:
            find_allowed(found.module, found.name)
        except ArchiveError:
            if str(found) not in report.refused:
                report.refused.append(str(found))


def pickled_tensors(report: Report, reader: ArchiveReader | Salvaged) -> None:
    """Adds the tensors of every pickle; the storages of `X.pkl` are the records in `X/`."""
    for name, described in report.pickles.items():
        found = find_tensors(described.root, name.removesuffix(".pkl") + "/")
        for t in found:
            if name == "constants.pkl":
                t.path = f"CONSTANTS.c{t.path.strip('[]')}"
            elif name != "data.pkl":
                t.path = f"{name}: {t.path}"
        report.tensors += found


def tensors_101(report: Report, reader: ArchiveReader | Salvaged) -> None:
    """Adds the tensors in the table of model.json. The modules there refer to them by their number
    in the table, which gives each its path; the others are constants of the code.
    """
    from ..layout_101.model_json import DTYPES

    model = json.loads(report.texts.get("model.json", "{}"))
    report.facts["producer"] = (
        f"{model.get('producerName', '')} {model.get('producerVersion', '')}".strip()
    )
    names: dict[int, str] = {}
    pending = [("", model.get("mainModule", {}))]  # (path with a dot at the end, module)
    while pending:
        path, module = pending.pop(0)
        for parameter in module.get("parameters", []):
            names.setdefault(int(parameter.get("tensorId", 0)), path + parameter.get("name", ""))
        pending += [(f"{path}{sub.get('name', '')}.", sub) for sub in module.get("submodules", [])]
    for n, entry in enumerate(model.get("tensors", [])):
        known = DTYPES.get(entry.get("dataType"))
        dtype = known.name if known is not None else str(entry.get("dataType")).lower()
        report.tensors.append(
            TensorFacts(
                path=names.get(n, f"CONSTANTS.c{n}"),
                dtype=dtype,
                itemsize=ITEMSIZE.get(dtype, 1),
                sizes=tuple(map(int, entry.get("dims", []))),
                strides=tuple(map(int, entry.get("strides", []))),
                storage_offset=int(entry.get("offset", 0)),
                record=entry.get("data", {}).get("key", ""),
                requires_grad=entry.get("requiresGrad") is True,
                device=entry.get("device", "cpu"),
            )
        )
    fill_storage_sizes(report)


def tensors_pt2(report: Report, reader: ArchiveReader) -> None:
    """Adds the tensors in the tables of weights and of constants."""
    from internals.export.pt2_archive import DTYPES, OTHERS

    model = json.loads(report.texts.get("models/model.json", "{}"))
    if "torch_version" in model:
        report.facts["producer"] = f"torch {model['torch_version']}"
    version = model.get("schema_version", {})
    report.facts["schema"] = f"{version.get('major')}.{version.get('minor')}"
    for kind in ("weights", "constants"):
        table = json.loads(report.texts.get(f"data/{kind}/model_{kind}_config.json", "{}")).get(
            "config", {}
        )
        for path, entry in table.items():
            meta = entry.get("tensor_meta")
            if not meta or entry.get("use_pickle"):  # its record is a pickle, not plain bytes
                continue
            number = meta["dtype"]
            dtype = (
                DTYPES[number].name if number in DTYPES else OTHERS.get(number, f"dtype {number}")
            )
            report.tensors.append(
                TensorFacts(
                    path=path,
                    dtype=dtype,
                    itemsize=ITEMSIZE.get(dtype, 1),
                    sizes=tuple(size["as_int"] for size in meta["sizes"]),
                    strides=tuple(stride["as_int"] for stride in meta["strides"]),
                    storage_offset=meta["storage_offset"]["as_int"],
                    record=f"data/{kind}/{entry['path_name']}",
                    requires_grad=bool(meta.get("requires_grad")),
                )
            )
    fill_storage_sizes(report)


def fill_storage_sizes(report: Report) -> None:
    """Derives the number of elements of each storage from the size of its record."""
    for t in report.tensors:
        record = report.record(t.record)
        t.storage_numel = record.size // t.itemsize if record else 0


TENSORS = {
    "torchscript": pickled_tensors,
    "torch.save": pickled_tensors,
    "torchscript 1.0": tensors_101,
    "pt2": tensors_pt2,
    "zip": lambda report, reader: None,
}
