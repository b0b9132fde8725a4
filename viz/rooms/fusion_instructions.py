"""The loop of a kernel in machine code: which instructions are in it, and on how many elements each
works.

A compiler writes a loop over vectors, one that works off what is left, and tests which of them to
enter. The one that matters is the block that jumps back to itself and has the most arithmetic on
vectors. Names of instructions differ from CPU to CPU: on x86 `vmulps` is a product of packed single
precision numbers, `vmulss` of one; on ARM a register called `v0.4s` holds four.

How the real one differs: `perf annotate` and Compiler Explorer show the same; both know many more
instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LANES = re.compile(r"<(?:vscale x )?(\d+) x (?:float|double|i\d+)>")
JUMPS = ("j", "b.", "cb", "tb", "ret", "call", "bl")


@dataclass
class Instruction:
    """One line of assembly, and the role of its colour: "storage" for memory, "view" for arithmetic
    on vectors, "warning" for arithmetic on one number, "ready" for jumps, "" for the rest."""

    text: str
    role: str


@dataclass
class Loop:
    """The innermost loop. `lanes` is how many elements one instruction works on, at most; 1 is no
    vectors.
    """

    lanes: int
    instructions: list[Instruction] = field(default_factory=list)

    def count(self, role: str) -> int:
        return sum(i.role == role for i in self.instructions)


def hot_loop(assembly: str) -> list[Instruction]:
    """The instructions of the loop with the most arithmetic on vectors, else of the longest; of
    equals the first.

    None if there is no loop.
    """
    best: tuple[int, int] = (-1, -1)
    found: list[Instruction] = []
    for label, lines in blocks(assembly):
        instructions = [classified(line) for line in lines]
        jumps_back = [
            n
            for n, i in enumerate(instructions)
            if i.role == "ready" and label in i.text.split()[1:]
        ]
        # What follows the jump runs once, after the loop.
        loop = instructions[: jumps_back[-1] + 1] if jumps_back else []
        score = (sum(i.role == "view" for i in loop), len(loop))
        if loop and score > best:
            best, found = score, loop
    return found


def blocks(assembly: str) -> list[tuple[str, list[str]]]:
    """The labels of a text of assembly, each with the instructions up to the next."""
    found: list[tuple[str, list[str]]] = []
    for line in assembly.splitlines():
        code = line.split("#")[0].split("//")[0].rstrip()
        if match := re.match(r"([.\w$]+):", code):
            found.append((match[1], []))
        elif found and code.startswith("\t") and not code.strip().startswith("."):
            found[-1][1].append(re.sub(r"\s+", " ", code.strip()))
    return found


def classified(line: str) -> Instruction:
    opcode, _, operands = line.partition(" ")
    if opcode.startswith(JUMPS):
        return Instruction(line, "ready")
    x86 = "%" in operands
    floats = bool(re.search(r"%[xyz]mm\d", operands)) or bool(
        re.search(r"\b[vqsd]\d+(\.\d+[sd])?\b", operands)
    )
    if opcode.startswith(("vmov", "mov", "ld", "st", "vbroadcast", "prefetch")):
        in_memory = "(" in operands if x86 else "[" in operands
        return Instruction(line, "storage" if in_memory else "")
    if not floats:
        return Instruction(line, "")
    packed = not opcode.endswith(("ss", "sd")) if x86 else ".4s" in operands or ".2d" in operands
    return Instruction(line, "view" if packed else "warning")


def lanes(llvm: str) -> int:
    """On how many elements the widest arithmetic in an LLVM module works: 16 for `<16 x float>`; 1
    if there are no vectors.
    """
    found = [1]
    for line in llvm.splitlines():
        if re.search(r"= (?:tail )?(f\w+|call|add|sub|mul|and|or|select)\b", line) and (
            match := LANES.search(line)
        ):
            found.append(int(match[1]))
    return max(found)
