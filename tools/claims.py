"""Claims of measured cells: `make notebooks ARGS="--claims 23"`.

A cell that measures prints lines that begin with ≈, which are never compared. So it says what a
reader may rely on, in a line of its own:

    # claim: fused < 0.7 * one_by_one

an expression over the cell's variables. The notebook runs seven times, on an idle machine, and how
often the claim held is stored with the cell. A claim that does not hold in five of them is not
stored: then the sentence around the cell has to change, not the number.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tools.notebook_files import CELL_TIMEOUT, KERNEL

CLAIM = re.compile(r"^# claim: (.+)$", re.M)
RUNS, ENOUGH = 7, 5


def claims(cell: NotebookNode) -> list[str]:
    """The expressions that a cell claims to be true after it ran."""
    return CLAIM.findall(cell.source) if cell.cell_type == "code" else []


def is_measured(cell: NotebookNode) -> bool:
    """Whether a cell prints lines that begin with ≈."""
    texts = [output.get("text", "") for output in cell.get("outputs", [])]
    return any(re.search("^≈", text, re.M) for text in texts)


def tally(path: Path) -> tuple[bool, str]:
    """Runs a notebook seven times and stores with each claim how often it held; True when each held
    often enough.
    """
    notebook = nbformat.read(path, as_version=4)
    counts: dict[str, int] = {}
    for _ in range(RUNS):
        for claim, held in once(notebook, path.parent).items():
            counts[claim] = counts.get(claim, 0) + held
    weak = [f"{claim}: {held} of {RUNS}" for claim, held in counts.items() if held < ENOUGH]
    if weak:
        return False, "not stored, change the sentence:\n  " + "\n  ".join(weak)
    for cell in notebook.cells:
        if found := claims(cell):
            cell.metadata["claims"] = [f"{counts[claim]} of {RUNS}" for claim in found]
    nbformat.write(notebook, path)
    return True, "; ".join(f"{claim}: {held} of {RUNS}" for claim, held in counts.items()) or "none"


def once(notebook: NotebookNode, folder: Path) -> dict[str, bool]:
    """Each claim, and whether it holds in this run."""
    held: dict[str, bool] = {}
    copy = nbformat.from_dict(notebook)

    async def ask(cell: NotebookNode, cell_index: int, execute_reply: object) -> None:
        for claim in claims(cell):
            wanted = {"held": f"bool({claim})"}
            kernel: Any = client.kc  # it can wait for its reply, which its type does not say
            reply = await kernel.execute("", user_expressions=wanted, reply=True)
            answer = reply["content"]["user_expressions"]["held"]
            if answer["status"] != "ok":
                raise ValueError(f"# claim: {claim}: {answer['ename']}: {answer['evalue']}")
            held[claim] = answer["data"]["text/plain"] == "True"

    client = NotebookClient(
        copy,
        kernel_name=KERNEL,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
        on_cell_executed=ask,
    )
    client.execute()
    return held
