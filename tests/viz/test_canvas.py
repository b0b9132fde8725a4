"""The parts that every picture is made of: palette, canvas, SVG, PNG, HTML, text, names, saving."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from viz.canvas import Canvas, Text, shorten, text_width
from viz.html import live_or_still
from viz.names import Names
from viz.palette import HUES, MEANING, PAINTS, colour, mix
from viz.scene import Picture
from viz.svg import svg
from viz.text import and_list, plural, size_in_words, table


class Sample(Picture):
    def text(self) -> str:
        return "a sample"

    def canvas(self) -> Canvas:
        canvas = Canvas("sample <1>", 'says "hello" & more')
        canvas.chip(0, 0, "S0 & co", "storage")
        canvas.rect(0, 30, 50, 20, "view-soft", "view", tip="a < b")
        canvas.line([(0, 60), (40, 60)], "key", arrow=True)
        canvas.text(5, 80, "cost: $5 < $6", font="mono")
        return canvas


def luminance(hex_colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    channels = [int(hex_colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_legible_on_every_fill(theme: str) -> None:
    paints = PAINTS[theme]
    for paint in ("ink", "muted"):
        assert contrast(paints[paint], paints["paper"]) >= 4.5
    for role in HUES:
        for paint in ("ink", "muted", f"{role}-text"):
            for under in (f"{role}-soft", "paper", "panel"):
                assert contrast(paints[paint], paints[under]) >= 4.5, (paint, under)


def test_every_colour_has_one_meaning() -> None:
    assert set(MEANING) == set(HUES)
    for theme in PAINTS.values():
        strong = [theme[role] for role in HUES]
        assert len(set(strong)) == len(strong)


def test_unknown_paint_is_an_error() -> None:
    with pytest.raises(KeyError):
        colour("puce")
    assert mix("#000000", "#ffffff", 0.5) == "#808080"


def test_svg_is_well_formed_and_says_what_it_is() -> None:
    root = ElementTree.fromstring(Sample().svg())
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg" and root.get("role") == "img"
    assert root.get("aria-label") == "sample <1>"
    assert root.findtext(f"{space}title") == "sample <1>"
    assert root.findtext(f"{space}desc") == 'says "hello" & more'
    assert not any("id" in element.attrib for element in root.iter())


def test_svg_follows_the_theme_and_has_light_defaults() -> None:
    auto, dark = Sample().svg(), Sample().svg("dark")
    assert "prefers-color-scheme:dark" in auto and "data-jp-theme-light" in auto
    assert f'fill="{PAINTS["light"]["paper"]}"' in auto
    assert f'fill="{PAINTS["dark"]["paper"]}"' in dark and "<style>" not in dark
    used = set(re.findall(r'class="([^"]+)"', auto))
    for names in used - {"iv"}:
        for name in names.split():
            assert f".iv .{name}{{" in auto, name
    with pytest.raises(ValueError, match="theme must be"):
        Sample().svg("sepia")


def test_exactly_one_of_the_two_pictures_shows() -> None:
    html = Sample().html()
    assert html.count("<svg") == 1 and html.count("<img") == 1
    # stripped of <style>: the image shows
    assert '<div class="iv-live" style="display:none"><svg' in html
    assert ".iv-live{display:block!important}.iv-still{display:none!important}" in html
    source = re.search(r'src="data:image/svg\+xml,([^"]*)"', html)
    assert source is not None and not re.search(r"[<>\"#\s]", source[1])
    from urllib.parse import unquote

    assert unquote(source[1]) == Sample().svg()


def test_alternative_text_is_escaped() -> None:
    assert 'alt="a &quot;b&quot; &lt;c&gt;"' in live_or_still("<svg/>", 'a "b" <c>')


def test_notebooks_get_html_and_text() -> None:
    bundle = Sample()._repr_mimebundle_()
    assert list(bundle) == ["text/html", "text/plain"]
    assert bundle["text/plain"] == repr(Sample()) == str(Sample()) == "a sample"


def test_save_by_suffix(tmp_path: Path) -> None:
    for suffix, start in ((".svg", b"<svg"), (".html", b"<!DOCTYPE"), (".txt", b"a sample\n")):
        assert Sample().save(tmp_path / f"p{suffix}").read_bytes().startswith(start)
    with pytest.raises(ValueError, match=r"\.html, \.png, \.svg, \.txt"):
        Sample().save(tmp_path / "p.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.html", "p.svg", "p.txt"]


def test_save_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    (tmp_path / "p.txt").mkdir()
    with pytest.raises(OSError):
        Sample().save(tmp_path / "p.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["p.txt"]


def test_png_is_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first = Sample().save(tmp_path / "p.png").read_bytes()
    assert first.startswith(b"\x89PNG") and first == Sample().png()
    assert Sample().png("dark") != first


def test_widths_add_up_exactly_however_they_are_added() -> None:
    widths = [text_width(f"{n} references", 11, bold=n % 2 == 0) for n in range(50)]
    assert all(width * 4 == int(width * 4) for width in widths)
    forwards = backwards = 0.0
    for width, other in zip(widths, reversed(widths)):
        forwards, backwards = forwards + width, backwards + other
    assert forwards == backwards == sum(widths)


def test_estimated_widths_hold_for_the_fonts_that_matplotlib_brings() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    for text in (
        "Tensor float32 (2, 3) strides (3, 1)",
        "WWWW mmmm",
        "iiii llll",
        "a→b × 3 … done",
    ):
        for font, family in (("sans", "DejaVu Sans"), ("mono", "DejaVu Sans Mono")):
            for bold in (False, True):
                properties = FontProperties(family=family, weight="bold" if bold else "normal")
                real = TextPath((0, 0), text, size=20, prop=properties).get_extents().x1
                assert real <= text_width(text, 20, font, bold) * 1.01, (text, font, bold)


def test_shorten_keeps_within_the_room() -> None:
    assert shorten("abc", 100, 12) == "abc"
    cut = shorten("a very long label", 60, 12)
    assert cut.endswith("…") and text_width(cut, 12) <= 60
    assert shorten("abc", 1, 12) == ""


def test_a_label_never_leaves_its_box() -> None:
    canvas = Canvas()
    box = canvas.rect(0, 0, 40, 20)
    canvas.label(box, "does not fit in there")
    (label,) = canvas.texts()
    assert label.tip == "does not fit in there"
    assert box.x <= label.box.x and label.box.right <= box.right


def test_sheets_can_be_stacked() -> None:
    first, second = Sample().canvas(), Sample().canvas()
    count = len(first.marks)
    first.stack(second, gap=10)
    assert len(first.marks) == 2 * count
    tops = [m for m in first.texts() if m.text == "S0 & co"]
    assert tops[1].y > max(t.y for t in list(first.texts())[:2])
    assert isinstance(tops[0], Text)


def test_names_go_by_first_appearance_and_overlap() -> None:
    names = Names()
    assert names.add(1000, 16).name == "S0"
    assert names.add(2000, 16).name == "S1"
    assert names.add(1008, 16).name == "S0"
    assert names.of(1016) == "S0+0x10"
    assert names.of(2000) == "S1+0x0"
    assert names.of(0) == "NULL" and names.of(5000) == "?"
    bridge = names.add(1000, 1010)  # covers both
    assert bridge.name == "S0" and len(names.regions) == 1


def test_text_helpers() -> None:
    assert table([["a", 4], ["view", 16]], right=[1]) == "a      4\nview  16"
    assert table([]) == ""
    assert plural(1, "byte") == "1 byte" and plural(20_000_000, "byte") == "20,000,000 bytes"
    assert plural(2, "index") == "2 indices"
    assert and_list(["a"]) == "a" and and_list(["a", "b", "c"]) == "a, b and c"
    assert size_in_words(1000) == "1,000 bytes"
    assert size_in_words(77_070_336) == "73.5 MiB (77,070,336 bytes)"


def test_import_is_light() -> None:
    code = (
        "import sys, viz; "
        "print([m for m in ('matplotlib', 'graphviz', 'internals', 'numba', 'torch', 'IPython') if "
        "m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_svg_needs_no_marks() -> None:
    assert ElementTree.fromstring(svg(Canvas("empty"))).tag.endswith("svg")
