"""Random programs over tensors: chains of operators, broadcasting, views, in-place operators,
values used several times.

`program(stream)` writes the source of a function `run(T, x)`: `T` is the library, `x` its leaves.
The writer knows every shape, so nearly every line runs; what in-place operators do to the values
that backward needs is left to chance, and so is whether the program fails. Both libraries have to
agree on that, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

Shape = tuple[int, ...]


def forms(table: str) -> list[str]:
    """Expressions with holes for variables, separated by semicolons."""
    return [" ".join(f.split()) for f in table.split(";")]


UNARY = forms("""
    {a}.sin(); {a}.cos(); {a}.tanh(); {a}.sigmoid(); {a}.relu(); {a}.abs(); -{a}; {a}.square();
    {a} ** 3; ({a} * {a} + 1).sqrt(); (-{a}.square()).exp(); ({a}.abs() + 1).log();
    {a}.clamp(-0.5, 0.7); 2.5 * {a}; {a} / 3; 1 - {a}; T.nn.functional.gelu({a});
    T.nn.functional.silu({a}); T.nn.functional.softplus({a}); 1 / ({a}.square() + 1); {a}.erf();
    {a}.atan(); {a}.expm1().clamp(max=3); {a}.clone(); T.where({a} > 0, {a}, {a} * 0.1);
    {a}.detach() * {a}; {a}.masked_fill({a} > 0.4, 0.5); {a}.floor() + {a}; {a}.sign() * {a};
    T.nn.functional.elu({a})
""")
BINARY = forms("""
    {a} + {b}; {a} - {b}; {a} * {b}; {a} / ({b}.square() + 1); T.maximum({a}, {b});
    T.minimum({a}, {b}); T.atan2({a}, {b} + 2); T.where({a} > {b}, {a}, {b}); T.lerp({a}, {b}, 0.3);
    T.add({a}, {b}, alpha=0.5); T.addcmul({a}, {a}, {b}, value=0.1);
    ({a}.abs() + 0.5) ** {b}.tanh(); T.rsub({a}, {b})
""")
IN_PLACE = forms("""
    {a}.add_({b}); {a}.mul_({a}); {a}.mul_({b}); {a}.sub_({b}, alpha=0.5); {a} += {b}; {a} *= {b};
    {a}.copy_({b})
""")
IN_PLACE_UNARY = forms("""
    {a}.tanh_(); {a}.sin_(); {a}.mul_(1.5); {a} -= 0.25; {a}.relu_(); {a}.zero_();
    {a}.clamp_(-1, 1); {a}.neg_(); {a}.sigmoid_(); {a}.fill_(0.3); {a}.masked_fill_({a} > 0, 0.1);
    {a}.abs_(); {a}.exp_().clamp_(max=2)
""")
WATCHED = forms("""
    if {a}.requires_grad: {a}.register_hook(lambda g: g * 0.5);
    if {a}.requires_grad: {a}.retain_grad();
    if {a}.requires_grad: {a}.register_hook(lambda g: g.clone().mul_(2)); {a}.data.mul_(1.5);
    {a}.detach().add_(0.1)
""")
REDUCTIONS = forms("""
    {a}.sum({d}, keepdim={k}); {a}.mean({d}, keepdim={k}); {a}.logsumexp({d}, keepdim={k});
    {a}.amax({d}, keepdim={k}); {a}.max({d}, keepdim={k}).values; {a}.prod({d}, keepdim={k});
    {a}.norm(dim={d}, keepdim={k}); {a}.min({d}, {k})[0]
""")
ALONG = forms("""
    {a}.softmax({d}); {a}.log_softmax({d}); {a}.cumsum({d}); {a}.sort({d}).values; {a}.flip({d});
    {a}.roll(1, {d}); {a} - {a}.mean({d}, keepdim=True); {a}.cumprod({d})
