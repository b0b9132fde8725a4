"""The paths of the workshop: minutes add up, what they name is there, and what a speaker types live
prints what the notes say.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from exercises.__main__ import main as exercises_main
from exercises.catalogue import NOTEBOOKS, everything, find
from exercises.misconceptions import in_cell, rows
from tools.notebook_files import notebook_paths
from workshop import paths
from workshop.paths import HERE, LABELS, MINUTES_OF_LEVEL, NAMES, Block, WorkshopPath, read

ROOT = HERE.parent
PATHS = {name: read(name) for name in NAMES}
LESSONS = [
    pytest.param(block, id=f"{name}-{block.day}-{block.begin}")
    for name, path in PATHS.items()
    for block in path.blocks
    if not block.pause
]
NOTES = sorted((HERE / "speaker_notes").glob("*.md"))
TEXTS = [HERE / "README.md", *(path.file for path in PATHS.values()), *NOTES]
TYPED_LIVE = r"""
import doctest, re, sys
import numpy as np
import internals as torch
import viz

names = {"torch": torch, "np": np, "viz": viz, "__name__": "__main__"}
examples = re.findall(r"```pycon\n(.*?)```", open(sys.argv[1]).read(), re.DOTALL)
for number, example in enumerate(examples):
    test = doctest.DocTestParser().get_doctest(example, names, f"example {number}", sys.argv[1], 0)
    doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
    names = test.globs
