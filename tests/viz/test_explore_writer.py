"""The file of `viz.explore`: one piece, safe whatever is in it, readable without its script, the
same every time.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import internals as torch
import viz
from internals import jit, models, nn
from internals.serialization import ArchiveError
from tests.serialization.inspection_support import ARCHIVES
from tests.viz.support import same_in_two_processes
from viz.rooms.explore import page_of
from viz.rooms.explore_page.record import record
from viz.rooms.explore_page.scene import Page, Pane, Part, Phase, Row, View
from viz.rooms.explore_page.writer import page_bytes, page_html, shown

HOSTILE = "</script><img src=x onerror=alert(1)>'\"&\u202e\x00<!--"
VOID = {"meta", "input", "img", "br", "rect", "path", "line", "circle"}


class Reader(HTMLParser):
    """The elements of a page as a browser sees them: that all are closed, their attributes, and the
    text outside scripts.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


def small() -> Page:
    return record(jit.script(add), (torch.ones(2), torch.ones(2)), "add", kernels=False)


def add(x, y):  # type: ignore[no-untyped-def]
    """Two of them."""
    return x + y


def test_one_file_that_asks_for_nothing_else() -> None:
    text = page_html(small())
    read = Reader(text)
    asking = {"src", "href", "srcset", "action", "data", "poster"}
    assert not [attrs for _, attrs in read.elements if asking & attrs.keys()]
    assert not re.search(
        r"@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|import\(|sendBeacon", text
    )
    assert not re.findall(r"https?://", text)
    assert {
        tag for tag in read.tags() if tag in ("link", "iframe", "object", "base", "img")
    } == set()


def test_the_policy_lets_only_the_pages_own_script_run() -> None:
    read = Reader(page_html(small()))
    (policy,) = [
        a["content"] for tag, a in read.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]
    data, script = read.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert (
        policy is not None
        and policy.startswith("default-src 'none'")
        and f"script-src 'sha256-{digest}'" in policy
    )
    assert not [a for _, a in read.elements if any(name.startswith("on") for name in a)]
    assert set(json.loads(data)) == {"links", "phases"}


def test_everything_is_there_without_the_script() -> None:
    page = small()
    words = "".join(Reader(page_html(page)).text)
    for pane in page.panes:
        for view in pane.views:
            for row in view.rows:
                if row.kind != "changed":
                    assert row.text in words
    assert "Without JavaScript" in words


def test_roles_and_names_for_those_who_do_not_see_it() -> None:
    read = Reader(page_html(small()))
    boxes = [a for _, a in read.elements if a.get("role") == "listbox"]
    assert boxes and all(a["aria-label"] and a["tabindex"] == "0" for a in boxes)
    labelled = [(tag, a) for tag, a in read.elements if tag in ("button", "input", "select")]
    for tag, a in labelled:
        assert (
            a.get("aria-label") or a.get("type") == "radio" or "fold" in (a.get("class") or "")
        ), (tag, a)
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, a in read.elements:
        for name in ("aria-controls", "aria-labelledby", "for"):
            assert a.get(name) is None or a[name] in ids


def hostile_page() -> Page:
    row = Row(HOSTILE, ("a0.0",), HOSTILE, note=HOSTILE, parts=[Part(0, 9, ("a0.0",))])
    changed = Row(
        HOSTILE, ("n0",), kind="changed", pieces=[("del", HOSTILE), ("ins", HOSTILE), ("", HOSTILE)]
    )
    head = Row(HOSTILE, ("f0",), kind="head")
    ir = Pane("ir", HOSTILE, [View(HOSTILE, [changed, Row(HOSTILE, kind="note")], HOSTILE)])
    panes = [Pane("source", HOSTILE, [View(HOSTILE, [head, row]), View(HOSTILE, [row])]), ir]
    return Page(
        HOSTILE, panes, [Phase(HOSTILE, HOSTILE, 0, True, HOSTILE)], {"n0": ("a0.0",)}, [HOSTILE]
    )


def test_hostile_text_stays_text() -> None:
    read = Reader(page_html(hostile_page()))
    assert "img" not in read.tags() and len(read.scripts) == 2
    assert (
        "".join(read.text).count("</script><img src=x onerror=alert(1)>'\"&\\u202e\\x00<!--") >= 8
    )
    assert json.loads(read.scripts[0])["phases"][0][0] == HOSTILE


@given(st.text())
@settings(max_examples=200)
def test_whatever_is_shown_is_visible_and_harmless(text: str) -> None:
    written = shown(text)
    assert not re.search(
        "[<>\"'\x00-\x08\x0b-\x1f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", written
    )
    written.encode()
    if text.isascii() and text.isprintable():
        assert Reader(f"<p>{written}</p>").text in ([text], [])


def test_a_name_in_an_archive_stays_a_name(tmp_path: Path) -> None:
    path = tmp_path / "</title><script>alert(1).pt".replace("/", "∕")
    torch.save({HOSTILE.replace("\x00", ""): torch.ones(2)}, path)
    viz.explore(path).save(tmp_path / "page.html")
    read = Reader((tmp_path / "page.html").read_text())
    assert len(read.scripts) == 2 and "img" not in read.tags()
    assert "There is no program in this file" in "".join(read.text)


