"""The entries of the source map, read from the YAML files beside this one.

An entry names our modules (`ours`), the files of PyTorch 1.0.1 (`then`) and 2.13 (`today`) with
what to look for in each, sections of notebooks, other words for the same thing, and where to go on.
What is empty did not exist, and the note says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
FLOORS = {
    "core": "Memory, geometry, dispatch",
    "operators": "Operators",
    "compiled": "Machine code for large tensors",
    "cuda": "A device: its memory, streams and kernels",
    "autograd": "Derivatives",
    "python": "What Python sees",
    "nn": "Layers, optimizers, data, models",
    "jit_frontend": "Tracing and scripting",
    "jit_graphs": "Graphs and passes",
    "jit_runtime": "Who runs graphs",
    "saving": "Files",
    "serving": "Serving",
    "tools": "Beside the house",
}


@dataclass(frozen=True)
class Named:
    """A file or module, and the names to look for in it."""

    path: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A section of a notebook, by the notebook's number and the heading's text."""

    number: str
    heading: str

    @property
    def file(self) -> str:
        """The notebook's file name, or what it begins with where there are no notebooks."""
        return notebook_files().get(self.number, self.number)

    @property
    def link(self) -> str:
        """File and heading as Jupyter links to them."""
        return f"{self.file}#{anchor(self.heading)}"


@dataclass(frozen=True)
class Entry:
    """A row of the map. `ours`, `then` (1.0.1) and `today` are files with names in them,
    `elsewhere` those of other projects, `sections` those of notebooks that show it running, `words`
    other words for it, `next` the topics to read after it.
    """

    floor: str
    topic: str
    what: str
    ours: tuple[Named, ...]
    then: tuple[Named, ...]
    today: tuple[Named, ...]
    elsewhere: tuple[str, ...]
    note: str
    sections: tuple[Section, ...]
    words: tuple[str, ...]
    next: tuple[str, ...]


@cache
def entries() -> tuple[Entry, ...]:
    """All entries, floor by floor."""
    return tuple(
        entry_from(floor, fields) for floor in FLOORS for fields in read(FOLDER / f"{floor}.yaml")
    )


def read(path: Path) -> list[dict[str, Any]]:
    """A YAML file that is a list of records, by libyaml where that is installed."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    rows: list[dict[str, Any]] = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    return rows


def entry_named(topic: str) -> Entry:
    return next(entry for entry in entries() if entry.topic == topic)


def entry_of_module(module: str) -> Entry | None:
    """The entry that names a module; else the one with the longest pattern for it; else that of the
    package it lies in.
    """
    for entry in entries():
        if any(full_name(named.path) == module for named in entry.ours):
            return entry
    patterns = [
        (len(named.path), entry)
        for entry in entries()
        for named in entry.ours
        if "*" in named.path and fnmatchcase(module, full_name(named.path))
    ]
    if patterns:
        return max(patterns, key=lambda found: found[0])[1]
    package = module.rpartition(".")[0]
    return entry_of_module(package) if package else None


def full_name(path: str) -> str:
    """The name to import for a module as entries write it: `internals` is left out."""
    return (
        path
        if path.partition(".")[0] in ("internals", "viz", "codegen", "apparatus")
        else f"internals.{path}"
    )


def file_of(path: str) -> str:
    """The file of one of our modules, from the root of the project: `core.dtype` is
    internals/core/dtype.py.
    """
    if path.endswith(".yaml"):
        return f"internals/{path}"
    name = full_name(path).replace(".", "/")
    if "*" in name:
        return f"{name}.py"
    return f"{name}/__init__.py" if (ROOT / name / "__init__.py").is_file() else f"{name}.py"


def anchor(heading: str) -> str:
    """The anchor that Jupyter gives to a heading."""
    return quote(heading.replace("`", "").replace(" ", "-"), safe="-_.!~*',:;?&")


@cache
def notebook_files() -> dict[str, str]:
    return {
        path.name.partition("_")[0]: path.name
        for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb"))
    }


def entry_from(floor: str, fields: dict[str, Any]) -> Entry:
    return Entry(
        floor,
        fields["topic"],
        fields["what"],
        tuple(map(named_from, fields["ours"])),
        tuple(map(named_from, fields["then"])),
        tuple(map(named_from, fields["today"])),
        tuple(fields.get("elsewhere", ())),
        fields.get("note", ""),
        tuple(Section(*text.split(" ", 1)) for text in fields["notebook"]),
        tuple(map(str, fields["words"])),
        tuple(fields["next"]),
    )


def named_from(text: str) -> Named:
    path, _, names = text.partition(": ")
    return Named(path, tuple(name.strip() for name in names.split(",") if name.strip()))