""")


@dataclass
class Writer:
    """A program in the making: its lines, and the shape of every variable."""

    stream: np.random.Generator
    lines: list[str] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    writable: set[str] = field(default_factory=set)  # no leaves, nor views of leaves
    roots: dict[str, str] = field(default_factory=dict)  # what a view is a view of

    def pick(self, names: list[str]) -> str:
        return str(self.stream.choice(names))

    def any(self) -> str:
        """A variable, the later ones more often."""
        names = list(self.shapes)
        return names[
            max(int(self.stream.integers(len(names))), int(self.stream.integers(len(names))))
        ]

    def number(self, below: int) -> int:
        return int(self.stream.integers(below))

    def assign(self, expression: str, shape: Shape, writable: bool = True, root: str = "") -> None:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        self.shapes[name] = shape
        self.roots[name] = root or name
        if writable:
            self.writable.add(name)

    def with_dims(self, least: int) -> str | None:
        names = [n for n, s in self.shapes.items() if len(s) >= least]
        return self.pick(names) if names else None

    def source(self, target: str, shape: Shape) -> str:
        """A variable to write to (a part of) `target`: no view of it, as to read what is being
        written to is undefined.
        """
        root = self.roots.get(target, target)
        names = [
            n
            for n, s in self.shapes.items()
            if broadcast(s, shape) == shape and self.roots.get(n, n) != root
        ]
        return self.pick(names) if names else "0.5"

    # One statement of each kind

    def unary(self) -> None:
        a = self.any()
        self.assign(self.pick(UNARY).format(a=a), self.shapes[a])

    def binary(self) -> None:
        a = self.any()
        names = [n for n, s in self.shapes.items() if broadcast(s, self.shapes[a]) is not None]
        b = self.pick(names)
        shape = broadcast(self.shapes[a], self.shapes[b])
        if shape is not None and math.prod(shape) <= 48:
            self.assign(self.pick(BINARY).format(a=a, b=b), shape)

    def reduction(self) -> None:
        a = self.with_dims(1)
        if a is None:
            return
        shape = self.shapes[a]
        dim, keep = self.number(len(shape)), bool(self.number(2))
        rest = shape[:dim] + ((1,) if keep else ()) + shape[dim + 1 :]
        form = self.pick(REDUCTIONS)
        self.assign(form.format(a=a, d=dim, k=keep), rest)

    def along(self) -> None:
        """Operators along a dimension that keep the shape."""
        a = self.with_dims(1)
        if a is None:
            return
        d = self.number(len(self.shapes[a])) - (len(self.shapes[a]) if self.number(2) else 0)
        form = self.pick(ALONG)
        self.assign(form.format(a=a, d=d), self.shapes[a])

    def view(self) -> None:
        a = self.with_dims(1)
        if a is None:
            return
        shape = self.shapes[a]
        dim = self.number(len(shape))
        n = shape[dim]
        rest = shape[:dim] + shape[dim + 1 :]
        i = self.number(n)
        colons = ":, " * dim
        order = [int(p) for p in self.stream.permutation(len(shape))]
        moved = tuple(shape[p] for p in order)
        kinds: list[tuple[str, Shape]] = [
            (f"{a}[{colons}{i}]", rest), (f"{a}.select({dim}, {i})", rest),
            (f"{a}[{colons}{i}:]", (*shape[:dim], n - i, *shape[dim + 1 :])),
            (f"{a}[{colons}::2]", (*shape[:dim], (n + 1) // 2, *shape[dim + 1 :])),
            (f"{a}.permute({order})", moved),
            (f"{a}.unsqueeze({dim})", (*shape[:dim], 1, *shape[dim:])),
            (f"{a}.reshape(-1)", (math.prod(shape),)),
            (
                f"{a}.transpose(0, -1)",
                (shape[-1], *shape[1:-1], shape[0]) if len(shape) > 1 else shape,
            ),
            (f"{a}.unbind({dim})[{i}]", rest),
            (f"{a}.narrow({dim}, {i}, {n - i})", (*shape[:dim], n - i, *shape[dim + 1 :])),
            (f"{a}.chunk(1, {dim})[0]", shape), (f"{a}.view({shape})", shape),
            (f"{a}.view_as({a})", shape),
            (f"{a}.detach()", shape),
            (f"{a}.contiguous()", shape),
        ]  # fmt: skip
        if math.prod(shape) <= 16:
            kinds.append((f"{a}.expand(2, {', '.join(['-1'] * len(shape))})", (2, *shape)))
        if len(shape) >= 2:
            kinds.append((f"{a}.diagonal()", (*shape[2:], min(shape[:2]))))
            kinds.append((f"{a}.flatten(0, 1)", (shape[0] * shape[1], *shape[2:])))
        self.assign(
            *kinds[self.number(len(kinds))], writable=a in self.writable, root=self.roots.get(a, a)
        )

    def gathered(self) -> None:
        """Indices, joins, products of matrices."""
        a = self.with_dims(1)
        if a is None:
            return
        shape = self.shapes[a]
        index = [self.number(shape[0]) for _ in range(3)]
        kinds: list[tuple[str, Shape]] = [
            (f"{a}[T.tensor({index})]", (3, *shape[1:])),
            (f"{a}.index_select(0, T.tensor({index}))", (3, *shape[1:])),
            (f"T.cat([{a}, {a} * 0.5])", (2 * shape[0], *shape[1:])),
            (f"T.stack([{a}, {a}.sin()], -1)", (*shape, 2)),
            (
                f"{a}.index_add(0, T.tensor({index}), T.ones(3, *{a}.shape[1:], dtype={a}.dtype))",
                shape,
            ),
        ]  # fmt: skip
        if len(shape) == 2:
            kinds += [
                (f"{a} @ {a}.t()", (shape[0], shape[0])),
                (f"{a}.mm({a}.t().tanh())", (shape[0], shape[0])),
                (f"{a}.tril()", shape),
            ]
        expression, result = kinds[self.number(len(kinds))]
        if math.prod(result) <= 48:
            self.assign(expression, result)

    def in_place(self) -> None:
        names = sorted(self.writable) if self.stream.random() < 0.97 else list(self.shapes)
        if not names:
            return
        a = self.pick(names)
        if self.stream.random() < 0.5:
            self.lines.append(self.pick(IN_PLACE_UNARY).format(a=a))
        elif self.shapes[a] and self.stream.random() < 0.4:
            value = self.source(a, self.shapes[a][1:])
            self.lines.append(
                f"{a}[{self.number(self.shapes[a][0])}] {self.pick(['=', '*=', '+='])} {value}"
            )
        else:
            self.lines.append(self.pick(IN_PLACE).format(a=a, b=self.source(a, self.shapes[a])))

    def without_gradient(self) -> None:
        a = self.any()
        name = f"t{len(self.lines)}"
        self.lines.append(
            f"with T.no_grad(): {name} = "
            f"{self.pick(['{a} * 2', '{a}.view_as({a})', '{a}.exp().clamp(max=2)']).format(a=a)}"
        )
        self.shapes[name], self.roots[name] = self.shapes[a], self.roots.get(a, a)

    def watched(self) -> None:
        """Hooks, retained gradients, writes behind autograd's back."""
        a = self.any()
        form = self.pick(WATCHED)
        if "data" not in form or a in self.writable:
            self.lines.append(form.format(a=a))


