"""A pasted error leads to its cause, its cure, the cell that shows it and the file."""

from __future__ import annotations

import json
import re

import pytest

import internals as torch
from internals.source_map import where
from internals.source_map.entries import ROOT, entry_named
from internals.source_map.symptoms import Symptom, symptom_of, symptoms
from tools import symptoms_page

ALL = symptoms()


def headings(file: str) -> set[str]:
    cells = json.loads((ROOT / "notebooks" / file).read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return set(re.findall(r"^#+ (.*)$", text, re.M))


def filled(text: str) -> str:
    return re.sub(r"\{\}", "7", text)


@pytest.mark.parametrize("symptom", ALL, ids=lambda symptom: symptom.text[:40])
def test_a_message_finds_its_symptom(symptom: Symptom) -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3\nRuntimeError: '
    for pasted in (symptom.text, filled(symptom.text), trace + filled(symptom.text)):
        assert symptom_of(pasted) is symptom


@pytest.mark.parametrize("symptom", ALL, ids=lambda symptom: symptom.text[:40])
def test_a_symptom_leads_somewhere(symptom: Symptom) -> None:
    assert entry_named(symptom.topic).ours
    assert symptom.section.heading in headings(symptom.section.file)
    assert symptom.cause and symptom.cure and symptom.seen.startswith("https://")


def test_an_exception_will_do() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y += 1
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    place = where(caught.value)
    assert place.symptom is not None and place.topic == "version counters"
    assert [row.label for row in place.rows()][:2] == ["cause", "cure"]


@pytest.mark.parametrize(
    "pasted",
    [
        "Lists must contain only a single type, expected: int but found float",
        "freezing is currently only implemented for modules in eval mode",
        "the type that was expected here is a number, but the file that we found was empty",
    ],
)
def test_a_text_with_a_few_of_the_words_is_no_symptom(pasted: str) -> None:
    assert symptom_of(pasted) is None


@pytest.mark.parametrize("words", ["autograd engine", "caching allocator", "the way of one call"])
def test_a_topic_is_no_message(words: str) -> None:
    assert symptom_of(words) is None


def test_the_page_is_fresh() -> None:
    assert symptoms_page.PAGE.read_text(encoding="utf-8") == symptoms_page.page(), (
        "python -m tools.source_map"
    )
