"""Sessions of ordinary PyTorch code answer as real PyTorch answered, through the short way and the
long one.

`tests/user_code/__init__.py` explains the files.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.core.hot import hot
from tests.user_code import HERE, Session, read, replay, same, show

SESSIONS = [
    pytest.param(s, id=f"{path.stem}: {s.title}")
    for path in sorted(HERE.glob("*.txt"))
    for s in read(path)
]


def differences(session: Session, answers: list[tuple[str, str]]) -> str:
    return "\n".join(
        f"{show(typed)}torch:\n{expected}internals:\n{got}"
        for (typed, expected), (_, got) in zip(session.steps, answers, strict=True)
        if not same(expected, got)
    )


def test_there_are_many_sessions() -> None:
    assert sum(len(p.values[0].steps) for p in SESSIONS) > 500  # type: ignore[union-attr]
    assert all(any(answer for _, answer in p.values[0].steps) for p in SESSIONS)  # type: ignore[union-attr]


@pytest.mark.parametrize("session", SESSIONS)
def test_answers_are_as_recorded(session: Session, T: Any) -> None:
    before = T.is_warn_always_enabled()
    T.set_warn_always(True)  # some warnings come once a process, and another test may have had them
    try:
        assert not differences(session, replay(session, T))
    finally:
        T.set_warn_always(before)


@pytest.mark.parametrize("session", SESSIONS)
def test_the_long_way_answers_the_same(session: Session) -> None:
    with hot.paused():
        assert not differences(session, replay(session, internals))
