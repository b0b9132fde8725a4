"""From an error message to its cause: `symptom_of("... modified by an inplace operation ...")`.

`guide/symptoms.yaml` has the errors and warnings that people paste most, each with its cause, what
to do, the section of a notebook that shows it, and where it was seen. Sizes, types and names differ
from case to case, so a text is compared by its words: those of the pasted text that a known message
has, weighted by how rare they are among all messages.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache

from .entries import FOLDER, Section, read

AT_LEAST = 3  # words: fewer are a topic, not a message
ALIKE = 0.7  # of the message or of what was pasted, by weight
FAIR = 0.35  # of the other one


@dataclass(frozen=True)
class Symptom:
    """A message with `{}` for what differs, and its explanation. `topic` is an entry of the map."""

    text: str
    cause: str
    cure: str
    topic: str
    section: Section
    seen: str  # the address of a page that asks about it


@cache
def symptoms() -> tuple[Symptom, ...]:
    return tuple(
        Symptom(
            fields["text"],
            fields["cause"],
            fields["cure"],
            fields["topic"],
            Section(*fields["notebook"].split(" ", 1)),
            fields["seen"],
        )
        for fields in read(FOLDER / "guide" / "symptoms.yaml")
    )


def symptom_of(pasted: str) -> Symptom | None:
    """The symptom whose message this is: a sentence, a fragment, or a whole traceback, whose last
    lines count.
    """
    words = message_words(last_message(pasted))
    wanted = set(words)
    if len(wanted) < AT_LEAST:
        return None
    for symptom in symptoms():
        if f" {' '.join(words)} " in f" {' '.join(message_words(symptom.text))} ":
            return symptom
    weights = rarity()
    best, found = 0.0, None
    for symptom in symptoms():
        known = set(message_words(symptom.text))
        common = sum(weights[word] for word in wanted & known)
        of_message = common / sum(weights[word] for word in known)
        of_pasted = common / sum(weights.get(word, max(weights.values())) for word in wanted)
        # most of one, and a fair part of the other: three common words are in many a text
        alike = max(of_message, of_pasted) >= ALIKE and min(of_message, of_pasted) >= FAIR
        if alike and of_message + of_pasted > best:
            best, found = of_message + of_pasted, symptom
    return found


def last_message(pasted: str) -> str:
    """The message of a traceback: from the last line that names an error, to the end."""
    lines = pasted.strip().splitlines()
    named = [
        n for n, line in enumerate(lines) if re.match(r"[\w.]*(Error|Warning|Exception)\b:", line)
    ]
    return re.sub(
        r"^[\w.]*(Error|Warning|Exception): ?", "", "\n".join(lines[named[-1] if named else 0 :])
    )


def message_words(text: str) -> list[str]:
    """Words in lower case; numbers, addresses and what stands in `{}` differ from case to case."""
    return re.findall(r"[a-z_]{2,}", re.sub(r"\{\w*\}|0x[0-9a-f]+", " ", text).lower())


@cache
def rarity() -> dict[str, float]:
    """The weight of each word: more when fewer messages have it."""
    known = [set(message_words(symptom.text)) for symptom in symptoms()]
    count = Counter(word for words in known for word in words)
    return {word: math.log(1 + len(known) / n) for word, n in count.items()}
