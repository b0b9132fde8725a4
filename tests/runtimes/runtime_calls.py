"""Calls of the operators of a runtime, made from signatures, hostile ones among them: each must be
answered or refused.

    python -m tests.runtimes.runtime_calls build/runtimes/cpp/check
    python -m tests.runtimes.runtime_calls node runtimes/node/check.js --calls 500 --seed 3 \\
        --only pool

The first is about the C++ runtime, with CALLS calls of each of its operators.

A call is made from a signature of `internals` (`tests/aten/op_arguments.py` knows which tensors fit
together), or from the runtime's own. In half of the calls one argument or two are then spoiled:
sizes as large as an int can be, lists of another length, None, tensors of other shapes, dtypes and
strides, values of another type. `internals` makes the same call: where it has an answer and the
runtime has one, they must be the same, and what `internals` refuses must be refused.

The runtime's `check --operators` makes the calls of a file and writes a line about each. A program
that ended, or is silent for too long, has failed at the call whose line is missing, and goes on
behind it. The last lines are the counts.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import selectors
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import internals
from internals.core.tensor_impl import TensorImpl, from_array
from internals.jit.ir.enums import enum_code
from internals.jit.operators import Operator, find_operators
from internals.jit.operators.properties import NONDETERMINISTIC
from tests.aten.op_arguments import arguments
from tests.aten.op_tensors import LAYOUTS, Dtype, Stream, TensorSpec, shape, tensor
from tests.support import outcome

DTYPES = ["float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"]
# what the runtimes do not have
INSTEAD = {"float16": "float32", "complex64": "float32", "complex128": "float64"}
EDGES = [0, -1, 1, 3, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]
NUMBERS = [0.0, -0.0, 0.5, -1.5, 1e308, 1e-320, float("inf"), float("-inf"), float("nan")]
TEXTS = [
    "",
    " ",
    "é",
    "a{}b",
    "ab\ncd",
    "mean",
    "x" * 300,
    "ij,jk->ik",
    "...i->",
    "cpu",
    "-12",
    "floor",
]
CALLS_IN_A_FILE = 1000
# Whose answer is open, or not a runtime's to give.
OPEN = {
    *(
        f"aten::{name}"
        for name in (
            "empty empty_like new_empty is_grad_enabled kthvalue median topk sort argsort"
        ).split()
    ),
    "prim::device",  # made anew each time
    "aten::str",  # the text of a tensor is shorter
    "aten::device",  # there is one
    # less exact, or otherwise at infinities and the smallest numbers
    *(
        f"aten::{name}"
        for name in "erfc erfc_ lgamma lgamma_ celu celu_ divmod radians tan sinh pow std".split()
    ),
    *(
        f"aten::{name}"
        for name in (
            "upsample_nearest1d upsample_nearest2d upsample_bilinear2d upsample_trilinear3d"
        ).split()
    ),
    "aten::sum",  # of an empty list: only a graph knows whether of ints or floats
    "aten::linalg_vector_norm",  # a dtype that is none
    # NaN, and the smallest numbers
    *("prim::min prim::max aten::erf aten::sqrt aten::round aten::round_".split()),
    "aten::tensordot",  # infinities times 0
}
# What `internals` refuses and a runtime may answer, by the words of the error: nobody is given a
# wrong number.
LENIENT = [
    ("not implemented for|inputs not supported|does not support|not supported on CPU|"
     "Integral inputs|Negation, the|Subtraction, the|on a bool tensor",
     "PyTorch has no kernel for the dtype"),
    ("did not match|dtypes? match|Found dtype|expected dtype|Expected dtype|scalar types|"
     "same dtype|as an integral argument|floating point|Boolean alpha|result type|"
     "as input. Got|without narrowing",
     "dtypes that are promoted here"),
    ("without overflow", "a number that the dtype cannot hold wraps"),
    ("pin_memory=True|device type at start|channels_last|memory_format",
     "there is one device and one layout"),
    ("require gradients|Can't detach", "there are no gradients"),
    ("Cannot input a tensor of dimension other|Integer division with addcdiv|between 0 and 1",
     "numbers that fit here, too"),
    ("Expected .D or .D|Expected . to . dim|should contain one int|should be the same",
     "shapes and dtypes that fit here, too"),
    ("has no len|list index out of range|mismatch in length|Cannot cast array",
     "a number for a list, and numpy's words"),
    ("appears multiple times|Type promoting|internal error|too many indices|approximate|"
     "dilation must|must have same slice|tensor has no dimensions",
     "arguments that another overload takes, or that change nothing"),
    ("Padding mode|range of ..2, 1|unsigned type|non-empty TensorList|same scalar type|"
     "mixed dtype|LongTensor|long tensor|a vector",
     "what has a meaning here, too"),
    ("Must specify exactly one|to view", "other overloads, by the types of a graph"),
    ("Boolean value of Tensor|must match the size of tensor|not supported between|has length",
     "lists compare tensors by identity"),
    ("0-dim|0 dim|1-D argument|expected a matrix|normalized_shape|is not supported for .D input",
     "tensors that stretch"),
    ("to integer|raised to a negative|float divmod|math domain|result too large|rtol must be",
     "C's arithmetic has an answer"),
    ("out of range \\(expected to be in range of \\[-1, 0\\]",
     "a tensor without dimensions has any"),
    ("Could not infer dtype|infer total number|too many dimensions|at least one index|"
     "At least one of|is not iterable",
     "nothing to do"),
    ("array is too big|Unable to allocate|Maximum allowed|MemoryError|tuple index out of range",
     "the limits of numpy"),
]  # fmt: skip
SILENCE = 60  # seconds that one call may take
LARGEST = 1 << 20  # elements of a result that is compared
MEMORY = 4 << 30


@dataclass
class Call:
    """One call: of which operator, with what, and what `internals` says to it: a value, an error,
    or nothing.
    """

    operator: str
    inputs: list[Any]  # the last of them are those that `keywords` name
    keywords: list[str]
    expected: Any = None
    refused: Exception | None = None
    compared: bool = False

    def saved(self) -> dict[str, Any]:
        entry = {
            "operator": self.operator,
            "inputs": [built(v) for v in self.inputs],
            "keywords": self.keywords,
        }
        return (
            {**entry, "expected": self.expected}
            if self.compared and self.refused is None
            else entry
        )

    def __str__(self) -> str:
        names = [""] * (len(self.inputs) - len(self.keywords)) + [f"{k}=" for k in self.keywords]
        return f"{self.operator}({', '.join(f'{k}{v!r:.300}' for k, v in zip(names, self.inputs))})"


# Arguments from signatures


@dataclass
class Argument:
    """Of a signature, its type as text: `int[2]?`, `Dict(str, t)`."""

    name: str
    type: str
    keyword: bool


def signature(text: str) -> list[Argument]:
    """The arguments of a runtime's own signature; the rest of what it may say, such as defaults, is
    passed over.
    """
    found, keyword, depth, part = [], False, 0, ""
    for c in text[text.index("(") + 1 : text.rindex(")")] + ",":
        depth += (c in "([") - (c in ")]")
        if c != "," or depth:
            part += c
            continue
        name = part.strip().partition("=")[0]
        if name == "*":
            keyword = True
        elif name == "...":
            found += [Argument("", "any", False)] * 2
        elif name:
            found.append(Argument(name.rpartition(" ")[2], name.rpartition(" ")[0], keyword))
        part = ""
    return found


def value(kind: str, stream: Stream, depth: int = 0) -> Any:
    """A value of a type."""
    if kind.endswith("?"):
        return None if stream.random() < 0.4 else value(kind[:-1], stream, depth)
    if kind.endswith("]"):
        return [
            value(kind[: kind.rindex("[")], stream, depth + 1)
            for _ in range(int(stream.integers(0, 4)))
        ]
    if kind.startswith("Dict("):
        key = kind[5:].partition(",")[0].replace("Tensor", "str").replace("complex", "float")
        return {
            value(key, stream): value(kind[5:-1].partition(", ")[2], stream, depth + 1)
            for _ in range(3)
        }
    if kind.startswith("("):
        return tuple(value(part, stream, depth + 1) for part in kind[1:-1].split(", "))
    made = VALUES.get(kind.lower())
    return made(stream) if made else anything(stream, depth)


def a_number(stream: Stream) -> Any:
    return [0, 1, 2, -1, 3, 0.5, -1.5, True, 2.0][int(stream.integers(9))]


def a_tensor(stream: Stream) -> TensorSpec:
    return tensor(stream, shape(stream), str(stream.choice(DTYPES)), str(stream.choice(LAYOUTS)))


VALUES: dict[str, Callable[[Stream], Any]] = {
    "int": lambda s: int(s.integers(-3, 4)),
    "float": lambda s: float(s.choice([0.0, 0.5, 1.0, -1.5, 2.0])),
    "bool": lambda s: bool(s.integers(2)),
    "str": lambda s: str(s.choice(TEXTS)),
    "scalar": a_number,
    "number": a_number,
    "tensor": a_tensor,
    "operand": lambda s: a_tensor(s) if s.random() < 0.6 else a_number(s),
    "tensor|scalar": lambda s: a_tensor(s) if s.random() < 0.6 else a_number(s),
    "scalartype": lambda s: int(s.choice([0, 1, 2, 3, 4, 6, 7, 11])),
    "memoryformat": lambda s: int(s.integers(0, 4)),
    "layout": lambda s: 0,
    "generator": lambda s: None,
    "device": lambda s: internals.device("cpu"),
    "dict": lambda s: value(
        str(s.choice(["Dict(str, int)", "Dict(int, Tensor)", "Dict(float, str)"])), s
    ),
    "list": lambda s: value(str(s.choice(["int[]", "float[]", "str[]", "Tensor[]", "int[][]"])), s),
    "tuple": lambda s: tuple(value("int[]", s)),
}


def anything(stream: Stream, depth: int = 0) -> Any:
    kinds = [
        "int",
        "float",
        "bool",
        "str",
        "Tensor",
        "Device",
        "int?",
        "int[]",
        "Tensor[]",
        "Dict",
        "tuple",
        "str[]",
    ]
    return value(str(stream.choice(kinds[: 7 if depth > 2 else None])), stream, depth + 1)


def supported(v: Any) -> Any:
    """A value as TorchScript has it: dtypes are numbers, tensors of dtypes that the runtimes
    have.
    """
    if isinstance(v, TensorSpec):
        dtype = INSTEAD.get(v.values.dtype.name)
        return TensorSpec(v.values.real.astype(dtype), v.layout) if dtype else v
    if isinstance(v, Dtype):
        return enum_code(getattr(internals, INSTEAD.get(v.name, v.name)))
    if isinstance(v, (internals.dtype, internals.memory_format, internals.layout)):
        return enum_code(v)
    if isinstance(v, complex):
        return v.real
    return [supported(x) for x in v] if isinstance(v, list) else v


def spoiled(v: Any, stream: Stream) -> Any:
    """Something hostile instead of a value."""
    if stream.random() < 0.1:
        return anything(stream)
    if isinstance(v, (bool, str, TensorSpec)) and stream.random() < 0.1:
        return None
    if isinstance(v, bool):
        return not v
    if isinstance(v, int) or v is None:
        return EDGES[int(stream.integers(len(EDGES)))]
    if isinstance(v, float):
        return NUMBERS[int(stream.integers(len(NUMBERS)))]
    if isinstance(v, str):
        return TEXTS[int(stream.integers(len(TEXTS)))]
    if isinstance(v, TensorSpec):
        sizes = v.values.shape if stream.random() < 0.4 else shape(stream)
        dtype = v.values.dtype.name if stream.random() < 0.6 else str(stream.choice(DTYPES))
        return tensor(stream, sizes, dtype, str(stream.choice(LAYOUTS)))
    if isinstance(v, list):
        return spoiled_list(v, stream)
    return anything(stream)


def spoiled_list(v: list[Any], stream: Stream) -> list[Any]:
    way = int(stream.integers(5))
    if way == 0 or not v:
        return [] if v or way else [EDGES[int(stream.integers(len(EDGES)))]] * 2
    if way == 1:
        return v[:-1]
    if way == 2:
        return [*v, *v]
    at = int(stream.integers(len(v)))
    fresh = spoiled(v[at], stream)
    return [fresh] * len(v) if way == 3 else [*v[:at], fresh, *v[at + 1 :]]


# Calls


def calls_of(symbol: str, signatures: list[str], number: int, stream: Stream) -> Iterator[Call]:
    """Calls of one operator of a runtime: by the signatures of `internals`, and by its own."""
    operators = [o for o in find_operators(symbol) if is_callable(o)]
    for i in range(number):
        operator = operators[int(stream.integers(len(operators)))] if operators and i % 4 else None
        given = (
            signature(signatures[int(stream.integers(len(signatures)))])
            if operator is None
            else arguments_of(operator)
        )
        values = [supported(v) for v in values_of(given, operator, stream)]
        before = [type(v) for v in values]
        for _ in range(0 if i % 2 or not values else 1 + int(stream.integers(2))):
            at = int(stream.integers(len(values)))
            values[at] = spoiled(values[at], stream)
        call = made_call(symbol, given, values)
        typed = operator is not None and (
            operator.handle is not None or before == [type(v) for v in values]
        )
        typed = typed and not (
            operator and operator.handle is None and any(isinstance(v, bool) for v in values)
        )
        if (
            operator is not None
            and typed
            and not any(isinstance(v, str) and not v.isascii() for v in values)
        ):
            answer(call, operator, values)
        yield call


def is_callable(operator: Operator) -> bool:
    return not any(
        a.is_out or "complex" in str(a.type) or a.enum == "Storage"
        for a in operator.schema.arguments
    )


def arguments_of(operator: Operator) -> list[Argument]:
    return [
        Argument(a.name, a.enum or str(a.type), a.kwarg_only) for a in operator.schema.arguments
    ]


def values_of(given: list[Argument], operator: Operator | None, stream: Stream) -> list[Any]:
    if operator is not None and operator.handle is not None:
        try:
            return list(arguments(operator.handle.schema, stream).values())
        except KeyError:  # a string that is none of those that it knows
            pass
    return [value(a.type, stream) for a in given]


def made_call(symbol: str, given: list[Argument], values: list[Any]) -> Call:
    by_position = [v for a, v in zip(given, values) if not a.keyword]
    named = {a.name: v for a, v in zip(given, values) if a.keyword and v is not None}
    return Call(symbol, by_position + list(named.values()), list(named))


def answer(call: Call, operator: Operator, values: list[Any]) -> None:
    """What `internals` says to a call."""
    result, call.refused = outcome(lambda: operator.fn(*[built(v) for v in values]))
    call.expected, other = outcome(lambda: plain(result))
    # `internals` believes the types of a graph
    unclear = isinstance(call.refused, (AttributeError, MemoryError))
    call.compared = not (
        other
        or unclear
        or too_large(values)
        or call.operator in OPEN
        or call.operator in NONDETERMINISTIC
    )


def too_large(values: list[Any]) -> bool:
    """Whether there is a number that elements of a small dtype cannot hold: what becomes of it is
    open.
    """
    kinds = {v.values.dtype.kind for v in values if isinstance(v, TensorSpec)}
    low = 0 if "u" in kinds else -(2**7)
    return bool(kinds & set("iub")) and any(
        isinstance(v, (int, float)) and not low <= v < 2**7 for v in values
    )


def built(v: Any) -> Any:
    if isinstance(v, TensorSpec):
        return v.build(internals, lambda a: from_array(np.array(a)))
    if isinstance(v, (list, tuple)):
        return type(v)(built(x) for x in v)
    return {built(k): built(x) for k, x in v.items()} if isinstance(v, dict) else v


def plain(v: Any) -> Any:
    """A result as an archive holds it."""
    if isinstance(v, TensorImpl):
        if v.numel() > LARGEST:
            raise MemoryError
        return v.detach().clone()
    if isinstance(v, (internals.dtype, internals.memory_format, internals.layout)):
        return enum_code(v)
    if isinstance(v, internals.Size):
        return list(v)
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v] if isinstance(v, list) else tuple(plain(x) for x in v)
    if isinstance(v, dict) and all(isinstance(k, (str, int, float)) for k in v):
        return {k: plain(x) for k, x in v.items()}
    if (
        v is None
        or isinstance(v, (float, str, internals.device))
        or (isinstance(v, int) and -(2**63) <= v < 2**63)
    ):
        return v
    raise TypeError(f"{v!r} is no value of TorchScript")


@contextmanager
def limited_memory() -> Iterator[None]:
    """`internals` makes the hostile calls too, in this process."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


