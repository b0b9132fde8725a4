"""Folding a graph that is too big to be read: its middle becomes boxes that say what they hide.

The nodes that run first and last are kept, with the leaves between them; the others are hidden,
each group of neighbours in a box of its own, and edges into the group end at the box. Nothing is
left out without a mark.
"""

from __future__ import annotations

from collections import Counter

from viz.rooms.autograd import Autograd, GraphEdge, GraphNode


def folded(scene: Autograd, limit: int) -> Autograd:
    """The scene with `limit` nodes and boxes for the hidden ones; itself when it has no more.

    The first and the last operation, with their leaves, are always shown. Raises ValueError for a
    limit below 2.
    """
    return fold(scene, limit)[0]


def fold(scene: Autograd, limit: int) -> tuple[Autograd, dict[int, int]]:
    """The folded scene, and where in it each node went."""
    if limit < 2:
        raise ValueError(f"viz.autograd: limit must be at least 2, got {limit}")
    if len(scene.nodes) <= limit:
        return scene, {n: n for n in range(len(scene.nodes))}
    hidden = _middle(scene, limit)
    group = _groups(scene, hidden)
    place: dict[int, int] = {}
    small = Autograd(
        scene.name, kept=scene.kept, kept_bytes=scene.kept_bytes, show_saved=scene.show_saved
    )
    used: list[int] = []
    for n, node in enumerate(scene.nodes):
        if n not in hidden:
            place[n] = len(small.nodes)
            small.nodes.append(node)
            used += [t for t in (node.variable, *(s.tensor for s in node.saved)) if t is not None]
        elif group[n] == n:
            place[n] = len(small.nodes)
            members = [scene.nodes[m] for m in sorted(hidden) if group[m] == n]
            small.nodes.append(_hidden_box(members))
    for n in hidden:
        place[n] = place[group[n]]
    merged: dict[tuple[int, int], GraphEdge] = {}
    for e in scene.edges:
        ends = place[e.tail], place[e.head]
        if ends[0] == ends[1]:
            continue
        if (e.tail in hidden or e.head in hidden) and ends in merged:
            merged[ends].count += 1
            continue
        edge = GraphEdge(*ends, e.output_nr if e.head not in hidden else 0, e.shape)
        small.edges.append(edge)
        if e.tail in hidden or e.head in hidden:
            merged[ends] = edge
    _keep_tensors(scene, small, used, place)
    return small, place


def _middle(scene: Autograd, limit: int) -> set[int]:
    """Which nodes to hide: of the operations all but the first and last to run, and the leaves only
    those lead to.
    """
    inner = {e.head: e.tail for e in scene.edges if scene.nodes[e.head].kind == "inner"}
    operations = [n for n, node in enumerate(scene.nodes) if node.kind == "operation"]
    users: dict[int, list[int]] = {
        n: [] for n, node in enumerate(scene.nodes) if node.kind == "leaf"
    }
    for e in scene.edges:
        if e.head in users:
            users[e.head].append(e.tail)
    hidden: set[int] = set()
    shown = min(limit, len(operations))
    while shown > 1:
        head = (shown + 1) // 2
        kept = set(operations[:head] + operations[len(operations) - (shown - head) :])
        hidden = {n for n in operations if n not in kept}
        hidden |= {n for n, outer in inner.items() if outer in hidden}
        hidden |= {n for n, tails in users.items() if tails and hidden.issuperset(tails)}
        if len(scene.nodes) - len(hidden) <= limit:
            break
        shown -= 1
    return hidden


def _groups(scene: Autograd, hidden: set[int]) -> dict[int, int]:
    """Hidden node → the first of the hidden nodes it hangs together with."""
    group = {n: n for n in hidden}

    def find(n: int) -> int:
        while group[n] != n:
            group[n] = group[group[n]]
            n = group[n]
        return n

    for e in scene.edges:
        if e.tail in hidden and e.head in hidden:
            a, b = sorted((find(e.tail), find(e.head)))
            group[b] = a
    return {n: find(n) for n in hidden}


def _hidden_box(members: list[GraphNode]) -> GraphNode:
    leaves = sum(m.kind == "leaf" for m in members)
    names = Counter(m.name for m in members if m.kind != "leaf")
    values = [
        (name, f"{count} times" if count > 1 else "once") for name, count in names.most_common(4)
    ]
    if len(names) > 4:
        values.append((f"and {len(names) - 4} other kinds", ""))
    if leaves:
        values.append(("leaves", str(leaves)))
    return GraphNode(f"{len(members)} nodes hidden", "hidden", values=values, hides=len(members))


def _keep_tensors(scene: Autograd, small: Autograd, used: list[int], place: dict[int, int]) -> None:
    """Only the tensors that the shown nodes speak of, under new numbers."""
    kept = sorted({*used, *(t for t, _, _ in scene.roots)})
    number = {t: n for n, t in enumerate(kept)}
    small.tensors = [scene.tensors[t] for t in kept]
    small.roots = [(number[t], place[n], nr) for t, n, nr in scene.roots]
    for node in small.nodes:
        if node.variable is not None:
            node.variable = number[node.variable]
        for saved in node.saved:
            saved.tensor = None if saved.tensor is None else number[saved.tensor]
