"""JSON from a file that may be wrong: every value knows its path, so that an error names the place.

    mainModule = JsonNode.parse(text, "resnet.pt", "model.json")["mainModule"]
    mainModule["parameters"][0]["tensorId"].integer()     ArchiveError: ...
                                                          mainModule.parameters[0].tensorId is ...

How the real one differs: PyTorch reads the model.json of TorchScript into protobuf messages, and
that of `torch.export` into dataclasses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .errors import ArchiveError

INT64 = range(-(2**63), 2**63)


class JsonNode:
    """A JSON value, the path to it, and the archive and record it is from."""

    __slots__ = ("value", "path", "archive", "record")

    def __init__(self, value: Any, path: str, archive: str, record: str) -> None:
        self.value, self.path, self.archive, self.record = value, path, archive, record

    @classmethod
    def parse(cls, text: str, archive: str, record: str) -> JsonNode:
        """The root of a text. Raises ArchiveError if it is not JSON, or has a key twice in an
        object.
        """
        try:
            return cls(
                json.loads(text, object_pairs_hook=_unique, parse_constant=_not_a_number),
                "",
                archive,
                record,
            )
        except (ValueError, RecursionError) as error:  # also a number of thousands of digits
            raise ArchiveError(
                f"not the JSON it should be: {error}", archive=archive, record=record
            ) from None

    def error(self, message: str) -> ArchiveError:
        """An error that begins with the path of this value."""
        return ArchiveError(
            f"{self.path or 'the top'} {message}", archive=self.archive, record=self.record
        )

    def __getitem__(self, key: str | int) -> JsonNode:
        """A member of an object or an entry of a list. Raises ArchiveError if there is none."""
        if isinstance(key, str):
            found = self.get(key)
            if found is None:
                raise self.error(f"has no '{key}'")
            return found
        if not 0 <= key < len(self._list()):
            raise self.error(f"has no entry {key}")
        return self._child(self.value[key], f"{self.path}[{key}]")

    def get(self, key: str) -> JsonNode | None:
        """A member of an object; None if it is missing or null."""
        value = self._dict().get(key)
        return (
            None
            if value is None
            else self._child(value, f"{self.path}.{key}" if self.path else key)
        )

    def __iter__(self) -> Iterator[JsonNode]:
        return (self._child(each, f"{self.path}[{i}]") for i, each in enumerate(self._list()))

    def __len__(self) -> int:
        return len(self._list())

    def __bool__(self) -> bool:
        return True  # also for an empty list, so that `if node` means "not None"

    def items(self) -> Iterator[tuple[str, JsonNode]]:
        for key, value in self._dict().items():
            yield key, self._child(value, f"{self.path}.{key}" if self.path else key)

    def union(self) -> tuple[str, JsonNode]:
        """The name and the value of an object's only member, as in {"as_int": 3}; members that are
        null do not count.
        """
        members = {k: v for k, v in self._dict().items() if v is not None}
        if len(members) != 1:
            raise self.error(f"should say one thing, not {len(members)}")
        return next(self._child(members, self.path).items())

    def text(self) -> str:
        return self._of(str, "text")

    def boolean(self) -> bool:
        return self._of(bool, "true or false")

    def integer(self) -> int:
        """A whole number of 64 bits; protobuf writes these as strings."""
        value = self.value
        if (
            isinstance(value, str)
            and value.removeprefix("-").isascii()
            and value.removeprefix("-").isdigit()
        ):
            # 2^63 has 19 digits; a string of millions of them would take long to convert
            value = int(value) if len(value) < 30 else None
        if not isinstance(value, int) or isinstance(value, bool) or value not in INT64:
            raise self.error(f"is {self._shown()}, not a whole number of 64 bits")
        return value

    def number(self) -> float:
        """A float; infinities and NaN are strings."""
        if self.value in ("Infinity", "-Infinity", "NaN"):
            return float(self.value)
        if not isinstance(self.value, (int, float)) or isinstance(self.value, bool):
            raise self.error(f"is {self._shown()}, not a number")
        return float(self.value)

    def _of(self, kind: type, what: str) -> Any:
        if not isinstance(self.value, kind):
            raise self.error(f"is {self._shown()}, not {what}")
        return self.value

    def _dict(self) -> dict[str, Any]:
        return self._of(dict, "an object")

    def _list(self) -> list[Any]:
        return self._of(list, "a list")

    def _shown(self) -> str:
        shown = (
            json.dumps(self.value)
            if not isinstance(self.value, (dict, list))
            else type(self.value).__name__
        )
        return shown if len(shown) <= 40 else f"{shown[:37]}..."

    def _child(self, value: Any, path: str) -> JsonNode:
        return JsonNode(value, path, self.archive, self.record)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The dict of an object's members; ValueError if a key occurs twice (`json` takes the last)."""
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = Counter(k for k, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key '{twice}' is there twice")
    return members


def _not_a_number(name: str) -> Any:
    return name  # NaN without quotes, which is not JSON: read like "NaN"
