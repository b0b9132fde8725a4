"""`viz.chart` and `viz.images`: what training looks like."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given, strategies as st

import internals as torch
import viz
from tests.viz.support import assert_good, same_in_two_processes
from viz.canvas import Line, Rect
from viz.rooms.chart import HEIGHT, WIDTH, number, runs, sparkline, stairs, ticks
from viz.rooms.images import patches

values = st.floats(-1e8, 1e8).map(lambda v: round(v, 6))


def lines_of(picture: viz.Picture, paint: str) -> list[tuple[tuple[float, float], ...]]:
    return [m.points for m in picture.canvas().marks if isinstance(m, Line) and m.stroke == paint]


@given(st.lists(values, min_size=1))
def test_ticks_enclose_the_values_and_are_few(numbers: list[float]) -> None:
    found = ticks(numbers)
    assert found[0] <= min(numbers) and max(numbers) <= found[-1]
    assert 2 <= len(found) <= 9 and found == sorted(set(found))


@given(
    st.lists(st.lists(values, min_size=1, max_size=30), min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_any_chart_is_a_good_picture(series: list[list[float]], steps: bool, dots: bool) -> None:
    named = {f"series {n}": line for n, line in enumerate(series)}
    assert_good(viz.chart(named, "step", "loss", [("early", 0, 2), ("late", 2, 5)], steps, dots))


def test_the_line_goes_through_the_points() -> None:
    picture = viz.chart({"a": [0, 1, 4]}, "x", "y")
    (line,) = lines_of(picture, "view")
    assert line == ((0, HEIGHT), (WIDTH / 2, HEIGHT * 3 / 4), (WIDTH, 0))


def test_lines_may_begin_anywhere() -> None:
    (line,) = lines_of(viz.chart({"a": [(10, 0), (20, 1), (30, 4)]}), "view")
    assert line == ((0, HEIGHT), (WIDTH / 2, HEIGHT * 3 / 4), (WIDTH, 0))


def test_pairs_and_tensors() -> None:
    picture = viz.chart({"path": [(2, 0), (0, 1), (torch.tensor(1.0), torch.tensor(0.5))]})
    (line,) = lines_of(picture, "view")
    assert line == ((WIDTH, HEIGHT), (0, 0), (WIDTH / 2, HEIGHT / 2))
    assert viz.chart({"t": torch.tensor([1.0, 3.0])}).series == {"t": [(0.0, 1.0), (1.0, 3.0)]}


def test_values_that_cannot_be_drawn_leave_a_gap() -> None:
    picture = viz.chart({"a": [1, 2, nan, 3, 4, inf, 5]})
    assert len(lines_of(picture, "view")) == 2  # the last point is alone: a dot
    assert any(
        isinstance(m, Rect) and m.fill == "view" and m.box.w == 5 for m in picture.canvas().marks
    )
    assert [len(run) for run in runs(picture.series["a"])] == [2, 2, 1]
    assert [len(run) for run in runs([(0, 1), (nan, 2), (2, 3), (3, -inf), (-inf, 4)])] == [1, 1]
    assert_good(viz.chart({"a": [nan, nan]}))


def test_steps_hold_their_value() -> None:
    assert stairs([(0, 1), (1, 1), (2, 5)]) == [(0, 1), (1, 1), (2, 1), (2, 5)]


def test_the_text_has_the_numbers() -> None:
    text = viz.chart(
        {"training": [2, 0.5, 0.25], "test": [2.5, 1, 1.5]}, "epoch", "loss", [("warm up", 0, 1)]
    ).text()
    assert text.splitlines()[0] == "chart: loss over epoch"
    assert text.splitlines()[2].split() == ["training", "2", "0.25", "2", "0.25", "█▂▁"]
    assert text.splitlines()[-1] == "    warm up: from 0 to 1"


def test_numbers_and_sparklines() -> None:
    assert [number(v) for v in (0, 1200, 0.25, 1234.5, 3e-5, 1e12)] == [
        "0",
        "1,200",
        "0.25",
        "1,234",
        "3e-05",
        "1e+12",
    ]
    assert (
        sparkline([0, 7]) == "▁█" and sparkline([3, 3]) == "▁▁" and len(sparkline(range(100))) == 24
    )


def test_charts_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        viz.chart({"a": []})
    with pytest.raises(ValueError, match="8 series apart, got 9"):
        viz.chart({str(n): [1] for n in range(9)})


def test_images_have_the_shades_of_their_numbers() -> None:
    picture = viz.images(
        torch.tensor([[[0.0, 1.0], [0.5, 0.25]], [[1.0, 1.0], [0.0, 0.0]]]), ["one", "two"]
    )
    assert picture.shades == [[[0, 4], [2, 1]], [[4, 4], [0, 0]]]
    assert picture.text().splitlines() == [
        "2 images of 2 x 2, values from 0 to 1",
        "    one   two",
        "      @@  @@@@",
        "    ++..",
    ]
    assert_good(picture)
    dark = [m for m in picture.canvas().marks if isinstance(m, Rect) and m.fill == "ink"]
    assert len(dark) == 2  # neighbours of one shade are one rectangle


@given(st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=6))
def test_patches_cover_every_pixel_once(image: list[list[int]]) -> None:
    painted = [[0] * 5 for _ in image]
    for x, y, w, h, shade in patches(image):
        for j in range(y, y + h):
            for i in range(x, x + w):
                assert shade and not painted[j][i]
                painted[j][i] = shade
    assert painted == image


def test_images_of_every_accepted_shape() -> None:
    batch = torch.arange(12.0, requires_grad=True).reshape(3, 2, 2)
    assert viz.images(batch).shades == viz.images(batch.unsqueeze(1)).shades
    assert viz.images(batch[1], low=0, high=11).shades[0] == viz.images(batch).shades[1]
    assert viz.images(torch.ones(100, 2, 2)).hidden == 36
    assert_good(
        viz.images(torch.ones(100, 2, 2), [f"a long caption, number {n}" for n in range(100)])
    )


def test_images_refuse_what_they_cannot_draw() -> None:
    for batch, captions, message in (
        (torch.ones(3), (), r"got a shape of \(3,\)"),
        (torch.ones(2, 3, 4, 4), (), "got a shape of"),
        (torch.ones(0, 4, 4), (), "nothing to draw"),
        (torch.tensor([[nan]]), (), "cannot draw nan"),
        (torch.ones(2, 4, 4), ("one",), "1 captions for 2 images"),
    ):
        with pytest.raises(ValueError, match=message):
            viz.images(batch, captions)


def test_charts_and_images_are_the_same_in_every_process() -> None:
    same_in_two_processes(
        "import internals as torch, viz\n"
        "print(viz.chart({'a': [1, 2, 4], 'b': [3, 1, 2]}, 'x', 'y', [('s', 0, 1)]).html())\n"
        "print(viz.images(torch.arange(32.0).reshape(2, 4, 4), ['p', 'q']).html())"
    )
