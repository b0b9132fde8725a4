"""The pictures of tensors, of tensors on the device: where they are is said, and a fallback is seen
as one.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
import viz
from internals.cuda import backend
from internals.library import Library
from tests.viz.support import assert_good, same_in_two_processes


def here() -> str:
    return "cuda:0, simulated" if backend.driver().simulated else "cuda:0"


def settled(*sizes: int) -> Any:
    """0, 1, 2, ... on the device, written already."""
    t = torch.arange(torch.empty(sizes).numel(), dtype=torch.float32, device="cuda").view(*sizes)
    torch.cuda.synchronize()
    return t


def test_the_big_picture_goes_down_to_the_segment() -> None:
    t = settled(2, 3)
    picture = viz.big_picture(t[1:])
    block, segment = picture.block, picture.segment
    assert block is not None and segment is not None
    fields = {entry.name: entry.value for entry in block.entries}
    assert (fields["size"], fields["requested"], fields["stream"]) == (
        "512",
        "24",
        "default stream",
    )
    name, pool = segment.entries[0].value, segment.entries[2].value
    assert fields["pointer"].startswith(f"{name}+0x") and pool == "small"
    drawn: Any = viz.allocator("cuda")
    there = next(s for s in drawn.segments if s.name == name)
    assert (
        f"{there.size:,}" == segment.entries[1].value
        and str(len(there.blocks)) == segment.entries[3].value
    )
    assert any(
        f"{name}+{b.offset:#x}" == fields["pointer"] and b.requested == 24 for b in there.blocks
    )
    assert picture.values == ["0", "1", "2", "3", "4", "5"]
    assert f"memory S0 = {fields['pointer']} on {here()}" in picture.text()
    assert_good(picture)
    assert_good(viz.big_picture(settled(100)[50:]))


def test_on_the_cpu_there_is_no_block() -> None:
    picture = viz.big_picture(torch.ones(2))
    assert picture.block is None and picture.place == "S0" and len(picture.parts) == 4


def test_memory_of_both_sides() -> None:
    a, host = settled(2, 3), torch.arange(6.0)
    picture = viz.memory(a=a, t=a.t(), host=host)
    assert [strip.where for strip in picture.strips] == [here(), ""]
    assert [c.text for c in picture.strips[0].cells or []] == ["0", "1", "2", "3", "4", "5"]
    assert [(v.kind, v.names) for v in picture.verdicts] == [
        ("shared", ["a", "t"]),
        ("copied", ["host"]),
    ]
    assert_good(picture)
    with pytest.raises(ValueError, match="'m' is on device 'meta'"):
        viz.memory(m=torch.empty(2, device="meta"))


def test_strides_say_where() -> None:
    picture = viz.strides(settled(2, 3))
    assert f"storage_offset 0, on {here()}" in picture.text()
    assert_good(picture)
    assert "cuda" not in viz.strides(torch.ones(2)).text()
    assert_good(viz.pyobject(settled(2), portable=True))


def test_a_fallback_is_seen() -> None:
    library = Library("seen_to_fall_back", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    picture = viz.dispatch(torch.ops.seen_to_fall_back.twice, settled(4))
    first = picture.calls[0]
    assert first.steps[-1].falls_back and first.calls_others and first.steps[-1].key == "CUDA"
    assert any(
        call.op == "seen_to_fall_back::twice" and call.steps[-1].key == "CPU"
        for call in picture.calls[1:]
    )
    assert "no CUDA kernel for seen_to_fall_back::twice: CPU fallback" in picture.text()
    assert "backend fallback: copies its arguments to the CPU" in picture.text()
    assert any(
        mark.text == "no kernel: the CPU does the work, on copies"
        for mark in picture.canvas().texts()
    )
    assert_good(picture)


def test_a_kernel_is_no_fallback() -> None:
    picture = viz.dispatch(torch.add, settled(4), 1)
    assert picture.calls[0].steps[-1].key == "CUDA" and "fallback" not in picture.text()
    assert_good(picture)


@pytest.mark.sampled(1 / 4)
def test_the_same_in_every_process() -> None:
    program = (
        "import internals as torch, viz\n"
        "torch.cuda.use_simulator()\n"
        "t = torch.ones(2, 3, device='cuda')\n"
        "torch.cuda.synchronize()\n"
        "for p in (viz.big_picture(t), viz.memory(t=t), viz.strides(t)): print(p, p.html())\n"
    )
    assert "G0+0x0 on cuda:0, simulated" in same_in_two_processes(program)
