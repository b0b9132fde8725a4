"""The table of all models, their versions and states: the part of the repository without any
waiting.

A version is READY if it has an entry, and stays so if a newer file for it fails; LOADING until it
has its first entry; otherwise UNAVAILABLE, with a reason. Names and states are those of the
protocol's repository index.

There are two dicts: `models` has everything, `ready` only the versions that answer, under (name,
version), and the newest of them also under (name, ""). Requests only use `ready`.

How the real one differs: Triton has a fourth state, UNLOADING, for a model that is finishing its
accepted requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from internals import Tensor

from ..errors import ModelNotFound, ServingError, Unavailable
from ..inference import InferRequest
from .folder import listed
from .model_file import Stamp
from .served_model import ServedModel

State = Literal["READY", "LOADING", "UNAVAILABLE"]
Key = tuple[str, str]  # name, version


class BatcherLike(Protocol):
    """The methods of a batcher that the repository and the engine use."""

    async def submit(self, request: InferRequest) -> dict[str, Tensor]: ...

    async def drain(self) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A model that answers, and the batcher where its requests wait."""

    model: ServedModel
    batcher: BatcherLike


class ModelState(NamedTuple):
    """A line of the repository's index."""

    name: str
    version: str
    state: State
    reason: str = ""


@dataclass(slots=True, eq=False)
class Version:
    """The state of one version. `tried` is the stamp of the file at the last attempt to load it,
    and `failed` tells whether that attempt failed.
    """

    state: State = "LOADING"
    reason: str = ""
    entry: Entry | None = None
    tried: Stamp | None = None
    failed: bool = False
    is_file: bool = True


class Table:
    """All versions by name and number (`models`), and those that answer (`ready`)."""

    def __init__(self) -> None:
        self.models: dict[str, dict[str, Version]] = {}
        self.ready: dict[Key, Entry] = {}

    def version(self, key: Key) -> Version:
        """The state of a version, which is added if it is new."""
        name, number = key
        return self.models.setdefault(name, {}).setdefault(number, Version())

    def known(self, key: Key) -> Version | None:
        """The state of a version; None if there is none."""
        return self.models.get(key[0], {}).get(key[1])

    def put(self, key: Key, entry: Entry) -> Entry | None:
        """Makes `entry` answer from now on, and returns the one before."""
        version = self.version(key)
        old, version.entry = version.entry, entry
        version.state, version.reason, version.failed = "READY", "", False
        self._follow(key[0])
        return old

    def fail(self, key: Key, why: str) -> None:
        """Notes that a version could not be loaded; an entry from before stays."""
        version = self.version(key)
        version.failed = True
        if version.entry is None:
            version.state, version.reason = "UNAVAILABLE", why
        else:
            version.reason = f"{why}; the one loaded before goes on"

    def take(self, key: Key, why: str) -> Entry | None:
        """Removes the entry of a version, and returns it. The version stays, as unavailable."""
        version = self.version(key)
        old, version.entry = version.entry, None
        version.state, version.reason, version.tried, version.failed = (
            "UNAVAILABLE",
            why,
            None,
            False,
        )
        self._follow(key[0])
        return old

    def forget(self, key: Key) -> None:
        """Removes a version from the table."""
        del self.models[key[0]][key[1]]
        if not self.models[key[0]]:
            del self.models[key[0]]

    def numbers(self, name: str) -> tuple[str, ...]:
        """The versions that are ready, the oldest first."""
        found = self.models.get(name, {}).items()
        return tuple(
            sorted((number for number, version in found if version.entry is not None), key=int)
        )

    def states(self) -> Iterator[ModelState]:
        """Yields the lines of the index, by name and version."""
        for name, versions in sorted(self.models.items()):
            for number, version in sorted(versions.items(), key=lambda item: int(item[0])):
                yield ModelState(name, number, version.state, version.reason)

    def why_not(self, name: str, number: str) -> ServingError:
        """The error for a request of a version that is not ready."""
        versions = self.models.get(name)
        if versions is None:
            return self.no_model(name)
        if number and number not in versions:
            return ModelNotFound(
                f"model '{name}' has no version '{number[:20]}'; it has "
                f"{', '.join(sorted(versions, key=int))}"
            )
        version = versions[number or max(versions, key=int)]
        what = f"version {number} of model '{name}'" if number else f"model '{name}'"
        if version.state == "LOADING":
            return Unavailable(f"{what} is being loaded: try again in a moment")
        return Unavailable(f"{what} is not available: {version.reason}")

    def no_model(self, name: str) -> ModelNotFound:
        return ModelNotFound(f"there is no model '{name[:80]}'; there is {listed(self.models)}")

    def _follow(self, name: str) -> None:
        """Updates `ready` for a model."""
        numbers = self.numbers(name)
        for number in self.models.get(name, {}):
            entry = self.models[name][number].entry
            if entry is not None:
                self.ready[name, number] = entry
            else:
                self.ready.pop((name, number), None)
        if numbers:
            self.ready[name, ""] = self.ready[name, numbers[-1]]
        else:
            self.ready.pop((name, ""), None)
