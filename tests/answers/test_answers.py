"""Recorded answers: what can be kept, how a question finds its answer again, and when one is
refused.
"""

from __future__ import annotations

import pickle
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.answers import HAS_TORCH, asking, files, oracle
from tests.answers.plain import Raised, RealTensor, agree, plain
from tools import goldens


def tensor(values: Any, dtype: str = "float32", **other: Any) -> RealTensor:
    a = np.array(values, dtype)
    facts = {
        "strides": (1,),
        "offset": 0,
        "storage": 0,
        "requires_grad": False,
        "is_view": False,
        "node": None,
        **other,
    }
    return RealTensor(f"torch.{dtype}", a.shape, memory=a.tobytes(), **facts)


SAID = [
    None, True, 3, 2.5, float("nan"), 1 + 2j, "text", b"bytes", (1, [2, {"a": (3,)}]), {1, 2},
    Raised("E", "ValueError", "no"), tensor([1, float("inf"), float("nan")]), tensor([], "int64"),
]  # fmt: skip


@pytest.mark.parametrize("said", SAID, ids=repr)
def test_what_is_kept_is_what_was_said(said: Any, tmp_path: Path) -> None:
    files.write(tmp_path / "some.xz", {"key": {0: said}})
    back = files.read(tmp_path / "some.xz")["key"][0]
    assert agree(back, said) and type(back) is type(said)
    assert list(tmp_path.iterdir()) == [tmp_path / "some.xz"]


OTHERWISE = [
    (1, 2), (1, True), (1, 1.0), ("a", "b"), ((1,), [1]), ((1,), (1, 2)), ({"a": 1}, {"b": 1}),
    (0.5, 0.6), (tensor([1, 2]), tensor([1, 2], "float64")), (tensor([1, 2]), tensor([1, 2.1])),
    (tensor([1, 2], "int64"), tensor([1, 3], "int64")),
    (tensor([True], "bool"), tensor([False], "bool")),
    (tensor([1, 2]), tensor([1, 2], strides=(2,))), (tensor([1, 2]), tensor([1, 2], storage=1)),
    (tensor([1, 2]), tensor([1, 2], requires_grad=True)),
    (tensor([1, 2]), tensor([1, float("nan")])),
    (tensor([1, 2]), tensor([1, 2], node="AddBackward0")), (tensor([0.0]), tensor([1e-20])),
    (Raised("E", "ValueError", "no"), Raised("E", "ValueError", "yes")),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), OTHERWISE, ids=repr)
def test_another_answer_is_seen(a: Any, b: Any) -> None:
    assert not agree(a, b) and not agree([a], [b]) and not agree({"x": a}, {"x": b})


def test_a_processors_rounding_is_not() -> None:
    assert agree(tensor([1.0, 1e-9]), tensor([1.00001, 2e-9])) and agree(0.1 + 0.2, 0.3)
    # float32's rounding, of a tensor's tolist()
    assert agree([1.0, 0.03954017162322998], [1.0, 0.03954039397497177])
    assert not agree([1.0, 0.03], [1.0, 0.04]) and not agree([1.0, 2.0], [1, 2.0])
    assert not agree([1.0, 0.1], [1.0, 0.1001]) and not agree([[1.0], 1], [[1.0], 2])


def test_an_object_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="plain data and tensors, not"):
        plain([object()])
    files.write(tmp_path / "some.xz", {"key": {0: Path("x")}})
    with pytest.raises(pickle.UnpicklingError, match="an answer holds pathlib"):
        files.read(tmp_path / "some.xz")


def test_errors_have_their_type_again() -> None:
    class OddError(LookupError):
        pass

    again = Raised.of(OddError("word")).error()
    assert (
        type(again).__name__ == "OddError"
        and isinstance(again, LookupError)
        and str(again) == "word"
    )
    assert str(Raised.of(KeyError("k")).error()) == str(KeyError("k"))


@pytest.mark.skipif(not HAS_TORCH, reason="real PyTorch is not installed: make oracle")
def test_a_tensor_tells_all() -> None:
    torch = oracle()
    base = torch.arange(6.0, requires_grad=True)
    view, other = plain((base.view(2, 3).t()[1:], torch.ones(1)))
    assert (view.dtype, view.shape, view.strides, view.offset) == (
        "torch.float32",
        (2, 2),
        (1, 3),
        1,
    )
    assert (
        view.tolist() == [[1, 4], [2, 5]]
        and view.is_view
        and view.requires_grad
        and view.node == "SliceBackward0"
    )
    assert (view.storage, other.storage) == (0, 1)


def item(name: str, text: str, folder: Path, **params: Any) -> Any:
    path = folder / f"{abs(hash(text))}.py"
    path.write_text(textwrap.dedent(text))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return SimpleNamespace(
        name=name, function=scope["test"], callspec=SimpleNamespace(params=params)
    )


