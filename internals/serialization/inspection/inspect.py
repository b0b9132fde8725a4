"""`python -m internals inspect FILE`: shows the contents of a file of tensors or of a compiled
program, without PyTorch and without executing any of it.

It reads `.pt` and `.pth` (of torch.save, old and new, and of jit.save, old and new), `.pt2` and
`.safetensors`, and recognises them by their bytes. The exit status is 1 if anything is wrong with
the file; whatever can be shown of it is shown all the same.

Mirrors `torch/utils/model_dump`.

How the real one differs: `python -m torch.utils.model_dump FILE` writes a web page about a
TorchScript archive; for pickles there is `python -m torch.utils.show_pickle`, and for the other
kinds nothing but loading them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..errors import ArchiveError
from ..visible import visible
from .report import Report, examine
from .text import ALL, as_text
from .tree import tree

SECTIONS = {
    "records": "the records: where they are, how long, how aligned",
    "tensors": "the tensors: sizes, strides, and which bytes of which record",
    "pickle": "the pickles as a tree of what they ask for, and the JSON",
    "code": "the source text of compiled modules",
    "graph": "the graph of forward",
}


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the command, and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m internals inspect",
        description=(
            "Shows what is inside a .pt, .pth, .pt2 or .safetensors file. Nothing in it is "
            "executed."
        ),
    )
    parser.add_argument("file")
    for name, meaning in SECTIONS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"only {meaning}, whole")
    parser.add_argument("--all", action="store_true", help="everything, whole")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument(
        "--html", metavar="OUT", help="write a page with pictures of every stage to OUT"
    )
    options = parser.parse_args(list(arguments))
    try:
        report = examine(options.file)
    except (OSError, ArchiveError) as error:
        print(f"inspect: {said(error)}", file=sys.stderr)
        return 1
    if options.html:
        return write_page(options.file, options.html) or (1 if report.problems else 0)
    if options.json:
        print(json.dumps(as_json(report), indent=2))
        return 1 if report.problems else 0
    wanted = list(ALL) if options.all else [name for name in SECTIONS if getattr(options, name)]
    graph = graph_text(options.file, report) if "graph" in wanted else None
    print(as_text(report, wanted, graph))
    return 1 if report.problems else 0


def graph_text(path: str, report: Report) -> str:
    """The graph of `forward` as text, or the reason why there is none. It loads the program, which
    executes nothing of it.
    """
    if report.kind not in ("torchscript", "torchscript 1.0", "pt2"):
        return "none: this is no compiled program"
    try:
        program = load_program(path)
        return str((program.graph if report.kind == "pt2" else program.inlined_graph).str(False))
    except (ArchiveError, RuntimeError, NotImplementedError) as error:
        return f"cannot be made: {said(error)}"


def load_program(path: str) -> Any:
    """Loads the script module or the exported program in a file. Raises ArchiveError for other
    files.
    """
    kind = examine(path).kind
    if kind == "pt2":
        from internals import export

        return export.load(path)
    from internals import jit

    return jit.load(path)


def write_page(path: str, target: str) -> int:
    """Writes the page of `viz.explore` to `target`, and returns the exit status."""
    # Imported only here: no other part of `internals` depends on `viz`.
    from viz import explore

    try:
        explore(path).save(target)
    except OSError as error:
        print(f"inspect: {target}: {error.strerror or error}", file=sys.stderr)
        return 1
    except (ValueError, ArchiveError) as error:
        print(f"inspect: {said(error)}", file=sys.stderr)
        return 1
    print(f"written: {target}")
    return 0


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON values: the pickles as trees of text, their globals as names."""
    content = {
        name: value
        for name, value in vars(report).items()
        if name not in ("pickles", "records", "tensors", "spans")
    }
    content["title"] = report.title
    content["records"] = [asdict(r) | {"aligned": r.aligned} for r in report.records]
    content["spans"] = [asdict(s) for s in report.spans]
    content["tensors"] = [
        asdict(t) | {"nbytes": t.nbytes, "first": t.first, "last": t.last} for t in report.tensors
    ]
    content["pickles"] = {
        name: {
            "protocol": p.protocol,
            "globals": [str(g) for g in p.globals],
            "problem": p.problem,
            "tree": tree(p.root),
        }
        for name, p in report.pickles.items()
    }
    return content


def said(error: BaseException) -> str:
    """An error's message in one line, safe to print in a terminal."""
    if isinstance(error, OSError) and error.strerror:
        return visible(f"{error.filename}: {error.strerror}")
    return visible(" ".join(str(error).split()))
