"""Exercises of notebook 13: reading blocks and writes, following values to their makers, and a Loop
by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, same, table

RESULTS = {
    "pairs(0)": (0, 1),
    "pairs(5)": (5, 8),
    "halvings(5)": 3,
    "halvings(100)": 4,
    "written, first result": [-1.0, -2.0],
    "written, second result": [6.0, 7.0],
}


@exercise(
    level=1,
    title="Read a graph",
    ask="""
        What does `pairs` return for 0 and for 5, `halvings` for 5 and for 100, and `written` for
        `torch.tensor([1.0, 2.0])` (two lists)? Read first. Then ask
        `torch.jit.ScriptFunction("pairs", pairs)(5)`.""",
    given='''
        pairs = torch.jit.parse_ir("""
        graph(%n : int):
          %true : bool = prim::Constant[value=1]()
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %a : int, %b : int = prim::Loop(%n, %true, %zero, %one)
            block0(%i : int, %x : int, %y : int):
              %z : int = aten::add(%x, %y)
              -> (%true, %y, %z)
          return (%a, %b)
        """)
        halvings = torch.jit.parse_ir("""
        graph(%n : int):
          %turns : int = prim::Constant[value=4]()
          %zero : int = prim::Constant[value=0]()
          %one : int = prim::Constant[value=1]()
          %two : int = prim::Constant[value=2]()
          %positive : bool = aten::gt(%n, %zero)
          %rest : int, %steps : int = prim::Loop(%turns, %positive, %n, %zero)
            block0(%i : int, %m : int, %count : int):
              %half : int = aten::floordiv(%m, %two)
              %more : int = aten::add(%count, %one)
              %again : bool = aten::gt(%half, %zero)
              -> (%again, %half, %more)
          return (%steps)
        """)
        written = torch.jit.parse_ir("""
        graph(%x : Tensor):
          %five : int = prim::Constant[value=5]()
          %one : int = prim::Constant[value=1]()
          %minus : Tensor = aten::neg(%x)
          %turned : Tensor = aten::t(%x)
          %sum : Tensor = aten::add_(%turned, %five, %one)
          return (%minus, %x)
        """)''',
    start=blank(RESULTS),
    passes=("answer", "pairs", "halvings", "written"),
    hints=(
        "The contract of a Loop: the most turns, whether to begin, what is carried; "
        "the body gives whether to go on, and all that is carried into the next turn.",
        "Write a table with a line for each turn: `x, y` and what the body gives, `y, z`. For "
        "`written`: what shares memory with `%x`, and what does not?",
    ),
    solution=table(RESULTS),
    why=(
        "`pairs` is Fibonacci: one line in Python, `a, b = b, a + b`, which is all at once as well."
    ),
    mistakes=[
        Mistake(
            "A body runs at least once.", table(RESULTS, **{"pairs(0)": (1, 1)}), "no turn at all"
        ),
        Mistake(
            "What is carried changes one after the other.",
            table(RESULTS, **{"pairs(5)": (16, 32)}),
            "all at once",
        ),
        Mistake(
            "A loop ends when its condition is false.",
            table(RESULTS, **{"halvings(100)": 7}),
            "most turns",
        ),
        Mistake(
            "The condition is looked at after the turns.",
            table(RESULTS, **{"halvings(5)": 4}),
            "goes on while",
        ),
        Mistake(
            "A value of a graph never changes.",
            table(RESULTS, **{"written, second result": [1.0, 2.0]}),
            "shares memory",
        ),
        Mistake(
            "What was computed from x follows x.",
            table(RESULTS, **{"written, first result": [-6.0, -7.0]}),
            "memory of its own",
        ),
    ],
)
def ir_1(answer: dict[str, Any], pairs: Any, halvings: Any, written: Any) -> str:
    from internals.jit import ScriptFunction

    if not all(hasattr(graph, "lint") for graph in (pairs, halvings, written)):
        raise Wrong("the three graphs are those above; leave them as they are")
    two = ScriptFunction("pairs", pairs.copy())
    count = ScriptFunction("halvings", halvings.copy())
    first, second = ScriptFunction("written", written.copy())(torch.tensor([1.0, 2.0]))
    truth = {
        "pairs(0)": two(0),
        "pairs(5)": two(5),
        "halvings(5)": count(5),
        "halvings(100)": count(100),
        "written, first result": first.tolist(),
        "written, second result": second.tolist(),
    }
    because = {
        "pairs(0)": "with no turn at all, what went into the loop comes out",
        "pairs(5)": "the body gives the next x and y all at once, both computed from the old ones",
        "halvings(5)": (
            "the loop goes on while the body says so: 5 becomes 2, 1 and 0, and then it stops"
        ),
        "halvings(100)": (
            "the first input is the most turns there may be, whatever the condition says"
        ),
        "written, first result": (
            "neg made a tensor with memory of its own, before anything was written"
        ),
        "written, second result": "%turned shares memory with %x, and add_ writes 5 more into it",
    }
    if isinstance(answer, dict):
        answer = {
            k: tuple(v) if k.startswith("pairs") and isinstance(v, list) else v
            for k, v in answer.items()
        }
    compare(answer, truth, lambda key, said: f"{key} is not {said!r}: {because[key]}", "a result")
    return (
        "blocks, what is carried, and who shares memory: there is nothing else to know about a "
        "graph"
    )


MADE_OF = """
graph(%x : Tensor, %y : Tensor, %z : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %z, %one)
  %c : Tensor = aten::mul(%a, %a)
  %d : Tensor = aten::mul(%c, %n)
  %e : Tensor = aten::neg(%z)
  %size : int[] = prim::ListConstruct(%one)
  %false : bool = prim::Constant[value=0]()
  %f : Tensor, %g : Tensor = aten::max(%b, %n, %false)
  %h : Tensor = aten::add(%f, %d, %one)
  return (%h, %e, %g, %size)
