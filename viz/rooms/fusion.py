"""`viz.fusion`: what fusing does to a function. Its operators before and after, the kernel, the
bytes that go through memory.

    viz.fusion(f, x, y)                        # bytes before and after, the source of each kernel
    viz.fusion(f, x, y, instructions=True)     # and its innermost loop on this CPU
    viz.fusion(f, x, y, roofline=True)         # and how fast it runs here, beside what this machine
                                               # can do at most

Bytes are counted from the sizes: an operator reads its tensors and writes its result, a kernel
reads each argument and writes each output once. What is in a cache, or is read again because it was
thrown out of one, is not seen in such numbers.

`instructions` and `roofline` depend on the machine, and the second on its mood; without them the
picture is the same everywhere.

How the real one differs: Inductor writes its kernels to files (`TORCH_LOGS=output_code`); a
profiler has to tell the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.rooms.fusion_instructions import Loop, hot_loop, lanes
from viz.rooms.roofline import Point, Roofline, measured
from viz.scene import Picture
from viz.text import plural


@dataclass
class Traffic:
    """An operator or an array of a kernel, and the bytes read and written for it."""

    name: str
    read: int
    written: int

    @property
    def total(self) -> int:
        return self.read + self.written


@dataclass
class KernelScene:
    """One kernel: the operators that it does, its arrays, its source, its innermost loop. `reason`
    says why there is none.
    """

    name: str
    tier: str
    before: list[Traffic]
    after: list[Traffic]
    source: list[str] = field(default_factory=list)
    flops: int = 0
    vectorised: bool | None = None
    loop: Loop | None = None
    reason: str = ""

    @property
    def bytes_before(self) -> int:
        return sum(t.total for t in self.before)

    @property
    def bytes_after(self) -> int:
        return sum(t.total for t in self.after)


@dataclass
class FusionPicture(Picture):
    name: str
    kernels: list[KernelScene]
    roofline: Roofline | None = None

    def title(self) -> str:
        return f"viz.fusion: {self.name}"

    def facts(self) -> list[str]:
        made = [k for k in self.kernels if not k.reason]
        if not made:
            return ["nothing in it is fused"]
        before, after = sum(k.bytes_before for k in made), sum(k.bytes_after for k in made)
        operators = sum(len(k.before) for k in made)
        return [
            f"{plural(operators, 'operator')} in {plural(len(made), 'kernel')}",
            f"through memory: {size(before)} before, {size(after)} after "
            f"({before / max(after, 1):.1f} times less)",
        ]

    def text(self) -> str:
        lines = [f"fusion of {self.name}", *(f"    {fact}" for fact in self.facts())]
        for k in self.kernels:
            lines += ["", *_kernel_text(k)]
        return "\n".join([*lines, *(["", self.roofline.text()] if self.roofline else [])])

    def canvas(self) -> Canvas:
        from viz.rooms.fusion_canvas import fusion_canvas

        return fusion_canvas(self)


def fusion(
    fn: Callable[..., Any], *args: Any, instructions: bool = False, roofline: bool = False
) -> FusionPicture:
    """The kernels that run in `fn(*args)`: a scripted or traced function or module, or a Python
    function, which is scripted.

    Raises what compiling or calling `fn` raises.
    """
    from internals import jit
    from internals.jit.fuser import kernels_of

    compiled = fn if isinstance(fn, jit.ScriptFunction | jit.ScriptModule) else jit.script(fn)
    scenes = [_scene(k, instructions) for k in kernels_of(compiled, *args)]
    name = getattr(fn, "__name__", None) or getattr(fn, "name", None) or type(fn).__name__
    return FusionPicture(str(name), scenes, _roofline(compiled, args, scenes) if roofline else None)


def _scene(k: Any, instructions: bool) -> KernelScene:
    if k.tier == "unfused":
        return KernelScene("a group", k.tier, [], [], reason=k.reason)
    before = [Traffic(o.text, o.bytes_read, o.bytes_written) for o in k.operators]
    after = [Traffic(f"reads {m.name}", m.nbytes, 0) for m in k.inputs]
    after += [Traffic(f"writes {m.name}", 0, m.nbytes) for m in k.outputs]
    scene = KernelScene(k.name, k.tier, before, after, k.source.rstrip("\n").splitlines(), k.flops)
    if k.tier == "numba" and k.state == "ready":
        width = lanes(k.llvm)
        scene.vectorised = width > 1
        scene.loop = Loop(width, hot_loop(k.assembly)) if instructions else None
    return scene


def _roofline(compiled: Any, args: tuple[Any, ...], scenes: list[KernelScene]) -> Roofline:
    from internals.jit.fuser import fuser

    made = [k for k in scenes if not k.reason]
    flops = sum(k.flops for k in made)
    points = []
    for name, enabled, moved in (
        ("one by one", False, sum(k.bytes_before for k in made)),
        ("fused", True, sum(k.bytes_after for k in made)),
    ):
        with fuser(enabled=enabled, synchronous=True, threshold=0):
            points.append(Point(name, flops, moved, measured(lambda: compiled(*args))))
    return Roofline.of_this_machine(points)


def _kernel_text(k: KernelScene) -> list[str]:
    if k.reason:
        return [f"{k.name} without a kernel: {k.reason}"]
    lines = ["one by one:"]
    width = max((len(t.name) for t in k.before), default=0)
    for t in k.before:
        lines.append(f"    {t.name:<{width}}  reads {size(t.read):>8}  writes {size(t.written):>8}")
    lines.append(f"fused, {k.tier}: {k.name}")
    width = max((len(t.name) for t in k.after), default=0)
    lines += [f"    {t.name:<{width}}  {size(t.total):>8}" for t in k.after]
    lines += ["", *(f"    {line}" for line in k.source)]
    if k.vectorised is not None:
        lines.append(
            f"    -> {'vectorised' if k.vectorised else 'not vectorised: one element at a time'}"
        )
    if k.loop is not None:
        lines.append(f"    its loop, {plural(k.loop.lanes, 'element')} at a time:")
        lines += [f"        {i.text}" for i in k.loop.instructions]
    return lines


def size(n: int) -> str:
    """Bytes in words: "512 B", "4.0 MB"."""
    if n < 1000:
        return f"{n} B"
    for unit in ("kB", "MB", "GB"):
        n_unit = n / 1000 ** ("kB", "MB", "GB").index(unit) / 1000
        if n_unit < 999.95 or unit == "GB":
            return f"{n_unit:.1f} {unit}"
    raise AssertionError("there is no unit above GB")
