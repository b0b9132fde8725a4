"""Makes PTX readable: shortens its names, counts its instructions, and traces each one to the line
of the source that it comes from.

numba mangles the types of a kernel into a name of two hundred letters, as C++ does. Here the kernel
is called by its own name, so the text is readable, and the same wherever the kernel was compiled.

How the real one differs: `cuobjdump` and `nvdisasm` read what the chip executes; PTX is one step
before that.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_ENTRY = re.compile(r"\.entry (\S+?)\(")
# after an optional predicate such as "@%p1": "ld.global.f32"
_OPCODE = re.compile(r"(?:@!?%p\d+\s+)?([a-z]\w*(?:\.\w+)*)(?:\s|;)")
_LOCATION = re.compile(r"\.loc\s+(\d+) (\d+)")  # number of a file, line
# opcodes whose second word belongs to the kind: the memory, or what is done
_SPACES = ("ld", "st", "atom", "red", "bar", "shfl", "vote", "membar", "fence")


class Instruction(NamedTuple):
    """One instruction, and the line of the kernel's file it comes from (0 if that is not known)."""

    text: str
    line: int

    @property
    def opcode(self) -> str:
        """The first word, such as "ld.global.f32" or "fma.rn.f32"; empty for a label."""
        found = _OPCODE.match(self.text)
        return "" if found is None or self.text.endswith(":") else found[1]

    @property
    def kind(self) -> str:
        """The operation without its types, such as "ld.global", "bar.sync" or "fma"."""
        parts = self.opcode.split(".")
        return ".".join(parts[:2]) if parts[0] in _SPACES else parts[0]


class Ptx(str):
    """PTX as text, after `readable`. `name` is the kernel's."""

    name: str

    def __new__(cls, text: str, name: str) -> Ptx:
        self = super().__new__(cls, readable(text, name))
        self.name = name
        return self

    @property
    def body(self) -> str:
        """The instructions and labels of the kernel, one to a line, without declarations."""
        return "\n".join(
            i.text if i.text.endswith(":") else "    " + i.text
            for i in self.instructions(labels=True)
        )

    def instructions(self, labels: bool = False) -> list[Instruction]:
        """The instructions of the kernel in order; with `labels` also the targets of jumps."""
        found: list[Instruction] = []
        line = 0
        own = ""  # the number of the kernel's file: that of the first .loc
        inside = False
        for row in self.splitlines():
            text = row.split("//")[0].strip()
            if row.rstrip() in ("{", "}"):
                inside = row.rstrip() == "{"
                continue
            location = _LOCATION.match(text)
            if location:
                # lines of other files, such as inlined library functions, count as unknown
                own = own or location[1]
                line = int(location[2]) if location[1] == own else 0
            elif not inside or not text or text.startswith((".", "{", "}")):
                continue
            elif not text.endswith(":"):
                found.append(Instruction(re.sub(r"\s+", " ", text), line))
            elif labels and not text.startswith("$L__tmp"):  # those mark lines for a debugger
                found.append(Instruction(text, line))
        return found

    def counts(self) -> dict[str, int]:
        """The number of instructions of each kind: {"bar.sync": 1, "fma": 4, "ld.global": 2}."""
        return dict(sorted(Counter(i.kind for i in self.instructions()).items()))

    def number_of(self, opcode: str) -> int:
        """The number of instructions whose opcode begins with the words of `opcode`: "ld.global"
        counts ld.global.f32 and ld.global.v4.f32.
        """
        return sum((i.opcode + ".").startswith(opcode + ".") for i in self.instructions())


def readable(text: str, name: str) -> str:
    """The text with `name` for the mangled name, and without comments, numba's own variables and
    the folders of files.
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
