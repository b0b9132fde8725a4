"""Saving and loading: what we save real PyTorch runs, and the other way round
(`torch/serialization.py`, `torch/csrc/jit/serialization`, `caffe2/serialize`).

A file is a zip archive whose members are stored as they are, each on a multiple of 64 bytes, so
that it can be mapped into memory and a tensor can be a view of it. One member is a pickle, which
says what the tensors are part of; one member holds the bytes of each storage. A compiled module has
its code beside them, as source text.

    container/        the zip archive: written in one pass, read with suspicion, mapped into memory
    pickles/          the pickle, which nothing is executed from; what stands for a tensor in it
    save_load.py      `internals.save`, `internals.load`: tensors, state dicts
    legacy_stream.py  what `torch.save` wrote before it wrote archives
    script/           `jit.save`, `jit.load`: a module's class as source text, and back
    layout_101/       the archive of PyTorch 1.0, which the talk shows
    safetensors_files.py   another format for tensors alone, through its own library
    convert.py, run.py, inspection/, fuzzing/   `python -m internals convert`, `run`, `inspect`,
                                                `fuzz-archive`
    errors.py, visible.py, json_node.py, text_limits.py   what goes wrong, and names in messages;
                                                          JSON and text from a file

How the real one differs: it is C++ for everything but `torch.save`, whose pickles Python's own
pickler writes.
"""

from __future__ import annotations

from typing import Any

from .errors import ArchiveError

# What is imported when first asked for, and from where.
_LATER = {
    "ArchiveReader": "container.zip_reader",
    "ArchiveWriter": "container.zip_writer",
    "save": "save_load",
    "load": "save_load",
    "load_safetensors": "safetensors_files",
    "save_safetensors": "safetensors_files",
    "save_script": "script.script_writer",
    "load_script": "script.script_reader",
    "save_101": "layout_101.writer",
    "load_101": "layout_101.reader",
}

__all__ = ["ArchiveError", *_LATER]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value
