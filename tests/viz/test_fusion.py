"""`viz.fusion`: the bytes are those of the tensors, the text is the same everywhere, the loop is
found in the assembly.
"""

from __future__ import annotations

import pytest

import internals as torch
import viz
from internals import jit
from viz.rooms.fusion import size
from viz.rooms.fusion_instructions import blocks, classified, hot_loop, lanes
from viz.rooms.roofline import Point, Roofline


def swish_plus_tanh(x, y):
    return x * torch.sigmoid(x) + torch.tanh(y)


@pytest.fixture(scope="module")
def picture():
    return viz.fusion(swish_plus_tanh, torch.ones(64, 100), torch.ones(100))


def test_bytes_are_those_of_the_tensors(picture):
    (kernel,) = picture.kernels
    matrix, row = 4 * 64 * 100, 4 * 100
    assert [(t.read, t.written) for t in kernel.before] == [
        (matrix, matrix), (2 * matrix, matrix), (row, row), (matrix + row, matrix),
    ]  # fmt: skip
    assert [(t.name, t.total) for t in kernel.after] == [
        ("reads y", row),
        ("reads x", matrix),
        ("writes out", matrix),
    ]
    assert kernel.bytes_after == 2 * matrix + row


def test_text_tells_source_and_bytes(picture):
    text = picture.text()
    assert (
        "4 operators in 1 kernel" in text
        and "through memory: 180.4 kB before, 51.6 kB after (3.5 times less)" in text
    )
    assert "out[out_row + j] = " in text and "= aten::sigmoid(%" in text
    assert text == viz.fusion(swish_plus_tanh, torch.ones(64, 100), torch.ones(100)).text()
    reads = [line.split() for line in text.splitlines() if " reads " in line and " writes " in line]
    assert [" ".join(words[-6:]) for words in reads] == [
        "reads 25.6 kB writes 25.6 kB", "reads 51.2 kB writes 25.6 kB",
        "reads 400 B writes 400 B", "reads 26.0 kB writes 25.6 kB",
    ]  # fmt: skip


def test_scripted_functions_and_modules_are_taken_as_they_are(picture):
    assert (
        viz.fusion(jit.script(swish_plus_tanh), torch.ones(64, 100), torch.ones(100)).kernels
        == picture.kernels
    )
    module = torch.nn.Sequential(torch.nn.Sigmoid(), torch.nn.Tanh())
    assert len(viz.fusion(jit.script(module), torch.ones(8)).kernels[0].before) == 2


def test_nothing_to_fuse_is_told():
    def alone(x):
        return x @ x

    assert (
        viz.fusion(alone, torch.ones(4, 4)).text() == "fusion of alone\n    nothing in it is fused"
    )


def test_instructions_of_the_loop():
    picture = viz.fusion(swish_plus_tanh, torch.ones(5000), torch.ones(5000), instructions=True)
    (kernel,) = picture.kernels
    assert kernel.vectorised and kernel.loop.lanes > 1
    assert (
        kernel.loop.count("view") > 20
        and kernel.loop.count("storage") >= 3
        and kernel.loop.count("ready") >= 1
    )
    assert f"its loop, {kernel.loop.lanes} elements at a time" in picture.text()
    assert any(mark.text.startswith("its loop on this CPU") for mark in picture.canvas().texts())


def test_roofline_has_both_points():
    picture = viz.fusion(swish_plus_tanh, torch.ones(5000), torch.ones(5000), roofline=True)
    one_by_one, fused = picture.roofline.points
    assert (one_by_one.moved, fused.moved) == (
        10 * 20000,
        3 * 20000,
    ) and one_by_one.flops == fused.flops == 4 * 5000
    assert "operations a byte" in picture.text()
    assert {"one by one", "fused"} <= {mark.text for mark in picture.canvas().texts()}


def test_roof_is_the_lower_of_memory_and_arithmetic():
    roof = Roofline(
        [Point("add", 1, 12, 1e-9), Point("product", 10_000, 12, 1e-6)], 20e9, 100e9, 500e9
    )
    assert "add: 0.0833 operations a byte, 1 Gflop/s" in roof.text()
    assert roof.canvas().bounds().w > 500


def test_names_of_points_do_not_cover_each_other():
    points = [
        Point(name, 1, 12, seconds)
        for name, seconds in (("add", 1e-9), ("product", 1.02e-9), ("copy", 0.98e-9))
    ]
    marks = list(Roofline(points, 20e9, 100e9, 500e9).canvas().texts())
    a, b, c = (next(m.box for m in marks if m.text == p.name) for p in points)
    assert not a.overlaps(b) and not a.overlaps(c) and not b.overlaps(c)


X86 = """
main:
	movq	%rdi, %rax
.LBB0_2:                                # the loop
	vmovups	(%rdi,%rax,4), %zmm0
	vmulps	%zmm0, %zmm1, %zmm2
	addq	$16, %rax
	jne	.LBB0_2
	movq	%rax, %rbx
.LBB0_3:
	vmulss	%xmm0, %xmm1, %xmm2
	jne	.LBB0_3
"""


def test_the_vector_loop_is_found():
    assert [label for label, _ in blocks(X86)] == ["main", ".LBB0_2", ".LBB0_3"]
    loop = hot_loop(X86)
    assert [i.role for i in loop] == ["storage", "view", "", "ready"]
    # the first of equals
    assert hot_loop(X86 + X86.replace("LBB0_2", "LBB0_4").replace("zmm", "ymm")) == loop
    assert hot_loop(X86.partition(".LBB0_2")[0]) == []
    assert classified("vmulss %xmm0, %xmm1, %xmm2").role == "warning"
    assert classified("fmul v0.4s, v1.4s, v2.4s").role == "view"
    assert classified("ldr q0, [x0, x1]").role == "storage"
    assert lanes("  %2 = fadd <8 x float> %0, %1") == 8 and lanes("%2 = fadd float %0, %1") == 1


@pytest.mark.parametrize(
    ("n", "words"),
    [(0, "0 B"), (999, "999 B"), (4000, "4.0 kB"), (1e6, "1.0 MB"), (25e9, "25.0 GB")],
)
def test_sizes_in_words(n, words):
    assert size(int(n)) == words
