"""Analysis of int operations that need no check for overflow.

An int of a script has 64 bits and wraps around; one of Python grows. So `aten::add.int` checks its
result, which costs more than the sum itself. Most sums need no check, and this analysis finds them
before the program runs:

| what                                              | why it is safe                               |
|---------------------------------------------------|----------------------------------------------|
| a sum or product of small numbers: `2 * i + 1`    | a loop's counter stays below 2^53: to count  |
|                                                   | further would take years                     |
| a value carried through a loop by `k = k + 1`     | likewise, if it starts small and the step is |
|                                                   | a small constant                             |
| a value carried by sums only: `total = total + x` | a wrapped sum of wrapped ints is the sum,    |
|                                                   | wrapped: once, at the end                    |

In the last case the value is not wrapped while the loop runs, so it may be used by the sums only.
It stays short: each turn adds at most 64 bits' worth, so n turns add log2(n) bits. A product would
add up to 64 bits at every turn.

How the real one differs: ints of C++ wrap by themselves.
"""

from __future__ import annotations

from internals.jit.ir import Block, Graph, IntType, Node, Value, constant_of

SMALL = 53  # bits of a number that something counts up to
LONG = 64  # bits of any int
# operations that commute with wrapping, as 64-bit ints are the integers modulo 2^64
LINEAR = ("aten::add.int", "aten::sub.int")
RING = (*LINEAR, "aten::mul.int")


class UncheckedInts:
    """The result for a graph. `plain`: the int additions, subtractions and products that need no
    check. `wrap`: the loop outputs that must be wrapped after the loop.
    """

    def __init__(self, graph: Graph) -> None:
        self.bits: dict[Value, int] = {}  # most bits that a value may have; LONG if it is missing
        self.plain: set[Node] = set()
        self.wrap: set[Value] = set()
        self.scan(graph.block())

    def scan(self, block: Block) -> None:
        """Find the bits of the values of a block, in the order they are computed."""
        for node in block.nodes():
            if node.kind() == "prim::Loop":
                self.enter_loop(node)
            for inner in node.blocks():
                self.scan(inner)
            if node.kind() == "prim::If":
                arms = [b.outputs() for b in node.blocks()]
                for output, a, b in zip(node.outputs(), *arms):
                    self.bits[output] = max(self.size(a), self.size(b))
            elif node.kind().startswith("aten::"):
                self.scan_operator(node)

    def scan_operator(self, node: Node) -> None:
        """A sum has one bit more than the longer operand, a product as many as both together."""
        name = operator_name(node)
        if name in RING:
            a, b = map(self.size, node.inputs())
            bits = a + b if name == "aten::mul.int" else max(a, b) + 1
            if bits < LONG:
                self.plain.add(node)
                self.bits[node.output()] = bits
        elif name == "aten::remainder.int" and (divisor := positive_constant(node.input(1))):
            self.bits[node.output()] = divisor.bit_length()

    def size(self, value: Value) -> int:
        """The number of bits that a value may have, without its sign."""
        if isinstance(value.type(), IntType) and value.isConstant():
            return int(constant_of(value)).bit_length()
        return self.bits.get(value, LONG)

    def enter_loop(self, loop: Node) -> None:
        """Find the bits of the index and of the carried ints of a loop."""
        (body,) = loop.blocks()
        index, *carried = body.inputs()
        self.bits[index] = min(SMALL, self.size(loop.input(0)))
        for i, (value, end) in enumerate(zip(carried, body.outputs()[1:])):
            if not isinstance(value.type(), IntType) or value in self.bits:
                continue
            output = loop.output(i)
            if self.is_counter(loop.input(i + 2), value, end):
                self.bits[value] = self.bits[output] = SMALL + 1
            elif (sums := self.sums_only(value)) is not None:
                self.plain |= sums
                self.wrap.add(output)

    def is_counter(self, start: Value, value: Value, end: Value) -> bool:
        """Whether each turn adds small constants to a value that starts small: one, or several if
        the loop was unrolled.
        """
        if self.size(start) > SMALL + 1:
            return False
        total = 0
        while end is not value:
            step = end.node()
            if operator_name(step) != "aten::add.int":
                return False
            constants = [v for v in step.inputs() if v.isConstant()]
            if len(constants) != 1:
                return False
            total += abs(constant_of(constants[0]))
            (end,) = [v for v in step.inputs() if v is not constants[0]]
        return total.bit_length() < 16

    def sums_only(self, value: Value) -> set[Node] | None:
        """The sums that compute the next turn's value from a carried `value`, directly or through
        an If; None if it, or such a sum, is used in another way.
        """
        body, place = value.node().owningBlock(), value.offset()
        members, sums, waiting = {value}, set(), [value]
        while waiting:
            for user, offset in waiting.pop().uses():
                if user is body.returnNode() and offset == place:
                    continue
                if operator_name(user) in LINEAR:
                    sums.add(user)
                    after = [user.output()]
                elif user.kind() == "prim::Return" and owner_kind(user) == "prim::If":
                    after = [user.owningBlock().owningNode().output(offset)]  # type: ignore[union-attr]
                elif user.kind() != "prim::Drop":
                    return None
                else:
                    after = []
                waiting += [v for v in after if v not in members]
                members.update(after)
        # `k + k` doubles at each turn: that would add a bit at every turn.
        doubled = any(all(v in members for v in s.inputs()) for s in sums)
        return None if doubled else sums


def positive_constant(value: Value) -> int:
    """The value of a constant int above 0; 0 for any other value."""
    number = constant_of(value) if value.isConstant() else 0
    return number if isinstance(number, int) and number > 0 else 0


def operator_name(node: Node) -> str:
    """The operator's name with its overload, `aten::add.int`; the kind if there is no operator."""
    operator = node.operator()
    return operator.name if operator is not None else node.kind()


def owner_kind(node: Node) -> str:
    """The kind of the node in whose block this node is; "" at the top level."""
    owner = node.owningBlock().owningNode()
    return owner.kind() if owner is not None else ""