# Running them


def lines(command: list[str], path: Path, start: int) -> Iterator[str]:
    """What the runtime says about the calls of a file from number `start` on, and if it came to no
    good end, why.
    """
    options = "exitcode=99:allocator_may_return_null=1:detect_leaks=0"
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [*command, "--operators", str(path), str(start)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
            env={**os.environ, "ASAN_OPTIONS": options, "UBSAN_OPTIONS": "print_stacktrace=1"},
        )
        assert process.stdout is not None
        with process, selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            os.set_blocking(process.stdout.fileno(), False)
            text, patience = "", 10 * SILENCE  # loading a thousand calls is no loop without end
            while ready.select(patience):
                arrived = process.stdout.read(1 << 16)
                if not arrived:
                    break
                *whole, text = (text + arrived).split("\n")
                patience = SILENCE if whole else patience
                yield from whole
            else:
                process.kill()
                yield "ended: no answer"
                return
        if process.returncode:
            errors.seek(0)
            yield f"ended: {errors.read()[:3000]}"


def verdicts(command: list[str], path: Path, count: int) -> Iterator[tuple[int, str]]:
    """The number of each call of a file, and what became of it."""
    at = 0
    while at < count:
        said = lines(command, path, at)
        if (first := next(said)) != "loaded":
            raise RuntimeError(f"the file of calls cannot be read: {first}")
        for line in said:
            ended = line.startswith("ended: ")
            if not ended and not line.startswith(f"{at} "):  # what prim::Print prints
                continue
            yield at, line if ended else line.partition(" ")[2]
            at += 1
            if ended:
                break
        else:
            assert at == count, f"{at} of {count} calls have a line"


