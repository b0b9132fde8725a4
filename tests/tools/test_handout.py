"""The handout says what is true now, and needs nothing but a printer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import internals as torch
import viz
from tools import handout


def test_what_is_on_it() -> None:
    page = handout.page()
    assert viz.big_picture(torch.arange(6.0).view(2, 3)).svg() in page
    assert "$" not in page and not re.search(r'(src|href)="', page)
    assert page.count("<section>") == 2 and "internals/serving/" in page


def test_shared_and_copied_were_looked_up() -> None:
    rows = {
        way: word
        for word, way in re.findall(
            r"<td>(\w+)</td><td><code>(.*?)</code>", "".join(handout.shared())
        )
    }
    assert set(rows.values()) == {"shared", "copied"} and len(rows) == len(handout.WAYS)
    assert rows["torch.tensor(a)"] == "copied" and rows["torch.from_numpy(a).t()"] == "shared"


def test_every_floor_is_named() -> None:
    rows = list(handout.floors())
    assert len(rows) >= 12 and all(row.count("<td>") == 4 for row in rows)
    assert all(len(handout.first_sentences(getattr(viz, name))) > 20 for name in handout.PICTURES)


@pytest.mark.parametrize(
    "name, said",
    [("x.pdf", "give a name that ends in .html"), ("file/x.html", "cannot write file/x.html: ")],
)
def test_where_it_cannot_be_written_is_told(
    name: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").write_text("here before")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["handout", "--output", name])
    with pytest.raises(SystemExit) as stop:
        handout.main()
    assert said in f"{stop.value} {capsys.readouterr().err}"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
