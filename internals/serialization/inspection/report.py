"""The contents of a file as a report: the records, tensors, pickles and texts in it, and its
damages.

`examine(path)` recognises the file by its bytes, not by its suffix, and reads it without executing
anything. It does not stop at a damage: the report has a list of `problems`, and as much of the
rest as can be read.

How the real one differs: `torch.utils.model_dump` needs an undamaged TorchScript archive; other
files have to be loaded to see what is in them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ..container.mapped_file import map_source
from ..errors import ArchiveError
from .pickle_listing import Described
from .tensors import TensorFacts, mark_shared

TITLES = {
    "torchscript": "a compiled module or function (TorchScript archive)",
    "torchscript 1.0": "a compiled module (TorchScript archive, PyTorch 1.0 layout)",
    "torch.save": "tensors and other objects (zip archive of torch.save)",
    "legacy stream": "tensors and other objects (stream of pickles, torch.save before 1.6)",
    "pt2": "an exported program (pt2 archive of torch.export)",
    "safetensors": "tensors (safetensors)",
    "pickle": "a pickle that torch.save did not write",
    "zip": "a zip archive that PyTorch did not write",
    "damaged zip": "a damaged zip archive",
}


@dataclass
class RecordFacts:
    """One record and the bytes around it. Offsets count from the beginning of the file; `what` is
    the purpose of the payload: "tensor", "pickle", "code", ...
    """

    name: str
    header_offset: int
    offset: int
    stored_size: int
    size: int
    deflated: bool
    crc32: int
    what: str
    header: int = 0  # bytes of the local header with the name
    padding: int = 0  # bytes of the extra field
    descriptor: int = 0  # bytes after the payload
    problem: str = ""

    @property
    def end(self) -> int:
        return self.offset + self.stored_size + self.descriptor

    @property
    def aligned(self) -> bool:
        return self.offset % 64 == 0


@dataclass
class Span:
    """A run of bytes that belongs to no record: "central directory", "end record", "header", ..."""

    start: int
    size: int
    what: str


@dataclass
class Report:
    """Everything that `inspect` prints and `viz.archive` draws. `kind` is a key of `TITLES`;
    `facts` maps names to texts that are shown as they are.
    """

    name: str
    size: int
    kind: str = ""
    written_by: str = ""
    top: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    records: list[RecordFacts] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    tensors: list[TensorFacts] = field(default_factory=list)
    pickles: dict[str, Described] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # JSON and the like
    refused: list[str] = field(default_factory=list)  # globals that keep the file from being loaded
    problems: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return TITLES[self.kind]

    def record(self, name: str) -> RecordFacts | None:
        """The record with a name; None if there is none."""
        return next((r for r in self.records if r.name == name), None)


def examine(path: str | os.PathLike[str]) -> Report:
    """Returns the report on a file. Raises OSError if it cannot be opened, ArchiveError if it is of
    an unknown kind.
    """
    from . import archives, other_files

    name = os.path.basename(os.fsdecode(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{name} is a folder: give a file in it")
    content = map_source(path).memory
    report = Report(name, len(content))
    # A zip archive starts with a local header, or ends with the end record (22 bytes).
    if content[:4] == b"PK\3\4" or content[-22:-18] == b"PK\5\6":
        archives.fill(report, path, content)
    elif other_files.is_safetensors(content):
        other_files.fill_safetensors(report, content)
    elif content[:1] == b"\x80" and content[-1:]:  # a pickle's instruction PROTO
        other_files.fill_pickles(report, content)
    else:
        raise ArchiveError(none_of_them(content), archive=name)
    mark_shared(report.tensors)
    check_tensors(report)
    return report


def is_example(record: RecordFacts) -> bool:
    """Whether a record is an example input of a trace: its sizes are saved, but not its bytes."""
    return not record.size and record.name.startswith("traced_inputs/")


def none_of_them(content: memoryview) -> str:
    """The message for a file of an unknown kind, with a hint for those that are often confused."""
    kinds = (
        "it is neither a zip archive (.pt, .pth, .pt2) nor a stream of pickles nor a safetensors "
        "file"
    )
    if not len(content):
        return "the file is empty: it was not written, or cut short"
    if content[:8] == b"PYTORCH1":
        return "File is an unsupported archive format from the preview release."
    if content[:6] == b"\x93NUMPY":
        return "an array of numpy: read it with numpy.load"
    if content[257:262] == b"ustar":
        return "a tar file, as PyTorch 0.1 wrote: load and save it with PyTorch 1.0 or later"
    if bytes(content[:40]).startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS, not the file itself: run `git lfs pull`"
    if bytes(content[:200]).lstrip().lower().startswith((b"<!doctype", b"<html")):
        return "a web page, not the file itself: the download went wrong"
    return f"{kinds}; it begins with the bytes {bytes(content[:8]).hex(' ')}"


def check_tensors(report: Report) -> None:
    """Adds a problem for each tensor whose storage is missing or too small, or whose sizes, strides
    or offset are negative.
    """
    records = {r.name: r for r in report.records}
    for t in report.tensors:
        record = records.get(t.record)
        if record is None:
            t.problem = f"its storage, record '{t.record}', is not there"
        elif min(t.sizes, default=0) < 0 or t.storage_offset < 0 or min(t.strides, default=0) < 0:
            t.problem = "has negative sizes, strides or offset"
        elif t.last > record.size and not is_example(record):
            t.problem = f"needs {t.last:,} bytes of record '{t.record}', which has {record.size:,}"
        if t.problem:
            report.problems.append(f"tensor {t.path}: {t.problem}")
