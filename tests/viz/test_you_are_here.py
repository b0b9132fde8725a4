"""`viz.you_are_here` computes what it tells, marks one stop, and knows every notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

import internals as torch
import viz
from viz.rooms import you_are_here as room

NOTEBOOKS = sorted(Path(__file__).parents[2].glob("notebooks/[0-9]*.ipynb"))[1:]  # 00 is the map


def test_the_facts_are_those_of_the_neuron():
    facts = {stop.title: stop.fact for stop in viz.you_are_here().stops}
    assert facts == {
        "its bytes": "12 bytes: 00 00 80 3f …",
        "who owns them": "x[1:] shares them, 4 bytes in",
        "the path of its *": "AutogradCPU, then CPU",
        "its graph, backwards": "y = 2, ∂y/∂w = [1, 2, 3]",
        "one fatal +=": "x is at version 1: refused",
        "a training step": "loss 1.00 -> 0.16",
        "its trace and script": "mul, sum, add, relu",
        "a pass, a program": "11 instructions",
        "its file": "a zip of 6 records",
        "one fused kernel": "2 operators in 1 kernel",
        "an answer by wire": "44 bytes ask for it",
    }


def test_the_facts_are_computed(monkeypatch):
    """Another neuron, other facts."""

    def other(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (x * w + b).sum()

    monkeypatch.setattr(room, "neuron", other)
    facts = {stop.title: stop.fact for stop in viz.you_are_here().stops}
    assert facts["its graph, backwards"] == "y = 3, ∂y/∂w = [1, 2, 3]"
    assert facts["its trace and script"] == "mul, add, sum"
    assert facts["a training step"] != "loss 1.00 -> 0.16"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem[:3])
def test_every_notebook_has_its_stop(path):
    picture = viz.you_are_here(path.name)
    marked = [line for line in picture.text().splitlines() if line.startswith("->")]
    assert len(marked) == 1 and picture.here is not None
    assert int(path.name[:2]) in picture.stops[picture.here].notebooks


def test_from_outside_no_stop_is_marked():
    assert "->  " not in viz.you_are_here().text().replace("1.00 -> 0.16", "")


@pytest.mark.parametrize("name", ["99", "spine", ""])
def test_a_number_without_a_stop_is_refused(name):
    with pytest.raises(ValueError, match="no stop of the journey"):
        viz.you_are_here(name)


def test_nothing_overlaps():
    texts = [mark.box for mark in viz.you_are_here("07").canvas().texts()]
    assert not [(a, b) for n, a in enumerate(texts) for b in texts[:n] if a.overlaps(b)]


def test_the_neuron_is_left_alone():
    """Looking trains nothing: the picture is the same the second time."""
    assert viz.you_are_here("10").text() == viz.you_are_here("10").text()
