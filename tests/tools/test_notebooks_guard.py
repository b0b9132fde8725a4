"""The notebooks keep the rules in notebook_rules.py, and the rules see what they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import notebook_rules as rules
from tools.notebooks import METADATA

Rule = Callable[[nbformat.NotebookNode], Iterator[str]]
FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
EXPECTED = [
    "00_start_here",
    "01_tensors",
    "02_python_objects",
    "03_zero_copy",
    "04_storage_and_views",
    "05_allocators_and_the_big_picture",
    "06_aten_dispatcher_codegen",
    "06b_how_it_was_done_before",
    "07_autograd",
    "07b_hooks_and_modes",
    "08_derivatives",
    "09_inplace_and_versions",
    "10_training",
    "11_eager_script_tracing",
    "12_scripting_and_the_ast",
    "12b_what_a_script_may_say",
    "13_the_ir_by_hand",
    "14_passes",
    "14b_backward_as_a_graph",
    "15_the_interpreter",
    "16_serialization",
    "17_other_languages",
    "18_torchscript_to_today",
    "19_gpu_memory",
    "20_kernels",
    "21_streams_and_transfers",
    "21b_streams_and_pipelines",
    "22_fusion",
    "22b_loops_to_instructions",
    "23_how_fast",
    "23b_loops",
    "24_payloads",
    "25_two_https",
    "26_batching",
    "spine",
]


def test_the_notebooks_are_there() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == EXPECTED


DEEPER = [f"deeper/{path.stem}" for path in sorted(FOLDER.glob("deeper/*.ipynb"))]


def test_they_can_be_finished() -> None:
    """At most 80 cells and 3,500 words each, half of them at most 60 and 2,400, 85,000 together."""
    notebooks = [nbformat.read(FOLDER / f"{name}.ipynb", as_version=4) for name in EXPECTED]
    cells = [len(notebook.cells) for notebook in notebooks]
    words = [
        sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
        for notebook in notebooks
    ]
    assert max(cells) <= 80 and median(cells) <= 60
    assert max(words) <= 3_500 and median(words) <= 2_400 and sum(words) <= 85_000


@pytest.mark.parametrize("name", EXPECTED[:-1])
def test_they_open_with_where_the_reader_is(name: str) -> None:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert any("viz.you_are_here(" in cell.source for cell in rules.code_cells(notebook)[:2])


@pytest.mark.parametrize("name", [*EXPECTED, *DEEPER])
@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_notebook(name: str, rule: Rule) -> None:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert rules.code_cells(notebook)
    assert list(rule(notebook)) == []


def sound() -> nbformat.NotebookNode:
    """A notebook that breaks no rule."""
    shown = new_output("execute_result", data={"text/plain": "2"}, execution_count=2)
    return new_notebook(
        metadata=METADATA,
        cells=[
            new_markdown_cell(
                "# Sums\n\nWhat is one and one? 5 minutes. Mirrors "
                "`aten/src/ATen/native/BinaryOps.cpp`."
            ),
            new_code_cell("x = 1", execution_count=1),
            new_code_cell("x + 1", execution_count=2, outputs=[shown]),
            new_markdown_cell(
                "## Recap\nTwo.\n## How the real one differs\nNot.\n## Try it yourself\nx + 2"
            ),
        ],
    )


def broken(rule: str) -> nbformat.NotebookNode:
    """A notebook that breaks just this rule."""
    notebook = sound()
    opening, plain, showing, ending = notebook.cells
    match rule:
        case "executed_in_order":
            plain.execution_count = 7
        case "stored_outputs":
            showing.outputs = []
        case "few_exemptions":
            showing.metadata["tags"] = ["nbval-ignore-output"]
        case "nothing_of_this_machine":
            showing.outputs[0].data["text/plain"] = "<x at 0x7f0012345678>"
        case "no_volatile_metadata":
            plain.metadata["execution"] = {"iopub.execute_input": "2026-01-01"}
        case "opens_well":
            opening.source = (
                "# Sums\n\nWhat is one and one? Mirrors `aten/src/ATen/native/BinaryOps.cpp`."
            )
        case "ends_well":
            ending.source = "## Recap\nTwo."
        case "measured_cells_claim":
            showing.outputs = [new_output("stream", name="stdout", text="≈ 2\n")]
        case "bets_are_folded":
            showing.source = "bet(..., lambda: 2)"
    return notebook


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_rule_passes_a_sound_notebook_and_sees_a_broken_one(rule: Rule) -> None:
    assert list(rule(sound())) == []
    assert list(rule(broken(rule.__name__)))


def test_an_exemption_with_its_reason_is_allowed_once() -> None:
    notebook = sound()
    showing = notebook.cells[2]
    showing.source = (
        "# NBVAL_IGNORE_OUTPUT\n# not compared: the time differs from run to run\nx + 1"
    )
    assert list(rules.few_exemptions(notebook)) == []
    notebook.cells.append(showing)
    assert list(rules.few_exemptions(notebook)) == [
        "cells [2, 3] of 3 are not compared; at most 5 % may be"
    ]


@pytest.mark.parametrize(
    ("source", "shows"),
    [
        ("x", True),
        ("x;", False),
        ("x;  # quiet", False),
        ("x = 1", False),
        ("f(x)", True),
        ("items.append(x)", False),
        ("module.save(path)", False),
        ("print(x)\ny = 1", True),
        ("def f():\n    print(1)", False),
        ("if x:\n    print(1)", False),
        ("with a as b:\n    print(1)", True),
        ("None", False),
        ("x == 1  # equal?", True),
        ("'a;'", True),
        ("%matplotlib inline\nx = 1", False),
        ("", False),
    ],
)
def test_shows_something(source: str, shows: bool) -> None:
    assert rules.shows_something(source) is shows
