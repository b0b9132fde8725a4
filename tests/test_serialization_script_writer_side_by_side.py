"""What we save, real PyTorch loads and runs with equal results; and it is what PyTorch would have saved."""

from __future__ import annotations

import io
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import internals
from internals import jit
from tests.jit_corpus.running import assert_same, callable_of, outcome, plain
from tests.jit_modules import CASES, ModuleCase
from tests.serialization_archives import (
    assert_alike,
    loaded_by_pytorch,
    module_of,
    programs,
    records,
    reloaded,
    saved,
    scripted,
    traced,
)

torch = pytest.importorskip("torch", reason="compares with real PyTorch")
OURS, THEIRS = programs(internals), programs(torch)
NAMES = list(OURS)
TRACED = [name for name in NAMES if OURS[name].traced]
# Functions of nn.functional that are written otherwise here than there, and `with no_grad()`, which is a class there.
OTHER_SOURCE = {
    "norms", "pooled", "cross_entropy", "losses", "layer_norm", "batch_norm_evaluated", "dropout_off", "embedded", "interpolated",
    "small_convnet", "embedding_bag_of_words", "dropout_in_evaluation", "no_gradient_inside",
}  # fmt: skip
# PyTorch has no global variables but those that are Final.
NOT_THERE = {"global_constants"}
# Methods of tensors that are written in Python there; a trace through them has other names of values.
OTHER_NAMES = {"powers", "integers", "split_up"}
# PyTorch refuses its own archive: a keyword-only argument without a default is written behind one with a default.
REFUSED = {"methods"}
# Layers written otherwise; a trace there compiles exported methods as well.
OTHER_MODULES = {"convolution and normalization", "exported"}
# Saved again, `Union[number]` where PyTorch has `number`; and operators that are not here.
NOT_RESAVED = {"norms", "interpolated"}

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sampled(1 / 4)]


@pytest.mark.parametrize("name", NAMES)
def test_scripted_programs(name: str) -> None:
    function, parameters = callable_of(internals, OURS[name])
    ours = scripted(internals, function)
    data = saved(ours)
    theirs = loaded_by_pytorch(torch, data)
    for which in range(len(OURS[name].inputs)):
        expected = outcome(internals, ours, OURS[name].arguments(internals, which), parameters)
        assert_same(outcome(torch, theirs, THEIRS[name].arguments(torch, which), list(_parameters(theirs))), expected)


@pytest.mark.parametrize("name", TRACED)
def test_traced_programs(name: str) -> None:
    function, parameters = callable_of(internals, OURS[name])
    ours, moving = traced(internals, OURS[name], function)
    theirs = loaded_by_pytorch(torch, saved(ours))
    args, others = OURS[name].arguments(internals), THEIRS[name].arguments(torch)
    expected = outcome(internals, ours, tuple(args[i] for i in moving), parameters)
    assert_same(outcome(torch, theirs, tuple(others[i] for i in moving), list(_parameters(theirs))), expected)


@cache
def saved_by_pytorch(name: str) -> bytes:
    return scripted(torch, callable_of(torch, THEIRS[name])[0]).save_to_buffer()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OTHER_SOURCE | NOT_THERE])
def test_archives_of_scripted_programs_are_pytorchs(name: str) -> None:
    ours = scripted(internals, callable_of(internals, OURS[name])[0])
    assert_alike(saved(ours), saved_by_pytorch(name), values=True)


@pytest.mark.parametrize("name", [name for name in TRACED if name not in OTHER_NAMES])
def test_archives_of_traced_programs_are_pytorchs(name: str) -> None:
    ours, theirs = callable_of(internals, OURS[name])[0], callable_of(torch, THEIRS[name])[0]
    mine, other = traced(internals, OURS[name], ours)[0], traced(torch, THEIRS[name], theirs)[0]
    assert_alike(saved(mine), other.save_to_buffer())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_RESAVED | NOT_THERE])
def test_what_pytorch_saved_is_saved_again_as_it_was(name: str) -> None:
    """Whatever is compiled otherwise here does not matter: the graphs are PyTorch's."""
    theirs = saved_by_pytorch(name)
    assert_alike(saved(jit.load(io.BytesIO(theirs))), theirs, values=True)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_scripted_modules(case: ModuleCase, tmp_path: Path) -> None:
    module, inputs = module_of(case, internals, tmp_path)
    other, others = module_of(case, torch, tmp_path)
    ours = scripted(internals, module)
    data = saved(ours)
    if case.name not in OTHER_MODULES:
        assert_alike(data, scripted(torch, other).save_to_buffer())
    if case.name in REFUSED:
        with pytest.raises(RuntimeError, match="Non-default positional argument follows default argument"):
            loaded_by_pytorch(torch, scripted(torch, other).save_to_buffer())
        return
    theirs = loaded_by_pytorch(torch, data)
    again = reloaded(ours)
    for _ in range(2):  # the second call sees what the first has written to attributes
        expected = plain(ours(*inputs))
        assert_same(plain(theirs(*others)), expected)
        assert_same(plain(again(*inputs)), expected)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_traced_modules(case: ModuleCase, tmp_path: Path) -> None:
    module, inputs = module_of(case, internals, tmp_path)
    other, others = module_of(case, torch, tmp_path)
    module.eval(), other.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mine = jit.trace(module, inputs, check_trace=False, strict=False)
        except (RuntimeError, TypeError) as why:
            pytest.skip(f"cannot be traced: {str(why).strip().splitlines()[0]}")
        real = torch.jit.trace(other, others, check_trace=False, strict=False)
    data = saved(mine)
    if case.name not in OTHER_MODULES:
        assert_alike(data, real.save_to_buffer())
    assert_same(plain(loaded_by_pytorch(torch, data)(*others)), plain(mine(*inputs)))


def test_the_shapes_of_traced_inputs_are_restored() -> None:
    m = jit.trace(internals.nn.Linear(3, 2), internals.ones(5, 3))
    theirs = torch.jit.load(io.BytesIO(saved(m)), _restore_shapes=True)
    assert "Float(5, 3, strides=[3, 1]" in str(theirs.graph).splitlines()[1]
    assert records(saved(m))["traced_inputs/0"] == b""


def _parameters(m: Any) -> Any:
    return m.parameters() if hasattr(m, "parameters") else []
