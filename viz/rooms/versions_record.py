"""Watching version counters.

The dispatcher tells of every operator call, before and after. A counter that has moved in between
was bumped by that call (by the innermost one, when calls are nested). The results of the call lead
to the node it left behind, and that to the tensors it keeps; hooks on the node tell when it is
about to use them, and when it has. Counters are small objects of their own: to hold them keeps no
tensor alive.
"""

from __future__ import annotations

import linecache
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from viz.rooms.autograd_record import inner_node, saved_variables
from viz.rooms.versions import Event, Lane
from viz.text import and_list

OURS = ("internals", "viz")


class Recorder:
    """Lanes for all counters that were met; `shown` picks those the reader asked for."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.counters: dict[Any, int] = {}  # counter → lane
        self.lanes: list[Lane] = []
        self.known: list[int] = []  # the last value seen, of each lane
        # of named tensors → lanes; `.data` has one of its own
        self.storages: dict[int, set[int]] = {}
        self.facts: list[str] = []  # what to call an unnamed lane
        self.events: list[Event] = []
        self.nodes: weakref.WeakSet[Any] = weakref.WeakSet()
        self.numbers = count(1)
        self.handles: list[Any] = []

    def name(self, tensors: Mapping[str, Any]) -> None:
        """Give names to tensors, and look for the nodes that made them."""
        for name, t in tensors.items():
            self.given[name] = t
            lane = self.lane(t)
            self.storages.setdefault(id(t.untyped_storage()), set()).add(lane)
            if name not in self.lanes[lane].names:
                self.lanes[lane].names.append(name)
        self.events += self.kept_by(tensors.values(), "")

    def lane(self, t: Any) -> int:
        """The lane of the counter of `t`; a new one when it was never met."""
        from internals.core.tensor_impl import version_counter

        counter = version_counter(t)
        if counter not in self.counters:
            self.counters[counter] = len(self.lanes)
            self.lanes.append(Lane([], counter.value))
            self.known.append(counter.value)
            self.facts.append(f"{str(t.dtype).split('.')[-1]} {tuple(t.shape)}")
        return self.counters[counter]

    def observe(self, op: Any, args: tuple[Any, ...]) -> Callable[[Any], None]:
        """Called by the dispatcher before an operator runs; what it returns is called with the
        result.
        """
        line = readers_line()
        self.events += self.kept_by(tensors_in(args), line)
        written = [
            value
            for a, value in zip(op.schema.arguments, args)
            if a.is_write and hasattr(value, "_version")
        ]
        for t in written:
            self.lane(t)

        def finish(result: Any) -> None:
            writes = [event for t in written for event in self.written(op, t, line)]
            # the history of a view is that of its base
            bases = [t._base for t in written if t._base is not None]
            keeps = self.kept_by([*tensors_in((result,)), *written, *bases], line)
            old = [
                k for k in keeps if any(k.lane == w.lane and k.before <= w.before for w in writes)
            ]
            self.events += old + writes + [k for k in keeps if k not in old]

        return finish

    def written(self, op: Any, t: Any, line: str) -> list[Event]:
        """The write to `t`, if no nested call was told of it already; and if it went past a named
        tensor, that too.
        """
        lane = self.lane(t)
        before, now = self.known[lane], t._version
        if now == before:
            return []
        self.known[lane] = now
        found = [Event("write", lane, op.name, self.through(t), before, now, line=line)]
        for other in sorted(self.storages.get(id(t.untyped_storage()), set()) - {lane}):
            version = self.known[other]
            found.append(
                Event(
                    "unseen",
                    other,
                    op.name,
                    "a tensor with its own counter",
                    version,
                    version,
                    line=line,
                )
            )
        return found

    def kept_by(self, tensors: Iterable[Any], line: str) -> list[Event]:
        """What the nodes that made these tensors keep, for nodes not met before; they are watched
        from now on.
        """
        found = []
        for t in tensors:
            node = grad_fn(t)
            if node is None or node in self.nodes:
                continue
            self.nodes.add(node)
            kept = saved_variables(node)
            if inner_node(node) is not None:
                kept = kept + saved_variables(node.fn)
            visible = [
                (name, s, self.lane(s.data))
                for name, s in kept
                if s.data is not None and s.hooks is None
            ]
            if not visible:
                continue
            number = next(self.numbers)
            for lane, version, names in grouped(
                (lane, s.saved_version, name) for name, s, lane in visible
            ):
                text = and_list(names)
                found.append(
                    Event("keep", lane, node.name(), text, version, version, line=line, node=number)
                )
            self.watch_node(node, number, visible)
        return found

    def watch_node(self, node: Any, number: int, kept: list[tuple[str, Any, int]]) -> None:
        """Hooks before and after the node: what it is about to use, and that it could."""
        name_of_node = node.name()
        pending: list[Event] = []

        def about_to_run(grads: Any) -> None:
            pending.clear()
            line = readers_line()
            found = []
            for name, s, lane in kept:
                now = None if s.data is None else s.data._version
                outcome = (
                    "released"
                    if now is None
                    else "refused"
                    if now != s.saved_version
                    else "not reached"
                )
                found.append(
                    (
                        lane,
                        (s.saved_version, s.saved_version if now is None else now, outcome),
                        name,
                    )
                )
            for lane, (saved, now, outcome), names in grouped(found):
                pending.append(
                    Event(
                        "check",
                        lane,
                        name_of_node,
                        and_list(names),
                        saved,
                        now,
                        outcome,
                        line,
                        number,
                    )
                )
            self.events += pending

        def has_run(*grads: Any) -> None:
            for event in pending:
                event.outcome = "ok" if event.outcome == "not reached" else event.outcome

        self.handles += [node.register_prehook(about_to_run), node.register_hook(has_run)]

    def through(self, t: Any) -> str:
        """The tensor that was written to, in the reader's names."""
        for name, known in self.given.items():
            if known is t:
                return name
        for name, known in self.given.items():
            if t._base is known:
                return f"a view of {name}"
            if known._base is t:
                return f"the base of {name}"
        for name, known in self.given.items():
            if self.lane(known) == self.lane(t):
                if known._base is not None and known._base is t._base:
                    return f"another view of the base of {name}"
                return f"a detached alias of {name}"
        return "the tensor itself" if t._base is None else "a view"

    def close(self) -> None:
        for counter, lane in self.counters.items():
            if counter.value != self.known[lane]:
                event = Event("write", lane, "", "", self.known[lane], counter.value)
                self.events.append(event)
            self.lanes[lane].end = counter.value
        for handle in self.handles:
            handle.remove()
        self.given = {}

    def shown(self) -> tuple[list[Lane], list[Event]]:
        """The named lanes; all that were written to when there are no names."""
        chosen = [i for i, lane in enumerate(self.lanes) if lane.names]
        if not chosen:
            chosen = sorted({e.lane for e in self.events if e.kind == "write"})
            for n, i in enumerate(chosen):
                self.lanes[i].names = [f"T{n} {self.facts[i]}"]
        place = {lane: n for n, lane in enumerate(chosen)}
        events = [e for e in self.events if e.lane in place]
        numbered(events)
        for event in events:
            event.lane = place[event.lane]
        return [self.lanes[i] for i in chosen], events


