"""What the checkers of the JIT's notebooks share: programs compiled anew, passes put into the
executor and taken out again.

How the real one differs: PyTorch's tests do the same with `freeze_rng_state` and `RegisterPass`;
nothing there takes a pass out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from exercises.exercise import Wrong


def fresh(function: Callable[..., Any]) -> Any:
    """A script of `function` that has no plans yet, so that it is optimized again."""
    from internals import jit

    scripted = jit.script(function)
    return jit.ScriptFunction(scripted.name, scripted.graph.copy())


@contextmanager
def replaced_pass(name: str, function: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, the executor runs `function` where it would run its own pass of that name."""
    from internals.jit import PASSES
    from internals.jit.passes import Pass, find_pass

    real = find_pass(name)
    PASSES[name] = Pass(name, real.title, function)
    try:
        yield
    finally:
        PASSES[name] = real


@contextmanager
def first_pass(function: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, the executor runs `function` before its own passes."""
    from internals.jit.passes import Pass
    from internals.jit.passes.registry import PRE_PASSES

    before = list(PRE_PASSES)
    PRE_PASSES.append(Pass("yours", "the reader's", function))
    try:
        yield
    finally:
        PRE_PASSES[:] = before


def verified(function: Callable[[Any], Any], graph: Any) -> Any:
    """Runs a reader's pass on a graph; what it did. Raises Wrong for a graph that is not well
    formed afterwards.
    """
    from internals.jit import run_pass
    from internals.jit.passes import Pass

    said: list[Any] = []

    def heard(graph: Any) -> Any:
        said.append(function(graph))
        return said[-1]

    try:
        record = run_pass(Pass("yours", "the reader's", heard), graph, verify=True)
    except RuntimeError as error:
        text = str(error)
        if not text.startswith("the pass 'yours'"):
            raise
        if "changed nothing" in text:
            raise Wrong(
                "your pass changed the graph and did not say so: it has to return True then"
            ) from None
        what = text.partition("verification failed, ")[2] or text
        raise Wrong(
            f"your pass leaves a graph that is not well formed: {' '.join(what.split())}"
        ) from None
    if said[-1] is None:
        raise Wrong(
            "your pass returned None: it has to say whether it changed the graph, True or False"
        )
    return record


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal: tensors in every element, shape and dtype."""
    import internals as torch

    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and bool(torch.equal(a, b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def table(answers: Mapping[str, Any], **changes: Any) -> str:
    """The text of an answer that is a dict, some of its values changed."""
    rows = [f"    {key!r}: {value!r},\n" for key, value in {**answers, **changes}.items()]
    return "answer = {\n" + "".join(rows) + "}"


def blank(answers: Mapping[str, Any]) -> str:
    """The same with nothing answered."""
    return "answer = {\n" + "".join(f'    "{key}": ...,\n' for key in answers) + "}"


def compare(
    answer: Any, truth: Mapping[str, Any], because: Callable[[str, Any], str], what: str
) -> None:
    """Raises Wrong for the first part of a dict that is not the true one, with the words that
    `because` has for it.
    """
    if not isinstance(answer, dict) or answer.keys() != truth.keys():
        raise Wrong(f"the answer is the dict above, with {what} for each of its {len(truth)} keys")
    for key, true in truth.items():
        if answer[key] != true or isinstance(answer[key], bool) != isinstance(true, bool):
            raise Wrong(because(key, answer[key]))