def test_a_test_may_move_and_be_wrapped_but_not_change(tmp_path: Path) -> None:
    def key(text: str, **params: Any) -> str:
        return asking.key_of(item("test[x]", text, tmp_path, **params))

    one = key("def test():\n    assert f(1, 2)\n")
    assert one == key("# moved\n\n\ndef test():\n    assert f(\n        1,\n        2,\n    )\n")
    assert one != key("def test():\n    assert f(1, 3)\n")
    assert key("def test(): pass", case="a") != key("def test(): pass", case="b")
    cases = [
        lambda: 1,
        lambda: 2,
    ]
    assert key("def test(): pass", case=cases[0]) != key("def test(): pass", case=cases[1])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks a PyTorch that is the number 7, or is absent, with what was recorded."""

    def ask(
        about: Any = None,
        torch: Any = None,
        kept: Any = None,
        whole: bool = False,
        random: bool = False,
        **more: Any,
    ) -> Any:
        monkeypatch.setattr(asking, "TORCH", torch)
        monkeypatch.setattr(asking, "RECORDING", None)
        monkeypatch.setattr(asking, "WHOLE", whole)
        monkeypatch.setattr(asking, "_now", asking.Asker("key", random))
        monkeypatch.setattr(files, "load", lambda family: {"key": kept or {}})
        return asking.answer(lambda torch: torch, about, **more)

    return ask


def test_with_pytorch_its_answer_counts_and_the_record_has_to_agree(asked: Any) -> None:
    assert asked(torch=7) == 7 and asked(torch=7, kept={0: 7}) == 7
    with pytest.raises(AssertionError, match="PyTorch says 7, recorded is 8: make goldens"):
        asked(torch=7, kept={0: 8})
    with pytest.raises(AssertionError, match="is not recorded: make goldens"):
        asked(torch=7, whole=True)


def test_the_essence_of_an_answer_has_to_stay_and_the_rest_may_change(
    asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def essence(said: Any) -> Any:
        return said % 5

    assert asked(torch=7, kept={0: 12}, essence=essence) == 7
    with pytest.raises(AssertionError, match="PyTorch says 7, recorded is 13"):
        asked(torch=7, kept={0: 13}, essence=essence)
    with pytest.raises(AssertionError, match="PyTorch says 7"):
        asked(torch=7, kept={0: Raised("ValueError", "ValueError", "no")}, essence=essence)
    monkeypatch.setattr(asking, "_recorded", {})
    for kept, left in ((12, 12), (13, 7)):  # what agrees stays as it was recorded
        monkeypatch.setattr(asking, "_now", asking.Asker("key", False))
        monkeypatch.setattr(asking, "RECORDING", "folder")
        monkeypatch.setattr(files, "load", lambda family, kept=kept: {"key": {0: kept}})
        assert asking.answer(lambda torch: torch, essence=essence) == 7
        assert asking._recorded["calls"]["key"] == {0: left}


def test_without_pytorch_the_record_counts(asked: Any) -> None:
    about = asking.zlib.crc32(b"'x'")
    assert asked(kept={0: 8}) == 8 and asked("x", kept={about: 9}) == 9
    with pytest.raises(pytest.skip.Exception, match="not recorded"):
        asked()
    with pytest.raises(AssertionError, match="is about something else"):
        asked("y", kept={about: 9})
    with pytest.raises(pytest.skip.Exception, match="not recorded"):
        asked("y", kept={about: 9}, random=True)
    with pytest.raises(ValueError, match="no"):
        asked(kept={0: Raised("ValueError", "ValueError", "no")})
    with pytest.raises(AssertionError, match="says what it is about"):
        asked(kept={0: 1}, random=True)


def test_new_answers_replace_others_and_leave_those_that_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    monkeypatch.setattr(files, "load", files.load.__wrapped__)
    goldens.keep({"some": {"a": {0: 1.0}, "b": {0: 2}}}, whole=True)
    before = (tmp_path / "some.xz").read_bytes()
    goldens.keep({"some": {"a": {0: 1.0 + 1e-9}}}, whole=False)
    assert (tmp_path / "some.xz").read_bytes() == before
    goldens.keep({"some": {"a": {0: 1.5}}}, whole=False)
    assert files.load("some") == {"a": {0: 1.5}, "b": {0: 2}}
    goldens.keep({"some": {"a": {0: 1.5}}}, whole=True)
    assert files.load("some") == {"a": {0: 1.5}}
    goldens.keep({}, whole=True)
    assert not list(tmp_path.iterdir())


def test_the_files_are_small() -> None:
    sizes = [path.stat().st_size for path in files.FOLDER.glob("*.xz")]
    assert sizes and sum(sizes) < goldens.LIMIT


def test_a_parameter_may_be_any_text() -> None:
    one, other = (
        SimpleNamespace(name="test", callspec=SimpleNamespace(params={"p": p}))
        for p in ("\ud800", "\ud801")
    )
    assert asking.key_of(one) != asking.key_of(other)