def numbered(events: list[Event]) -> None:
    """Tell nodes of the same name apart: "MulBackward0 (1)", "MulBackward0 (2)"."""
    nodes: dict[str, list[int]] = {}
    for e in events:
        if e.node and e.node not in nodes.setdefault(e.what, []):
            nodes[e.what].append(e.node)
    for e in events:
        if e.node and len(nodes[e.what]) > 1:
            e.what = f"{e.what} ({nodes[e.what].index(e.node) + 1})"


def grouped(items: Iterable[tuple[int, Any, str]]) -> list[tuple[int, Any, list[str]]]:
    """(lane, facts, name) with the names of equal lane and facts put together."""
    groups: dict[tuple[int, Any], list[str]] = {}
    for lane, facts, name in items:
        groups.setdefault((lane, facts), []).append(name)
    return [(lane, facts, names) for (lane, facts), names in groups.items()]


def grad_fn(t: Any) -> Any:
    """The node that made `t`; None for a leaf, and for a view whose history cannot be told."""
    if not t.requires_grad:
        return None
    try:
        return t.grad_fn
    except RuntimeError:
        return None


def tensors_in(values: Iterable[Any]) -> list[Any]:
    """The tensors among arguments or results, one list deep."""
    flat = [
        v for value in values for v in (value if isinstance(value, (list, tuple)) else (value,))
    ]
    return [v for v in flat if hasattr(v, "_version_counter")]


def readers_line() -> str:
    """The line of the reader's code that is being run: the innermost frame that is neither ours nor
    the library's.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "internals").split(".")[0] in OURS:
        frame = frame.f_back
    if frame is None:
        return ""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