KINDS = {
    "unary": 6, "binary": 6, "reduction": 2, "along": 2, "view": 4, "gathered": 2, "in_place": 2,
    "without_gradient": 0.3, "watched": 0.7,
}  # fmt: skip


def program(stream: np.random.Generator) -> tuple[str, list[Shape]]:
    """The source of `run(T, x)`, which returns all its variables by name, and the shapes of the
    leaves `x`.
    """
    n, m = int(stream.integers(1, 5)), int(stream.integers(1, 5))
    leaves: list[Shape] = [(n, m), [(m,), (n, 1), ()][int(stream.integers(3))]]
    if stream.random() < 0.5:
        leaves.append([(2, n, m), (1, m), (n, m), (4,)][int(stream.integers(4))])
    writer = Writer(stream, shapes={f"x{i}": s for i, s in enumerate(leaves)})
    weights = np.array(list(KINDS.values())) / sum(KINDS.values())
    if stream.random() < 0.4:  # some programs write nothing in place, so that they surely run
        weights[list(KINDS).index("in_place")] = 0
        weights /= weights.sum()
    for _ in range(int(stream.integers(3, 13))):
        getattr(writer, str(stream.choice(list(KINDS), p=weights)))()
    head = f"def run(T, x):\n    {', '.join(f'x{i}' for i in range(len(leaves)))}, = x\n"
    body = "".join(f"    {line}\n" for line in writer.lines)
    return (
        head + body + f"    return dict({', '.join(f'{v}={v}' for v in writer.shapes)})\n",
        leaves,
    )


def broadcast(a: Shape, b: Shape) -> Shape | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None
