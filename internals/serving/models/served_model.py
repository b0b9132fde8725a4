"""A model that is ready to answer: `run(inputs)` gives named tensors, or says in one line why not.

    model = ServedModel.from_module(net, "mnist")
    model.signature                    x: FP32 [-1, 784]  ->  OUTPUT__0: FP32 [-1, 10]
    model.run([x])                     {"OUTPUT__0": tensor}

It is in evaluation mode, records no gradients, and may be run by several threads at once: weights
are only read, and compiled functions guard what they compile. The first run is had alone, because
it is the one that compiles.

What a model returns gets names: the keys of a dict, the fields of a named tuple, else `OUTPUT__0`,
`OUTPUT__1`, ... A result that is not made of tensors, or has them inside lists inside of others,
cannot be sent, and is an error that says so.

When it is made, the model is run a few times on zeros (`trial.py`): that tells its outputs, and
everything that is compiled or laid out at the first call is there when the first client comes; it
has a minute for that (`warm_up.py`). With `optimize` that is done again, for as many rows as it
will be run with (`row_counts.py`).

Mirrors `ModelInstanceState` of Triton's `pytorch_backend` and the handler of TorchServe
(`ts/torch_handler/base_handler.py`).

How the real one differs: Triton makes one instance for each GPU or thread and warms up only with
what `model_warmup` in `config.pbtxt` says; a TorchServe worker is a process, so its models share
nothing and may do as they like.
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
LISTING = re.compile(
    r".*^Traceback of TorchScript[^\n]*\n(?:[ ][^\n]*\n|\n)*(.*)", re.DOTALL | re.MULTILINE
)


class ServedModel:
    """One version of a model, from the file `path`; `data` is its content, if it has been read
    already.

    `signature`: what goes in and comes out. `platform`: what kind of program it is, for model
    metadata. `batchable`: nothing speaks against running rows of several requests together;
    `max_rows`: how many at most, None for any number. `notes`: what an operator should know, one
    line each.

    Raises ArchiveError for a damaged file, OSError for one that cannot be read, TypeError for a
    model that needs other things than tensors, ValueError for a declaration that does not fit,
    NotImplementedError for operators that are not known here.
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
        """Of a module, compiled or not, an exported program or a function, which need not be in a
        file.

        A module is put into evaluation mode, as `module.eval()` does.
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
                return {
                    name: t[:rows] for name, t in self._run(filled_up(inputs, rows, wanted)).items()
                }
        return self._run(inputs)

    def rows_to_run(self, waiting: int) -> int:
        """How many of so many rows that wait are best run at once."""
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
        # out here without a context, whose frames would hold the request's tensors
        raise ModelFailed(message)

    def _try(self, specs: Sequence[TensorSpec], facts: Sequence[Facts], budget: WarmUp) -> Trial:
        self.signature = Signature(tuple(specs))  # what `run` needs in the meantime
        return try_on_zeros(lambda inputs: budget.run(self.run, inputs), specs, facts)

    def _optimize(self, trial: Trial, settings: Settings, notes: list[str], budget: WarmUp) -> None:
        """Run what `jit.optimize` makes of the program, if that works on what the program itself
        works on.
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
            if self.batchable and trial.has_rows and optimized.packs_convolutions():
                counts = self._row_counts = row_counts(most)
            for rows in counts:
                zeros = trial.zeros(rows)
                if zeros is not None:
                    budget.run(self._run, zeros)
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
    """What a model returned, by name; None among the results is an output that is not there. Raises
    WrongResult.
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
    """The message of an error without the listing that the JIT puts around it."""
    listed = LISTING.search(text := str(error))
    if listed:  # it names the kind of error itself
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
    """What the program takes, and what is known of it so far: the operator's word before the
    archive's before its own.
    """
    options = [parse_input(text) for text in settings.inputs]
    said = {spec.name: spec for spec in (*declared.inputs, *options)}
    if program.parameters is None:  # *args
        if not said:
            raise TypeError(
                corrected(
                    "forward takes *args, which have no names: name them, or declare the inputs "
                    "(--input NAME:DATATYPE:SIZES)",
                    "def forward(self, *args): ...",
                    "def forward(self, x, y): ...",
                )
            )
        parameters = [Parameter(name) for name in said]
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
                _filled(said.get(p.name, TensorSpec(p.name)), TensorSpec(p.name, p.dtype, p.sizes))
            )
    return parameters, specs


def _facts(
    program: Program, parameters: list[Parameter], specs: list[TensorSpec], notes: list[str]
) -> list[Facts]:
    """What the graph tells; fills in dtypes that nobody has told."""
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
    except Exception as error:  # a program that runs may still be more than the analysis can take
        notes.append(f"the program does not tell its inputs: {one_line(error)}")
    for i, (spec, each) in enumerate(zip(specs, facts)):
        if spec.dtype is None and each.dtype in DATATYPES:
            specs[i] = replace(spec, dtype=each.dtype)
    return facts


def _renamed(outputs: tuple[TensorSpec, ...], declared: tuple[TensorSpec, ...]) -> tuple[str, ...]:
    """The names for results that have only numbers, if the archive's maker gave some; () to leave
    them.
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
    """What was declared fills in what the trial did not find; a declaration of all outputs stands
    if nothing is known.
    """
    if not outputs:
        return declared
    said = {spec.name: spec for spec in declared}
    return tuple(_filled(spec, said.get(spec.name, spec)) for spec in outputs)


def _filled(spec: TensorSpec, other: TensorSpec) -> TensorSpec:
    """`spec`, and what `other` knows of what it does not."""
    return replace(
        spec,
        dtype=spec.dtype or other.dtype,
        shape=other.shape if spec.shape is None else spec.shape,
    )


def _number(tensor: Tensor, name: str) -> Any:
    if tensor.numel() != 1:
        raise ModelFailed(
            f"the input '{name}' is a number: it is sent as a tensor of one element, not of "
            f"{tensor.numel()}"
        )
    return tensor.item()
