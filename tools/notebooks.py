"""`make notebooks`: runs the notebooks and stores what they show, in a form that only changes when
something changed.

A notebook file holds more than its author wrote: time stamps, the Python version, random cell ids,
folders of this machine. `normalise` takes all of that out, so that running a notebook again gives
the same bytes.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tools.claims import tally
from tools.notebook_files import CELL_TIMEOUT, KERNEL, ROOT, kernel_environment, notebook_paths
from tools.whole_file import write

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": KERNEL},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
EXEMPTIONS = ("nbval-ignore-output", "nbval-skip")
# what follows this sign differs from run to run; nbval_sanitize.cfg knows it too
MEASURED = r"(?m)(?<=^≈).*$"
KEPT_CELL_METADATA = (
    "tags",
    "slideshow",
    "jupyter",
    "editable",
    "deletable",
    "nbval_reason",
    "claims",
)


def main() -> int:
    parser = argparse.ArgumentParser(description="run notebooks and store their outputs")
    parser.add_argument(
        "names", nargs="*", help="beginnings of file names, such as 03; default: all"
    )
    parser.add_argument(
        "--claims", action="store_true", help="measure seven times how often claims of ≈ cells hold"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    options = parser.parse_args()
    os.environ.update(kernel_environment())
    failed = 0
    work = tally if options.claims else refresh
    with ProcessPoolExecutor(1 if options.claims else options.jobs) as pool:
        runs = [(path, pool.submit(work, path)) for path in notebook_paths(options.names)]
        for path, run in runs:
            ok, verdict = run.result()
            failed += not ok
            print(f"{path.relative_to(ROOT)}: {verdict}", flush=True)
    return 1 if failed else 0


def refresh(path: Path) -> tuple[bool, str]:
    """Runs one notebook and writes it if anything changed. A notebook that fails is left as it
    was.
    """
    before = path.read_text(encoding="utf-8")
    try:
        notebook = nbformat.reads(before, as_version=4)
        execute(notebook, path.parent)
        after = to_text(normalise(notebook))
    except CellExecutionError as error:
        return False, f"FAILED, left as it was\n{error}"
    if compared(after) == compared(before):
        return True, "unchanged"
    write(path, after)
    return True, "written"


def execute(notebook: nbformat.NotebookNode, folder: Path, **settings: Any) -> None:
    """Runs the notebook in a fresh kernel in `folder` and fills its outputs in, up to a cell that
    fails.

    Raises `CellExecutionError` for that cell.
    """
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        # of the kernel's own log, which is not part of the notebook
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
        **settings,
    )
    client.execute()


def normalise(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy without anything that depends on when, where and on which Python the notebook ran."""
    notebook = copy.deepcopy(notebook)
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        cell.id = stable_id(cell, seen)
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA}
        )
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = without_machine_paths(output.text)
            elif output.output_type == "error":
                output.traceback = [without_machine_paths(line) for line in output.traceback]
    nbformat.validate(notebook)
    return notebook


def compared(text: str) -> str:
    """A notebook's text without the outputs that are never compared, such as times: they alone are
    no change.
    """
    notebook = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and is_exempt(cell):
            cell.outputs = []
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = re.sub(MEASURED, "", output.text)
    return to_text(notebook)


def is_exempt(cell: nbformat.NotebookNode) -> bool:
    """Whether nbval leaves this cell uncompared, by a tag or by a comment line."""
    lines = [line.strip() for line in cell.source.splitlines()]
    marks = {line.lstrip("#").strip() for line in lines if line.startswith("#")} | set(
        cell.metadata.get("tags", [])
    )
    return any(name in marks or name.upper().replace("-", "_") in marks for name in EXEMPTIONS)


def stable_id(cell: nbformat.NotebookNode, seen: dict[str, int]) -> str:
    """A cell id made from the cell's text, so that inserting a cell changes no other id; twins are
    numbered.
    """
    digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
    seen[digest] = seen.get(digest, 0) + 1
    return digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def without_machine_paths(text: str) -> str:
    """Names of this machine's folders, as tracebacks and warnings show them, made the same for
    everybody.
    """
    # nbval_sanitize.cfg has the same rule
    text = re.sub(r"[^\s'\"]*ipykernel_\d+[/\\]\d+\.py", "<cell>", text)
    for folder, name in (
        (str(ROOT) + os.sep, ""),
        (os.path.join(sys.prefix, ""), ".venv/"),
        (os.path.join(sys.base_prefix, ""), "python/"),
        (os.path.join(os.path.expanduser("~"), ""), "~/"),
    ):
        text = text.replace(folder, name)
    return text


def to_text(notebook: nbformat.NotebookNode) -> str:
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(main())