"""


@exercise(
    level=2,
    title="What is it made of?",
    ask="""
        Write `made_of(value)`: the set of the names (`debugName()`) of those inputs of the graph
        from which this value is computed, directly or through any number of nodes. An input is made
        of itself, a constant of nothing. The graph has no blocks.""",
    start="""
        def made_of(value):
            ...""",
    passes=("made_of",),
    hints=(
        "Every value knows the node that made it, every node the values it takes. And "
        "who makes the graph's inputs?",
        '`value.node().kind()` is `"prim::Param"` for an input. Otherwise it is made of what the '
        "node's inputs are made of.",
    ),
    solution="""
        def made_of(value):
            node = value.node()
            if node.kind() == "prim::Param":
                return {value.debugName()}
            return {name for v in node.inputs() for name in made_of(v)}""",
    why=(
        "Followed the other way, `uses()` says what would have to be computed anew if an input "
        "changed."
    ),
    mistakes=[
        Mistake(
            "A value is made of its node's inputs.",
            """
            def made_of(value):
                if value.node().kind() == "prim::Param":
                    return {value.debugName()}
                return {v.debugName() for v in value.node().inputs()}""",
            "no input of the graph",
        ),
        Mistake(
            "Only what the node takes directly counts.",
            """
            def made_of(value):
                if value.node().kind() == "prim::Param":
                    return {value.debugName()}
                return {
                    v.debugName() for v in value.node().inputs() if v.node().kind() == "prim::Param"
                }""",
            "through other nodes",
        ),
        Mistake(
            "All that stands above a node goes into it.",
            """
            def made_of(value):
                if value.isConstant():
                    return set()
                if value.node().kind() == "prim::Param":
                    return {value.debugName()}
                return {v.debugName() for v in value.node().owningGraph().inputs()}""",
            "is not computed from",
        ),
        Mistake(
            "The uses lead there.",
            """
            def made_of(value):
                return {v.debugName() for user, _ in value.uses() for v in user.outputs()}""",
            "who takes the value",
        ),
        Mistake(
            "An input is made by nobody.",
            """
            def made_of(value):
                names = set()
                for v in value.node().inputs():
                    names |= made_of(v) if v.node().kind() != "prim::Param" else {v.debugName()}
                return names""",
            "made of itself",
        ),
    ],
)
def ir_2(made_of: Callable[[Any], Any]) -> str:
    from internals.jit import parse_ir

    graph = parse_ir(MADE_OF)
    inputs = {v.debugName() for v in graph.inputs()}
    truth: dict[Any, set[str]] = {v: {v.debugName()} for v in graph.inputs()}
    for node in graph.nodes():
        for value in node.outputs():
            truth[value] = set().union(*(truth[v] for v in node.inputs()))
    for value in sorted(truth, key=lambda v: v.node().kind() == "prim::Param"):
        right, told = truth[value], made_of(value)
        if not isinstance(told, (set, frozenset)) or not all(
            isinstance(name, str) for name in told
        ):
            raise Wrong(f"made_of returns a set of names, not {told!r}")
        if told == right:
            continue
        name = value.debugName()
        if value.node().kind() == "prim::Param" and not told:
            raise Wrong(f"%{name} is an input: it is made of itself")
        said = f"%{name} is made of {_names(right)}, not of {_names(set(told))}"
        if told and told == {v.debugName() for user, _ in value.uses() for v in user.outputs()}:
            raise Wrong(f"{said}: `uses()` says who takes the value; `node()` who made it")
        if strange := set(told) - inputs:
            raise Wrong(f"{said}: %{min(strange)} is no input of the graph; what is it made of?")
        if extra := set(told) - right:
            raise Wrong(f"{said}: it is not computed from %{min(extra)}, wherever that stands")
        raise Wrong(f"{said}: it also is, through other nodes")
    return f"{len(truth)} values followed back to the inputs of their graph"


def _names(names: set[str]) -> str:
    return " and ".join(sorted(f"%{name}" for name in names)) or "nothing"


TURNS = {
    "x * 0.5 + i": """
graph(%x : Tensor, %i : int):
  %half : float = prim::Constant[value=0.5]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %half)
  %b : Tensor = aten::add(%a, %i, %one)
  return (%b)
""",
    "x * x": """
graph(%x : Tensor, %i : int):
  %a : Tensor = aten::mul(%x, %x)
  return (%a)
""",
}
SOLUTION = """
def looped(turn):
    g = Graph()
    x, n = g.addInput("x"), g.addInput("n").setType(IntType.get())
    forever = g.insertConstant(True)
    loop = g.insertNode(g.create("prim::Loop", [n, forever, x]))
    body = loop.addBlock()
    i, inside = body.addInput("i").setType(IntType.get()), body.addInput("inside")
    with g.insert_point_guard(body):
        (following,) = g.insertGraph(turn, [inside, i])
    body.registerOutput(forever)
    body.registerOutput(following)
    g.registerOutput(loop.output())
    return g
""".strip()


@exercise(
    level=3,
    title="n turns of anything",
    ask="""
        Write `looped(turn)`. `turn` is a graph of one turn: it takes a tensor `%x` and the number
        of the turn `%i`, and returns the next x. Make a *new* graph of `%x` and `%n : int` which
        takes n such turns, in a `prim::Loop`, and returns the last x; for `n` 0, x itself.
        `g.insertGraph(turn, [a, b])` puts a copy of the nodes of `turn` where nodes go, with a and
        b for its inputs, and returns the outputs. The verifier looks at your graph and the executor
        runs it.""",
    given="from internals.jit.ir import Graph, IntType",
    start="""
        def looped(turn):
            ...""",
    passes=("looped",),
    hints=(
        "The notebook builds this loop with a body of its own. What has to be said of the types of "
        "`n` and `i`?",
        "The Loop takes `[n, a constant True, x]`. Its block has the inputs i and x-inside, and "
        "gives the constant and the next x. `with g.insert_point_guard(body):` says where nodes "
        "go.",
    ),
    solution=SOLUTION,
    why="This is what the front end does with every `for` in a script: `emit_loops.py`.",
    mistakes=[
        Mistake(
            "The body sees x, so it can read it.",
            SOLUTION.replace("[inside, i]", "[x, i]"),
            "from before the loop",
        ),
        Mistake(
            "What the body made is there behind the loop.",
            SOLUTION.replace("g.registerOutput(loop.output())", "g.registerOutput(following)"),
            "through the Loop's outputs",
        ),
        Mistake(
            "A block gives what is carried.",
            SOLUTION.replace("    body.registerOutput(forever)\n", ""),
            "whether to go on",
        ),
        Mistake(
            "Everything is a tensor.",
            SOLUTION.replace('g.addInput("n").setType(IntType.get())', 'g.addInput("n")'),
            "is an int",
        ),
        Mistake(
            "Nodes go into the block that was made last.",
            SOLUTION.replace(
                "    with g.insert_point_guard(body):\n        (following",
                "    if True:\n        (following",
            ),
            "outside of the body",
        ),
        Mistake(
            "The graph that is there can be used.",
            """
            def looped(turn):
                return turn""",
            "takes %x and %n",
        ),
    ],
)
def ir_3(looped: Callable[[Any], Any]) -> str:
    from internals.jit import ScriptFunction, parse_ir
    from internals.jit.ir import Graph, VerificationError, verify

    start, ran = torch.tensor([2.0, 0.5]), 0
    for what, text in TURNS.items():
        turn = parse_ir(text)
        graph = looped(turn)
        if not isinstance(graph, Graph) or graph is turn or len(graph.inputs()) != 2:
            raise Wrong("looped returns a new Graph, which takes %x and %n")
        if str(turn) != str(parse_ir(text)):
            raise Wrong("the graph of one turn was changed: put a copy of its nodes into yours")
        loop = graph.findNode("prim::Loop")
        if loop is None:
            raise Wrong(
                "there is no prim::Loop in your graph: n is known only when it runs "
                f"({_lines(graph)})"
            )
        if not loop.findNode("aten::mul"):
            raise Wrong(
                f"the turn stands outside of the body of the loop, and runs once: {_lines(graph)}"
            )
        try:
            verify(graph)
        except VerificationError as error:
            raise Wrong(_explained(error, loop, graph)) from None
        for n in (0, 1, 4):
            expected = start
            for i in range(n):
                expected = ScriptFunction("turn", turn)(expected, i)
            result = ScriptFunction("looped", graph)(start.clone(), n)
            once = ScriptFunction("turn", turn)(start, n - 1)
            if not isinstance(result, torch.Tensor):
                raise Wrong(
                    f"your graph returns {result!r}; it has to return the last x, an output of the "
                    "loop"
                )
            if not same(result, expected):
                why = (
                    ": the body reads x from before the loop, so every turn begins anew"
                    if same(result, once)
                    else ""
                )
                raise Wrong(
                    f"{n} turns of {what} give {expected.tolist()}, and yours "
                    f"{result.tolist()}{why}"
                )
            ran += n
    return f"{ran} turns, made of two graphs that know of none"


def _explained(error: Any, loop: Any, graph: Any) -> str:
    said = str(error).splitlines()[0]
    body = loop.blocks()[0] if loop.blocks() else None
    if body is not None and len(body.outputs()) == len(body.inputs()) - 1:
        return f"the body has to give whether to go on, and then what is carried: {said}"
    if any(
        v.type().kind() == "TensorType"
        for v in (graph.inputs()[1], *(body.inputs()[:1] if body else ()))
    ):
        return (
            "n and the number of the turn: each is an int, and has to be told so with setType: "
            f"{said}"
        )
    if error.rule == "order":
        return (
            "what is made inside is not visible outside; it comes out through the Loop's outputs: "
            f"{said}"
        )
    return f"the verifier says: {said}"


def _lines(graph: Any) -> str:
    return "; ".join(str(node).strip().partition("\n")[0] for node in graph.nodes())
