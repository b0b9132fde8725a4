"""Every kernel compiles to PTX, and the reader of PTX finds in it what the source asks for.

Needs numba-cuda with NVVM (`pip install 'numba-cuda[cu13]'`), and no GPU.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import internals.cuda.kernels
from internals.cuda import ptx_compiler
from internals.cuda.device_array import DeviceArray, type_name
from internals.cuda.language import Kernel, cuda, device_function, kernel, template
from internals.cuda.ptx import CAPABILITY, Ptx, PtxError, PtxUnavailable, compile_all, ptx
from internals.cuda.ptx_text import readable
from internals.cuda.ptxas import registers_of
from tests.cuda.launched import by_operators

op, T = template("op"), template("T")


@device_function
def add(a, b):  # type: ignore[no-untyped-def]
    return a + b


@kernel
def binary(out, a, b, n):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    while i < n:
        out[i] = op(T(a[i]), T(b[i]))
        i += cuda.gridsize(1)


@kernel
def reverse(out, a, sizes):  # type: ignore[no-untyped-def]
    kept = cuda.shared.array(32, np.float32)
    i = cuda.threadIdx.x
    kept[i] = a[i]
    cuda.syncthreads()
    out[i] = kept[sizes[0] - 1 - i] * a[i] + a[i]


@pytest.fixture(scope="module")
def compiled() -> list[Ptx | PtxError]:
    """The kernels of this file, and one that does not compile."""
    return compile_or_skip(
        [
            (binary.bind(op=add, T=np.float32), ("float32[:]", "float32[:]", "float32[:]", int)),
            (reverse, ("float32[:]", "float32[:]", (int, int))),
            (binary.bind(op=add), ("float32[:]",)),
        ],
        lineinfo=True,
    )


def compile_or_skip(
    items: list[Any], lineinfo: bool = False, cc: tuple[int, int] = CAPABILITY
) -> list[Ptx | PtxError]:
    try:
        return compile_all(items, cc, lineinfo=lineinfo)
    except PtxUnavailable as error:
        pytest.skip(str(error))


def assert_all_compile(items: list[Any], cc: tuple[int, int]) -> list[Ptx]:
    """In one process: to start one takes longer than to compile a kernel."""
    texts = compile_or_skip(items, cc=cc)
    failed = [str(text) for text in texts if isinstance(text, PtxError)]
    assert not failed, "\n\n".join(failed)
    for text in texts:
        assert (
            isinstance(text, Ptx) and f".entry {text.name}(" in text and text.number_of("ret") >= 1
        )
    return [text for text in texts if isinstance(text, Ptx)]


def test_every_kernel_of_the_package_is_among_them() -> None:
    modules = [
        importlib.import_module(f"internals.cuda.kernels.{info.name}")
        for info in pkgutil.iter_modules(internals.cuda.kernels.__path__)
    ]
    kernels = {
        value for module in modules for value in vars(module).values() if isinstance(value, Kernel)
    }
    named = {(item[0].function.__module__, item[0].name) for item in by_operators()}
    missing = {(k.function.__module__, k.name) for k in kernels} - named
    assert not missing and len(kernels) > 60


PARTS, DIVISIONS = 16, 8


@pytest.mark.sampled(1 / 16)
@pytest.mark.parametrize(
    "cc",
    [pytest.param((8, 0), id="sm_80", marks=pytest.mark.slow), pytest.param((9, 0), id="sm_90")],
)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_instance_of_every_kernel_fits_the_hardware(part: int, cc: tuple[int, int]) -> None:
    """With each dtype and function that operators launch it with it compiles, keeps its numbers in
    registers, and divides little.

    A thread may divide 64 bits to find its place; elements are found by `kernels.copy.split`. An
    exception: windows of an adaptive pooling that cover a pixel, where products of sizes are
    divided.
    """
    items = by_operators()
    assert len({(k.function.__module__, k.name) for k, _ in items}) > 50
    complaints = []
    for (instance, types), text in zip(
        items[part::PARTS], assert_all_compile(items[part::PARTS], cc)
    ):
        try:
            registers = registers_of(text, cc)
        except PtxUnavailable as error:
            pytest.skip(str(error))
        divisions = len(re.findall(r"\b(?:div|rem)\.[us]64\b", text.body))
        if (
            divisions > (12 if instance.name == "avg_pool_backward" else DIVISIONS)
            or registers.spilled
            or not registers.used
        ):
            complaints.append(
                f"{instance} of {types}: {divisions} divisions of 64 bits, {registers}"
            )
    assert not complaints, "\n".join(complaints)


def test_what_a_kernel_does_is_in_its_instructions(compiled: list[Ptx | PtxError]) -> None:
    first, second = compiled[0], compiled[1]
    assert isinstance(first, Ptx) and isinstance(second, Ptx)
    # one for each time that the compiler repeats the loop's body
    stores = first.number_of("st.global")
    assert stores >= 1 and (first.number_of("ld.global"), first.number_of("add.f32")) == (
        2 * stores,
        stores,
    )
    assert first.number_of("bar.sync") == 0
    counts = second.counts()
    assert (counts["st.shared"], counts["bar.sync"], counts["ld.shared"], counts["fma"]) == (
        1,
        1,
        1,
        1,
    )
    assert sum(counts.values()) == len(second.instructions())


def test_instructions_know_their_line(compiled: list[Ptx | PtxError]) -> None:
    text = compiled[1]
    assert isinstance(text, Ptx)
    # of the decorator, and `def` is in the next one
    first = reverse.function.__code__.co_firstlineno + 1
    barrier = next(i for i in text.instructions() if i.kind == "bar.sync")
    assert barrier.line == first + 4
    assert {i.line for i in text.instructions() if i.kind == "st.shared"} == {first + 3}


def test_the_text_is_for_readers(compiled: list[Ptx | PtxError]) -> None:
    text = compiled[0]
    assert isinstance(text, Ptx)
    assert ".target sm_90" in text and ".entry binary(" in text and "[binary_param_4]" in text
    assert "_ZN" not in text and "Compiler" not in text and "/" not in text.split(".file")[-1]
    assert (
        ".loc" not in text.body
        and ".reg" not in text.body
        and text.body.splitlines()[-2].startswith("$L__BB0_")
    )


def test_a_kernel_that_does_not_compile_says_why(compiled: list[Ptx | PtxError]) -> None:
    assert isinstance(compiled[2], PtxError) and str(compiled[2]).startswith(
        "binary does not compile to PTX: "
    )


@pytest.mark.sampled(1 / 4)
def test_the_same_kernel_gives_the_same_text(compiled: list[Ptx | PtxError]) -> None:
    again = ptx(
        binary.bind(op=add, T=np.float32),
        "float32[:]",
        "float32[:]",
        "float32[:]",
        int,
        lineinfo=True,
    )
    assert again == compiled[0]
    other = ptx(
        binary.bind(op=add, T=np.float32), "float32[:]", "float32[:]", "float32[:]", int, cc=(7, 5)
    )
    assert ".target sm_75" in other and ".loc" not in other


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (int, "int64"),
        (3, "int64"),
        (True, "bool"),
        (2.5, "float64"),
        (np.float16, "float16"),
        (np.dtype("int8"), "int8"),
        (np.float32(1), "float32"),
        ("float32[:]", "float32[::1]"),
        ("float32[:, :]", "float32[:,:]"),
        ((int, int), "(int64, int64)"),
        ((2,), "(int64,)"),
        (internals.float32, "float32"),
        (np.zeros((2, 3), np.int32), "int32[:,::1]"),
        (np.zeros((2, 3), np.int32).T, "int32[:,:]"),
        (internals.zeros(4), "float32[::1]"),
        (DeviceArray(0, (4,), (2,), internals.float64), "float64[:]"),
    ],
)
def test_types_are_named_by_types_and_examples(value: Any, name: str) -> None:
    assert type_name(value) == name


def test_what_is_no_type() -> None:
    with pytest.raises(TypeError, match="described by a dtype, a text such as 'float32"):
        type_name([1])


def test_reading_needs_no_compiler() -> None:
    text = Ptx(
        '// Generated\n.version 9.0\n.visible .entry _Z4long(\n\t.param .u64 '
        '_Z4long_param_0\n)\n{\n\t.reg .b32 \t%r<2>;\n'
        "\t.loc\t1 7 0\n\t@%p1 bra \t$L__BB0_2;\n$L__BB0_2:\n\t.loc\t1 8 5\n\tld.global.v4.f32 "
        "\t{%f1, %f2}, [%rd1];\n\tret;\n}\n"
        '\t.file\t1 "/home/someone/kernels.py"\n',
        "short",
    )  # fmt: skip
    assert "Generated" not in text and ".entry short(" in text and "short_param_0" in text
    assert text.endswith('.file\t1 "kernels.py"\n')
    assert [(i.kind, i.line) for i in text.instructions()] == [
        ("bra", 7),
        ("ld.global", 8),
        ("ret", 8),
    ]
    assert text.number_of("ld.global.v4") == 1 and text.number_of("ld.glob") == 0
    assert (
        text.body
        == "    @%p1 bra $L__BB0_2;\n$L__BB0_2:\n    ld.global.v4.f32 {%f1, %f2}, [%rd1];\n    ret;"
    )
    assert readable("", "x") == "\n"


def test_without_a_compiler_the_fix_is_named() -> None:
    program = (
        "import sys; sys.modules['numba'] = None\n"
        "from internals.cuda.ptx import PtxUnavailable, ptx\n"
        "from internals.cuda.kernels.copy import fill_contiguous\n"
        "try: ptx(fill_contiguous, 'float32[:]', float, int)\n"
        "except PtxUnavailable as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "compiling to PTX needs numba: pip install 'numba-cuda[cu13]'\n"


def test_the_cuda_target_that_numba_itself_has_is_not_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numba_cuda", None)  # not installed
    assert ptx_compiler._compile([], (9, 0), False, False)[0] == "unavailable"
