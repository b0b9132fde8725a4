"""Asking PyTorch, or looking up what it said: the two ways behind `answer`."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.answers import files
from tests.answers.plain import Plain, Raised, agree, plain

RECORDING = os.environ.get("INTERNALS_GOLDENS")  # `make goldens` names the folder that answers are left in

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
    """Real PyTorch itself, for what is no question; the test is skipped where it is not installed."""
    if TORCH is None:
        pytest.skip("real PyTorch is not installed: make oracle")
    return TORCH


class Asker:
    """The test that is running: how its answers are called, and how many there were."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.asked = 0


_now: Asker | None = None
_recorded: dict[str, files.Answers] = {}


def begin(item: pytest.Item) -> None:
    """From now on this test is the one that asks."""
    global _now
    _now = Asker(key_of(item))


def key_of(item: Any) -> str:
    texts = [source(item.function)]
    texts += [source(v) for v in getattr(getattr(item, "callspec", None), "params", {}).values() if inspect.isfunction(v)]
    return f"{item.name} {hashlib.sha1(''.join(texts).encode()).hexdigest()[:10]}"


@cache
def source(function: Any) -> str:
    """The function's text without spaces, commas and brackets: they change when a line is wrapped."""
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        return ""
    return "".join(text.translate(str.maketrans("", "", ",()")).split())


def answer(ask: Callable[[Any], Any], about: Any = None, family: str = "calls") -> Plain:
    """What PyTorch answers to `ask(torch)`, as `plain` data; its errors are raised. `family` is the file it is kept in.

    Without PyTorch: what was recorded. Skips the test where nothing was, and fails it when the question is another `about`
    than the one recorded.
    """
    assert _now is not None, "PyTorch is asked by tests"
    number, _now.asked = _now.asked, _now.asked + 1
    place = f"question {number + 1} of {_now.key}"
    checksum = None if about is None else zlib.crc32((about if isinstance(about, bytes) else repr(about).encode()))
    said = ask_torch(ask) if TORCH is not None else None
    if RECORDING:
        _recorded.setdefault(family, {}).setdefault(_now.key, []).append((checksum, said))
    else:
        kept = files.load(family).get(_now.key, [])
        if TORCH is None:
            if number >= len(kept):
                pytest.skip("PyTorch's answer is not recorded: make goldens (needs PyTorch)")
            assert kept[number][0] == checksum, f"{place}: recorded was one about something else"
            said = kept[number][1]
        elif number < len(kept) and kept[number][0] == checksum:
            assert agree(said, kept[number][1]), f"{place}: PyTorch says {said}, recorded is {kept[number][1]}: make goldens"
        elif WHOLE:
            raise AssertionError(f"{place}: PyTorch's answer is not recorded: make goldens")
    if isinstance(said, Raised):
        raise said.error()
    return said


def ask_torch(ask: Callable[[Any], Any]) -> Plain:
    try:
        result = ask(TORCH)
    except Exception as error:
        return Raised.of(error)
    return plain(result)


def write_recorded(name: str) -> None:
    """Leave what this process recorded for `make goldens`."""
    if RECORDING and _recorded:
        files.write(Path(RECORDING) / f"{name}.answers", _recorded)
