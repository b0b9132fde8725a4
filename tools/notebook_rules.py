"""What a notebook of this project has to keep to: each rule returns what breaks it, in words.

Strict nbval compares stored outputs with new ones, so it compares nothing where nothing is stored.
These rules, which tests/tools/test_notebooks_guard.py applies, make sure that something is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from exercises.bets import UNANSWERED
from tools.claims import ENOUGH, claims, is_measured
from tools.notebooks import KEPT_CELL_METADATA, METADATA, is_exempt

MAX_EXEMPT = 0.05
# Calls that change something and return None: a cell may end with one and show nothing.
SILENT_CALLS = set(
    "append extend insert remove clear sort reverse add update discard close save".split()
)
MIRRORED = r"\b(c10|aten|torch|torchgen|caffe2|tools)/[\w./]+|torch\.\w+|[\w/]+\.cc?\b"
MACHINE = re.compile(
    r"/(root|home|Users|tmp|work|private|var/folders|opt)/\w|[A-Z]:\\Users|\b0x[0-9a-f]{8,16}\b"
)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def executed_in_order(notebook: NotebookNode) -> Iterator[str]:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}, not 1 to {len(counts)}: make notebooks"


def stored_outputs(notebook: NotebookNode) -> Iterator[str]:
    for number, cell in enumerate(code_cells(notebook), 1):
        if shows_something(cell.source) and not cell.outputs:
            yield (
                f"cell {number} shows something, but no output is stored (end it with ';' if it "
                "shows nothing)"
            )


def shows_something(source: str) -> bool:
    """Whether running a cell leaves something to see, judged from its text."""
    tree = ast.parse(plain_python(source))
    if any(is_call_of(node, "print", "display") for node in top_level(tree)):
        return True
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or without_comment(source).endswith(";"):
        return False
    if isinstance(last.value, ast.Constant) and last.value.value in (None, ...):
        return False
    return not is_call_of(last.value, *SILENT_CALLS)


def plain_python(source: str) -> str:
    """A cell's text without IPython's magic."""
    return str(TransformerManager().transform_cell(source))


def top_level(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the cell runs: not the bodies of functions, classes, branches and
    handlers.
    """
    sometimes = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Lambda,
        ast.If,
        ast.IfExp,
        ast.Try,
        ast.For,
    )
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, sometimes):
            yield child
            yield from top_level(child)


