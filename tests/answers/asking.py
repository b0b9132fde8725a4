"""Asking PyTorch, or looking up what it said: the two ways behind `answer`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.answers import files
from tests.answers.plain import Plain, Raised, agree, plain

# `make goldens` names the folder that answers are left in
RECORDING = os.environ.get("INTERNALS_GOLDENS")
WHOLE = os.environ.get("INTERNALS_TEST_FULL") == "0"  # all of `make test`: no answer may be missing


def real_torch() -> ModuleType | None:
    if os.environ.get("INTERNALS_ORACLE") == "0":  # as if it were not installed
        return None
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


TORCH = real_torch()
HAS_TORCH = TORCH is not None


def oracle() -> Any:
    """Real PyTorch itself, for what is no question; the test is skipped where it is not
    installed.
    """
    if TORCH is None:
        pytest.skip("real PyTorch is not installed: make oracle")
    return TORCH


class Asker:
    """The test that is running: how its answers are called, how many there were, and whether its
    questions are random.
    """

    def __init__(self, key: str, random: bool) -> None:
        self.key = key
        self.asked = 0
        self.random = random


_now: Asker | None = None
_recorded: dict[str, files.Answers] = {}


def begin(item: pytest.Item) -> None:
    """From now on this test is the one that asks."""
    global _now
    _now = Asker(key_of(item), hasattr(getattr(item, "function", None), "hypothesis"))


def key_of(item: Any) -> str:
    function = getattr(item, "function", None)  # a notebook's cell has none
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    texts = [source(function), *(v if isinstance(v, str) else source(v) for v in values)]
    digest = hashlib.sha1(" ".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{item.name} {digest[:10]}"


def source(function: Any) -> str:
    """A function's text without spaces, commas and brackets, which change when a line is wrapped,
    and without its turns.
    """
    if not inspect.isfunction(function):
        return ""
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return bare(inspect.unwrap(function).__code__)


@cache
def bare(code: Any) -> str:
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError):
        return ""
    text = re.sub(r"@pytest\.mark\.sampled.*", "", text)
    return "".join(text.translate(str.maketrans("", "", ",()")).split())


def answer(
    ask: Callable[[Any], Any],
    about: Any = None,
    family: str = "calls",
    essence: Callable[[Plain], Plain] = lambda said: said,
) -> Plain:
    """What PyTorch answers to `ask(torch)`, as `plain` data; its errors are raised. `family` is the
    file it is kept in.

    Without PyTorch: what was recorded. Skips the test where nothing was, and fails it when the
    question is about anything that no question of the test was about. Random questions, those of
    a hypothesis test, have to say what they are about; an unknown one ends the test as skipped.
    `essence` of an answer has to be as it was recorded, where the rest changes from run to run.
    """
    assert _now is not None, "PyTorch is asked by tests"
    number, _now.asked = _now.asked, _now.asked + 1
    assert about is not None or not _now.random, "a random question says what it is about"
    name = (
        number
        if about is None
        else zlib.crc32(about if isinstance(about, bytes) else repr(about).encode())
    )
    said = ask_torch(ask) if TORCH is not None else None
    kept = files.load(family).get(_now.key, {})
    if RECORDING:
        stays = name in kept and agrees(said, kept[name], essence)
        recorded = _recorded.setdefault(family, {}).setdefault(_now.key, {})
        same = name not in recorded or agrees(said, recorded[name], essence)
        assert same, f"{_now.key}: two questions about the same, and different answers"
        recorded[name] = kept[name] if stays else said
    else:
        said = compared(said, kept, name, essence, about)
    if isinstance(said, Raised):
        raise said.error()
    return said


def compared(
    said: Plain, kept: dict[int, Plain], name: int, essence: Callable[[Plain], Plain], about: Any
) -> Plain:
    assert _now is not None
    known, place = name in kept, f"question {_now.asked} of {_now.key}"
    if about is not None:
        place += f", about {str(about)[:10_000]}"
    if TORCH is not None:
        assert known or not WHOLE or _now.random, (
            f"{place}: PyTorch's answer is not recorded: make goldens"
        )
        assert not known or agrees(said, kept[name], essence), (
            f"{place}: PyTorch says {said}, recorded is {kept[name]}: make goldens"
        )
        return said
    if not known and (not kept or _now.random):
        pytest.skip("PyTorch's answer is not recorded: make goldens (needs PyTorch)")
    assert known, (
        f"{place} is about something else than what PyTorch was asked: the code asks another "
        "question now"
    )
    return kept[name]


def agrees(said: Plain, kept: Plain, essence: Callable[[Plain], Plain]) -> bool:
    if isinstance(said, Raised) or isinstance(kept, Raised):
        return agree(said, kept)
    return agree(essence(said), essence(kept))


def ask_torch(ask: Callable[[Any], Any]) -> Plain:
    try:
        result = ask(TORCH)
    except Exception as error:
        return Raised.of(error)
    return plain(result)


def forget() -> None:
    """The test that is running failed: not all that it wanted to ask may have been asked."""
    for answers in _recorded.values():
        answers.pop(_now.key if _now else "", None)


def write_recorded() -> None:
    """Leave what this process recorded for `make goldens`."""
    if RECORDING and _recorded:
        files.write(Path(RECORDING) / f"{os.getpid()}.answers", _recorded)
