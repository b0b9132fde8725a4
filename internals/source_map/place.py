"""An answer of the map: `Place`, which reads as aligned text and as an HTML table.

Neither has line numbers, so that both stay the same while the code moves; `line` and
`text(lines=True)` have them, and so has `python -m internals where`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape

from .entries import ROOT, Entry, Named, Section, file_of
from .operators import OperatorFacts
from .symptoms import Symptom

REAL = r"`((?:torch|torchgen|aten|c10|caffe2|tools)/[\w./]+\.(?:py|h|cpp|cc|cu|cuh|yaml))`"
URL = {
    "1.0.1": "https://github.com/pytorch/pytorch/blob/v1.0.1/",
    "today": "https://github.com/pytorch/pytorch/blob/main/",
}


@dataclass(frozen=True)
class Row:
    """A line of the answer: what it is about, a file, what to look for there, and a link."""

    label: str
    file: str
    names: str = ""
    link: str = ""


@dataclass(frozen=True, repr=False)
class Place:
    """Where something is. `subject` and `module` say what was asked about, when it was an object;
    `also` are topics as near.
    """

    entry: Entry
    subject: str = ""
    module: str = ""
    also: tuple[str, ...] = ()
    operator: OperatorFacts | None = None
    function: str = ""
    symptom: Symptom | None = None

    @property
    def topic(self) -> str:
        return self.entry.topic

    @cached_property
    def ours(self) -> tuple[Named, ...]:
        """Files of this project: the one with the object that was asked about, or all of the
        topic.
        """
        if self.module:
            return (
                Named(
                    file_of(self.module),
                    tuple(filter(None, [self.function or self.name_in_module])),
                ),
            )
        return tuple(Named(file_of(named.path), named.names) for named in self.entry.ours)

    @property
    def name_in_module(self) -> str:
        return "" if self.subject in ("", self.module) else self.subject

    @property
    def then(self) -> tuple[Named, ...]:
        """Files of PyTorch 1.0.1."""
        return self.entry.then

    @cached_property
    def today(self) -> tuple[Named, ...]:
        """Files of PyTorch 2.13; first those that our module says it mirrors."""
        mirrored = [Named(path) for path in mirrors(self.module)] if self.module else []
        known = {named.path for named in self.entry.today}
        declared = []
        if self.operator is not None:
            names = (self.operator.name,)
            if self.operator.declaration is not None:
                declared.append(Named("aten/src/ATen/native/native_functions.yaml", names))
            if self.operator.derivative is not None:
                declared.append(Named("tools/autograd/derivatives.yaml", names))
        return (
            *[named for named in mirrored if named.path not in known],
            *self.entry.today,
            *declared,
        )

    @property
    def sections(self) -> tuple[Section, ...]:
        """Sections of notebooks; for an error first the one that shows it."""
        shown = () if self.symptom is None else (self.symptom.section,)
        return tuple(dict.fromkeys((*shown, *self.entry.sections)))

    @property
    def next(self) -> tuple[str, ...]:
        """Topics to read next."""
        return tuple(dict.fromkeys((*self.also, *self.entry.next)))

    @property
    def line(self) -> int | None:
        """The line of our file at which what was asked about begins, or None."""
        first = self.ours[0] if self.ours else None
        return line_of(first.path, first.names[0]) if first and first.names else None

    def rows(self, lines: bool = False) -> Iterator[Row]:
        """The answer line by line; with `lines`, our files have line numbers."""
        if self.symptom is not None:
            yield Row("cause", self.symptom.cause)
            yield Row("cure", self.symptom.cure)
        if self.operator is not None:
            yield from self.operator_rows(lines)
        for named in self.ours:
            names = [numbered(named.path, name) if lines else name for name in named.names]
            yield Row(
                "here",
                named.path,
                ", ".join(names),
                "../" + named.path.replace("*.py", "").replace("*.yaml", ""),
            )
        for label, files in (("1.0.1", self.then), ("today", self.today)):
            for named in files:
                yield Row(label, named.path, ", ".join(named.names), URL[label] + named.path)
            if not files:
                yield Row(label, "-")
        for text in self.entry.elsewhere:
            yield Row("elsewhere", *text.split(" ", 1)[::-1])
        for section in self.sections:
            yield Row("notebook", section.file, section.heading, section.link)
        if self.entry.note:
            yield Row("note", self.entry.note)
        yield Row("next", ", ".join(f'"{topic}"' for topic in self.next))

    def operator_rows(self, lines: bool) -> Iterator[Row]:
        assert self.operator is not None
        for label, found in (
            ("operator", self.operator.declaration),
            ("derivative", self.operator.derivative),
        ):
            if found is not None:
                text = (
                    "; ".join(found.text)
                    if label == "derivative"
                    else f"- func: {self.operator.name}"
                )
                yield Row(
                    label,
                    f"{found.file}:{found.line}" if lines else found.file,
                    text,
                    "../" + found.file,
                )

    def text(self, lines: bool = False) -> str:
        """The answer as aligned text, with line numbers in our files if wanted."""
        rows = list(self.rows(lines))
        wide = (
            max(len(row.file) for row in rows if row.names) if any(row.names for row in rows) else 0
        )
        told, out = "", [self.title]
        for row in rows:
            label = "" if row.label == told else row.label
            told = row.label
            file = f"{row.file:<{wide}}  {row.names}" if row.names else row.file
            out.append(f"  {label:<10}  {file}".rstrip())
        return "\n".join(out)

    @property
    def title(self) -> str:
        if self.symptom is not None:
            return self.symptom.text
        what = self.entry.what.replace("`", "")
        about = f"{self.subject} → " if self.subject and self.subject != self.topic else ""
        return f"{about}{self.topic}: {what}"

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        told, body = "", []
        for row in self.rows():
            label = "" if row.label == told else row.label
            told = row.label
            file = (
                f'<a href="{escape(row.link)}"><code>{escape(row.file)}</code></a>'
                if row.link
                else escape(row.file)
            )
            cells = "".join(
                f'<td style="text-align:left;vertical-align:top">{cell}</td>'
                for cell in (file, escape(row.names))
            )
            body.append(
                '<tr><th scope="row" '
                f'style="text-align:left;vertical-align:top">{label}</th>{cells}</tr>'
            )
        return (
            "<table><caption "
            f"style='text-align:left'><b>{escape(self.title)}</b></caption>{''.join(body)}</table>"
        )


def mirrors(module: str) -> list[str]:
    """The files of PyTorch that the first paragraph of a module's description names."""
    path = ROOT / file_of(module)
    if not path.is_file() or "_generated" in module:
        return []
    paragraph = re.match(r'r?"""(.*?)(?:\n\n|""")', path.read_text(encoding="utf-8"), re.DOTALL)
    return list(dict.fromkeys(re.findall(REAL, paragraph.group(1)))) if paragraph else []


def numbered(path: str, name: str) -> str:
    line = line_of(path, name)
    return f"{name} (line {line})" if line else name


def line_of(path: str, name: str) -> int | None:
    """The line at which a class, function or method begins: `name` may be "Tensor.backward".

    So does a function that is another with some arguments given: `name = partial(other, 2)`.
    """
    file = ROOT / path
    if not path.endswith(".py") or not file.is_file():
        return None
    found: ast.AST | None = ast.parse(file.read_text(encoding="utf-8"))
    for part in name.split("."):
        found = next((n for n in getattr(found, "body", []) if part in _names(n)), None)
    return getattr(found, "lineno", None)


def _names(node: ast.stmt) -> set[str | None]:
    """The names that a class, a function or an assignment defines."""
    targets = [n for target in getattr(node, "targets", []) for n in ast.walk(target)]
    return {getattr(n, "name", None) or getattr(n, "id", None) for n in (node, *targets)}
