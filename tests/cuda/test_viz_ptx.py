"""`viz.ptx`: each instruction stands beside the line that it came from, and what is long is
folded.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import viz
from internals.cuda.language import cuda, kernel
from internals.cuda.ptx import PtxUnavailable
from internals.cuda.ptx_text import Ptx
from tests.viz.support import assert_good
from viz.rooms.ptx import role_of, scene

SOURCE = '''
@kernel
def double(out, a):
    """Twice a,

    in one step."""
    i = cuda.grid(1)
    if i < 10:
        out[i] = (
            a[i] + a[i]
        )
'''
TEXT = """.version 9.0
.target sm_90
.visible .entry _Z6double(
\t.param .u64 _Z6double_param_0
)
{
\t.reg .b32 \t%r<9>;
\t.loc\t1 102 0
\tld.param.u64 \t%rd1, [_Z6double_param_0];
\t.loc\t1 106 1
\tmov.u32 \t%r1, %tid.x;
\t.loc\t1 107 1
\t@%p1 bra \t$L__BB0_2;
\t.loc\t1 109 1
\tld.global.f32 \t%f1, [%rd2];
\tadd.f32 \t%f2, %f1, %f1;
\t.loc\t1 108 1
\tst.global.f32 \t[%rd3], %f2;
\t.loc\t2 7 1
\tadd.s64 \t%rd4, %rd4, 1;
\t.loc\t1 0 1
$L__BB0_2:
\tret;
}
"""


@kernel
def reverse(out, a):  # type: ignore[no-untyped-def]
    """Each block turned round."""
    kept = cuda.shared.array(32, np.float32)
    i = cuda.threadIdx.x
    kept[i] = a[i]
    cuda.syncthreads()
    out[i] = kept[31 - i] * a[i] + a[i]


def test_instructions_beside_their_lines() -> None:
    picture = scene(Ptx(TEXT, "double"), SOURCE.splitlines(keepends=True)[1:], 101)
    assert [
        (row.line, [(s.number, s.text.split()[0], s.role) for s in row.steps])
        for row in picture.rows
    ] == [
        (102, [(0, "ld.param.u64", "")]),
        (106, [(1, "mov.u32", "")]),
        (107, [(2, "@%p1", "ready")]),
        (108, [(5, "st.global.f32", "storage")]),
        (109, [(3, "ld.global.f32", "storage"), (4, "add.f32", "view")]),
        (110, []),
        (0, [(6, "add.s64", ""), (7, "ret", "ready")]),  # of another file; of no line
    ]
    assert picture.facts()[:2] == [
        "8 instructions for sm_90",
        "memory and barriers: 1 ld.global, 1 ld.param, 1 st.global",
    ]
    assert "Twice" not in picture.text() and "_Z6double" not in picture.ptx
    assert_good(picture)


def test_what_is_long_is_folded() -> None:
    many = TEXT.replace(
        "\tmov.u32 \t%r1, %tid.x;\n", "\tadd.s64 \t%rd9, %rd9, 1;\n" * 20 + "\tbar.sync \t0;\n"
    )
    picture = scene(Ptx(many, "double"), SOURCE.splitlines(keepends=True)[1:], 101, fold=4)
    steps, hidden = picture.shown(picture.rows[1])
    assert [s.number for s in steps] == [1, 2, 3, 21] and hidden == 17  # what has a colour is kept
    assert "(and 17 more)" in picture.text() and picture.ptx.count("add.s64") == 21
    assert_good(picture)


def test_without_lines_all_is_listed() -> None:
    bare = "\n".join(line for line in TEXT.splitlines() if ".loc" not in line)
    picture = scene(Ptx(bare, "double"), SOURCE.splitlines(keepends=True)[1:], 101)
    assert [len(row.steps) for row in picture.rows] == [0, 0, 0, 0, 0, 0, 8]
    assert_good(picture)


def test_roles() -> None:
    roles = [
        role_of(o)
        for o in (
            "ld.shared.f32",
            "atom.global.add.f32",
            "bar.sync",
            "fma.rn.f32",
            "bra",
            "add.s64",
            "mov.f32",
        )
    ]
    assert roles == ["copied", "storage", "warning", "view", "ready", "", ""]


@pytest.mark.sampled(1 / 4)
def test_a_compiled_kernel() -> None:
    try:
        picture = viz.ptx(reverse, "float32[:]", "float32[:]")
    except PtxUnavailable as error:
        pytest.skip(str(error))
    first = inspect.getsourcelines(reverse.function)[1]
    kinds = {row.line - first: [s.text.split()[0] for s in row.steps] for row in picture.rows}
    assert (
        kinds[6] == ["bar.sync"]
        and "st.shared.f32" in kinds[5]
        and "st.global.f32" in kinds[7]
        and "fma.rn.f32" in kinds[7]
    )
    assert "1 bar.sync" in picture.text()
    assert_good(picture)
    numba_cuda = pytest.importorskip("numba.cuda", reason="numba is not installed")
    assert (
        viz.ptx(numba_cuda.jit(reverse.function), "float32[:]", "float32[:]").text()
        == picture.text()
    )
