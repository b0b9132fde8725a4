"""From words to entries: `search("autograd engin")`, the best first.

What an entry says about itself counts by where it says it: its topic most, then other words for it,
then names of files and functions, then sections of notebooks. A rare word counts more than a common
one, a word with a typing error a little less, and an entry that is called exactly what was asked
for wins.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from functools import cache
from pathlib import PurePosixPath

from .entries import Entry, entries

TOPIC, WORDS, FILES, SECTIONS, DESCRIPTION = 6.0, 5.0, 4.0, 2.0, 1.5
EXACT = 40.0
LONGER, SLIP = 0.7, 0.6  # what a word that begins alike counts, and one with a typing error
ENOUGH = 0.5  # of the words that were asked for, by weight
COMMON = frozenset(
    "a an and are as at by can do does for from get go has have how i in is it its me my "
    "of on or our that the their there this to was what when where which who why will with "
    "you your pytorch torch real source code file files find".split()
)


def search(query: str) -> list[tuple[float, Entry]]:
    """Entries with their scores, best first; none when too few of the words were found anywhere."""
    if path_like(query):
        holders = [
            entry
            for entry in entries()
            if any(is_file(query, named.path) for named in entry.then + entry.today)
        ]
        if holders:
            return [(EXACT, entry) for entry in holders]
    wanted = tokens(query)
    frequency = document_frequency()
    rarity = {word: math.log(1 + len(entries()) / (1 + frequency.get(word, 0))) for word in wanted}
    total = sum(rarity.values())
    meant = {word: spellings(word) for word in wanted}
    found = []
    for entry in entries():
        index = weights_of(entry)
        known = {
            word: {other: share for other, share in meant[word].items() if other in index}
            for word in wanted
        }
        covered = sum(rarity[word] * max(known[word].values(), default=0.0) for word in wanted)
        if wanted and covered >= ENOUGH * total:
            hits = {
                word: max(
                    (share * index[other] for other, share in known[word].items()), default=0.0
                )
                for word in wanted
            }
            score = sum(rarity[word] * hit for word, hit in hits.items()) * covered / total
            found.append((score + EXACT * is_called(entry, query, wanted), entry))
    return sorted(found, key=lambda pair: -pair[0])


def nearest_topics(query: str, count: int = 3) -> list[str]:
    """The topics nearest to a query that finds none, of those that notebooks show: first the ones
    with most of its words, then those whose names look like it.
    """
    wanted = tokens(query)
    shown = [entry for entry in entries() if entry.ours and entry.sections]
    scores = {
        entry.topic: sum(
            share * weights_of(entry).get(other, 0.0)
            for word in wanted
            for other, share in spellings(word).items()
        )
        for entry in shown
    }
    having = [topic for topic in sorted(scores, key=lambda t: -scores[t]) if scores[topic]]
    names = {" ".join(tokens(entry.topic)): entry.topic for entry in shown}
    alike = difflib.get_close_matches(" ".join(wanted), names, count, 0.0)
    return list(dict.fromkeys([*having, *(names[name] for name in alike)]))[:count]


def tokens(text: str) -> list[str]:
    """Words in lower case, without those that say nothing; `TensorImpl` also counts as "tensor" and
    "impl".
    """
    words: list[str] = []
    for word in re.findall(r"[A-Za-z0-9_]+(?:\+\+)?", text):
        parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", word)
        words += [word.lower()] + ([part.lower() for part in parts] if len(parts) > 1 else [])
    kept = [stem(word) for word in words if word not in COMMON]
    return list(dict.fromkeys(kept or map(stem, words)))


def stem(word: str) -> str:
    """A word without the ending of its plural."""
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


@cache
def weights_of(entry: Entry) -> dict[str, float]:
    """Each word of an entry with the weight of the best place where it stands."""
    weights: dict[str, float] = {}
    fields: list[tuple[float, list[str]]] = [
        (TOPIC, [entry.topic]),
        (WORDS, list(entry.words)),
        (
            FILES,
            [
                word
                for named in entry.then + entry.today
                for word in (PurePosixPath(named.path).stem, *named.names)
            ],
        ),
        (FILES, [word for named in entry.ours for word in (named.path, *named.names)]),
        (SECTIONS, [section.heading for section in entry.sections]),
        (DESCRIPTION, [entry.what, entry.note]),
    ]
    for weight, texts in fields:
        for text in texts:
            for word in tokens(text):
                weights[word] = max(weights.get(word, 0.0), weight)
    return weights


@cache
def document_frequency() -> Counter[str]:
    return Counter(word for entry in entries() for word in weights_of(entry))


def spellings(word: str) -> dict[str, float]:
    """Words of the map that one asked for may stand for, each with its share: itself, longer ones,
    those a slip away.
    """
    vocabulary = document_frequency()
    if len(word) < 4:
        return {word: 1.0}
    longer = {other: LONGER for other in vocabulary if other.startswith(word)}
    if longer or word in vocabulary:
        return longer | {word: 1.0}
    return dict.fromkeys(difflib.get_close_matches(word, vocabulary, 3, 0.8), SLIP)


def is_called(entry: Entry, query: str, wanted: list[str]) -> float:
    """2 when the topic is just this, 1 when it is these words, a little less when one of the other
    words for it is.
    """
    if entry.topic.lower() == query.strip().lower():
        return 2.0
    if set(tokens(entry.topic)) == set(wanted):
        return 1.0
    return 0.8 * any(set(tokens(words)) == set(wanted) for words in entry.words)


def path_like(query: str) -> bool:
    return bool(
        re.fullmatch(r"[\w./+-]+\.(cpp|cc|c|h|cu|cuh|py|yaml|cwrap|proto|md)", query.strip())
    )


def is_file(query: str, path: str) -> bool:
    """Whether `query` names the file `path`: all of it, or its last parts."""
    return path == query or path.endswith("/" + query.strip().lstrip("/"))