"""
EACH_PATH = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
EACH_LESSON = pytest.mark.parametrize("block", LESSONS)


@EACH_PATH
def test_minutes_follow_each_other_and_add_up(path: WorkshopPath) -> None:
    assert path.end - path.begin == path.minutes
    assert {block.day for block in path.blocks} == set(range(1, path.days + 1))
    for day in range(1, path.days + 1):
        blocks = [block for block in path.blocks if block.day == day]
        assert [blocks[0].begin, *(b.end for b in blocks)] == [*(b.begin for b in blocks), path.end]
        assert (
            blocks[0].begin == path.begin and sum(block.minutes for block in blocks) == path.minutes
        )
        assert all(block.minutes > 0 for block in blocks)


@EACH_PATH
def test_there_is_slack_and_nobody_sits_for_two_hours(path: WorkshopPath) -> None:
    for day in range(1, path.days + 1):
        blocks = [block for block in path.blocks if block.day == day]
        assert sum(b.minutes for b in blocks if b.title.startswith("Slack")) >= 5
        sitting = 0
        for block in blocks:
            sitting = 0 if block.title.startswith(("Break", "Lunch")) else sitting + block.minutes
            assert sitting <= 120, f"{block.title}: {sitting} minutes without a break"


@EACH_PATH
def test_the_table_is_that_of_the_headings(path: WorkshopPath) -> None:
    assert path.file.read_text() == paths.renewed(path), "python -m workshop.paths"


@EACH_LESSON
def test_a_block_has_all_that_an_instructor_needs(block: Block) -> None:
    assert not [label for label in LABELS if not block.parts.get(label, "").strip()]
    assert set(block.parts) - {"", *LABELS} <= {"For the quick"}
    assert paths.links(block.parts["Notebook"])
    assert block.items("They can then")
    assert re.search(r"\*[^*]+\?\*", block.parts["Ask"]) and len(block.items("Ask")) >= 2
    assert all("→" in answer for answer in block.items("Ask"))


@EACH_LESSON
def test_a_cell_or_an_exercise_dispels_each_misconception(block: Block) -> None:
    beliefs = block.items("Misconceptions")
    assert beliefs
    for belief in beliefs:
        said, arrow, dispelled = belief.partition("→")
        assert arrow and said.strip().startswith("*")
        quoted = [shown for shown in paths.links(dispelled) if shown.line]
        assert quoted or paths.EXERCISE.findall(dispelled), belief
        for shown in quoted:
            first = [cell[0] for cell in paths.lines_of(shown.file)[shown.anchor]]
            assert shown.line in first, (
                f"no cell of {shown.file}#{shown.anchor} begins with {shown.line}"
            )


@EACH_LESSON
def test_sections_and_lines_are_there(block: Block) -> None:
    for shown in block.shown:
        sections = paths.lines_of(shown.file)
        assert shown.anchor in sections, f"{shown.file} has no section {shown.anchor}"
        if shown.line:
            assert any(shown.line in cell for cell in sections[shown.anchor]), (
                f"{shown.line} is not in {shown.anchor}"
            )


@EACH_LESSON
def test_there_is_time_for_the_exercises(block: Block) -> None:
    for name in block.mentioned:
        find(name)
    needed = sum(MINUTES_OF_LEVEL[find(name).level] for name in block.exercises)
    assert block.minutes_to_do is not None and needed <= block.minutes_to_do < block.minutes


def test_every_notebook_is_in_a_path_and_each_track_in_the_long_one() -> None:
    shown = {
        link.file.removesuffix(".ipynb")
        for path in PATHS.values()
        for b in path.blocks
        for link in b.shown
    }
    assert set(NOTEBOOKS) <= shown <= {path.stem for path in notebook_paths()}
    named = {name for block in PATHS["two_days"].blocks for name in block.mentioned}
    assert {exercise.name for exercise in everything() if exercise.track} <= named


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_links_lead_somewhere(text: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", text.read_text()):
        file = (text.parent / target).resolve() if target else text
        assert file.exists(), f"{text.name} links to {target}, which is not there"
        if anchor and file.suffix == ".ipynb":
            assert anchor in paths.lines_of(file.name), f"{file.name} has no section {anchor}"
        elif anchor and file.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            assert anchor in map(paths.slug, headings), f"{file.name} has no section {anchor}"


def test_all_notes_are_said_somewhere() -> None:
    wanted = {
        f"speaker_notes/{note.name}#{paths.slug(h)}" for note in NOTES for h in headings_of(note)
    }
    linked = {
        link
        for path in PATHS.values()
        for link in re.findall(r"\((speaker_notes/[^)]+)\)", path.file.read_text())
    }
    assert linked == wanted


@pytest.mark.parametrize("note", NOTES, ids=lambda p: p.stem)
def test_what_is_typed_live_prints_what_the_notes_say(note: Path) -> None:
    """In a process of its own, as in the room: one of them switches the simulated GPU on."""
    run = subprocess.run(
        [sys.executable, "-c", TYPED_LIVE, str(note)], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0 and not run.stdout, run.stdout + run.stderr


@pytest.mark.parametrize("text", TEXTS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_commands_exist(text: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    words = text.read_text()
    assert set(re.findall(r"`make ([a-z-]+)", words)) <= targets
    for module in re.findall(r"python(?:\.exe)?`?\)? -m ([a-z._]+)", words):
        parts = module.split(".")
        assert (ROOT / Path(*parts) / "__main__.py").exists() or (ROOT / Path(*parts)).with_suffix(
            ".py"
        ).exists()
    for exercise in re.findall(r"check\.([a-z_]+_\d)", words):
        find(exercise)


def test_the_beliefs_are_those_of_the_exercises() -> None:
    """Without the verdicts, which take longer: those of one notebook below, of all in the slow
    test.
    """
    written = re.findall(
        r"^\| (.*) \| `(\w+_\d)` \|$", paths.MISCONCEPTIONS.read_text(), re.MULTILINE
    )
    wanted = [(in_cell(mistake.belief), e.name) for e in everything() for mistake in e.mistakes]
    assert [(row.split(" | ")[0], name) for row, name in written] == wanted, (
        "python -m workshop.paths"
    )


def test_the_answers_are_those_of_the_checkers() -> None:
    text = paths.MISCONCEPTIONS.read_text()
    for name in ("start_1", "zero_copy_1", "views_1", "batching_1"):
        assert "\n".join(rows(find(name))) in text, "python -m workshop.paths"


@pytest.mark.slow
def test_all_answers_are_those_of_the_checkers(capsys: pytest.CaptureFixture[str]) -> None:
    assert exercises_main(["misconceptions"]) == 0
    assert paths.MISCONCEPTIONS.read_text() == capsys.readouterr().out, "python -m workshop.paths"


def test_a_table_shows_a_verdict_as_it_is() -> None:
    assert in_cell("[a](b) * _c_ | `d[0] * 2`\n  e") == r"\[a\](b) \* \_c\_ \| `d[0] * 2` e"


def test_what_is_wrong_in_a_path_is_noticed() -> None:
    text = (
        "## 0:00–0:10 · One\n\n**Show.** x\n**They do (3 min).** `zero_copy_1`\n\n## 0:10–0:12 · "
        "Break\n"
    )
    one, pause = paths.blocks(text)
    assert (one.minutes, one.minutes_to_do, one.exercises, one.pause, pause.pause) == (
        10,
        3,
        ["zero_copy_1"],
        False,
        True,
    )
    with pytest.raises(ValueError, match="not the heading of a block: ## later"):
        list(paths.blocks("## later\n"))


def headings_of(note: Path) -> list[str]:
    return re.findall(r"^## (.+)$", note.read_text(), re.MULTILINE)
