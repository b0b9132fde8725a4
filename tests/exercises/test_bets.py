"""A bet is settled by an experiment; without an answer nothing shows."""

from __future__ import annotations

import pytest

import internals as torch
import viz
from exercises import bet
from exercises.bets import UNANSWERED


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
    beliefs = {torch.float64: "a tensor of Python floats gets the default dtype"}
    shown = bet(torch.float64, lambda: torch.tensor([2.5]).dtype, beliefs)
    assert repr(shown).startswith(f"✗ You bet internals.float64: {beliefs[torch.float64]}.")
    assert repr(shown).endswith("\ninternals.float32")
    assert "<details open>" in shown._repr_mimebundle_()["text/html"]
    assert "default" not in repr(bet("int8", lambda: torch.tensor([2.5]).dtype, beliefs))


def test_a_belief_that_is_no_key_comes_as_a_pair():
    shown = bet([1, 1], lambda: [1, 2], [([1, 1], "the second step counts twice")])
    assert "the second step counts twice" in repr(shown)


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
