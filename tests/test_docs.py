"""The README's picture is what `viz` draws today, and links in the texts lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import internals as torch
import viz

ROOT = Path(__file__).parent.parent
TEXTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def draw(path: Path) -> None:
    """`python -c "from tests.test_docs import *; draw(ROOT / 'docs/big_picture.svg')"` renews it."""
    t = torch.arange(6.0).view(2, 3)
    viz.big_picture(t).save(path)


def test_the_readmes_picture_is_fresh(tmp_path: Path) -> None:
    draw(tmp_path / "now.svg")
    assert (tmp_path / "now.svg").read_text() == (ROOT / "docs" / "big_picture.svg").read_text()


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: p.name)
def test_links_lead_somewhere(text: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text.read_text()):
        assert (text.parent / target).exists(), f"{text.name} links to {target}, which is not there"
