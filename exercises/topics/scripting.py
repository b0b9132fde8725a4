"""Exercises of notebook 12: what comes out of ifs and loops, types, and the step from names to
values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics._compiler import function_of, installed, numbered
from internals.jit.frontend.steps import compilation_steps

WALK = """
def walk(xs, limit: float, n: int):
    best = xs[0]
    seen = 0
    for i in range(n):
        step = xs[i] * limit
        if bool(step.sum() > best.sum()):
            gain = step - best
            best = best + gain
        seen = seen + 1
    return best, seen, n ** 2
"""
ANSWER_1 = """
answer = {
    "carried by the loop": ["best", "seen"],
    "out of the if": ["best"],
    "types of the result": ["Tensor", "int", "float"],
}"""


@exercise(
    level=1,
    title="What comes out",
    ask="""
        `walk` below is scripted. Which names does the loop carry from round to round, and which
        come out of the `prim::If`? Answer with lists of names from the source. And what are the
        types of the three results, as the compiler calls them: `"Tensor"`, `"int"`, `"float"`,
        ...?""",
    given=WALK,
    start="""
        answer = {
            "carried by the loop": [...],
            "out of the if": [...],
            "types of the result": [...],
        }""",
    hints=(
        "Assigned inside, known before. Go through the names one by one: xs, limit, n, "
        "i, best, seen, step, gain.",
        "Every value has one type, known from the text. What is the type of `n ** m`, if m might "
        "be negative?",
    ),
    solution=ANSWER_1,
    why=(
        "`print(torch.jit.script(walk).graph)` shows it: the inputs of the loop's block, and the "
        "outputs of the two arms."
    ),
    mistakes=[
        Mistake(
            "Whatever is assigned in a loop is carried.",
            ANSWER_1.replace('["best", "seen"]', '["best", "seen", "step"]'),
            "not known before",
        ),
        Mistake(
            "Whatever is used in a loop is carried.",
            ANSWER_1.replace('["best", "seen"]', '["best", "seen", "limit", "xs"]'),
            "does not change",
        ),
        Mistake(
            "The counter is carried.",
            ANSWER_1.replace('["best", "seen"]', '["best", "i", "seen"]'),
            "every loop has",
        ),
        Mistake(
            "Only tensors are values of a graph.",
            ANSWER_1.replace('["best", "seen"]', '["best"]'),
            "seen is missing",
        ),
        Mistake(
            "What an arm assigns comes out of it.",
            ANSWER_1.replace('["best"],', '["best", "gain"],'),
            "one arm only",
        ),
        Mistake(
            "An int to the power of an int is an int.",
            ANSWER_1.replace('"float"]', '"int"]'),
            "3 ** -1",
        ),
    ],
)
def scripting_1(answer: dict[str, list[str]]) -> str:
    keys = ("carried by the loop", "out of the if", "types of the result")
    if not isinstance(answer, dict) or answer.keys() != set(keys):
        raise Wrong("the answer is the dict above, with a list for each of its three keys")
    if not all(
        isinstance(v, (list, tuple, set)) and all(isinstance(n, str) for n in v)
        for v in answer.values()
    ):
        raise Wrong("each of the three is a list of texts, such as ['xs', 'limit']")
    graph = compilation_steps(function_of(WALK, "walk"))[-1].graph
    loop, choice = (graph.findAllNodes(f"prim::{kind}", True)[0] for kind in ("Loop", "If"))
    carried = {v.debugName().partition(".")[0] for v in list(loop.blocks()[0].inputs())[1:]}
    out = {v.debugName().partition(".")[0] for v in choice.outputs()}
    said = set(answer[keys[0]])
    for name in sorted(said - carried):
        if name in ("xs", "limit", "n"):
            raise Wrong(
                f"{name} is used in the loop, but does not change: the block sees it from outside, "
                "and nothing is carried"
            )
        if name == "i":
            raise Wrong(
                "i is the counter, which every loop has: an input of the block, but not carried "
                "from round to round"
            )
        raise Wrong(
            f"{name} is new in each round: it was not known before the loop, and nobody asks for "
            "it afterwards"
        )
    if carried - said:
        raise Wrong(
            f"{sorted(carried - said)[0]} is missing: assigned in the loop and known before, so "
            "each round hands it on"
        )
    said = set(answer[keys[1]])
    if extra := sorted(said - out):
        raise Wrong(
            f"{extra[0]} does not come out of the if: a name has to be known in both ways, and it "
            "is set in one arm only"
        )
    if out - said:
        raise Wrong(
            f"{sorted(out - said)[0]} comes out of the if: an arm assigns it, and it was known "
            "before"
        )
    truth = [str(v.type()) for v in next(iter(graph.outputs())).node().inputs()]
    for place, (told, right) in enumerate(zip(answer[keys[2]], truth)):
        if told != right:
            why = (
                ": 3 ** -1 is a fraction, and one type has to do for all"
                if right == "float"
                else ""
            )
            raise Wrong(f"result {place} is of the type {right}, not {told}{why}")
    if len(answer[keys[2]]) != len(truth):
        raise Wrong(f"there are {len(truth)} results, and so many types")
    return "assigned inside, known before; and one type for each value"


COUNT = """
def count(text: str):
    found: Dict[str, int] = {}
    for word in text.split():
        if word in found:
            found[word] += 1
        else:
            found[word] = 1
    return found
