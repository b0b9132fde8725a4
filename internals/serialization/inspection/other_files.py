"""The parts of `inspect` for files that are not zip archives.

    safetensors     [length of the header, 8 bytes][header: JSON][bytes of the tensors]
    legacy stream   [magic number][protocol][system][object][storage keys], five pickles,
                    then for each key [number of elements, 8 bytes][elements]; torch.save wrote
                    this before 1.6

How the real one differs: torch.load reads the stream by unpickling it; the safetensors library
shows nothing of a file that it refuses.
"""

from __future__ import annotations

import json
from typing import Any

from internals.core.geometry import contiguous_strides

from ..errors import ArchiveError
from ..legacy_stream import MAGIC_NUMBER
from ..safetensors_files import DTYPES
from .archives import note_refused
from .pickle_listing import Described, Global, Items, describe
from .report import RecordFacts, Report
from .tensors import ITEMSIZE, TensorFacts, find_tensors, storage_of, walk
from .tree import one_line

HEADER_AT_MOST = 100_000_000  # safetensors' own limit
# name in the file -> name of the dtype, also of those that do not exist here
DTYPE_NAMES = {name: kind.name for name, kind in DTYPES.items()} | {
    "BF16": "bfloat16", "U16": "uint16", "U32": "uint32", "U64": "uint64",
}  # fmt: skip
PARTS = ("magic number", "protocol version", "system", "object", "storage keys")


def is_safetensors(content: memoryview) -> bool:
    """Whether a file starts with the length of a header, in eight bytes, and the brace of JSON."""
    return (
        len(content) >= 9
        and content[8:9] == b"{"
        and int.from_bytes(content[:8], "little") <= HEADER_AT_MOST
    )


def fill_safetensors(report: Report, content: memoryview) -> None:
    """Fills in the report on a safetensors file; a broken header becomes a problem."""
    report.kind, report.written_by = "safetensors", "the safetensors library"
    length = int.from_bytes(content[:8], "little")
    begin = 8 + length
    report.facts["header"] = f"{length:,} bytes of JSON"
    report.records.append(
        RecordFacts(
            "header", 0, 8, min(length, len(content) - 8), length, False, 0, "json", header=8
        )
    )
    if begin > len(content):
        report.problems.append(
            f"{report.name}: the header says it has {length:,} bytes, which is more than the file"
        )
        return
    text = bytes(content[8:begin])
    try:
        table = json.loads(text)
        report.texts["header"] = text.decode().rstrip()
        for key, value in table.pop("__metadata__", {}).items():
            report.facts[str(key)] = str(value)
        for name, entry in table.items():
            add_safetensor(report, name, entry, begin)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        report.problems.append(f"{report.name}: the header is not what it should be: {error}")
    report.records.sort(key=lambda r: r.offset)
    report.tensors.sort(key=lambda t: [r.offset for r in report.records if r.name == t.record])


def add_safetensor(report: Report, name: str, entry: Any, begin: int) -> None:
    """Adds the tensor that an entry of the header describes, and its bytes as a record. Offsets in
    the header count from `begin`. Tensors cannot share bytes in this format.
    """
    first, last = entry["data_offsets"]
    dtype = DTYPE_NAMES.get(entry["dtype"], str(entry["dtype"]).lower())
    sizes = tuple(map(int, entry["shape"]))
    size = last - first
    report.records.append(
        RecordFacts(name, begin + first, begin + first, size, size, False, 0, "tensor")
    )
    if begin + last > report.size:
        report.records[-1].problem = "ends behind the end of the file"
        report.problems.append(
            f"{report.name}: tensor '{name}' ends behind the end of the file, which was cut short"
        )
    itemsize = ITEMSIZE.get(dtype, 1)
    facts = TensorFacts(
        name,
        dtype,
        itemsize,
        sizes,
        contiguous_strides(sizes),
        0,
        name,
        storage_numel=size // itemsize,
    )
    report.tensors.append(facts)


def fill_pickles(report: Report, content: memoryview) -> None:
    """Fills in the report on a legacy stream, or on any other pickle. Raises ArchiveError if the
    file turns out to be neither.
    """
    first = describe(content.obj)
    if first.root != MAGIC_NUMBER:
        if first.problem and not first.globals:
            raise ArchiveError(
                f"looks like a pickle at first, but {first.problem}", archive=report.name
            )
        report.kind, report.written_by = "pickle", "Python's pickle, or some other program"
        report.pickles["pickle"] = first
        add_part(report, "pickle", first)
        return
    report.kind, report.written_by = (
        "legacy stream",
        "torch.save (before 1.6, or with _use_new_zipfile_serialization=False)",
    )
    add_part(report, PARTS[0], first)
    at = first.end  # each pickle starts where the one before ends
    for name in PARTS[1:]:
        part = describe(content.obj, at)
        add_part(report, name, part)
        at = part.end
        if part.problem:
            return
    report.tensors = find_tensors(report.pickles["object"].root, "")
    add_storages(report, content, at)


def add_part(report: Report, name: str, part: Described) -> None:
    """Adds one pickle of the stream as a record."""
    size = part.end - part.start
    report.records.append(RecordFacts(name, part.start, part.start, size, size, False, 0, "pickle"))
    if name == "protocol version" and isinstance(part.root, int):
        report.facts[name] = one_line(part.root, "", 40) or "a large number"
    if part.problem:
        report.problems.append(f"{report.name}: {name}: {part.problem}")
    if name in ("object", "pickle"):
        report.pickles[name] = part
        note_refused(report, name)


def add_storages(report: Report, content: memoryview, at: int) -> None:
    """Adds the storages, which start at `at`: for each key the number of elements, then the
    elements. Their dtypes are only in the pickle of the object.
    """
    ids: dict[str, list[Items]] = {}
    itemsizes: dict[str, int] = {}
    for _, node in walk(report.pickles["object"].root):
        for persistent in persistent_in(node):
            found = storage_of(persistent)
            if found is not None:
                itemsizes[found[2]] = found[1]
                ids.setdefault(found[2], []).append(persistent)
    keys = describe(content.obj, report.records[-1].offset).root
    for key in [k for k in keys.items if isinstance(k, str)] if isinstance(keys, Items) else []:
        count = int.from_bytes(content[at : at + 8], "little")
        size = count * itemsizes.get(key, 1)
        record = RecordFacts(key, at, at + 8, size, size, False, 0, "tensor", header=8)
        if record.end > report.size:
            record.problem = "ends behind the end of the file"
            report.problems.append(
                f"{report.name}: storage {key} ends behind the end of the file, which was cut short"
            )
        report.records.append(record)
        at += 8 + size
    # The keys are addresses in the memory of the process that saved. They say nothing to a reader,
    # so the report numbers the storages, also in the tree of the pickle.
    names = {}
    for number, record in enumerate(r for r in report.records if r.what == "tensor"):
        names[record.name] = f"storage {number}"
        for persistent in ids.get(record.name, []):
            persistent.items[2] = names[record.name]
        record.name = names[record.name]
    for t in report.tensors:
        t.record = names.get(t.record, t.record)


def persistent_in(node: object) -> list[Any]:
    """The persistent ids among a call's arguments, down to those of its arguments' calls, and the
    node's own if it is one: `_rebuild_parameter(_rebuild_tensor_v2(storage, ...), ...)`.
    """
    found = [node, *getattr(node, "arguments", [])]
    found += [a for each in found for a in getattr(each, "arguments", []) if each is not node]
    return [each.id for each in found if hasattr(each, "id") and not isinstance(each, Global)]
