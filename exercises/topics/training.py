"""Exercises of notebook 10: what a module owns, an honest evaluation, and an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from internals import nn
from internals.nn import functional as F
from internals.utils.data import DataLoader, TensorDataset

NET = """
from internals import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 2)
        self.blocks = [nn.Linear(2, 2)]
        self.more = nn.ModuleList([nn.Linear(2, 2)])
        self.scale = nn.Parameter(torch.ones(2))
        self.shift = torch.zeros(2, requires_grad=True)
        self.norm = nn.BatchNorm1d(2)
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
"""
ANSWER_1 = """
answer = {
    "first.weight": "trained",
    "blocks[0].weight": "neither",
    "more[0].weight": "trained",
    "scale": "trained",
    "shift": "neither",
    "norm.weight": "trained",
    "norm.running_mean": "saved",
    "calls": "saved",
    "scratch": "neither",
}"""


@exercise(
    level=1,
    title="Trained, saved, or neither",
    ask="""
        `net = Net()`. For each tensor: is it `"trained"` (an optimizer made of `net.parameters()`
        moves it, and it is in the `state_dict`), only `"saved"` (in the `state_dict`, but no
        parameter), or `"neither"`?""",
    given=NET,
    start="""
        answer = {
            "first.weight": ...,
            "blocks[0].weight": ...,
            "more[0].weight": ...,
            "scale": ...,
            "shift": ...,
            "norm.weight": ...,
            "norm.running_mean": ...,
            "calls": ...,
            "scratch": ...,
        }""",
    hints=(
        "Section 2: `__setattr__` looks at the class of what you assign. Which classes does it "
        "know?",
        "A buffer belongs to the module, and is saved, unless it was registered with "
        "`persistent=False`. No optimizer moves it.",
    ),
    solution=ANSWER_1,
    why=(
        "The first question to a model that will not learn: `[name for name, _ in "
        "net.named_parameters()]`."
    ),
    mistakes=[
        Mistake(
            "A tensor that requires a gradient is trained.",
            ANSWER_1.replace('shift": "neither"', 'shift": "trained"'),
            "no Parameter",
        ),
        Mistake(
            "A list of layers belongs to the module.",
            ANSWER_1.replace('blocks[0].weight": "neither"', 'blocks[0].weight": "trained"'),
            "a Python list",
        ),
        Mistake(
            "Whatever learns from the data is trained.",
            ANSWER_1.replace('running_mean": "saved"', 'running_mean": "trained"'),
            "without an optimizer",
        ),
        Mistake(
            "Only parameters are saved.",
            ANSWER_1.replace('calls": "saved"', 'calls": "neither"'),
            "registered as a buffer",
        ),
        Mistake(
            "All buffers are saved.",
            ANSWER_1.replace('scratch": "neither"', 'scratch": "saved"'),
            "persistent=False",
        ),
    ],
)
def training_1(answer: dict[str, str]) -> str:
    because = {
        "first.weight": "a module's parameters are those of its children, too",
        "blocks[0].weight": (
            "__setattr__ saw a Python list, which is an ordinary attribute, whatever is in it"
        ),
        "more[0].weight": "a ModuleList is a module, and so it is a child",
        "scale": "a Parameter is what __setattr__ looks for",
        "shift": (
            "it is a tensor, but no Parameter; that it requires a gradient tells the module nothing"
        ),
        "norm.weight": "the factor of a batch norm is a Parameter like any other",
        "norm.running_mean": (
            "it is moved without an optimizer: buffers are in the state_dict, and not in "
            "parameters()"
        ),
        "calls": "it was registered as a buffer, and buffers are in the state_dict",
        "scratch": "it is a buffer, but with persistent=False it is left out of the state_dict",
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong("the answer is the dict above, with a word for each of its nine tensors")
    names: dict[str, Any] = {"torch": torch}
    exec(NET, names)
    with torch.random.fork_rng():
        net = names["Net"]()
    saved = {t.data_ptr() for t in net.state_dict().values()}
    for path, reason in because.items():
        tensor = eval(f"net.{path}", {"net": net})
        trained = any(tensor is p for p in net.parameters())
        truth = "trained" if trained else "saved" if tensor.data_ptr() in saved else "neither"
        if answer[path] not in ("trained", "saved", "neither"):
            raise Wrong(
                f"{path} is 'trained', 'saved' or 'neither'; {answer[path]!r} is none of them"
            )
        if answer[path] != truth:
            raise Wrong(f"{path} is {truth}: {reason}")
    return "drawers for parameters, buffers and modules; the rest is an ordinary attribute"


ACCURACY = """
def accuracy(model, loader):
    was = model.training
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    model.train(was)
    return right / total
