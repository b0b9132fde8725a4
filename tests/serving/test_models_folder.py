"""From a name to a file: what is found, and that no name leads out of the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from internals.serving.errors import InvalidRequest, ModelNotFound, ServingError
from internals.serving.models.folder import LONGEST_NAME, ModelFolder, is_name, listed
from tests.support import examples


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A folder of models with secrets around it, and links that lead to them."""
    top = tmp_path_factory.mktemp("top")
    root = top / "models"
    models = [
        "a.pt",
        "a.pt2",
        "both.pt",
        "both.pt2",
        "both/1/model.pt",
        "both/1/model.pt2",
        "b/1/model.pt",
        "b/2/model.pt",
    ]
    for path in (*models, "b/10/model.pt2", "é/3/model.pt"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(f"model {path}".encode())
    for path in (
        "b/0/model.pt",
        "b/-1/model.pt",
        "b/03/model.pt",
        "b/x/model.pt",
        "b/4/other.pt",
        ".hidden.pt",
        "note.txt",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"secret: not a model")
    for path in ("secret.pt", "outside/1/model.pt", "1/model.pt"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(b"secret")
    (root / "leak.pt").symlink_to(top / "secret.pt")
    (root / "leaking").symlink_to(top / "outside")
    (root / "dots").mkdir()
    (root / "dots" / "1").symlink_to("../../outside/1")
    (root / "files" / "1").mkdir(parents=True)
    (root / "files" / "1" / "model.pt").symlink_to("../../../secret.pt")
    (root / "round.pt").symlink_to("round.pt")
    (root / "dangling.pt").symlink_to("nowhere.pt")
    (root / "inside.pt").symlink_to("b/2/model.pt")
    (root / "current").symlink_to("b")
    (root / "folder.pt").mkdir()
    return root


def content(folder: ModelFolder, name: str, version: str = "") -> str:
    with folder.open_path(name, version) as file:
        return file.read().decode()


def test_what_is_found(tree):
    assert sorted(ModelFolder(tree).scan()) == [
        ("a", "1"), ("b", "1"), ("b", "10"), ("b", "2"), ("both", "1"), ("current", "1"),
        ("current", "10"), ("current", "2"), ("inside", "1"), ("é", "3"),
    ]  # fmt: skip


def test_versions_and_files(tree):
    folder = ModelFolder(tree)
    assert content(folder, "a") == content(folder, "a", "1") == "model a.pt"
    assert content(folder, "b") == "model b/10/model.pt2"
    assert content(folder, "b", "2") == "model b/2/model.pt"
    assert content(folder, "é") == "model é/3/model.pt"
    assert content(folder, "both") == "model both/1/model.pt"
    assert content(folder, "inside") == "model b/2/model.pt"
    assert content(folder, "current", "1") == "model b/1/model.pt"
    assert list(folder.versions("b")) == ["1", "2", "10"]


def test_what_is_not_there(tree):
    folder = ModelFolder(tree)
    with pytest.raises(
        ModelNotFound, match="no model 'c' in the folder; there is a, b, both, current, inside, é"
    ):
        folder.open_path("c")
    with pytest.raises(ModelNotFound, match="'b' has no version 3 in the folder; it has 1, 2, 10"):
        folder.open_path("b", "3")


@pytest.mark.parametrize(
    "name", ["leak", "leaking", "dots", "files", "round", "dangling", "folder", "note", "hidden"]
)
def test_links_that_lead_out_are_no_models(tree, name):
    with pytest.raises(ModelNotFound):
        ModelFolder(tree).open_path(name)


HOSTILE = [
    "", ".", "..", "../secret", "../outside", "/etc/passwd", "a/../../secret", "a\0", "\0",
    "a\\..\\b", "..\\secret", "C:", "C:\\x", "a/1/model", "./a", ".hidden", "a\n", "\u202ea",
    "a\u200b", "\ud800", "x" * (LONGEST_NAME + 1), "é" * LONGEST_NAME, "a.", "a ", " a", "~",
    "$HOME/x", "%2e%2e/secret", "a?", "*", "\uff0e\uff0e/secret", "..%00", "//", "\x7f",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names(tree, name):
    with pytest.raises((InvalidRequest, ModelNotFound)) as error:
        ModelFolder(tree).open_path(name)
    assert (
        len(str(error.value)) < 400
        and str(error.value).isprintable()
        and "\n" not in str(error.value)
    )


@pytest.mark.parametrize(
    "version",
    ["0", "-1", "01", "1.0", "+1", " 1", "1\n", "..", "1/..", "x", "²", "١", "9" * 30, "\0"],
)
def test_hostile_versions(tree, version):
    with pytest.raises(InvalidRequest, match="versions are whole numbers"):
        ModelFolder(tree).open_path("b", version)


words = [
    "..",
    ".",
    "/",
    "\\",
    "\0",
    "a",
    "b",
    "1",
    "model.pt",
    "leak",
    "outside",
    "secret",
    ".pt",
    "é",
    "\ud83d",
    " ",
    ":",
]
pieces = st.sampled_from(words)
names = st.one_of(st.text(max_size=300), st.lists(pieces, max_size=8).map("".join))


@examples(300)
@given(
    name=names,
    version=st.one_of(st.just(""), st.text(max_size=30), st.lists(pieces, max_size=5).map("".join)),
)
def test_no_name_leads_out_of_the_folder(tree, name, version):
    """Whatever is asked for: a model's file, or a ServingError."""
    try:
        with ModelFolder(tree).open_path(name, version) as file:
            assert file.read().startswith(b"model ")
            assert is_name(name)
    except ServingError as error:
        assert len(str(error)) < 500


@given(st.text(max_size=20))
def test_names_survive_a_folder(name):
    if is_name(name):
        assert os.path.basename(os.path.join("root", name)) == name
        assert Path("root", name).parts == ("root", name)


def test_a_link_put_in_place_of_a_folder_after_the_scan(tmp_path):
    """The race between looking and opening: components are opened one by one, and no link is
    followed.
    """
    root = tmp_path / "models"
    (root / "m" / "1").mkdir(parents=True)
    (root / "m" / "1" / "model.pt").write_bytes(b"model")
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "model.pt").write_bytes(b"secret")
    folder = ModelFolder(root)
    found = folder.find("m")
    (root / "m").rename(root / "gone")
    (root / "m").symlink_to(tmp_path)
    with pytest.raises(OSError):
        folder.open_found(found)
    (root / "m").unlink()
    (root / "m" / "1").mkdir(parents=True)
    (root / "m" / "1" / "model.pt").symlink_to(tmp_path / "1" / "model.pt")
    with pytest.raises(OSError):
        folder.open_found(found)


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="open descriptors cannot be counted here")
def test_no_descriptor_is_left_open(tree):
    folder = ModelFolder(tree)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        content(folder, "b", "1")
        for name in ("leak", "c", "../x"):
            with pytest.raises(ServingError):
                folder.open_path(name)
    assert len(os.listdir("/dev/fd")) == before


def test_no_folder(tmp_path):
    with pytest.raises(NotADirectoryError, match="none"):
        ModelFolder(tmp_path / "none")


def test_names_in_messages_are_few():
    assert listed([]) == "none"
    assert listed(f"m{i:03}" for i in range(30)).endswith("m019 and 10 more")
