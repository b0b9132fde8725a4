"""What users call every day leaves no reference cycle: what is dropped is gone at once, and its
memory with it.

Graphs of the JIT are cycles by nature (a node knows its values, a value its node), here as in
PyTorch, where Python's scripted modules are cycles, too. What a model is loaded from must not be
one.
"""

from __future__ import annotations

import ast
import copy
import gc
import io
import pickle
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import internals as T
from internals import nn
from internals.optim import lr_scheduler
from internals.utils.checkpoint import checkpoint
from internals.utils.data import DataLoader, TensorDataset

# A decorator's result, made once for a class, which asks whether it is the class's own.
NAMES_ITSELF = {("optim/optimizer.py", "hooked")}


def net() -> Any:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def rows() -> Any:
    return T.ones(5, 3)


def load_what_does_not_fit() -> None:
    with pytest.raises(RuntimeError):
        net().load_state_dict({"nothing": rows()})


def train(optimizer: str) -> None:
    model = net()
    made = getattr(T.optim, optimizer)(model.parameters(), lr=0.1)
    schedule = lr_scheduler.StepLR(made, 1)

    def closure() -> Any:
        made.zero_grad()
        loss = model(rows()).sum()
        loss.backward()
        return loss

    made.step(closure)
    schedule.step()
    made.load_state_dict(copy.deepcopy(made).state_dict())


def hooked() -> None:
    model = net()
    model.register_forward_hook(lambda module, inputs, output: None)
    model.register_full_backward_hook(lambda module, inputs, outputs: None)
    model(rows().requires_grad_()).sum().backward()


def loaded_from_memory() -> None:
    file = io.BytesIO()
    T.save(net().state_dict(), file)
    file.seek(0)
    net().load_state_dict(T.load(file))


def in_batches() -> None:
    for _ in DataLoader(TensorDataset(rows(), rows()), batch_size=2, shuffle=True):
        pass


def recurrent() -> None:
    packed = nn.utils.rnn.pack_sequence([T.ones(3, 3), T.ones(2, 3)])
    out, _ = nn.LSTM(3, 4, 2, bidirectional=True)(packed)
    nn.utils.rnn.pad_packed_sequence(out)[0].sum().backward()


def derivatives() -> None:
    f = T.autograd.functional
    f.jacobian(lambda a: a**2, rows()[0])
    f.hessian(lambda a: (a**3).sum(), rows()[0])


def decomposed() -> None:
    a = T.eye(3, dtype=T.float64) + 0.1
    for name in (
        "det",
        "inv",
        "cholesky",
        "qr",
        "svd",
        "eigh",
        "pinv",
        "matrix_rank",
        "matrix_exp",
    ):
        getattr(T.linalg, name)(a)


CALLS: dict[str, Callable[[], Any]] = {
    "load_state_dict": lambda: net().load_state_dict(net().state_dict()),
    "load_state_dict(assign)": lambda: net().load_state_dict(net().state_dict(), assign=True),
    "load_state_dict of what does not fit": load_what_does_not_fit,
    "deepcopy": lambda: copy.deepcopy(net()),
    "pickle": lambda: pickle.loads(pickle.dumps(net())),
    "to": lambda: net().to(T.float64).eval(),
    "repr": lambda: repr(net()),
    "apply": lambda: [*net().apply(lambda m: None).named_modules()],
    "clip_grad_norm_": lambda: nn.utils.clip_grad_norm_(net().parameters(), 1.0),
    "hooks": hooked,
    "checkpoint": lambda: (
        checkpoint(net(), rows().requires_grad_(), use_reentrant=False).sum().backward()
    ),
    "save": loaded_from_memory,
    "DataLoader": in_batches,
    "recurrent": recurrent,
    "Transformer": lambda: (
        nn.Transformer(8, 2, 1, 1, 16)(T.ones(2, 3, 8), T.ones(2, 3, 8)).sum().backward()
    ),
    "convolution": lambda: nn.Conv2d(3, 4, 3)(T.ones(1, 3, 8, 8)).sum().backward(),
    "autograd.functional": derivatives,
    "multi_dot": lambda: T.linalg.multi_dot([T.ones(2, 3), T.ones(3, 4), T.ones(4, 5)]),
    "einsum": lambda: T.einsum("ij,jk,kl->il", rows(), rows().t(), rows()),
    "linalg": decomposed,
    **{
        f"optim.{name}": lambda name=name: train(name)
        for name in ("SGD", "Adam", "Adagrad", "LBFGS")
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_of_ours_is_left_to_the_collector(name: str) -> None:
    CALLS[name]()
    CALLS[name]()  # what is made once, imports and plans, is made
    assert [o for o in garbage_of(CALLS[name]) if of_ours(o)] == []


def garbage_of(call: Callable[[], Any]) -> list[Any]:
    """The objects that only the collector of cycles finds after a call."""
    gc.collect()
    gc.disable()
    try:
        call()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return list(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def of_ours(o: Any) -> bool:
    """A class is always a cycle. `ctypes` makes one for each size of memory that is shown as an
    array.
    """
    if isinstance(o, type):
        return False
    where = getattr(o, "__module__", None) or type(o).__module__
    return isinstance(where, str) and where.partition(".")[0] == "internals"


def test_a_loaded_script_goes_when_it_is_dropped() -> None:
    file = io.BytesIO()
    T.jit.save(T.jit.script(nn.Linear(3, 2)), file)
    file.seek(0)
    gc.collect()
    gc.disable()
    try:
        loaded = T.jit.load(file)
        weights = [weakref.ref(p) for p in loaded.parameters()]
        assert len(weights) == 2
        del loaded
        assert [w() for w in weights] == [None, None]
    finally:
        gc.enable()


def test_no_function_in_a_function_names_itself() -> None:
    """It would hold itself, and with itself everything that it closes over."""
    package = Path(T.__file__).parent
    found = set()
    for file in package.rglob("*.py"):
        if "_generated" not in file.parts:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            found |= {
                (file.relative_to(package).as_posix(), name)
                for name in naming_themselves(tree, False)
            }
    assert found == NAMES_ITSELF


def naming_themselves(tree: ast.AST, inside: bool) -> list[str]:
    found = []
    for node in ast.iter_child_nodes(tree):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if (
            is_function
            and inside
            and any(
                isinstance(n, ast.Name) and n.id == node.name
                for s in node.body
                for n in ast.walk(s)
            )
        ):
            found.append(node.name)
        found += naming_themselves(
            node, is_function or (inside and not isinstance(node, ast.ClassDef))
        )
    return found
