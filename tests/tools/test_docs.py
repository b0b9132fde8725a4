"""The README's picture is what `viz` draws today, links lead somewhere, overviews of packages name
all their files.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import internals as torch
import viz

ROOT = Path(__file__).parents[2]
OVERVIEWS = (
    "internals/machine_code", "internals/machine_code/vector_math", "internals/aten/compiled",
    "internals/aten/compiled/convolution", "internals/aten/native", "internals/aten/native/fft",
    "internals/aten/native/linalg", "internals/aten/native/random", "internals/aten/native/special",
    "internals/profiler", "internals/serving", "internals/serving/batching",
    "internals/serving/models", "internals/serving/observe", "apparatus/payloads",
    "internals/serving/protocol", "internals/serving/transport", "apparatus/two_https",
    "viz/rooms/explore_page",
)  # fmt: skip
WITHOUT_A_REAL_ONE = (
    "exercises",
    "internals/source_map",
    "tools/browser",
    "tools/site",
    "workshop/hub",
)
TEXTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
SAYS_NOTHING = (
    r"(in )?(nothing|not)( at all| in this| of note| that shows| that matters"
    r"| but the language| but the C\+\+)?\.$"
)
AVOIDED = (
    r"\b(?:nobody|somebody|(?:leave|left) away|(?:what|that) came of|"
    r"(?:is|are) no (?:tensors?|numbers?|functions?|lists?))\b"
)


def draw(path: Path) -> None:
    """`python -c "from tests.tools.test_docs import *; draw(ROOT / 'docs/big_picture.svg')"` renews
    it.
    """
    t = torch.arange(6.0).view(2, 3)
    viz.big_picture(t).save(path)


def test_the_readmes_picture_is_fresh(tmp_path: Path) -> None:
    draw(tmp_path / "now.svg")
    assert (tmp_path / "now.svg").read_text() == (ROOT / "docs" / "big_picture.svg").read_text()


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: p.name)
def test_links_lead_somewhere(text: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text.read_text()):
        assert (text.parent / target).exists(), f"{text.name} links to {target}, which is not there"


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: p.name)
def test_words_are_those_of_the_house(text: Path) -> None:
    """The table of CONTRIBUTING, "How it is written", shows what to write instead."""
    shown = re.sub(r"(?s)\n## How it is written\n.*?(?=\n## )", "", text.read_text())
    # code, and headings that are linked to
    shown = re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", "", shown)
    assert not re.findall(AVOIDED, shown, re.IGNORECASE)


@pytest.mark.parametrize("package", [*OVERVIEWS, *WITHOUT_A_REAL_ONE])
def test_overviews_of_packages_name_all_files(package: str) -> None:
    overview = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text()))
    files = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    assert overview is not None and not files - set(re.findall(r"\w+", overview))


@pytest.mark.parametrize("package", ["internals", "viz", "exercises", "tools"])
def test_how_the_real_one_differs_comes_last_and_says_something(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        _, found, rest = text.partition("How the real one differs: ")
        if found:
            assert "\n\n" not in rest, path.name
            assert not re.match(SAYS_NOTHING, rest), f"{path}: leave the paragraph out"


def test_what_moved_is_where_the_page_says() -> None:
    """Paths in full on the right exist; those on the left do not, but where only a part of a file
    went.
    """
    for line in (ROOT / "docs" / "moved.md").read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        if len(cells) != 4 or "`" not in line:
            continue
        was, now = (re.findall(r"`([\w/.]+(?:\.py|/))`", cell) for cell in cells[1:3])
        missing = [
            path
            for path in now
            if not any((ROOT / folder / path).exists() for folder in ("", "internals"))
        ]
        assert not [path for path in missing if "X" not in path and "Y" not in path], line
        left = [
            path for path in was if path.endswith(".py") and (ROOT / "internals" / path).exists()
        ]
        assert not left or ":" in cells[1], line
