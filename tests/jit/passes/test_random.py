"""No pass can be noticed from outside: on random programs, everything a caller sees is the same
before and after.
"""

from __future__ import annotations

import pytest

from internals.jit.ir import Graph
from internals.jit.passes import PASSES, load_passes, run_pass
from tests.jit.passes.pass_support import seeds
from tests.jit.programs.graphs import assert_same_observation, observe, program
from tests.support import outcome

load_passes()
ALONE = (
    "inline", "dce", "cse", "constant_propagation", "constant_pooling", "peephole",
    "lower_simple_tuples", "lower_all_tuples", "canonicalize", "canonicalize_ops",
    "erase_shape_information", "remove_inplace", "remove_expands", "specialize_undef",
    "lower_grad_of", "check_inplace",
)  # fmt: skip
TOGETHER = (
    "constant_propagation",
    "dce",
    "cse",
    "constant_pooling",
    "peephole",
    "cse",
    "lower_simple_tuples",
    "remove_inplace",
)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("seed", seeds(12))
@pytest.mark.parametrize("name", ALONE)
def test_one_pass(name: str, seed: int) -> None:
    _check(seed, (name,))


@pytest.mark.parametrize("seed", seeds(20, 400))
def test_all_of_them_twice(seed: int) -> None:
    _check(seed + 1000, TOGETHER * 2)


def test_every_pass_finds_something_to_do() -> None:
    """What is checked above would prove little if the programs left the passes nothing to
    change.
    """
    idle = {
        "canonicalize",
        "inline",
        "remove_expands",
        "specialize_undef",
        "lower_grad_of",
        "check_inplace",
    }
    for name in set(ALONE) - idle:
        assert any(
            run_pass(name, program(s).graph(), keep_text=False).changed for s in range(40)
        ), name


def test_passes_of_this_file_are_in_the_table() -> None:
    assert set(ALONE) <= set(PASSES)


def _check(seed: int, names: tuple[str, ...]) -> None:
    p = program(seed)
    before = observe(p.graph(), p)
    assert not before.error, before.error
    graph: Graph = p.graph()
    for name in names:
        _, error = outcome(lambda name=name: run_pass(name, graph, verify=True))
        if error is not None:
            raise AssertionError(f"{name} failed on program {seed}:\n{p.text}") from error
    try:
        assert_same_observation(observe(graph, p), before)
    except AssertionError as error:
        raise AssertionError(
            f"{names} changed program {seed}:\n{p.text}\ninto\n{graph}\n{error}"
        ) from error
