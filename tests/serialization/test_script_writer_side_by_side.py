"""What we save, real PyTorch loads and runs with equal results; and it is what PyTorch would have
saved.
"""

from __future__ import annotations

import io
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import internals
from internals import jit
from tests.answers import answer
from tests.jit.corpus import Program
from tests.jit.corpus.running import assert_same, callable_of, outcome, plain
from tests.jit.modules import CASES, ModuleCase
from tests.jit.sources import place_free
from tests.serialization.archives import (
    assert_alike,
    comparable,
    held,
    loaded_by_pytorch,
    module_of,
    programs,
    records,
    reloaded,
    saved,
    saved_by_pytorch,
    scripted,
    signature,
    traced,
)

OURS = programs(internals)
NAMES = list(OURS)
TRACED = [name for name in NAMES if OURS[name].traced]
# Functions of nn.functional that are written otherwise here than there, and `with no_grad()`, which
# is a class there.
OTHER_SOURCE = {
    "norms", "pooled", "cross_entropy", "losses", "layer_norm", "batch_norm_evaluated",
    "dropout_off", "embedded", "interpolated", "small_convnet", "embedding_bag_of_words",
    "dropout_in_evaluation", "no_gradient_inside",
}  # fmt: skip
# PyTorch has no global variables but those that are Final.
NOT_THERE = {"global_constants"}
# Methods of tensors that are written in Python there; a trace through them has other names of
# values.
OTHER_NAMES = {"powers", "integers", "split_up"}
# PyTorch refuses its own archive: a keyword-only argument without a default is written behind one
# with a default.
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

    def outcomes(torch: Any) -> list[Any]:
        theirs, there = loaded_by_pytorch(torch, data), programs_there(torch)[name]
        calls = range(len(there.inputs))
        return [
            outcome(torch, theirs, there.arguments(torch, i), list(_parameters(theirs)))
            for i in calls
        ]

    for which, real in enumerate(answer(outcomes, about=held(data), family="archives")):
        assert_same(
            real, outcome(internals, ours, OURS[name].arguments(internals, which), parameters)
        )


@pytest.mark.parametrize("name", TRACED)
def test_traced_programs(name: str) -> None:
    function, parameters = callable_of(internals, OURS[name])
    ours, moving = traced(internals, OURS[name], function)
    data, args = saved(ours), OURS[name].arguments(internals)

    def ask(torch: Any) -> Any:
        theirs, others = (
            loaded_by_pytorch(torch, data),
            programs_there(torch)[name].arguments(torch),
        )
        return outcome(torch, theirs, tuple(others[i] for i in moving), list(_parameters(theirs)))

    expected = outcome(internals, ours, tuple(args[i] for i in moving), parameters)
    assert_same(answer(ask, about=held(data), family="archives"), expected)


@cache
def programs_there(torch: Any) -> dict[str, Program]:
    return programs(torch)


@cache
def script_of_pytorch(torch: Any, name: str) -> bytes:
    return scripted(torch, callable_of(torch, programs_there(torch)[name])[0]).save_to_buffer()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OTHER_SOURCE | NOT_THERE])
def test_archives_of_scripted_programs_are_pytorchs(name: str) -> None:
    ours = scripted(internals, callable_of(internals, OURS[name])[0])
    theirs = answer(
        lambda torch: comparable(script_of_pytorch(torch, name), values=True),
        family="archives",
        essence=signature,
    )
    assert_alike(saved(ours), theirs, values=True)


@pytest.mark.parametrize("name", [name for name in TRACED if name not in OTHER_NAMES])
def test_archives_of_traced_programs_are_pytorchs(name: str) -> None:

    def ask(torch: Any) -> Any:
        program = programs_there(torch)[name]
        return comparable(
            traced(torch, program, callable_of(torch, program)[0])[0].save_to_buffer()
        )

    ours = traced(internals, OURS[name], callable_of(internals, OURS[name])[0])[0]
    assert_alike(saved(ours), answer(ask, family="archives", essence=signature))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_RESAVED | NOT_THERE])
def test_what_pytorch_saved_is_saved_again_as_it_was(name: str) -> None:
    """Whatever is compiled otherwise here does not matter: the graphs are PyTorch's."""
    theirs, _ = saved_by_pytorch(lambda torch: (script_of_pytorch(torch, name), None))
    assert_alike(saved(jit.load(io.BytesIO(theirs))), comparable(theirs, values=True), values=True)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_scripted_modules(case: ModuleCase, tmp_path: Path) -> None:
    module, inputs = module_of(case, internals, tmp_path)
    ours = scripted(internals, module)
    data = saved(ours)
    if case.name not in OTHER_MODULES:
        real = answer(
            lambda torch: comparable(saved_module(torch, case, tmp_path)),
            family="archives",
            essence=signature,
        )
        assert_alike(data, real)
    if case.name in REFUSED:
        with pytest.raises(
            RuntimeError, match="Non-default positional argument follows default argument"
        ):
            answer(
                lambda torch: loaded_by_pytorch(torch, saved_module(torch, case, tmp_path)),
                family="archives",
            )
        return

    def run_twice(torch: Any) -> list[Any]:
        theirs, others = loaded_by_pytorch(torch, data), module_of(case, torch, tmp_path)[1]
        return [plain(theirs(*others)) for _ in range(2)]

    again = reloaded(ours)
    # the second call sees what the first has written to attributes
    for real in answer(run_twice, about=held(data), family="archives"):
        expected = plain(ours(*inputs))
        assert_same(real, expected)
        assert_same(plain(again(*inputs)), expected)


def saved_module(torch: Any, case: ModuleCase, folder: Path) -> bytes:
    return scripted(torch, module_of(case, torch, folder)[0]).save_to_buffer()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_traced_modules(case: ModuleCase, tmp_path: Path) -> None:
    module, inputs = module_of(case, internals, tmp_path)
    module.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mine = jit.trace(module, inputs, check_trace=False, strict=False)
        except (RuntimeError, TypeError) as why:
            pytest.skip(f"cannot be traced: {str(why).strip().splitlines()[0]}")
    data = saved(mine)

    def ask(torch: Any) -> Any:
        other, others = module_of(case, torch, tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            real = torch.jit.trace(other.eval(), others, check_trace=False, strict=False)
        return comparable(real.save_to_buffer()), plain(loaded_by_pytorch(torch, data)(*others))

    records_there, result = answer(ask, about=held(data), family="archives", essence=signature)
    if case.name not in OTHER_MODULES:
        assert_alike(data, records_there)
    assert_same(result, plain(mine(*inputs)))


def test_the_shapes_of_traced_inputs_are_restored() -> None:
    m = jit.trace(internals.nn.Linear(3, 2), internals.ones(5, 3))
    data = saved(m)

    def ask(torch: Any) -> str:
        return place_free(str(torch.jit.load(io.BytesIO(data), _restore_shapes=True).graph))

    assert (
        "Float(5, 3, strides=[3, 1]"
        in answer(ask, about=held(data), family="archives").splitlines()[1]
    )
    assert records(data)["traced_inputs/0"] == b""


def _parameters(m: Any) -> Any:
    return m.parameters() if hasattr(m, "parameters") else []
