"""docs/symptoms.md: the errors and warnings that people paste, and the questions they ask, each
with its cause and the section of a notebook that shows it. `python -m tools.source_map` writes it.

The errors are internals/source_map/guide/symptoms.yaml, which `internals.where` knows, too; the
questions, ten for each notebook, are guide/asked/NN.yaml.
"""

from __future__ import annotations

from internals.source_map.entries import (
    FOLDER,
    ROOT,
    Section,
    entry_named,
    file_of,
    notebook_files,
    read,
)
from internals.source_map.symptoms import Symptom, symptoms

PAGE = ROOT / "docs" / "symptoms.md"
OPENING = """\
# Symptoms

An error, a warning or a riddle, and the section of a notebook in which you can make it happen, look
at it and make it go away. Paste a message into `internals.where("...")`, or give it the exception:

```python
try:
    loss.backward()
except RuntimeError as error:
    print(internals.where(error))
```

`{}` stands for sizes, names and numbers, which differ from case to case. This page is written by
`python -m tools.source_map` from `internals/source_map/guide`; change it there.
"""


def page() -> str:
    return "\n".join([OPENING, *errors(), "", *questions(), ""])


def errors() -> list[str]:
    """A table for each notebook whose sections show errors."""
    lines = ["## Errors and warnings"]
    for number in sorted({symptom.section.number for symptom in symptoms()}):
        lines += ["", f"### {title(number)}", "", "| message | cause | cure | shown in | file |"]
        lines += ["|---|---|---|---|---|"]
        lines += [error_row(s) for s in symptoms() if s.section.number == number]
    return lines


def error_row(symptom: Symptom) -> str:
    ours = entry_named(symptom.topic).ours[0]
    file = file_of(ours.path).replace("*.py", "")
    cells = [
        f"[{escaped(symptom.text)}]({symptom.seen})",
        symptom.cause,
        symptom.cure,
        link(symptom.section),
        f"[`{file}`](../{file})",
    ]
    return f"| {' | '.join(cells)} |"


def questions() -> list[str]:
    """What is asked most about the subject of each notebook."""
    lines = ["## Questions"]
    for path in sorted((FOLDER / "guide" / "asked").glob("[0-9]*.yaml")):
        lines += ["", f"### {title(path.stem)}", ""]
        for question in read(path):
            section = Section(*question["shown"].split(" ", 1))
            lines.append(f"- [{escaped(question['ask'])}]({question['seen']}) {link(section)}")
    return lines


def title(number: str) -> str:
    return f"Notebook {notebook_files()[number].removesuffix('.ipynb').replace('_', ' ')}"


def link(section: Section) -> str:
    return f"[{section.number} {escaped(section.heading)}](../notebooks/{section.link})"


def escaped(text: str) -> str:
    """Text for a cell of a table and the words of a link."""
    for sign in "\\[]|<>_*":
        text = text.replace(sign, "\\" + sign)
    return text.replace("](", "]&#40;")  # which would begin an address
