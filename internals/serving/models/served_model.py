"""A model that is ready to answer requests: `run(inputs)` returns named tensors, or raises an error
of one line.

    model = ServedModel.from_module(net, "mnist")
    model.signature                    x: FP32 [-1, 784]  ->  OUTPUT__0: FP32 [-1, 10]
    model.run([x])                     {"OUTPUT__0": tensor}

It is in evaluation mode, records no gradients, and may be run by several threads at once: weights
are only read, and compiled functions guard what they compile. The first run holds a lock, because
it is the one that compiles.

The outputs get names: the keys of a dict, the fields of a named tuple, else `OUTPUT__0`,
`OUTPUT__1`, ... A result that is not made of tensors, or has them in nested lists, cannot be sent,
and is an error that says so.

The constructor runs the model a few times on zeros (`trial.py`). This shows its outputs, and
everything that is compiled or laid out at the first call is ready before the first client comes; it
may take a minute (`warm_up.py`). With `optimize` the model is run again, for each number of rows
that it will be run with (`row_counts.py`).

Mirrors `ModelInstanceState` of Triton's `pytorch_backend` and the handler of TorchServe
(`ts/torch_handler/base_handler.py`).

How the real one differs: Triton creates one instance for each GPU or thread, and warms up only
with the samples of `model_warmup` in `config.pbtxt`; a TorchServe worker is a process, so its
models share nothing and need not be safe for threads.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import internals as torch
from internals import Tensor
from internals.core.corrected import corrected

from ..errors import ModelFailed
from ..protocol.datatypes import DATATYPES
from ..settings import Settings
from .facts import Facts, facts_of
from .model_file import load_model, read_path
from .program import Parameter, Program, names_of_results, program_of
from .row_counts import filled_up, next_count, others_do_not_matter, row_counts, rows_to_run
from .signature import Declared, Signature, TensorSpec, parse_input
from .trial import Trial, WrongResult, try_on_zeros
from .warm_up import WarmUp

LONGEST_MESSAGE = 400
# a traceback of the JIT with its indented source lines; the group is the message that follows
LISTING = re.compile(
    r".*^Traceback of TorchScript[^\n]*\n(?:[ ][^\n]*\n|\n)*(.*)", re.DOTALL | re.MULTILINE
)


class ServedModel:
    """One version of a model, from the file `path`; `data` is its content, if it has been read
    already.

    `signature` are its inputs and outputs. `platform` is the kind of program, for the model's
    metadata. `batchable` tells whether the rows of several requests may be run together, and
    `max_rows` how many at most, None for any number. `notes` are messages for the operator, of one
    line each.

    Raises ArchiveError for a damaged file, OSError for one that cannot be read, TypeError for a
    model that takes non-tensors, ValueError for a declaration that does not fit, and
    NotImplementedError for operators that are missing here.
    """

    def __init__(
        self,
        path: Path | str,
        name: str,
        version: str = "1",
        settings: Settings | None = None,
        *,
        data: bytes | None = None,
    ) -> None:
        path = Path(path)
        model, declared = load_model(read_path(path)[0] if data is None else data, path.name)
        self._set_up(program_of(model), name, version, settings or Settings(), declared)

    @classmethod
    def from_module(
        cls,
        module: object,
        name: str,
        version: str = "1",
        settings: Settings | None = None,
        declared: Declared | None = None,
    ) -> ServedModel:
        """A served model without a file, from a module (compiled or not), an exported program or a
        function.

        A module is put into evaluation mode, as by `module.eval()`.
        """
        served = cls.__new__(cls)
        served._set_up(
            program_of(module), name, version, settings or Settings(), declared or Declared()
        )
        return served

    def _set_up(
        self, program: Program, name: str, version: str, settings: Settings, declared: Declared
    ) -> None:
        self.name, self.version = name, version
        self.platform, self.max_rows = program.platform, program.max_rows
        self._program, self._first, self._has_run = program, threading.Lock(), False
        self._numbers: list[int] = []
        self._row_counts: tuple[int, ...] = ()
        self._output_names: tuple[str, ...] = ()
        notes: list[str] = []
        # Three sources for the inputs: declarations, then the graph, then a run on zeros.
        parameters, specs = _inputs(program, declared, settings, name)
        self._numbers = [i for i, p in enumerate(parameters) if p.number is not None]
        facts = _facts(program, parameters, specs, notes)
        budget = WarmUp()
        trial = self._try(specs, facts, budget)
        if trial.why_not:
            notes.append(f"outputs are not known, {trial.why_not}")
        outputs = trial.outputs or tuple(map(TensorSpec, names_of_results(program.result)))
        self._output_names = _renamed(outputs, declared.outputs)
        named = tuple(
            replace(spec, name=new)
            for spec, new in zip(outputs, self._output_names or [s.name for s in outputs])
        )
        self.signature = Signature(trial.inputs, _completed(named, declared.outputs))
        # Rows can be put together only along an open first dimension, in inputs and outputs.
        fixed = [
            spec
            for spec in trial.inputs
            if spec.shape is not None and (not spec.shape or spec.shape[0] != -1)
        ]
        self.batchable = (
            bool(trial.inputs) and not fixed and not self._numbers and trial.has_rows is not False
        )
        if settings.optimize:
            self._optimize(trial, settings, notes, budget)
        self.notes = tuple(notes)

    def run(self, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        """The outputs for inputs in declared order. Raises ModelFailed with the model's own
        message, in one line.
        """
        if self._numbers:
            inputs = [
                _number(t, self.signature.inputs[i].name) if i in self._numbers else t
                for i, t in enumerate(inputs)
            ]
        if self._row_counts:
            rows = int(inputs[0].shape[0])
            wanted = next_count(rows, self._row_counts)
            if 0 < rows < wanted:
                # padded with rows whose results are cut off: `wanted` rows are laid out already
                return {
                    name: t[:rows] for name, t in self._run(filled_up(inputs, rows, wanted)).items()
                }
        return self._run(inputs)

    def rows_to_run(self, waiting: int) -> int:
        """How many of the `waiting` rows are best run at once."""
        return rows_to_run(waiting, self._row_counts)

    def _run(self, inputs: Sequence[Any]) -> dict[str, Tensor]:
        if not self._has_run:
            with self._first:
                result = self._compute(inputs)
                self._has_run = True
        else:
            result = self._compute(inputs)
        outputs = named_tensors(result)
        if self._output_names and len(outputs) == len(self._output_names):
            return dict(zip(self._output_names, outputs.values()))
        return outputs

    def _compute(self, inputs: Sequence[Any]) -> Any:
        try:
            with torch.no_grad():
                return self._program.call(inputs)
        except Exception as error:  # whatever the model raises is an answer too
            message = one_line(error)
        # Raised outside of `except`, so that the error has no context whose frames keep the
        # request's tensors alive.
        raise ModelFailed(message)

    def _try(self, specs: Sequence[TensorSpec], facts: Sequence[Facts], budget: WarmUp) -> Trial:
        self.signature = Signature(tuple(specs))  # what `run` needs in the meantime
        return try_on_zeros(lambda inputs: budget.run(self.run, inputs), specs, facts)

    def _optimize(self, trial: Trial, settings: Settings, notes: list[str], budget: WarmUp) -> None:
        """Runs the result of `jit.optimize` from now on, if it accepts the inputs that the program
        accepts; otherwise keeps the program and adds a note.
        """
        plain = self._program
        try:
            optimized = plain.optimized()
            if optimized is None:
                notes.append(
                    "it is not optimised: jit.optimize takes modules and functions, not exported "
                    "programs"
                )
                return
            self._program = optimized
            most = min(settings.max_batch, self.max_rows or settings.max_batch)
            counts: tuple[int, ...] = (1, most) if self.batchable else (1,)
            # Packed convolutions are laid out per number of rows: allow a few numbers only.
            if self.batchable and trial.has_rows and optimized.packs_convolutions():
                counts = self._row_counts = row_counts(most)
            for rows in counts:
                zeros = trial.zeros(rows)
                if zeros is not None:
                    budget.run(self._run, zeros)
            # Padding is right only if a row's result does not depend on the other rows.
            if self._row_counts and not budget.run(
                others_do_not_matter, self._run, trial.zeros, self._row_counts
            ):
                self._row_counts = ()
                notes.append(
                    "its rows depend on each other, so it is laid out anew for each number of rows"
                )
        except Exception as error:
            self._program, self._row_counts = plain, ()
            notes.append(f"it runs as it is, optimised it fails: {one_line(error)}")

    def __repr__(self) -> str:
        return f"ServedModel({self.name!r}, version {self.version}: {self.signature})"


def named_tensors(result: object) -> dict[str, Tensor]:
    """Names the tensors of a model's result, and drops outputs that are None. Raises WrongResult
    if it cannot be sent.
    """
    if isinstance(result, Tensor):
        named: dict[str, Any] = {"OUTPUT__0": result}
    elif isinstance(result, Mapping):
        if not all(isinstance(key, str) for key in result):
            raise WrongResult(
                "the model returned a dict whose keys are not all texts: outputs need names"
            )
        named = dict(result)
    elif isinstance(result, (tuple, list)):
        names = getattr(result, "_fields", None) or [f"OUTPUT__{i}" for i in range(len(result))]
        named = dict(zip(names, result))
    else:
        raise WrongResult(
            f"the model returned a {type(result).__name__}: a tensor, or a tuple or dict of "
            "tensors can be sent"
        )
    for name, value in named.items():
        if not isinstance(value, Tensor) and value is not None:
            what = (
                "has others inside" if isinstance(value, (tuple, list, Mapping)) else "is no tensor"
            )
            raise WrongResult(
                f"the model's output '{name}' is a {type(value).__name__}, which {what}: only "
                "tensors can be sent"
            )
        if value is not None and value.dtype not in DATATYPES:
            raise WrongResult(
                f"the model's output '{name}' is {value.dtype}, which has no name in the protocol"
            )
    return {name: value for name, value in named.items() if value is not None}


def one_line(error: BaseException) -> str:
    """The message of an error in one line, cut to LONGEST_MESSAGE characters, without the source
    listing that the JIT puts around it.
    """
    listed = LISTING.search(text := str(error))
    if listed:  # the JIT's message names the class of the error itself
        text = listed[1].removeprefix("builtins.").removeprefix("RuntimeError: ")
    text = (
        " ".join("".join(c if c.isprintable() else " " for c in text).split())
        or type(error).__name__
    )
    if (
        not listed
        and not isinstance(error, (RuntimeError, ModelFailed))
        and text != type(error).__name__
    ):
        text = f"{type(error).__name__}: {text}"
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 3]}..."


# Putting the signature together


def _inputs(
    program: Program, declared: Declared, settings: Settings, model: str
) -> tuple[list[Parameter], list[TensorSpec]]:
    """The program's parameters, and a spec for each. The operator's options win over what the
    archive declares, and that over what the program says.
    """
    options = [parse_input(text) for text in settings.inputs]
    known = {spec.name: spec for spec in (*declared.inputs, *options)}
    if program.parameters is None:  # *args
        if not known:
            raise TypeError(
                corrected(
                    "forward takes *args, which have no names: name them, or declare the inputs "
                    "(--input NAME:DATATYPE:SIZES)",
                    "def forward(self, *args): ...",
                    "def forward(self, x, y): ...",
                )
            )
        parameters = [Parameter(name) for name in known]
    else:
        parameters = list(program.parameters)
    names = [p.name for p in parameters]
    fitting = settings.model_dir is not None  # an option may be meant for another of many models
    for spec in (*declared.inputs, *(() if fitting else options)):
        if spec.name not in names:
            there = ", ".join(names) or "none"
            raise ValueError(
                f"model '{model}' has no input '{spec.name}', which was declared; it has {there}"
            )
    specs = []
    for p in parameters:
        if p.number is not None:
            specs.append(TensorSpec(p.name, p.number, (1,)))
        elif p.dtype is not None and p.dtype not in DATATYPES:
            raise TypeError(
                f"the input '{p.name}' is {p.dtype}, which has no name in the protocol, so no "
                "client can send it"
            )
        else:
            specs.append(
                _filled(known.get(p.name, TensorSpec(p.name)), TensorSpec(p.name, p.dtype, p.sizes))
            )
    return parameters, specs


def _facts(
    program: Program, parameters: list[Parameter], specs: list[TensorSpec], notes: list[str]
) -> list[Facts]:
    """What the graph says about each input. Fills the dtypes that are still unknown into `specs`,
    and adds a note if the analysis fails.
    """
    facts = [Facts()] * len(specs)
    if all(spec.dtype is not None and spec.shape is not None for spec in specs):
        return facts
    try:
        found = program.graph()
        if found is not None:
            graph, positions = found
            facts = [
                facts_of(graph, positions[p.name]) if p.name in positions else Facts()
                for p in parameters
            ]
    except Exception as error:  # the analysis may fail on a program that runs
        notes.append(f"the program does not tell its inputs: {one_line(error)}")
    for i, (spec, each) in enumerate(zip(specs, facts)):
        if spec.dtype is None and each.dtype in DATATYPES:
            specs[i] = replace(spec, dtype=each.dtype)
    return facts


def _renamed(outputs: tuple[TensorSpec, ...], declared: tuple[TensorSpec, ...]) -> tuple[str, ...]:
    """The declared names for outputs that are only numbered (`OUTPUT__0`, ...); () to keep the
    names they have.
    """
    counted = all(spec.name == f"OUTPUT__{i}" for i, spec in enumerate(outputs))
    return (
        tuple(spec.name for spec in declared)
        if counted and declared and len(declared) == len(outputs)
        else ()
    )


def _completed(
    outputs: tuple[TensorSpec, ...], declared: tuple[TensorSpec, ...]
) -> tuple[TensorSpec, ...]:
    """The outputs with the gaps of the trial filled from the declaration, which stands alone if
    the trial found no outputs.
    """
    if not outputs:
        return declared
    known = {spec.name: spec for spec in declared}
    return tuple(_filled(spec, known.get(spec.name, spec)) for spec in outputs)


def _filled(spec: TensorSpec, other: TensorSpec) -> TensorSpec:
    """`spec`, with a dtype and a shape from `other` where it has none."""
    return replace(
        spec,
        dtype=spec.dtype or other.dtype,
        shape=other.shape if spec.shape is None else spec.shape,
    )


def _number(tensor: Tensor, name: str) -> Any:
    """The Python number for an input that the model takes as one; clients send only tensors."""
    if tensor.numel() != 1:
        raise ModelFailed(
            f"the input '{name}' is a number: it is sent as a tensor of one element, not of "
            f"{tensor.numel()}"
        )
    return tensor.item()
