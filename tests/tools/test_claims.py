"""A claim of a measured cell is counted in seven runs, and stored only when it holds in five."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import claims
from tools.notebooks import METADATA


def notebook(path: Path, *sources: str) -> Path:
    made = new_notebook(metadata=METADATA, cells=[new_code_cell(source) for source in sources])
    nbformat.write(made, path)
    return path


def test_what_holds_is_stored(tmp_path: Path) -> None:
    cell = "fused, one_by_one = 1.0, 3.0\nprint('≈ fused', fused)\n# claim: fused < one_by_one"
    path = notebook(tmp_path / "a.ipynb", cell)
    assert claims.tally(path) == (True, "fused < one_by_one: 7 of 7")
    assert nbformat.read(path, 4).cells[0].metadata["claims"] == ["7 of 7"]


def test_what_holds_too_seldom_is_not(tmp_path: Path) -> None:
    """It holds in the first four runs: a file counts them."""
    cell = (
        "from pathlib import Path\nfile = Path('runs')\n"
        "runs = len(file.read_text()) if file.exists() else 0\nfile.write_text('x' * (runs + 1))\n"
        "# claim: runs < 4"
    )
    path = notebook(tmp_path / "a.ipynb", cell)
    before = path.read_bytes()
    good, told = claims.tally(path)
    assert not good and "runs < 4: 4 of 7" in told
    assert path.read_bytes() == before


def test_a_claim_that_cannot_be_asked_stops(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", "a = 1\n# claim: a < b")
    with pytest.raises(ValueError, match="# claim: a < b: NameError"):
        claims.tally(path)


def test_measured_cells_are_seen() -> None:
    cell = new_code_cell("f()", outputs=[new_output("stream", name="stdout", text="a\n≈ b 1\n")])
    assert claims.is_measured(cell)
    cell.outputs[0].text = "a ≈ b\n"
    assert not claims.is_measured(cell)