def is_call_of(node: ast.AST, *names: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function: Any = node.func
    return getattr(function, "attr", getattr(function, "id", None)) in names


def without_comment(source: str) -> str:
    lines = [
        line
        for line in source.rstrip().splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    return re.sub(r";\s*#[^'\"]*$", ";", lines[-1]).rstrip() if lines else ""


def few_exemptions(notebook: NotebookNode) -> Iterator[str]:
    """At most 5 % of the cells go uncompared (a short notebook may have one), and each says why."""
    cells = code_cells(notebook)
    exempt = [number for number, cell in enumerate(cells, 1) if is_exempt(cell)]
    if len(exempt) > max(1, int(MAX_EXEMPT * len(cells))):
        yield f"cells {exempt} of {len(cells)} are not compared; at most 5 % may be"
    for number in exempt:
        if not reason(cells[number - 1]):
            yield (
                f"cell {number} is not compared and does not say why: add a line '# not compared: "
                "REASON'"
            )


def reason(cell: NotebookNode) -> str:
    written = re.search(r"#\s*not compared:\s*(\S.{10,})", cell.source)
    return written.group(1) if written else cell.metadata.get("nbval_reason", "")


def nothing_of_this_machine(notebook: NotebookNode) -> Iterator[str]:
    for number, cell in enumerate(code_cells(notebook), 1):
        for output in cell.outputs:
            texts = [
                output.get("text", ""),
                *map(str, output.get("data", {}).values()),
                *output.get("traceback", []),
            ]
            if found := next((match for text in texts if (match := MACHINE.search(text))), None):
                yield f"cell {number} shows a folder or an address of one machine: {found.group()}"


def no_volatile_metadata(notebook: NotebookNode) -> Iterator[str]:
    if notebook.metadata != METADATA:
        yield f"the notebook's metadata is {dict(notebook.metadata)}: make notebooks"
    for number, cell in enumerate(notebook.cells, 1):
        if extra := set(cell.metadata) - set(KEPT_CELL_METADATA):
            yield f"cell {number} of all has metadata {sorted(extra)}: make notebooks"
    if len({cell.id for cell in notebook.cells}) != len(notebook.cells):
        yield "cell ids are not unique: make notebooks"


def opens_well(notebook: NotebookNode) -> Iterator[str]:
    """A title, the question it answers, how long it takes, and the PyTorch files that it
    mirrors.
    """
    first = notebook.cells[0]
    if first.cell_type != "markdown" or not re.match(r"#\s+\S", first.source):
        yield "the first cell is not text that starts with a title"
        return
    opening = "\n".join(cell.source for cell in notebook.cells[:3] if cell.cell_type == "markdown")
    if "?" not in opening:
        yield "the opening asks no question"
    if not re.search(r"\d+\s*(min\b|minutes|hours)", opening):
        yield "the opening does not say how many minutes it takes"
    if not re.search(MIRRORED, opening):
        yield "the opening names no file, of PyTorch or another project, that the notebook mirrors"


def ends_well(notebook: NotebookNode) -> Iterator[str]:
    """A recap, how the real one differs, something to try; behind that only the exercises."""
    texts = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "markdown" and not is_exercise(cell)
    ]
    ending = "\n".join(texts[-6:]).lower()
    headings = "\n".join(
        line for line in ending.splitlines() if re.match(r"\s*(#|\*\*|<summary>)", line)
    )
    for what, pattern in (
        ("recap", r"recap|what you (saw|have seen)|in short|summary"),
        ("how the real one differs", r"real (one|thing|pytorch).*differ|differ.*real"),
        ("try it yourself", r"try it|your turn|exercise"),
    ):
        if not re.search(pattern, headings):
            yield f"the last cells have no heading '{what}'"


def bets_are_folded(notebook: NotebookNode) -> Iterator[str]:
    """A bet's result is stored folded, in JupyterLab and on the site, and its first line gives
    nothing away.
    """
    for number, cell in enumerate(code_cells(notebook), 1):
        if not any(
            is_call_of(node, "bet") for node in top_level(ast.parse(plain_python(cell.source)))
        ):
            continue
        hidden = cell.metadata.get("jupyter", {}).get("outputs_hidden") is True
        if not hidden or "hide-output" not in cell.metadata.get("tags", []):
            yield (
                f"cell {number} has a bet: give it the tag 'hide-output' and the metadata "
                "jupyter.outputs_hidden"
            )
        for output in cell.outputs:
            text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
            if not text.startswith(UNANSWERED):
                yield f"cell {number} has a bet, and its first line gives it away: {text:.40}"


def measured_cells_claim(notebook: NotebookNode) -> Iterator[str]:
    """A cell that measures says what a reader may rely on; if that was counted, it held."""
    for number, cell in enumerate(code_cells(notebook), 1):
        if is_measured(cell) and not claims(cell):
            yield f"cell {number} measures and claims nothing: add a line '# claim: EXPRESSION'"
        for counted in cell.metadata.get("claims", []):
            if int(counted.partition(" ")[0]) < ENOUGH:
                yield f"cell {number} claims what held only {counted}: change the sentence"


def is_exercise(cell: NotebookNode) -> bool:
    return "exercise" in cell.metadata.get("tags", [])


RULES = (
    executed_in_order,
    stored_outputs,
    few_exemptions,
    nothing_of_this_machine,
    no_volatile_metadata,
    opens_well,
    ends_well,
    bets_are_folded,
    measured_cells_claim,
)
