"""What the tests of passes share: graphs compared by their text, with values numbered in order, and
real PyTorch's own passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from internals.jit.ir import Graph
from internals.jit.ir.parser import parse_ir
from internals.jit.passes import run_pass, verify_after_every_pass
from internals.jit.passes.canonicalize import canonicalized
from tests.answers import answer
from tests.support import full


def parsed(text: str) -> Graph:
    return parse_ir(text, parse_tensor_constants=True)


def canonical(graph: Graph) -> str:
    """The text without names and places. What real PyTorch made of a graph need not pass our
    verifier.
    """
    with verify_after_every_pass(False):
        return canonicalized(graph, keep_unique_names=False).str(False)


def after(name: str, text: str) -> Graph:
    """The graph of `text` after a pass, verified."""
    graph = parsed(text)
    run_pass(name, graph, verify=True)
    return graph


def check(name: str, before: str, expected: str) -> None:
    """The pass makes `expected` of `before`, says whether it changed anything, and has nothing left
    to do the second time.
    """
    graph = parsed(before)
    record = run_pass(name, graph, verify=True)
    assert canonical(graph) == canonical(parsed(expected))
    assert record.changed == (canonical(parsed(before)) != canonical(parsed(expected)))
    assert not run_pass(name, graph, verify=True).changed


def check_unchanged(name: str, text: str) -> None:
    """A guard of the pass holds."""
    check(name, text, text)


def by_torch(name: str, text: str, *options: Any) -> str:
    """What real PyTorch's pass `torch._C._jit_pass_<name>` makes of the same text, canonical."""

    def ask(torch: Any) -> str:
        graph = torch._C.parse_ir(text, True)
        result = getattr(torch._C, f"_jit_pass_{name}")(graph, *options)
        return str(result if isinstance(result, torch._C.Graph) else graph)

    return canonical(parsed(answer(ask, about=text, family="jit_graphs")))


def seeds(quick: int, long: int = 200) -> range:
    """Programs to try: a sample in `make test`, all of them in the long version."""
    return range(long if full() else quick)


@contextmanager
def own_passes() -> Iterator[None]:
    """The table of passes is afterwards what it was before."""
    from internals.jit.passes import PASSES, POST_PASSES, PRE_PASSES
    from internals.jit.passes.registry import load_passes

    load_passes()  # what their files enter when they are imported must not be taken out again

    saved = dict(PASSES), list(PRE_PASSES), list(POST_PASSES)
    try:
        yield
    finally:
        PASSES.clear()
        PASSES.update(saved[0])
        PRE_PASSES[:], POST_PASSES[:] = saved[1], saved[2]
