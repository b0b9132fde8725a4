"""Saving and loading in PyTorch's formats, in both directions: PyTorch reads our files, and we read
its files (`torch/serialization.py`, `torch/csrc/jit/serialization`, `caffe2/serialize`).

A file is a zip archive whose members are not compressed and start at multiples of 64 bytes, so that
it can be mapped into memory and a tensor can be a view of it. One member is a pickle, which
describes the objects that the tensors belong to; the bytes of each storage are a member of their
own. A compiled module also has its code, as source text.

    container/        the zip archive: written in one pass, checked when read, mapped into memory
    pickles/          the pickle, from which nothing is executed; how it refers to tensors
    save_load.py      `internals.save`, `internals.load`: tensors, state dicts
    legacy_stream.py  the format of `torch.save` before it wrote archives
    script/           `jit.save`, `jit.load`: a module's class as source text, and back
    layout_101/       the archive of PyTorch 1.0, which the talk shows
    safetensors_files.py   another format, for tensors only, through its own library
    convert.py, run.py, inspection/, fuzzing/   `python -m internals convert`, `run`, `inspect`,
                                                `fuzz-archive`
    errors.py, visible.py   errors, and how they show names from a file
    json_node.py, text_limits.py   JSON and text from a file

How the real one differs: all of it is C++, except for `torch.save` and `torch.load`, which use
Python's own pickler.
"""

from __future__ import annotations

from typing import Any

from .errors import ArchiveError

# Each name is imported from its module when it is first used: `import internals` stays fast.
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
