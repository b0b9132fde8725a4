"""Reading PTX: names made short, instructions counted, and each one traced to the line of the
source it comes from.

numba gives a kernel a name of two hundred letters in which its types are written down, as C++ does;
here it is called by its own name, so that the text can be read, and is the same wherever the kernel
was compiled.

How the real one differs: `cuobjdump` and `nvdisasm` read what the chip executes; PTX is one step
before that.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_ENTRY = re.compile(r"\.entry (\S+?)\(")
_OPCODE = re.compile(r"(?:@!?%p\d+\s+)?([a-z]\w*(?:\.\w+)*)(?:\s|;)")
_LOCATION = re.compile(r"\.loc\s+(\d+) (\d+)")
_SPACES = ("ld", "st", "atom", "red", "bar", "shfl", "vote", "membar", "fence")


class Instruction(NamedTuple):
    """One instruction, and the line of the kernel's file it comes from (0 if that is not known)."""

    text: str
    line: int

    @property
    def opcode(self) -> str:
        """ "ld.global.f32", "fma.rn.f32": its first word; empty for a label."""
        found = _OPCODE.match(self.text)
        return "" if found is None or self.text.endswith(":") else found[1]

    @property
    def kind(self) -> str:
        """ "ld.global", "bar.sync", "fma": what it does, without the types it does it to."""
        parts = self.opcode.split(".")
        return ".".join(parts[:2]) if parts[0] in _SPACES else parts[0]


class Ptx(str):
    """PTX as text. `name` is the kernel's; what the compiler says about itself is left out."""

    name: str

    def __new__(cls, text: str, name: str) -> Ptx:
        made = super().__new__(cls, readable(text, name))
        made.name = name
        return made

    @property
    def body(self) -> str:
        """What is between the braces of the kernel, without declarations: its instructions and
        labels.
        """
        return "\n".join(
            i.text if i.text.endswith(":") else "    " + i.text
            for i in self.instructions(labels=True)
        )

    def instructions(self, labels: bool = False) -> list[Instruction]:
        """The instructions of the kernel in order; with `labels` the targets of its jumps too."""
        found: list[Instruction] = []
        line = 0
        own = ""  # the number of the kernel's file
        inside = False
        for row in self.splitlines():
            text = row.split("//")[0].strip()
            if row.rstrip() in ("{", "}"):
                inside = row.rstrip() == "{"
                continue
            location = _LOCATION.match(text)
            if location:
                own = own or location[1]
                line = int(location[2]) if location[1] == own else 0
            elif not inside or not text or text.startswith((".", "{", "}")):
                continue
            elif not text.endswith(":"):
                found.append(Instruction(re.sub(r"\s+", " ", text), line))
            elif labels and not text.startswith("$L__tmp"):
                found.append(Instruction(text, line))
        return found

    def counts(self) -> dict[str, int]:
        """How many instructions of each kind there are, by name: {"bar.sync": 1, "fma": 4,
        "ld.global": 2, ...}.
        """
        return dict(sorted(Counter(i.kind for i in self.instructions()).items()))

    def number_of(self, opcode: str) -> int:
        """How many instructions begin with `opcode`: "ld.global" counts ld.global.f32 and
        ld.global.v4.f32.
        """
        return sum((i.opcode + ".").startswith(opcode + ".") for i in self.instructions())


def readable(text: str, name: str) -> str:
    """The text with `name` for the mangled name, without the compiler's version, numba's own
    variables and paths.
    """
    entry = _ENTRY.search(text)
    if entry:
        text = text.replace(entry[1], name)
    kept = []
    for line in text.splitlines():
        if line.startswith("//") or "_ZN08NumbaEnv" in line or ".globl" in line:
            continue
        kept.append(re.sub(r'(\.file\s+\d+ )"(?:[^"]*[/\\])?([^"/\\]*)"', r'\1"\2"', line).rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip() + "\n"
