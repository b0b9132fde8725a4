"""A bet is settled by an experiment; without an answer nothing shows."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import nbformat
import pytest

import internals as torch
import viz
from exercises import beliefs, bet
from exercises.bets import UNANSWERED, told

FOLDER = Path(__file__).parents[2] / "notebooks"


def test_without_an_answer_the_result_is_folded():
    shown = bet(..., lambda: 1 / 4)
    first, *rest = repr(shown).splitlines()
    assert first == UNANSWERED and rest == ["", "", "0.25"]
    html = shown._repr_mimebundle_()["text/html"]
    assert html.splitlines()[0] == UNANSWERED and "<details>" in html and "open>" not in html
    assert shown.won is None


@pytest.mark.parametrize("answer", [..., [1, ...], {"a": ..., "b": 2}])
def test_half_an_answer_is_none(answer):
    assert bet(answer, lambda: [1, 2]).won is None


@pytest.mark.parametrize(
    ("answer", "result", "won"),
    [
        (4, 4, True),
        ("4", 4, True),
        (4.0, 4, True),
        (5, 4, False),
        (True, 1, False),
        (1, True, False),
        ("float32", torch.float32, True),
        ("torch.float32", torch.float32, True),
        (torch.float64, torch.float32, False),
        ([1.0, 2.0], torch.tensor([1.0, 2.0]), True),
        (torch.tensor([1.0, 3.0]), torch.tensor([1.0, 2.0]), False),
        ([1, 2, 3], [1, 2], False),
        ({"a": 1, "b": "2"}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ((2, 3), torch.ones(2, 3).shape, True),
    ],
)
def test_an_answer_is_compared_as_it_was_meant(answer, result, won):
    assert bet(answer, lambda: result).won is won


def test_a_known_belief_is_told_why_it_is_wrong():
    shown = bet(24, lambda: 12, "spine bytes")
    assert repr(shown).startswith("✗ You bet 24: a Python float has 64 bits")
    assert repr(shown).endswith("\n12")
    assert "<details open>" in shown._repr_mimebundle_()["text/html"]
    assert repr(bet(7, lambda: 12, "spine bytes")) == "✗ You bet 7. What happened:\n12"


def test_an_entry_that_is_not_there_is_told_which_are():
    with pytest.raises(LookupError, match=r"exercises/beliefs/spine\.py has 'bytes', 'change'"):
        bet(..., lambda: 12, "spine bits")
    with pytest.raises(LookupError, match=r"has no n99\.py"):
        bet(..., lambda: 12, "99 bits")


def test_an_experiment_may_raise():
    def fatal():
        x = torch.ones(2, requires_grad=True)
        x += 1

    assert bet("RuntimeError", fatal).won and bet(RuntimeError, fatal).won
    assert bet("no error", fatal).won is False
    assert "RuntimeError: a leaf Variable that requires grad" in repr(bet(..., fatal))


def test_a_picture_shows_itself():
    x = torch.arange(3)
    html = bet(..., lambda: viz.memory(x=x))._repr_mimebundle_()["text/html"]
    assert "<svg" in html and html.splitlines()[0] == UNANSWERED


def test_what_is_shown_is_escaped():
    assert "<b>" not in bet("<b>", lambda: "<i>")._repr_mimebundle_()["text/html"]


# the notebooks' bets


def stored() -> list[tuple[str, str, str]]:
    """The notebook, the entry and the stored result of each bet with beliefs."""
    found = []
    for path in FOLDER.rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            about = re.findall(r', "((?:\d\d\w?|spine) [^"]+)"\)', cell.source)
            if cell.cell_type == "code" and "bet(" in cell.source and about:
                text = cell.outputs[-1].data["text/plain"].partition("\n\n\n")[2]
                found.append((path.stem.partition("_")[0], about[-1], text))
    return found


STORED = stored()


@pytest.mark.parametrize(("notebook", "about", "result"), STORED, ids=lambda text: text[:20])
def test_what_is_believed_is_wrong(notebook, about, result):
    assert about.partition(" ")[0] == notebook
    assert beliefs.of(about)
    for answer, why in beliefs.of(about):
        assert told(answer) != result and why[-1] != "."
        assert not result.startswith(f"{answer}:"), "an error of that type is raised"


def test_every_belief_is_asked_about():
    asked = {about for _, about, _ in STORED}
    for module in pkgutil.iter_modules(beliefs.__path__):
        table = importlib.import_module(f"exercises.beliefs.{module.name}").BELIEFS
        number = module.name.removeprefix("n") if module.name[1:2].isdigit() else module.name
        assert {f"{number} {entry}" for entry in table} <= asked