def complaint(call: Call, said: str) -> str:
    """What is wrong with what a runtime said to a call; "" if nothing is."""
    if said.startswith(("ended: ", "differs: ")):
        return said
    if said == "answered" and call.refused is not None and call.compared:
        text = str(call.refused)
        if not any(re.search(words, text) for words, _ in LENIENT):
            return f"answered, where internals says: {text}"
    return ""


def signatures_of(command: list[str]) -> dict[str, list[str]]:
    """The operators of a runtime."""
    found: dict[str, list[str]] = {}
    done = subprocess.run([*command, "--signatures"], text=True, capture_output=True, check=True)
    for line in done.stdout.split("\n"):
        symbol, _, text = line.partition(" ")
        if text:
            found.setdefault(symbol, []).append(text)
    return found


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.runtimes.runtime_calls", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("command", nargs="+", help="the runtime's check program")
    parser.add_argument("--calls", type=int, default=60, help="of each operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="operators whose name has this in it")
    options = parser.parse_args(given)
    found = {
        s: texts for s, texts in sorted(signatures_of(options.command).items()) if options.only in s
    }
    counts: Counter[str] = Counter()
    calls = []
    with limited_memory():
        for symbol, signatures in found.items():
            stream = np.random.default_rng([options.seed, zlib.crc32(symbol.encode())])
            calls += list(calls_of(symbol, signatures, options.calls, stream))
    with tempfile.TemporaryDirectory(prefix="calls-") as folder:
        for first in range(0, len(calls), CALLS_IN_A_FILE):
            part, path = calls[first : first + CALLS_IN_A_FILE], Path(folder) / f"{first}.pt"
            internals.save({"calls": [c.saved() for c in part]}, str(path))
            for i, said in verdicts(options.command, path, len(part)):
                counts[said.partition(":")[0]] += 1
                if why := complaint(part[i], said):
                    counts["FAILED"] += 1
                    print(f"FAILED {part[i]}: {why}", flush=True)
    failed = counts.pop("FAILED", 0)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(f"{len(calls) - failed} passed, {failed} failed")
    return int(failed > 0 or not calls)


if __name__ == "__main__":
    sys.exit(main())