"""


@exercise(
    level=2,
    title="An honest evaluation",
    ask="""
        Write `accuracy(model, loader)`: the share of samples for which the largest logit is that of
        the right class, as a float. The model is judged as it will be used (no dropout), nothing is
        recorded for backward, and afterwards the model is in the mode it was in. The last batch of
        a loader may be smaller than the others.""",
    start="""
        def accuracy(model, loader):
            ...""",
    passes=("accuracy",),
    hints=(
        "Section 6 has an `evaluate`. What does it change in the model, and does not put back?",
        "`model.training` tells the mode, `model.train(mode)` sets it. Count right answers and "
        "samples, and divide once.",
    ),
    solution=ACCURACY,
    why=(
        "`eval()` changes what layers compute, `no_grad` what autograd keeps: an evaluation wants "
        "both (section 7)."
    ),
    mistakes=[
        Mistake(
            "no_grad is the mode for evaluation.",
            ACCURACY.replace("    model.eval()\n", ""),
            "drops out",
        ),
        Mistake(
            "eval() switches the gradients off.",
            ACCURACY.replace("torch.no_grad()", "torch.enable_grad()"),
            "graph",
        ),
        Mistake(
            "The mean over the batches is the mean over the samples.",
            """
            def accuracy(model, loader):
                was = model.training
                model.eval()
                shares = []
                with torch.no_grad():
                    for x, y in loader:
                        shares.append((model(x).argmax(1) == y).float().mean().item())
                model.train(was)
                return sum(shares) / len(shares)""",
            "smaller batch",
        ),
        Mistake(
            "The caller will call train() again.",
            ACCURACY.replace("    model.train(was)\n", ""),
            "left the model in eval mode",
        ),
        Mistake(
            "Before an evaluation a model was being trained.",
            ACCURACY.replace("model.train(was)", "model.train()"),
            "in eval mode before",
        ),
    ],
)
def training_2(accuracy: Callable[[Any, Any], float]) -> str:
    model = nn.Sequential(nn.Dropout(0.5), nn.Identity())
    said = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    true = [0, 1, 2, 0, 2, 1, 1, 2, 2, 0]
    loader = DataLoader(
        TensorDataset(torch.eye(3)[torch.tensor(said)], torch.tensor(true)), batch_size=4
    )
    wanted = sum(a == b for a, b in zip(said, true)) / len(said)
    seen: list[tuple[bool, bool]] = []
    handle = model[0].register_forward_hook(
        lambda module, args, output: seen.append((module.training, torch.is_grad_enabled()))
    )
    was = torch.is_grad_enabled()
    try:
        with torch.random.fork_rng():
            result = accuracy(model.train(), loader)
            after = model.training, model[0].training, torch.is_grad_enabled()
            again, after_eval = accuracy(model.eval(), loader), model.training
    finally:
        torch.set_grad_enabled(was)
        handle.remove()
    if not seen:
        raise Wrong("the model was never called, or not as model(x): its hooks saw nothing")
    if any(training for training, _ in seen):
        raise Wrong("the model was judged in training mode: it drops out half of what it knows")
    if any(recording for _, recording in seen):
        raise Wrong(
            "gradients were on while the model ran: each batch left a graph, with all that its "
            "nodes keep"
        )
    if not isinstance(result, (int, float)):
        raise Wrong(
            f"a share is a float, not {result!r}: .item() makes one of a tensor with one element"
        )
    if abs(result - wanted) > 1e-6:
        if abs(result - 2 / 3) < 1e-6:  # the batches have 4 of 4, 0 of 4, 2 of 2
            raise Wrong(
                "a mean over batches: so each sample of a smaller batch, the last one here, counts "
                "more than others"
            )
        raise Wrong(f"of ten samples six are right; yours is {result}, not {wanted}")
    if not after[2]:
        raise Wrong("gradients are still off afterwards: use no_grad as a block, so that it ends")
    if not all(after[:2]):
        raise Wrong(
            "you left the model in eval mode: the rest of the epoch is trained without dropout"
        )
    if after_eval or again != result:
        raise Wrong(
            "a model that was in eval mode before is in training mode now: put back the mode that "
            "it was in"
        )
    return "eval for the layers, no_grad for the memory, and no trace left behind"


MOMENTUM = """
class Momentum(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "v" in state:
                    state["v"].mul_(group["momentum"]).add_(p.grad)
                else:
                    state["v"] = p.grad.clone()
                p.sub_(group["lr"] * state["v"])
"""


@exercise(
    level=3,
    title="An optimizer with momentum",
    ask="""
        Write the `step` of `Momentum`, which does what `torch.optim.SGD(params, lr, momentum)`
        does: for each parameter a velocity, which begins as its first gradient and becomes
        `momentum * v + grad` in each further step; then `p -= lr * v`. The base class gives you
        `self.param_groups`, a list of dicts with `"params"`, `"lr"` and `"momentum"`, and
        `self.state[p]`, a dict for each parameter. A parameter without a gradient stays as it is.
        Real schedulers will change the learning rate.""",
    start="""
        class Momentum(torch.optim.Optimizer):
            def __init__(self, params, lr, momentum):
                super().__init__(params, {"lr": lr, "momentum": momentum})

            def step(self):
                ...""",
    passes=("Momentum",),
    hints=(
        "Section 4: `sgd_by_hand`, and what it needs around it so that autograd does not complain.",
        "Two loops, over the groups and over `group['params']`. Take `lr` from the group in each "
        "step. Keep a clone of the gradient, for `.grad` itself will be zeroed.",
    ),
    solution=MOMENTUM,
    why="`internals/optim/sgd.py`, and `torch/optim/sgd.py`, are this, with options.",
    mistakes=[
        Mistake(
            "An update is a computation like any other.",
            MOMENTUM.replace("    @torch.no_grad()\n", ""),
            "no part of the function",
        ),
        Mistake(
            "A running mean, as in Adam.",
            MOMENTUM.replace(".add_(p.grad)", '.add_(p.grad, alpha=1 - group["momentum"])'),
            "mean",
        ),
        Mistake(
            "The first velocity is the gradient.",
            MOMENTUM.replace("p.grad.clone()", "p.grad"),
            "the very tensor",
        ),
        Mistake(
            "p = p - ... changes p.",
            MOMENTUM.replace(
                'p.sub_(group["lr"] * state["v"])', 'p = p - group["lr"] * state["v"]'
            ),
            "a new tensor",
        ),
        Mistake(
            "The learning rate is what was given in the beginning.",
            MOMENTUM.replace('group["lr"]', 'self.defaults["lr"]'),
            "scheduler",
        ),
        Mistake(
            "The learning rate may as well be multiplied into the velocity.",
            MOMENTUM.replace(".add_(p.grad)", '.add_(group["lr"] * p.grad)')
            .replace("p.grad.clone()", 'group["lr"] * p.grad')
            .replace('group["lr"] * state["v"])', 'state["v"])'),
            "old learning rate",
        ),
        Mistake(
            "One velocity for all.",
            MOMENTUM.replace(
                "state = self.state[p]", "state = self.state.setdefault((), {})"
            ).replace('"v" in state', '"v" in state and state["v"].shape == p.shape'),
            "of its own",
        ),
    ],
)
def training_3(Momentum: Any) -> str:
    if not isinstance(Momentum, type) or not issubclass(Momentum, torch.optim.Optimizer):
        raise Wrong("Momentum has to be a subclass of torch.optim.Optimizer")
    if issubclass(Momentum, torch.optim.SGD):
        raise Wrong("that is the real one: let the step be yours")
    make: Callable[..., Any] = Momentum
    p, q, idle = (torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(3))
    optimizer = make([p, q, idle], lr=0.5, momentum=0.5)
    p.grad, q.grad = torch.tensor([1.0, 2.0]), torch.tensor([-1.0, 4.0])
    _step(optimizer)
    if p.tolist() == [1.0, -2.0]:
        raise Wrong(
            "after a step p is what it was: p = p - ... makes a new tensor, and the parameter is "
            "not written to"
        )
    if p.tolist() != [0.5, -3.0]:
        raise Wrong(
            f"(1, -2) minus 0.5 times the first gradient, (1, 2), is (0.5, -3); p is {p.tolist()}"
        )
    if idle.tolist() != [1.0, -2.0]:
        raise Wrong("a parameter without a gradient was moved")
    if q.tolist() != [1.5, -4.0]:
        raise Wrong(
            f"each parameter has a velocity of its own: q is {q.tolist()} instead of [1.5, -4.0]"
        )
    optimizer.zero_grad(set_to_none=False)
    _step(optimizer)
    if p.tolist() == [0.5, -3.0]:
        raise Wrong(
            "p.grad was zeroed, and p stood still: is the velocity the very tensor p.grad, and not "
            "a clone?"
        )
    if p.tolist() != [0.25, -3.5]:
        raise Wrong(
            "without a gradient half of the velocity is left: p has to be (0.25, -3.5), and is "
            f"{p.tolist()}"
        )
    p.grad = torch.tensor([4.0, 0.0])
    _step(optimizer)
    if p.tolist() != [-1.875, -3.75]:
        if p.tolist() == [-0.875, -3.75]:
            raise Wrong(
                "momentum is a running sum, momentum * v + grad, and not a running mean as in Adam"
            )
        raise Wrong(
            "momentum * v + grad is (4.25, 0.5), so p has to be (-1.875, -3.75), and is "
            f"{p.tolist()}"
        )
    for scheduled in (False, True):
        ours, theirs = (_train(kind, scheduled) for kind in (make, torch.optim.SGD))
        if not all(torch.allclose(a, b) for a, b in zip(ours, theirs)):
            if not scheduled:
                raise Wrong("a real model learns something else than with torch.optim.SGD")
            _why_scheduled(Momentum)
    return "the five lines of training, and one of them is yours now"


def _step(optimizer: Any) -> None:
    try:
        optimizer.step()
    except RuntimeError as error:
        if "leaf Variable" not in str(error):
            raise
        raise Wrong(
            "autograd refuses the write: an update is no part of the function that is "
            "differentiated"
        ) from None


def _train(make: Callable[..., Any], scheduled: bool) -> list[Any]:
    """The parameters of a small model after five steps, with two groups; the learning rate falls if
    `scheduled`.
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        x, y = torch.randn(8, 3, dtype=torch.float64), torch.randint(2, (8,))
    groups = [
        {"params": model[0].parameters()},
        {"params": model[2].parameters(), "lr": 0.3 if scheduled else 0.1},
    ]
    optimizer = make(groups, lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if scheduled:
            scheduler.step()
    return [p.detach() for p in model.parameters()]


def _why_scheduled(Momentum: Any) -> None:
    p = torch.zeros(1, requires_grad=True)
    optimizer = Momentum([p], lr=1.0, momentum=1.0)
    p.grad = torch.ones(1)
    optimizer.step()
    optimizer.param_groups[0]["lr"], before = 0.0, p.item()
    optimizer.step()
    if p.item() == before - 2:
        raise Wrong(
            "a scheduler wrote another lr into the group, and you did not look: it is read in each "
            "step"
        )
    raise Wrong(
        "the velocity still contains the old learning rate: lr multiplies v when it is used, not "
        "before"
    )
