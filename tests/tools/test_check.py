"""`make check`: what a change reaches, what is nearest to it, and how much of that there is time
for.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tools.test_make_test import git
from tools import check, sampling

FILES = {
    "internals/__init__.py": "from internals import engine, pooling\n",
    "internals/engine.py": "def run():\n    return 1\n",
    "internals/pooling.py": (
        "def max_pool(x):\n    from internals.engine import run\n    return run()\n"
    ),
    "internals/operators/pooling.yaml": "- func: max_pool(x)\n",
    "codegen/model.py": "FOLDER = 'operators'\n",
    "tests/support.py": "import internals\n",
    "tests/test_engine.py": "from internals.engine import run\n",
    "tests/nn/test_pooling.py": "from tests.support import internals\ninternals.max_pool(1)\n",
    "tests/codegen/test_codegen.py": "import codegen.model\n",
    "tests/tools/test_docs.py": "NAME = 'README.md'\n",
    "tests/test_all.py": "import internals\n",
    **{f"tests/test_other_{n}.py": "import internals\n" for n in range(30)},
    "README.md": "Read me.\n",
    "notebooks/01_one.ipynb": "{}",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(sampling, "ROOT", tmp_path)
    monkeypatch.setattr(check, "IMPORTS", tmp_path / "imports.json")
    return tmp_path


def chosen(
    *changed: str, names: list[str] | None = None, seconds: dict[str, float] | None = None
) -> list[str]:
    return check.choose(list(changed), names or [], check.imports(), seconds or {})[0]


def test_imports_are_read_once(project: Path) -> None:
    found = check.imports()
    assert found["internals/__init__.py"] == ["internals/engine.py", "internals/pooling.py"]
    assert found["internals/pooling.py"] == ["internals/engine.py"]  # inside of a function
    assert found["tests/nn/test_pooling.py"] == ["tests/support.py"]
    stamps = check.IMPORTS.read_text()
    assert check.imports() == found and check.IMPORTS.read_text() == stamps
    (project / "tests/tools/test_docs.py").write_text(
        "import internals.engine as e  # now longer\n"
    )
    assert check.imports()["tests/tools/test_docs.py"] == ["internals/engine.py"]


def test_all_that_import_a_change_are_reached_and_the_nearest_come_first(project: Path) -> None:
    near, left = check.choose(["internals/engine.py"], [], check.imports(), {})
    assert near == ["tests/test_engine.py"]
    assert {"tests/nn/test_pooling.py", "tests/test_all.py", "tests/test_other_7.py"} <= set(left)
    assert "tests/tools/test_docs.py" not in left and "tests/codegen/test_codegen.py" not in left
    assert chosen("internals/pooling.py") == ["tests/nn/test_pooling.py"]  # by its name
    assert chosen("internals/engine.py", names=["max_pool"]) == [
        "tests/test_engine.py",
        "tests/nn/test_pooling.py",
    ]
    assert len(chosen("tests/support.py")) == 1 and len(chosen("internals/__init__.py")) > 15


def test_other_files_count_as_the_modules_that_read_them(project: Path) -> None:
    assert chosen("internals/operators/pooling.yaml") == [
        "tests/nn/test_pooling.py",
        "tests/codegen/test_codegen.py",
    ]
    assert chosen("README.md") == ["tests/tools/test_docs.py"]
    assert chosen("notebooks/01_one.ipynb") == []


def test_changed_tests_run_and_a_giant_leaves_room_for_others(project: Path) -> None:
    assert chosen("tests/test_other_3.py", seconds={"tests/test_other_3.py": 1000.0}) == [
        "tests/test_other_3.py"
    ]
    seconds = {f"tests/test_other_{n}.py": 3.0 for n in range(30)} | {"tests/test_all.py": 39.0}
    assert chosen("internals/__init__.py", seconds=seconds)[0] == "tests/test_all.py"
    some = chosen("internals/__init__.py", "internals/engine.py", seconds=seconds)
    assert some[0] == "tests/test_engine.py" and "tests/test_all.py" not in some
    assert check.BUDGET - 3 < sum(seconds.get(name, check.GUESS) for name in some) <= check.BUDGET


def test_what_git_says_has_changed(project: Path) -> None:
    git(project, "init", "-q")
    assert check.start_of_change() == ""
    for message in ("one", "two"):
        (project / "README.md").write_text(message)
        git(project, "add", ".")
        git(project, "commit", "-q", "-m", message)
    first, head = git(project, "rev-parse", "HEAD~1"), git(project, "rev-parse", "HEAD")
    assert check.start_of_change() == first
    git(project, "update-ref", "refs/remotes/origin/main", first)
    assert check.start_of_change() == first
    git(project, "update-ref", "refs/remotes/origin/main", head)
    (project / "internals/engine.py").write_text("def run():\n    return 2\n")
    (project / "internals/new.py").write_text("")
    os.remove(project / "tests/test_all.py")
    assert check.start_of_change() == first
    assert check.changed_files(first) == [
        "README.md",
        "internals/engine.py",
        "internals/new.py",
        "tests/test_all.py",
    ]
    assert check.changed_names(first) == ["run"]
    assert "tests/test_all.py" not in chosen(*check.changed_files(first))