"""


@exercise(
    level=2,
    title="Counting words without Python",
    ask="""
        Write `count(text)`, a function that `torch.jit.script` accepts: how often each word occurs
        in a text, as a dict from str to int. Words are what `text.split()` gives. An empty text has
        an empty dict.""",
    given="from typing import Dict, List",
    start="""
        def count(text):
            ...""",
    passes=("count",),
    hints=(
        "What does the compiler believe about an argument of which nothing is said? And about an "
        "empty dict?",
        "`text: str`, and `found: Dict[str, int] = {}`. Then plain Python: a loop, and an `if word "
        "in found`.",
    ),
    solution=COUNT,
    why=(
        "No tensor in it, and it runs where there is no Python: a tokenizer can be shipped "
        "together with its model."
    ),
    mistakes=[
        Mistake(
            "Python knows the types when it runs.",
            COUNT.replace("text: str", "text"),
            "takes text for a Tensor",
        ),
        Mistake(
            "{} is a dict of anything.",
            COUNT.replace("found: Dict[str, int] = {}", "found = {}"),
            "Dict[str, Tensor]",
        ),
        Mistake(
            "The standard library is part of the language.",
            """
            import collections

            def count(text: str):
                return collections.Counter(text.split())""",
            "Counter",
        ),
        Mistake(
            "A missing key counts as 0.",
            """
            def count(text: str):
                found: Dict[str, int] = {}
                for word in text.split():
                    found[word] += 1
                return found""",
            "first time",
        ),
        Mistake(
            "A word is what stands between two spaces.",
            COUNT.replace("text.split()", 'text.split(" ")'),
            "several spaces",
        ),
        Mistake(
            "Nothing found is None.",
            COUNT.replace(
                "    return found", "    if len(found) == 0:\n        return None\n    return found"
            ),
            "Optional",
        ),
    ],
)
def scripting_2(count: Callable[..., Any]) -> str:
    try:
        scripted = torch.jit.script(count)
    except Exception as error:
        raise Wrong(_refusal(str(error))) from None
    if not hasattr(scripted, "graph"):
        raise Wrong(f"a function is to be scripted, not {count!r}")
    returned = str(next(iter(scripted.graph.outputs())).type())
    for text in ("to be or not to be", "one", "a  b   a ", "", "\tx\nx y"):
        wanted = dict(Counter(text.split()))
        try:
            got = scripted(text)
        except Exception as error:
            if "KeyError" in str(error) or "key" in str(error).lower():
                raise Wrong(
                    "a word that occurs for the first time is not in the dict yet: found[word] "
                    "fails, as in Python"
                ) from None
            raise
        if got is None or "Optional" in returned or "?" in returned:
            raise Wrong(
                f"the type of the result is {returned}, an Optional: an empty dict would have been "
                "a dict, too"
            )
        if not isinstance(got, dict):
            raise Wrong(f"count has to return a dict; for {text!r} it is {got!r}")
        if got != wanted:
            if text == "a  b   a ":
                raise Wrong(
                    f"with several spaces in a row the result is {got}: split() without an "
                    "argument makes no empty words"
                )
            raise Wrong(f"for {text!r} the script says {got}, and it should be {wanted}")
    return f"a dict in a graph of {len(list(scripted.graph.nodes()))} nodes, and no Python left"


def _refusal(text: str) -> str:
    if "(inferred)" in text and "split" in text:
        return (
            "the compiler takes text for a Tensor, since nothing else was said: annotate the "
            "argument"
        )
    if "Dict[str, Tensor]" in text or "previously matched to type Tensor" in text:
        return "an empty {} is a Dict[str, Tensor] until something else is said: annotate found"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"the compiler refuses: {lines[0] if lines else text}"


RESOLVE = """
def resolve(block, known):
    known = dict(known)
    for node in list(block.nodes()):
        if node.kind() == "prim::Store":
            known[node.s("name")] = node.input()
            node.destroy()
        elif node.kind() == "prim::Load":
            node.output().replaceAllUsesWith(known[node.s("name")])
            node.destroy()
        else:
            for inner in node.blocks():
                resolve(inner, known)
