"""Exercises of notebook 06: which layers a call passes, what a schema tells them, and a layer of
the reader's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise

LAYERS = {
    "a + b": ["AutogradCPU", "CPU"],
    "a.add_(b)": ["AutogradCPU", "ADInplaceOrView", "CPU"],
    "a.view(3, 1)": ["AutogradCPU", "ADInplaceOrView", "CPU"],
    "a * w": ["AutogradCPU", "CPU"],
    "w.view(3, 1)": ["AutogradCPU", "ADInplaceOrView", "CPU"],
    "torch.ones(3)": ["CPU"],
}


def layers(**other: list[str]) -> str:
    """The text of an answer to `dispatch_1`: `LAYERS`, with other keys for the first, second, ...
    expression.
    """
    lines = [
        f'    "{e}": {other.get(f"n{n}", keys)},' for n, (e, keys) in enumerate(LAYERS.items(), 1)
    ]
    return "\n".join(["answer = {", *lines, "}"]).replace("'", '"')


@exercise(
    level=1,
    title="Which layers do something?",
    ask="""
        For each expression, list the dispatch keys at which a kernel *runs*, in the order in which
        they run. A key at which the call falls through is not in the list. The names are those of
        section 2: `"CPU"`, `"ADInplaceOrView"`, `"AutogradCPU"`, `"BackendSelect"`.""",
    given="a, b = torch.ones(3), torch.ones(3)\nw = torch.ones(3, requires_grad=True)",
    start="""
        answer = {
            "a + b": ...,
            "a.add_(b)": ...,
            "a.view(3, 1)": ...,
            "a * w": ...,
            "w.view(3, 1)": ...,
            "torch.ones(3)": ...,
        }""",
    hints=(
        "Section 1 watches three of these calls. A call has the keys of all its tensors.",
        "Every tensor has the key `AutogradCPU`: it is the kernel there that asks whether a "
        "gradient is wanted. `ADInplaceOrView` has a kernel for two kinds of operators only.",
    ),
    solution=layers(),
    why="Do not believe it: `viz.dispatch(w.view, 3, 1)`.",
    mistakes=[
        Mistake("Every layer does something.",
                layers(n1=["AutogradCPU", "ADInplaceOrView", "CPU"]), "falls through there"),
        Mistake("A tensor that wants no gradient lacks the key.",
                layers(n1=["CPU"]), "steps aside"),
        Mistake("The backend is enough to write in place.",
                layers(n2=["AutogradCPU", "CPU"]), "version counter"),
        Mistake("A view runs no kernel, since no element is touched.",
                layers(n3=[]), "somebody computes the strides"),
        Mistake(
            "A view is made by the layer that is called after it.",
            layers(n3=["AutogradCPU", "ADInplaceOrView"]),
            "is tied to its base",
        ),
        Mistake("The first argument decides.", layers(n4=["CPU"]), "union"),
        Mistake("Who computes comes first.", layers(n4=["CPU", "AutogradCPU"]), "from the top"),
        Mistake("BackendSelect chooses, so it runs.",
                layers(n6=["BackendSelect", "CPU"]), "no kernel for ones"),
    ],
)  # fmt: skip
def dispatch_1(answer: dict[str, list[str]]) -> str:
    because = {
        "a + b": (
            "the Autograd kernel runs, sees that nobody wants a gradient, and steps aside; an "
            "addition makes no view and writes to no argument, so at ADInplaceOrView it falls "
            "through there"
        ),
        "a.add_(b)": (
            "it writes to a, and the layer ADInplaceOrView counts that in the version counter, "
            "after CPU has written"
        ),
        "a.view(3, 1)": (
            "somebody computes the strides, the backend's kernel; one layer above, the result is "
            "tied to its base"
        ),
        "a * w": (
            "w wants a gradient, and the key set is the union of both; a product is neither a view "
            "nor in place"
        ),
        "w.view(3, 1)": (
            "w wants a gradient and the result is a view: both layers have something to do"
        ),
        "torch.ones(3)": (
            "there is no tensor to ask, so BackendSelect is in the set, but it has no kernel for "
            "ones: fell through"
        ),
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong(
            "the answer is the dict above, with a list of keys for each of its six expressions"
        )
    for expression, reason in because.items():
        truth, told = run_at(expression), answer[expression]
        if not isinstance(told, (list, tuple)) or not all(isinstance(key, str) for key in told):
            raise Wrong(f"{expression}: a list of names is wanted, such as {['CPU']}, not {told!r}")
        if list(told) != truth and sorted(told) == sorted(truth):
            raise Wrong(
                f"{expression}: these are the kernels that run, but a call enters from the top and "
                "works its way down"
            )
        if list(told) != truth:
            raise Wrong(f"{expression}: not {list(told)}. Think: {reason}")
    return "a layer without business costs nothing: its key falls through before anybody is called"


def run_at(expression: str) -> list[str]:
    names = {
        "torch": torch,
        "a": torch.ones(3),
        "b": torch.ones(3),
        "w": torch.ones(3, requires_grad=True),
    }
    with torch._dispatch_trace() as steps:
        eval(expression, names)
    return [
        step["key"].name
        for step in steps
        if step["op"] == steps[0]["op"] and step["kind"] != "fallthrough"
    ]


HALVE = '"halve_": "halve_(Tensor(a!) self) -> Tensor(a!)",'
MIDDLE = '"middle": "middle(Tensor(a) self) -> Tensor(a)",'
MIX = '"mix": "mix(Tensor x, Tensor y, *, float weight=0.5) -> Tensor",'


def schemas(halve: str = HALVE, middle: str = MIDDLE, mix: str = MIX) -> str:
    return "\n    ".join(["answer = {", halve, middle, mix]) + "\n}"


@exercise(
    level=2,
    title="Declare three operators",
    ask="""
        Three kernels are written, and the schemas are missing. `halve_(self)` divides a tensor by
        two, in place, and returns it. `middle(self)` returns a view without the first and last
        element. `mix(x, y)` computes `weight * x + (1 - weight) * y`, where `weight` is a float
        that can only be given by name and is 0.5 if it is not. Write the schemas. The checker
        defines the operators with them and calls them.""",
    start="""
        answer = {
            "halve_": ...,
            "middle": ...,
            "mix": ...,
        }""",
    hints=(
        "Section 5: what do `(a!)` and `(a)` mean, and where do they stand? What does the `*` "
        "between arguments mean?",
        "`add_.Tensor` and `t` in section 5 have the marks that the first two need; `addmv` has "
        "arguments by name only.",
    ),
    solution=schemas(),
    why=(
        "Neither kernel knows of version counters or bases. The schema told the layer above that "
        "does."
    ),
    mistakes=[
        Mistake(
            "The underscore says that it is in place.",
            schemas(halve=HALVE.replace("(a!)", "")),
            "version counter stayed",
        ),
        Mistake("One mark is as good as the other.",
                schemas(halve=HALVE.replace("a!", "a")), "(a!)"),
        Mistake("A view is what a kernel makes it.",
                schemas(middle=MIDDLE.replace("(a)", "")), "_base"),
        Mistake(
            "A mark on the argument is enough.",
            schemas(middle=MIDDLE.replace("-> Tensor(a)", "-> Tensor")),
            "on the result, too",
        ),
        Mistake("Who shares memory writes to it.",
                schemas(middle=MIDDLE.replace("(a)", "(a!)")), "only looks"),
        Mistake("A default makes an argument optional and named.",
                schemas(mix=MIX.replace("*, ", "")), "without its name"),
        Mistake("Whoever mixes will say how much.",
                schemas(mix=MIX.replace("=0.5", "")), "is 0.5 if"),
    ],
)  # fmt: skip
def dispatch_2(answer: dict[str, str]) -> str:
    from internals.core.tensor_impl import alias, array, from_array
    from internals.library import Library

    def halve_(self: Any) -> Any:
        array(self)[...] /= 2
        return self

    kernels: dict[str, Callable[..., Any]] = {
        "halve_": halve_,
        "middle": lambda self: alias(
            self, [self.size(0) - 2], [self.stride(0)], self.storage_offset() + self.stride(0)
        ),
        "mix": lambda x, y, weight: from_array(array(x) * weight + array(y) * (1 - weight)),
    }
    if not isinstance(answer, dict) or answer.keys() != kernels.keys():
        raise Wrong("the answer is the dict above, with a schema for each of its three operators")
    with Library("exercise", "FRAGMENT") as library:
        for name, kernel in kernels.items():
            if not isinstance(answer[name], str) or not answer[name].startswith(f"{name}("):
                raise Wrong(
                    f"{name}: a text that begins with '{name}(' is wanted, not {answer[name]!r}"
                )
            try:
                library.define(answer[name])
            except ValueError as error:
                raise Wrong(f"{name}: this is no schema: {error}") from None
            library.impl(name, kernel, "CPU")
        try_halve_(torch.ops.exercise.halve_, answer["halve_"])
        try_middle(torch.ops.exercise.middle, answer["middle"])
        try_mix(torch.ops.exercise.mix)
    return "parser, version counter and view tracking took their orders from three lines of text"


def try_halve_(halve_: Any, schema: str) -> None:
    t = torch.tensor([2.0, 4.0])
    result = halve_(t)
    if t._version == 0 and "(a)" in schema:
        raise Wrong(
            "halve_: (a) says that the result looks at the argument's memory; that it is written "
            "to is said by (a!)"
        )
    if t._version == 0:
        raise Wrong(
            "halve_ wrote, and the version counter stayed at 0: nothing in the schema says that it "
            "writes to self"
        )
    if result is not t or t.tolist() != [1.0, 2.0]:
        raise Wrong(f"halve_ of [2, 4] returned {result!r}; it should be the tensor itself, halved")


def try_middle(middle: Any, schema: str) -> None:
    t = torch.arange(5)
    result = middle(t)
    if t._version:
        raise Wrong(
            "middle only looks, and yet the version counter of its argument went up: (a!) says "
            "that it writes"
        )
    if result._base is not t and "(a" in schema:
        raise Wrong(
            "middle's result has no _base: that it looks at self's memory is said by the same mark "
            "on the result, too"
        )
    if result._base is not t:
        raise Wrong(
            "middle's result shares memory with t, but its _base is None: nothing in the schema "
            "says that it is a view"
        )
    if result.tolist() != [1, 2, 3]:
        raise Wrong(f"middle of [0, 1, 2, 3, 4] is {result.tolist()}")


def try_mix(mix: Any) -> None:
    x, y = torch.tensor([0.0, 4.0]), torch.tensor([8.0, 0.0])
    try:
        half, quarter = mix(x, y).tolist(), mix(x, y, weight=0.25).tolist()
    except TypeError as error:
        raise Wrong(
            f"mix: weight is a float, and is 0.5 if nobody gives it. The call says: {error}"
        ) from None
    if (half, quarter) != ([4.0, 2.0], [6.0, 1.0]):
        raise Wrong(
            f"mix(x, y) gives {half} and with weight=0.25 {quarter}, not [4, 2] and [6, 1]: which "
            "default has weight?"
        )
    try:
        mix(x, y, 0.25)
    except TypeError:
        return
    raise Wrong(
        "mix(x, y, 0.25) was understood, without its name; what may only be given by name stands "
        "after a *"
    )


HAS_NAN = '''
def has_nan(value):
    """Whether a tensor has a NaN in it, or any in a tuple or list of values."""
    if isinstance(value, (tuple, list)):
        return any(has_nan(part) for part in value)
    return isinstance(value, torch.Tensor) and bool(torch.isnan(value).any())'''
GUARD = """
def guard(op, keys, *args):
    with exclude_keys(DispatchKey.Tracer):
        before = has_nan(args)
        result = dispatcher.redispatch(op, keys, *args)
        if has_nan(result) and not before:
            raise FloatingPointError(f"{op.name} made NaN of numbers")
    return result"""


@exercise(
    level=3,
    title="A layer that finds the first NaN",
    ask="""
        A loss is NaN. Since when? Write `guard`, a kernel for the key
        `Tracer` as in section 4: it lets the operator do its work on the keys below, gives back its
        result, and raises FloatingPointError with `op.name` in the message if there is NaN in the
        result and was none in the arguments. Operators may work in place. The checker registers it
        for many operators and runs a model in it, forward and backward.""",
    given=f"""
        from internals.core.dispatch_key import DispatchKey
        from internals.core.dispatcher import dispatcher, exclude_keys

        {HAS_NAN.replace(chr(10), chr(10) + " " * 8).strip()}""",
    start="""
        def guard(op, keys, *args):
            ...""",
    passes=("guard",),
    hints=(
        "`Tape.record` in section 4 has the frame. `has_nan` calls operators, too: should your "
        "layer see those?",
        "Everything inside `with exclude_keys(DispatchKey.Tracer):`. Look at the arguments before "
        "the operator runs: afterwards those of an in-place operator are its result.",
    ),
    solution=GUARD,
    why=(
        "PyTorch's `torch.autograd.detect_anomaly` does so for backward. A layer needs no change "
        "in any model."
    ),
    mistakes=[
        Mistake(
            "To run an operator, call it.",
            """
            def guard(op, keys, *args):
                result = op(*args)
                with exclude_keys(DispatchKey.Tracer):
                    if has_nan(result) and not has_nan(args):
                        raise FloatingPointError(op.name)
                return result""",
            "from the top",
        ),
        Mistake(
            "The layer sees only the model's operators.",
            GUARD.replace("with exclude_keys(DispatchKey.Tracer):", "if True:"),
            "its own",
        ),
        Mistake(
            "A kernel that watches has no result.",
            GUARD.replace("return result", "return None"),
            "gives back",
        ),
        Mistake(
            "Whoever has NaN in the result has made it.",
            GUARD.replace(" and not before", ""),
            "was there before",
        ),
        Mistake(
            "Arguments are the same afterwards.",
            GUARD.replace("        before = has_nan(args)\n", "")
            .replace("not before", "not has_nan(args)"),
            "in place",
        ),
        Mistake(
            "A warning will do.",
            GUARD.replace('raise FloatingPointError(f"{op.name} made NaN of numbers")', "pass"),
            "no FloatingPointError",
        ),
        Mistake("Who was it? Somebody.", GUARD.replace("{op.name}", "something"), "op.name"),
    ],
)  # fmt: skip
def dispatch_3(guard: Callable[..., Any]) -> str:
    from internals.core.dispatch_key import DispatchKey
    from internals.core.dispatcher import include_keys
    from internals.library import Library

    watched = (
        "add.Tensor sub.Tensor mul.Tensor div.Tensor mul.Scalar log log_ sqrt exp sum mean relu "
        "linear addmm mm t isnan any"
    )
    expected = trained()
    running: list[Any] = []
    calls: list[str] = []

    def kernel(op: Any, keys: int, *args: Any) -> Any:
        if len(running) > 20:
            raise Wrong(came_back(running))
        running.append(op)
        calls.append(op.name)
        try:
            return guard(op, keys, *args)
        finally:
            running.pop()

    with Library("aten", "IMPL", "Tracer") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in watched.split():
            library.impl(name, kernel, with_keyset=True)
        with include_keys(DispatchKey.Tracer):
            find_nan()
            got = trained()
    if got != expected:
        raise Wrong(
            f"a model trained inside your layer has the losses {got}; without it {expected}"
        )
    return f"{len(calls)} calls went through your layer, and every NaN was found where it was made"


def came_back(running: list[Any]) -> str:
    if running[0] is running[1]:
        return (
            f"{running[0].name} is called from the top and comes back to your layer: redispatch to "
            "the keys below instead"
        )
    return (
        f"your layer sees its own work: has_nan calls {running[-1].name}, which is watched, too. "
        "Exclude the key meanwhile"
    )


def find_nan() -> None:
    x = torch.tensor([4.0, -1.0])
    try:
        result = x * 2
    except FloatingPointError as error:
        raise Wrong(
            f"[4, -1] * 2 has no NaN in it, and your layer raised FloatingPointError: {error}"
        ) from None
    if not isinstance(result, torch.Tensor) or result.tolist() != [8.0, -2.0]:
        raise Wrong(
            f"[4, -1] * 2 was {result!r} inside your layer: it gives back what the operator "
            "returned"
        )
    made = (
        ("log", torch.log),
        ("sqrt", torch.sqrt),
        ("div", lambda t: (t - t) / (t - t)),
        ("log_", lambda t: t.clone().log_()),
    )
    for name, function in made:
        try:
            function(x)
        except FloatingPointError as error:
            if f"aten::{name}" not in str(error):
                raise Wrong(
                    f"aten::{name} made NaN, and the message is {str(error)!r}: op.name says who "
                    "it was"
                ) from None
            continue
        also = (
            ", which works in place: its argument is its result afterwards"
            if name == "log_"
            else ""
        )
        raise Wrong(f"aten::{name} made NaN of numbers, and there was no FloatingPointError{also}")
    try:
        torch.tensor([1.0, float("nan")]).mul(2).sum()
    except FloatingPointError:
        raise Wrong(
            "[1, nan] * 2 was reported, but its NaN was there before: the multiplication did not "
            "make it"
        ) from None


def trained() -> list[float]:
    nn = torch.nn
    with torch.random.fork_rng():
        torch.manual_seed(6)
        model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)), torch.randn(5, 4)
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
        for _ in range(2):
            loss = (model(x) - torch.exp(x.sum(1, keepdim=True))).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses
