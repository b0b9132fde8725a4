"""What the elementwise kernels compile to: reads before writes, cheap division, and no arithmetic
in double by mistake.
"""

from __future__ import annotations

import inspect
import itertools
import re
import types
from typing import Any

import numpy as np
import pytest

from internals.aten.native import activations, activations_backward, losses
from internals.aten.scalar_functions import entries, get
from internals.core import dtype as dt
from internals.cuda.kernels import functors
from internals.cuda.ptx import Ptx, PtxError, PtxUnavailable, compile_all
from tests.cuda.launched import elementwise, elementwise_example
from tests.support import full


@pytest.fixture(scope="module")
def texts() -> dict[str, Ptx]:
    """A few kernels in single precision, by name."""
    examples = {
        "add": elementwise_example(get("add"), dt.float32, 0),
        "strided add": elementwise_example(get("add"), dt.float32, 2),
        "gelu": elementwise_example(get("gelu"), dt.float32, 0),
        "half": elementwise_example(get("gelu"), dt.float16, 0),
    }
    return dict(zip(examples, compiled(list(examples.values()))))


def compiled(items: list[Any]) -> list[Ptx]:
    try:
        results = compile_all(items)
    except PtxUnavailable as error:
        pytest.skip(str(error))
    failed = [
        f"{kernel}: {text}"
        for (kernel, _), text in zip(items, results)
        if isinstance(text, PtxError)
    ]
    assert not failed, "\n\n".join(failed)
    return [text for text in results if isinstance(text, Ptx)]


def memory(text: Ptx) -> str:
    """The accesses to global memory in their order, `r` for a read and `w` for a write."""
    return "".join(
        "r" if kind == "ld" else "w" for kind in re.findall(r"\b(ld|st)\.global", text.body)
    )


@pytest.mark.sampled(1 / 4)
def test_a_thread_reads_all_its_elements_before_it_writes_the_first(texts: dict[str, Ptx]) -> None:
    assert "rrrrrrrrwwww" in memory(texts["add"])
    assert "rrrrrrrrwwww" in memory(texts["strided add"])
    assert "rrrrrrrrwwwwwwww" in memory(texts["half"])


def test_operands_share_a_division_of_32_bits(texts: dict[str, Ptx]) -> None:
    """Four elements of three operands in two dimensions: one division each in the loop, where nine
    would do without thought.
    """
    body = texts["strided add"].body
    loop = body[: body.index("st.global")]
    assert len(re.findall(r"\bdiv\.u32", loop)) == 4
    assert not re.findall(r"\brem\.", body)


def test_single_precision_stays_single(texts: dict[str, Ptx]) -> None:
    for name in ("add", "strided add", "gelu", "half"):
        assert ".f64" not in texts[name].body, name


@pytest.mark.skipif(
    not full(), reason="compiling every function in every dtype takes minutes: make test-full"
)
def test_every_function_compiles_in_every_dtype() -> None:
    assert len(compiled(elementwise(everything=True))) > 500


def test_every_line_of_the_table_has_a_function_of_the_device() -> None:
    """But for 2 ** x: there is no `math.exp2` in numba.cuda."""
    assert [entry.name for entry in entries() if functors.on_gpu(entry) is None] == ["exp2"]
    for module in (activations, activations_backward, losses):
        for name, value in vars(module).items():
            if name.endswith("_loop"):  # written by hand
                assert functors.functor(value, dt.float32) is not None, name


INTEGER_FUNCTIONS = (
    "copy one add sub mul neg absolute sign maximum minimum square cube add_scaled where masked eq "
    "ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
    "bitwise_xor bitwise_not int_floor_divide int_remainder int_trunc_divide int_fmod int_power"
).split()


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("dtype", ["int8"] + ["uint8", "int32", "int64"] * full())
def test_numba_means_by_integer_arithmetic_what_numpy_does(dtype: str) -> None:
    """The same functions compiled for the CPU, by numba's rules of types, not numpy's, by which the
    interpreter goes.
    """
    numba = pytest.importorskip("numba")
    T: Any = getattr(np, dtype)
    low, high = np.iinfo(T).min, np.iinfo(T).max
    values = sorted({v for v in (0, 1, 2, 3, 7, -1, -2, -7, low, high, high - 1) if v >= low})
    for name in INTEGER_FUNCTIONS:
        source: Any = get(name).formula.function
        scope = {"T": T, "__builtins__": __builtins__}
        interpreted = types.FunctionType(source.__code__, scope)
        fast = numba.njit(error_model="numpy")(types.FunctionType(source.__code__, scope))
        for operands in itertools.product(values, repeat=source.__code__.co_argcount):
            if name.startswith("int_") and name != "int_power" and operands == (low, -1):
                continue  # overflows, and the processor of the CPU has a trap for it
            numbers = [T(v) for v in operands]
            with np.errstate(all="ignore"):
                expected = int(interpreted(*numbers))
            wrong = (int(fast(*numbers)) - expected) % (1 << 8 * np.dtype(T).itemsize)
            assert not wrong, (name, operands, expected)


def test_functions_of_the_device_are_named_after_their_lines() -> None:
    assert functors.add.name == "add" and functors.round.name == "round"
    assert repr(functors.functor(np.exp, dt.float32)) == "<devicefunction exp>"


def test_a_function_takes_what_its_loop_takes() -> None:
    """A loop written by hand has the operands of the formula, and then its numbers, under the same
    names.
    """
    for entry in entries():
        if entry.formula is not None and not isinstance(entry.loop, np.ufunc):
            names = [
                p.name
                for p in inspect.signature(entry.loop).parameters.values()
                if p.kind is not p.VAR_POSITIONAL
            ]
            before = names.index("out")
            assert before == len(entry.operands), entry
            assert tuple(names[before + 1 :]) == entry.numbers, entry