"""


@exercise(
    level=3,
    title="From names to values",
    ask="""
        The last step to SSA form: write `resolve(block, known)`. It removes every `prim::Store` and
        every `prim::Load` of a block and of the blocks inside its nodes; whoever used a Load uses
        the value that was last stored under its name. `known` is a dict from names to the values
        that the surroundings have stored. The compiler will call it with the whole graph's block
        and `{}`, in place of its own. What an arm or a body assigns has already been made an output
        of its node.""",
    start="""
        def resolve(block, known):
            ...""",
    passes=("resolve",),
    hints=(
        "Step four: walk down with a dictionary; a Store puts the value in, a Load takes it out. "
        "Blocks inside: the same again.",
        "`node.kind()`, `node.s('name')`, `node.input()`, "
        "`node.output().replaceAllUsesWith(value)`, `node.destroy()`, `node.blocks()`. What one "
        "arm of an if stores is no business of the other.",
    ),
    solution=RESOLVE,
    why=(
        "`erase_loads_and_stores` in `internals/jit/frontend/convert_to_ssa.py`; in PyTorch "
        "`convert_to_ssa.cpp`."
    ),
    mistakes=[
        Mistake(
            "One dictionary for all blocks.",
            RESOLVE.replace("    known = dict(known)\n", ""),
            "the other arm",
        ),
        Mistake(
            "Each block has names of its own.",
            RESOLVE.replace("resolve(inner, known)", "resolve(inner, {})"),
            "from the surroundings",
        ),
        Mistake(
            "A graph is a list of nodes.",
            RESOLVE.replace(
                "            for inner in node.blocks():\n                resolve(inner, known)",
                "            pass",
            ),
            "are left",
        ),
        Mistake(
            "A name stands for its first value.",
            RESOLVE.replace(
                'known[node.s("name")] = node.input()',
                'known.setdefault(node.s("name"), node.input())',
            ),
            "was last stored",
        ),
        Mistake(
            "Nobody minds a Store that nobody reads.",
            RESOLVE.replace("node.input()\n            node.destroy()", "node.input()"),
            "Stores",
        ),
    ],
)
def scripting_3(resolve: Callable[[Any, dict[str, Any]], None]) -> str:
    nodes = 0
    for source, inputs in PROGRAMS:
        function = function_of(source, "f")
        wanted = compilation_steps(function)
        with installed(resolve) as seen:
            try:
                made = compilation_steps(function)
                scripted = torch.jit.script(function_of(source, "f"))
            except Exception as error:
                if seen:
                    raise seen[0] from None
                raise Wrong(
                    f"with your step the compiler fails: {type(error).__name__}: {error}. The "
                    f"program is{source}"
                ) from None
        if numbered(made[-1].graph) != numbered(wanted[-1].graph):
            got, right = ([f(*given).tolist() for given in inputs] for f in (scripted, function))
            raise Wrong(
                f"another graph comes out, which computes {got} instead of {right}: a Load takes "
                f"what was last stored. The program is{source}"
            )
        for given in inputs:
            if not torch.equal(scripted(*given), function(*given)):
                raise Wrong(
                    "the compiled program computes something else than Python. The program "
                    f"is{source}"
                )
        nodes += len(list(made[-1].graph.nodes()))
    return (
        f"{len(PROGRAMS)} programs compiled by way of your step: the same graphs, and no name in "
        "them"
    )


PROGRAMS: list[tuple[str, list[Any]]] = [
    (
        "\ndef f(x):\n    y = x\n    y = y + 1\n    z = y * y\n    y = z - x\n    return y\n",
        [(torch.ones(2),)],
    ),
    (
        "\ndef f(x, up: bool):\n    y = x\n    if up:\n        y = y + 1\n        y = y * 2\n    "
        "else:\n        y = y * 3\n"
        "    return y * x\n",
        [(torch.ones(2), True), (torch.ones(2) * 2, False)],
    ),
    (
        "\ndef f(x, n: int):\n    total = x\n    for i in range(n):\n        if i % 2 == 0:\n      "
        "      total = total + i\n"
        "        x = x * 2\n    return total - x\n",
        [(torch.ones(2), 0), (torch.ones(2), 5)],
    ),
    (
        "\ndef f(x, n: int):\n    while n > 0:\n        if n == 2:\n            break\n        x = "
        "x * n\n        n = n - 1\n"
        "    return x\n",
        [(torch.ones(2), 5)],
    ),
]
