"""Runs a batch in a worker's thread: joins the requests, computes, splits the results.

If the model raises an error on a batch, each request is run by itself, so that only the wrong one
gets the error. A model cannot take batches if it fails on them although every request alone is
right, if its results do not have the rows of the batch, or if its rows depend on each other
(`proof.py`). It is then run one request at a time, and the log has the reason.

Mirrors `TRITONBACKEND_ModelInstanceExecute`.

How the real one differs: if a backend of Triton fails on a batch, all its requests fail.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from ..errors import ModelFailed, ServingError
from ..models.served_model import ServedModel
from .assembly import Inputs, join, padding, split
from .lanes import rows_of
from .proof import has_rows, rows_are_independent

Outcome = Inputs | ServingError
MOST_PROOFS = 256  # that are remembered: a client may send ever new shapes


@dataclass
class Execution:
    """Runs the batches of one model.

    In the worker's thread, `executed(requests, rows, seconds)` is called for each run whose results
    are used, and `gave_up(why=...)` once, if the model turns out not to take batches.
    """

    model: ServedModel
    executed: Callable[[int, int, float], None]
    gave_up: Callable[..., Any]
    batching: bool = True
    why_not: str = ""
    proven: set[Hashable] = field(default_factory=set)

    def run(self, requests: Sequence[Inputs], key: Hashable) -> list[Outcome]:
        """Returns the outputs of each request, or its error. `key` is the kind of the batch."""
        if len(requests) == 1 or not self.batching:
            return [self.alone(inputs) for inputs in requests]
        began = perf_counter()
        try:
            joined = join(requests)
            outputs = self.model.run(list(joined.values()))
        except BaseException:  # even sys.exit() in a model must fail one request only
            return self.blame(requests)
        seconds = perf_counter() - began
        rows = next(iter(joined.values())).shape[0]
        if not has_rows(outputs, rows):
            return self.give_up(f"its results do not have the {rows} rows of the batch", requests)
        shares = split(outputs, requests, joined)
        padded = padding(requests, joined)
        # Batches of a kind are checked once: a proof runs some requests a second time.
        kind = (key, padded)
        if kind not in self.proven:
            if not rows_are_independent(self.model, requests, shares, look_at_all=bool(padded)):
                what = "padding" if padded else "the other rows of the batch"
                return self.give_up(f"a row's result depends on {what}", requests)
            if len(self.proven) >= MOST_PROOFS:
                # forgetting them only costs time: to skip a proof could give wrong answers
                self.proven.clear()
            self.proven.add(kind)
        self.executed(len(requests), rows, seconds)
        return list(shares)

    def alone(self, inputs: Inputs) -> Outcome:
        """The outcome of one request, run by itself."""
        began = perf_counter()
        try:
            outputs = self.model.run(list(inputs.values()))
        except ServingError as error:
            return error
        except BaseException as error:
            # not an error that ServedModel expects, but the thread has to go on
            return ModelFailed(f"{type(error).__name__}: {error}")
        self.executed(1, rows_of(inputs) or 1, perf_counter() - began)
        return outputs

    def blame(self, requests: Sequence[Inputs]) -> list[Outcome]:
        """The outcomes after a batch has failed: each request is run alone."""
        outcomes = [self.alone(inputs) for inputs in requests]
        if not any(isinstance(outcome, ServingError) for outcome in outcomes):
            self.give_up("it raises on a batch of requests that are fine alone", ())
        return outcomes

    def give_up(self, why: str, requests: Sequence[Inputs]) -> list[Outcome]:
        """Stops batching for this model, and runs the requests alone."""
        if self.batching:
            self.batching, self.why_not = False, why
            self.gave_up(why=why)
        return [self.alone(inputs) for inputs in requests]
