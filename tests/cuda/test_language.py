"""What a name in a kernel means: template parameters are handed on to the device functions called,
attributes are no names.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import internals as torch
from internals.cuda.device_array import flat
from internals.cuda.language import by_executor, cuda, device_function, kernel, template

T, op, step = template("T"), template("op"), template("step")

exp = device_function(lambda a: math.exp(a))
one = device_function(lambda: T(1))
next_one = device_function(lambda a: a + one())
shifted = device_function(lambda a: a + step)
either = by_executor(gpu=shifted, elsewhere=shifted)
chosen = device_function(lambda a: either(a))


@kernel
def apply(out, a, n):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < n:
        out[i] = op(a[i])


def run(instance: object) -> list[float]:
    a, out = torch.tensor([0.0, 1.0]).cuda(), torch.empty(2, device="cuda")
    instance[1, 32](flat(out), flat(a), 2)  # type: ignore[index]
    return out.tolist()


def test_parameters_reach_the_functions_that_are_called() -> None:
    assert run(apply.bind(op=next_one, T=np.float32)) == [1, 2]
    assert run(apply.bind(op=chosen, step=5)) == [5, 6]


def test_what_a_function_binds_itself_is_not_replaced() -> None:
    assert run(apply.bind(op=shifted.bind(step=7), step=5)) == [7, 8]


def test_an_attribute_is_not_the_global_of_the_same_name() -> None:
    assert exp.names() == ["math"]
    assert run(apply.bind(op=exp)) == pytest.approx([1, math.e])


def test_open_parameters() -> None:
    assert next_one.open_parameters() == {"T"}
    assert apply.open_parameters() == {"op"}
    assert apply.bind(op=next_one).open_parameters() == {"T"}
    assert apply.bind(op=next_one, T=np.float32).open_parameters() == set()


def test_a_name_that_is_no_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="apply has no template parameter 'tile'"):
        apply.bind(tile=3)


def test_a_template_parameter_may_have_a_default() -> None:
    """Unless it is bound, also from a function that leaves it open."""
    from internals.cuda.kernels import copy
    from internals.cuda.launch import INDEX_LIMIT, counted

    assert copy.split_by_one_division.meaning("INDEX") is np.uint32
    assert counted(copy.copy_strided, INDEX_LIMIT - 1) is copy.copy_strided
    wide = counted(copy.copy_strided, INDEX_LIMIT)
    assert wide.meaning("offset_of").meaning("split").gpu.meaning("INDEX") is np.int64
    assert (
        counted(wide, INDEX_LIMIT) is wide
        and counted(copy.copy_contiguous, INDEX_LIMIT) is copy.copy_contiguous
    )