def test_code_in_an_archive_is_shown_and_not_run(tmp_path: Path) -> None:
    """The text of a program may hold anything, as long as it compiles: here in a string and a
    comment.
    """
    path, bad = tmp_path / "f.pt", tmp_path / "bad.pt"
    jit.save(jit.script(add), path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".py"):
                content = content.replace(
                    b"  return", b"  # </script><img src=x onerror=alert(1)>\n  return", 1
                )
            new.writestr(name, content)
    page = page_of(str(bad), torch.ones(2), torch.ones(2))
    read = Reader(page_html(page))
    assert (
        "# </script><img src=x onerror=alert(1)>" in "".join(read.text) and "img" not in read.tags()
    )


# Archives


def test_the_page_of_a_program_ties_records_to_sources_and_tensors_to_nodes(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    jit.save(jit.script(net), tmp_path / "net.pt")
    page = viz.explore(str(tmp_path / "net.pt"), torch.ones(1, 2)).page
    assert [pane.name for pane in page.panes] == [
        "archive",
        "source",
        "ast",
        "ir",
        "bytecode",
        "kernel",
    ]
    records = {row.text: row for row in page.pane("archive").views[0].rows}
    heads = [row for row in page.pane("source").views[0].rows if row.kind == "head"]
    for head in heads:
        assert records[head.note].own == head.own
    weight = next(row for row in page.pane("archive").views[1].rows if row.text == "0.weight")
    nodes = [each.text for each in page.marked(weight, "ir") if isinstance(each, Row)]
    assert len(nodes) == 1 and 'prim::GetAttr[name="weight"]' in nodes[0]
    assert any(
        row.text.startswith("data/")
        for row in page.marked(weight, "archive")
        if isinstance(row, Row)
    )
    forward = [row for row in page.pane("source").views[0].rows if "def forward" in row.text]
    assert forward and page.pane("archive").views[-1].svg.startswith("<svg")


@pytest.mark.parametrize(
    "name",
    [
        "torchscript/control_flow.pt", "torchscript/objects.pt", "torchscript/traced_net.pt",
        "v101/script101.pt", "v101/nested101.pt", "pt2/everything.pt2", "pt2/choice.pt2",
        "torch_save/views.pt", "torch_save/refused_module.pt", "torch_save/tensors.safetensors",
        "torch_save/state_dict_stream.pt",
    ],
)  # fmt: skip
def test_every_kind_of_file_has_a_page(name: str) -> None:
    page = page_of(ARCHIVES / name)
    read = Reader(page_html(page))
    assert "Archive" in read.text and page.pane("archive").views[0].rows is not None
    program = not name.startswith("torch_save")
    assert (len(page.panes) >= 6) == program
    if program:
        rows = page.pane("ir").views[0].rows
        assert rows and all(row.own for row in rows if row.kind != "note")
        if not name.startswith("pt2"):
            assert any(list(page.marked(row, "source")) for row in rows)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "not.pt"
    path.write_bytes(b"hello")
    with pytest.raises(ArchiveError):
        viz.explore(path)
    with pytest.raises(OSError):
        page_of(str(tmp_path / "absent.pt"))


# Size, sameness, files


@pytest.mark.sampled(1 / 4)
def test_a_big_model_has_a_page_that_says_what_it_leaves_out() -> None:
    with torch.no_grad():
        page = record(
            jit.script(models.resnet18().eval()),
            (torch.zeros(1, 3, 32, 32),),
            "resnet18",
            kernels=False,
        )
    data = page_bytes(page)
    assert len(data) < 8_000_000
    cut = [view for pane in page.panes for view in pane.views if view.hidden]
    assert cut and f"… {cut[0].hidden:,} more lines not shown" in data.decode()
    assert all(len(view.rows) <= 1500 for pane in page.panes for view in pane.views)


@pytest.mark.sampled(1 / 4)
def test_the_same_in_two_processes() -> None:
    program = (
        "import internals as torch\nfrom internals import jit\nfrom tests.viz.test_explore_writer "
        "import add\n"
        "from viz.rooms.explore_page.record import record\nfrom viz.rooms.explore_page.writer "
        "import page_html\n"
        "print(page_html(record(jit.script(add), (torch.ones(2), torch.ones(2)), 'add')))"
    )
    printed = same_in_two_processes(program)
    assert "aten::add" in printed and not re.search("0x[0-9a-f]{8,}", printed)


def test_the_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    picture = viz.explore(add)
    assert picture.save(tmp_path / "page.html") == tmp_path / "page.html"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert picture.save(tmp_path / "page.txt").read_text() == picture.text() + "\n"
    with pytest.raises(ValueError, match="the suffix must be one of"):
        picture.save(tmp_path / "page.pdf")
    with pytest.raises(OSError):
        picture.save(tmp_path / "absent" / "page.html")
