"""Saving and loading: what we save real PyTorch runs, and the other way round (`torch/serialization.py`,
`torch/csrc/jit/serialization`, `caffe2/serialize`).

A file is a zip archive whose members are stored as they are, each on a multiple of 64 bytes, so that it can be mapped into memory
and a tensor can be a view of it. One member is a pickle, which says what the tensors are part of; one member holds the bytes of
each storage. A compiled module has its code beside them, as source text.

    zip_reader.py, zip_writer.py         the archive
    pickler.py, unpickler.py             the pickle, which nothing is executed from
    save_load.py                         `internals.save`, `internals.load`: tensors, state dicts
    script_writer.py, script_reader.py   `jit.save`, `jit.load`: compiled modules and functions
    class_printer.py, source_importer.py   a module's class as source, and back
    legacy_101_writer.py, legacy_101_reader.py   the layout of PyTorch 1.0, which the talk shows

How the real one differs: it is C++ for everything but `torch.save`, whose pickles Python's own pickler writes.
"""

from __future__ import annotations

from typing import Any

from .errors import ArchiveError

# What is imported when first asked for, and from where.
_LATER = {
    "ArchiveReader": "zip_reader",
    "ArchiveWriter": "zip_writer",
    "save": "save_load",
    "load": "save_load",
    "load_safetensors": "safetensors_files",
    "save_safetensors": "safetensors_files",
    "save_script": "script_writer",
    "load_script": "script_reader",
    "save_101": "legacy_101_writer",
    "load_101": "legacy_101_reader",
}

__all__ = ["ArchiveError", *_LATER]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value
