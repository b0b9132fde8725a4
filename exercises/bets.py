"""`bet`: an answer first, then the experiment.

    bet(..., lambda: torch.tensor([1, 2.5]).dtype, "01 mixed numbers")

Replace the `...` by what you expect and run the cell: the experiment runs, and the bet is settled.
A wrong answer that others give too is told why it is wrong (`exercises/beliefs`). As long as
nothing is bet, the result stays folded: its first line gives nothing away, and the rest opens with
a click.

A question whose answer is more than a value belongs into `exercises/topics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from exercises import beliefs
from exercises.reading import as_meant
from exercises.verdict import missing_part

UNANSWERED = "The answer, when you have bet:"


@dataclass
class Bet:
    """A bet and its result. It shows itself, folded while `answer` is missing."""

    answer: Any
    result: Any
    beliefs: list[tuple[Any, str]] = field(default_factory=list)

    @property
    def won(self) -> bool | None:
        """None as long as nothing is bet."""
        return None if missing_part({"": self.answer}) else equal(self.answer, self.result)

    def verdict(self) -> str:
        """The first line."""
        if self.won is None:
            return UNANSWERED
        if self.won:
            return "✓ As you bet:"
        known = [why for belief, why in self.beliefs if equal(self.answer, belief)]
        return f"✗ You bet {told(self.answer)}{': ' + known[0] if known else ''}. What happened:"

    def __repr__(self) -> str:
        # The empty lines keep the answer out of the one line that JupyterLab shows of a fold.
        gap = "\n\n\n" if self.won is None else "\n"
        return f"{self.verdict()}{gap}{told(self.result)}"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        shown = self.result
        bundle: dict[str, str] = getattr(shown, "_repr_mimebundle_", dict)()
        html = bundle.get("text/html", f"<pre>{escape(told(shown))}</pre>")
        state = "" if self.won is None else " open"
        return {
            "text/plain": repr(self),
            "text/html": f"{escape(self.verdict())}\n"
            f"<details{state}><summary>open</summary>\n{html}\n</details>",
        }


def bet(
    answer: Any,
    experiment: Callable[[], Any],
    about: str = "",
) -> Bet:
    """Settle a bet: run `experiment` and compare what it returns with `answer`.

    answer: a value, or a list or dict of values; `...` stands for what is not answered yet.
    about: where the wrong answers that people give stand, "07 what mul keeps".
    An experiment that raises has the error's type and message as its result.
    """
    try:
        result = experiment()
    except Exception as error:
        result = error
    return Bet(answer, result, beliefs.of(about) if about else [])


def equal(answer: Any, result: Any) -> bool:
    """Whether they mean the same: types are compared by identity or name, an error by its type."""
    if isinstance(result, Exception):
        name = answer.__name__ if isinstance(answer, type) else str(answer)
        return name.strip() == type(result).__name__
    answer, result = as_meant(answer), as_meant(result)
    if isinstance(answer, str) != isinstance(result, str):
        # "float32" for internals.float32
        return str(answer).rpartition(".")[2] == str(result).rpartition(".")[2]
    if isinstance(answer, bool) != isinstance(result, bool):
        return False
    if isinstance(answer, (list, tuple)) and isinstance(result, (list, tuple)):
        return len(answer) == len(result) and all(map(equal, answer, result))
    if isinstance(answer, dict) and isinstance(result, dict):
        return answer.keys() == result.keys() and all(equal(answer[k], result[k]) for k in answer)
    return bool(answer == result)


def told(value: Any) -> str:
    """A value as text: an error as its type and message, a dict a line for each entry."""
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    if isinstance(value, dict) and len(str(value)) > 80:
        width = max(len(str(key)) for key in value)
        return "\n".join(f"{key!s:{width}}  {entry}" for key, entry in value.items())
    return value if isinstance(value, str) else repr(value)
