"""A backward graph as text, and as a `viz.Graph` for those who want DOT."""

from __future__ import annotations

from viz.dot import Graph
from viz.rooms.autograd import Autograd, GraphNode, shape_text
from viz.text import plural, size_in_words, table


def summary(scene: Autograd) -> str:
    """ "4 nodes, 2 leaves, 3 tensors kept (72 bytes besides leaves)"."""
    operations = sum(n.kind == "operation" for n in scene.nodes)
    parts = [plural(operations, "node"), plural(sum(n.kind == "leaf" for n in scene.nodes), "leaf")]
    parts[1] = parts[1].replace("leafs", "leaves")
    hidden = sum(n.hides for n in scene.nodes)
    if hidden:
        parts.append(f"{hidden} hidden")
    if scene.kept:
        parts.append(
            f"{plural(scene.kept, 'tensor')} kept "
            f"({size_in_words(scene.kept_bytes).partition(' (')[0]} besides leaves)"
        )
    if any(n.released for n in scene.nodes):
        parts.append("kept tensors were released")
    modified = sum(s.state == "modified" for n in scene.nodes for s in n.saved)
    if modified:
        parts.append(f"{modified} modified since: backward will fail")
    return ", ".join(parts)


def autograd_text(scene: Autograd) -> str:
    lines = [f"backward graph of {scene.name}: {summary(scene)}"]
    for tensor, first, nr in scene.roots:
        t = scene.tensors[tensor]
        number = f", its output {nr}" if nr else ""
        lines.append(f"    {t.name}  {t.facts}  begins at n{first}{number}")
    for n, node in enumerate(scene.nodes):
        if node.kind != "inner":
            lines += node_lines(scene, n, "")
    if scene.show_saved:
        lines += tensor_lines(scene)
    return "\n".join(lines)


def node_lines(scene: Autograd, n: int, indent: str) -> list[str]:
    node = scene.nodes[n]
    lines = [f"{indent}n{n}  {head_text(scene, node)}"]
    inner = [e.head for e in scene.edges if e.tail == n and scene.nodes[e.head].kind == "inner"]
    onward = [e for e in scene.edges if e.tail == n and e.head not in inner]
    rows = []
    if onward:
        rows.append(["passes on", ", ".join(f"{e.label} -> n{e.head}".lstrip() for e in onward)])
    kept = (
        [saved_text(scene, s.name, s.tensor, s.text) for s in node.saved]
        if node.kind != "hidden"
        else []
    )
    kept += [f"{name} = {value}" for name, value in node.values] if node.kind != "hidden" else []
    if kept:
        rows.append(["keeps", ", ".join(kept)])
    if node.kind == "hidden":
        rows.append(["hides", ", ".join(f"{name} {value}".strip() for name, value in node.values)])
    if node.hooks:
        rows.append(["calls", plural(node.hooks, "hook")])
    if rows:
        lines.append(table(rows, indent=len(indent) + 6))
    for i in inner:
        lines.append(f"{indent}      runs on the slice:")
        lines += node_lines(scene, i, indent + " " * 8)
    return lines


def head_text(scene: Autograd, node: GraphNode) -> str:
    if node.variable is not None:
        t = scene.tensors[node.variable]
        grad = "none" if t.grad is None else t.grad
        return f"{node.name} of {t.name}  {t.facts}  .grad {grad}"
    return node.title


def saved_text(scene: Autograd, name: str, tensor: int | None, text: str) -> str:
    """`self = T0 v0`; for a modified one what happened."""
    if tensor is None:
        return text
    t = scene.tensors[tensor]
    return f"{name} = {t.name}{text.removeprefix(name)}"


def tensor_lines(scene: Autograd) -> list[str]:
    """One row for each kept tensor: who keeps it, and at which version."""
    rows = []
    for number, t in enumerate(scene.tensors):
        holders = [
            f"n{n} as {s.name}"
            + (f" ({s.text.partition(': ')[2]})" if s.state == "modified" else "")
            + (", its output" if s.own_output else "")
            for n, node in enumerate(scene.nodes)
            for s in node.saved
            if s.tensor == number
        ]
        if holders:
            rows.append(
                [
                    t.name,
                    f"{t.dtype} {shape_text(t.shape)}",
                    f"v{t.version}",
                    t.origin,
                    "by " + ", ".join(holders),
                ]
            )
    return ["kept tensors", table(rows, indent=4)] if rows else []


def autograd_graph(scene: Autograd) -> Graph:
    """The scene as boxes and arrows for Graphviz: solid where gradients flow, dashed where a tensor
    is kept.
    """
    graph = Graph(f"viz.autograd: {scene.name}")
    leaves = {n.variable for n in scene.nodes if n.variable is not None}
    kept = {s.tensor for n in scene.nodes for s in n.saved if s.tensor is not None}
    roots = {t for t, _, _ in scene.roots}
    for node in scene.nodes:
        role = {"leaf": "view", "hidden": "free"}.get(node.kind, "key")
        if node.variable is not None:
            t = scene.tensors[node.variable]
            graph.node(t.name, role, lines=[node.name, t.facts])
        else:
            graph.node(node.title, role, lines=[f"{k} = {v}" if v else k for k, v in node.values])
    place = {n.variable: i for i, n in enumerate(scene.nodes) if n.variable is not None}
    for number, t in enumerate(scene.tensors):
        if number in leaves or number not in kept | roots:
            continue
        holders = [s for n in scene.nodes for s in n.saved if s.tensor == number]
        role = (
            "warning"
            if any(s.state == "modified" for s in holders)
            else "shared"
            if len(holders) > 1
            else "storage"
        )
        place[number] = graph.node(
            t.name, "view" if number in roots else role, lines=[t.facts, *filter(None, [t.origin])]
        )
    for tensor, first, nr in scene.roots:
        graph.edge(place[tensor], first, f"output {nr}" if nr else "")
    for e in scene.edges:
        graph.edge(e.tail, e.head, e.label)
    for n, node in enumerate(scene.nodes):
        for s in node.saved:
            if s.tensor is not None:
                graph.edge(n, place[s.tensor], s.text, dashed=True)
    return graph
