"""Converts a file from one format to another: `python -m internals convert IN OUT`.

    convert resnet_of_2019.pt resnet.pt                 model.json becomes data.pkl: PyTorch since
                                                        1.11 reads it again
    convert --format 1.0.1 resnet.pt resnet101.pt       and back, for the PyTorch of the talk
    convert model.pt2 model.pt                          a program of torch.export becomes
                                                        TorchScript, for C++ and Node.js
    convert weights.pth weights.safetensors             tensors, from torch.save's archive, its
                                                        older stream, or safetensors

The kind of IN is recognised by its contents; the kind of OUT follows from `--format` and the name
of OUT. OUT is written completely or not at all, and may be the same file as IN.

How the real one differs: PyTorch has no converters, and its newer versions no longer read the
archives of 1.0.1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from .errors import ArchiveError
from .visible import visible

SAFETENSORS = ".safetensors"


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the command. Returns 0, or 1 if the conversion is not possible, with the reason in one
    line on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="python -m internals convert",
        description=(
            "rewrite a compiled module in today's layout or in that of PyTorch 1.0.1, or tensors "
            "in another format"
        ),
    )
    parser.add_argument("input", metavar="IN", help="a .pt, .pth, .pt2 or .safetensors file")
    parser.add_argument(
        "output",
        metavar="OUT",
        help="the file to write; tensors become safetensors if it is named *.safetensors",
    )
    parser.add_argument(
        "--format",
        choices=("modern", "1.0.1"),
        help="the layout of a compiled module (default: modern)",
    )
    options = parser.parse_args(list(arguments))
    try:
        convert(options.input, options.output, options.format)
    except (RuntimeError, ValueError, TypeError, OSError, EOFError) as why:
        message = (
            one_line(why) if isinstance(why, ArchiveError) else f"{options.input}: {one_line(why)}"
        )
        print(visible(message), file=sys.stderr)
        return 1
    return 0


def convert(source: str, target: str, format: str | None = None) -> None:
    """Reads `source` and writes it as `target`. `format` is "modern" or "1.0.1", and only for
    compiled modules.

    Raises ArchiveError for a file that is damaged or of an unknown kind, RuntimeError for contents
    that the format cannot hold, ValueError for a format that does not apply to the contents, and
    OSError for a file that cannot be read or written.
    """
    kind = kind_of(source)
    if kind in ("module", "exported program"):
        _convert_module(source, target, format or "modern", kind)
    elif format is not None:
        raise ValueError(f"holds tensors and no compiled module, which --format {format} is about")
    else:
        _convert_tensors(source, target, kind)


def kind_of(path: str) -> str:
    """The kind of a file: "module", "exported program", "tensors" (of torch.save) or
    "safetensors". Only for the last one is its name decisive.
    """
    from .container.zip_reader import ArchiveReader

    with open(path, "rb") as f:
        start = f.read(4)
    if path.endswith(SAFETENSORS):
        return "safetensors"
    if start != b"PK\x03\x04":  # not a zip archive: the older stream of torch.save
        return "tensors"
    with ArchiveReader(path) as reader:
        if any(name == "model.json" or name.startswith("code/") for name in reader.records):
            return "module"
        if reader.has("archive_format"):
            return "exported program"
    return "tensors"


def _convert_module(source: str, target: str, format: str, kind: str) -> None:
    """Writes a module, or that of an exported program. Raises ValueError for a wrong target."""
    from internals.jit import load, save

    if target.endswith(SAFETENSORS):
        raise ValueError("holds a compiled module; safetensors has no place for its code")
    if target.endswith(".pt2"):
        raise ValueError(
            "cannot become a .pt2 archive: torch.export makes those, from a model in Python"
        )
    if kind == "exported program":
        from internals import export

        return save(export.load(source).module(), target, format=format)
    save(load(source), target, format=format)


def _convert_tensors(source: str, target: str, kind: str) -> None:
    from .safetensors_files import load_safetensors, save_safetensors
    from .save_load import load, save

    contents = load_safetensors(source) if kind == "safetensors" else load(source)
    if target.endswith(SAFETENSORS):
        save_safetensors(contents, target)
    else:
        save(contents, target)


def one_line(error: BaseException) -> str:
    """The first line of an error's message."""
    text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
