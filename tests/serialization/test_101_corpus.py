"""The programs of `jit_corpus`, saved in the layout of PyTorch 1.0.1 and loaded again: what could
be said then gives the same.

All that is written here was also loaded in the real 1.0.1, once, and gave the same results there,
but for three scripts that mix dtypes, which it did not promote: promotion, made_in_place,
to_other_dtypes.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest

import internals as torch
from internals.serialization import load_101, save_101
from tests.jit.corpus import Program, load
from tests.jit.corpus.running import assert_same, callable_of, copied, plain

PROGRAMS = load(torch)
# Integers that become floats where no type says so: 1.0.1 divided them as integers.
PROMOTES = {"promotion"}
# Those that call what there was not.
REFUSED_SCRIPTS = """
amax_and_amin builtin_functions cross_entropy dict_argument dict_literal dict_methods dict_result
enumerated_and_zipped formatted indexed_by_mask indexed_by_tensor integers interpolated like_another
list_methods logic math_functions no_gradient_inside norms not_a_number
python_numbers_out_of_a_tensor range_with_step sorted_and_reversed strings swapped_axes
""".split()
REFUSED_TRACES = """
amax_and_amin cosine cross_entropy dict_result indexed_by_mask indexed_by_tensor integers
interpolated layer_norm like_another logic norms not_a_number several_results shape_arithmetic
swapped_axes
""".split()


def round_trip(m: Any) -> Any:
    out = io.BytesIO()
    save_101(m, out)
    return load_101(io.BytesIO(out.getvalue()))


def compiled(program: Program, function: Any, how: str) -> Any:
    """The program scripted or traced; None if it cannot be."""
    args = program.arguments(torch)
    if how == "script":
        return torch.jit.script(function)
    if not program.traced or not all(hasattr(a, "untyped_storage") for a in args):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(function, copied(args), check_trace=False, strict=False)


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in PROMOTES])
def test_round_trip(name: str, how: str) -> None:
    program = PROGRAMS[name]
    function, _ = callable_of(torch, program)
    m = compiled(program, function, how)
    if m is None:
        assert how == "trace"
        return
    if name in (REFUSED_SCRIPTS if how == "script" else REFUSED_TRACES):
        with pytest.raises(RuntimeError, match="PyTorch 1.0.1 had no"):
            round_trip(m)
        return
    again = round_trip(m)
    calls = range(len(program.inputs)) if how == "script" else [0]
    with torch.no_grad():
        for which in calls:
            expected = plain(m(*program.arguments(torch, which)))
            assert_same(plain(again(*program.arguments(torch, which))), expected)
