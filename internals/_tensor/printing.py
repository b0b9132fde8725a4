"""Printing tensors: `repr(t)` (`torch/_tensor_str.py`).

All elements of a tensor are printed with one `Format`: whole numbers with a point at the end
(`1.`), others in fixed or scientific notation with `precision` digits, all padded to one width. Of
a tensor with more than `threshold` elements, only `edgeitems` at each end of a dimension are shown,
and the format depends only on these. There is one level of brackets for each dimension, and after
them comes what the numbers do not show: dtype, size, device, requires_grad.

How the real one differs: it also prints sparse, quantized and nested tensors, and reads the
elements with tensor operations; here they are read from the numpy array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.device import CPU, is_simulated
from internals.core.tensor_impl import Array, TensorImpl, array


class PrintOptions:
    """The options of `set_printoptions`, with their default values."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()
PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed. An option that is None is not changed, except for `sci_mode`,
    where None means that each tensor decides.

    precision: digits after the point.
    threshold: a tensor with more elements is summarised.
    edgeitems: elements shown at each end of a dimension in a summary.
    linewidth: in characters.
    profile: "default", "short" or "full", which set all four.
    sci_mode: scientific notation always (True) or never (False).
    """
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes = {
        **PROFILES.get(profile or "", {}),
        **{k: v for k, v in given.items() if v is not None},
    }
    for name, value in changes.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current options, as keyword arguments for `set_printoptions`."""
    return {name: getattr(PRINT_OPTS, name) for name in PrintOptions.__annotations__}


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """A context manager: `set_printoptions` within a `with` block."""
    outer = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**outer)


def tensor_repr(t: TensorImpl, name: str = "tensor") -> str:
    """The text of `repr(t)`; `name` is the part before the parenthesis.

    The elements of a tensor on a GPU are copied to the host first. For a simulated GPU, a comment
    is appended.
    """
    indent = len(name) + 1  # of the second and later lines, below the first bracket
    if t.device.type == "meta":
        contents = "..."
    elif t.numel():
        on_host: Any = t if t.device is CPU else t.detach().cpu()  # type: ignore[attr-defined]
        contents = elements(array(on_host), indent)
    else:
        contents = "[]"
    return _join(f"{name}({contents}", suffixes(t), indent) + (
        "  # simulated" if is_simulated(t.device) else ""
    )


def suffixes(t: TensorImpl) -> list[str]:
    """The texts after the elements, such as "dtype=torch.float64", for facts that the elements do
    not show.
    """
    default = dt.get_default_dtype()
    # dtypes that the elements show: `1.`, `1.+0.j`, `1`, `True`
    shown = (
        default,
        default.to_complex() if default is dt.float64 else dt.complex64,
        dt.int64,
        dt.bool_,
    )
    parts = [] if t.device is CPU else [f"device='{t.device}'"]
    if t.device.type == "meta":
        parts.append(f"size={tuple(t.shape)}")
    elif t.numel() == 0:
        parts += [f"size={tuple(t.shape)}"] if t.dim() != 1 else []
    elif not PRINT_OPTS.edgeitems:
        parts.append(f"size={tuple(t.shape)}")
    # without elements, integers and bools cannot be recognised either
    implied = t.dtype is default if t.device.type == "meta" or t.numel() == 0 else t.dtype in shown
    parts += [] if implied else [f"dtype={t.dtype!r}"]
    try:
        grad_fn = getattr(t, "grad_fn", None)
        name = None if grad_fn is None else grad_fn.name()
    except RuntimeError:  # a view whose history could not be kept
        name = "Invalid"
    if name is not None:
        parts.append(f"grad_fn=<{name}>")
    elif t.requires_grad:
        parts.append("requires_grad=True")
    return parts


def elements(a: Array, indent: int) -> str:
    """The elements of a numpy array in nested brackets. All lines but the first are indented by
    `indent`.
    """
    summarize = a.size > PRINT_OPTS.threshold
    shown = _summary(a) if summarize else a
    if a.dtype.kind == "c":
        return _nested(a, indent, summarize, ComplexFormat(shown))
    return _nested(a, indent, summarize, Format(shown))


class Format:
    """The format of real numbers, which depends on all `values`. `width` is that of the widest
    one.
    """

    def __init__(self, values: Array) -> None:
        self.is_floating = values.dtype.kind == "f"
        self.sci_mode, self.int_mode, self.width = False, True, 1
        if not self.is_floating:
            self.width = max([1, *(len(str(v)) for v in values.reshape(-1).tolist())])
            return
        # 0, inf and nan do not decide; float64, so that the quotient of float16 numbers fits
        finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        if not finite.size:
            return
        with np.errstate(over="ignore"):
            lowest, highest = np.abs(finite).min(), np.abs(finite).max()
            wide = highest / lowest > 1000.0 or highest > 1.0e8 or lowest < 1.0e-4
        self.int_mode = bool((finite == np.ceil(finite)).all())
        self.sci_mode = bool(wide) if PRINT_OPTS.sci_mode is None else PRINT_OPTS.sci_mode
        self.width = max(1, *(len(self._text(v)) for v in finite.tolist()))

    def __call__(self, value: object) -> str:
        return self._text(value).rjust(self.width)

    def _text(self, value: Any) -> str:
        """One number, not padded."""
        if not self.is_floating:
            return str(value)
        if self.sci_mode:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if self.int_mode:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{PRINT_OPTS.precision}f}"


class ComplexFormat:
    """The format of complex numbers: one for the real parts and one for the imaginary parts."""

    def __init__(self, values: Array) -> None:
        self.real, self.imag = Format(values.real), Format(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip()
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag + "j"


def _nested(a: Array, indent: int, summarize: bool, form: ComplexFormat | Format) -> str:
    """The elements in as many levels of brackets as `a` has dimensions. Between the parts of an
    n-dimensional array, there are n - 1 line breaks.
    """
    if a.ndim == 0:
        return form(a.item())
    if a.ndim == 1:
        return _vector(a, indent, summarize, form)
    edge = PRINT_OPTS.edgeitems
    if summarize and len(a) > 2 * edge:
        before = [_nested(a[i], indent + 1, summarize, form) for i in range(edge)]
        after = [_nested(a[i], indent + 1, summarize, form) for i in range(len(a) - edge, len(a))]
        parts = [*before, "...", *after]
    else:
        parts = [_nested(row, indent + 1, summarize, form) for row in a]
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _vector(a: Array, indent: int, summarize: bool, form: ComplexFormat | Format) -> str:
    """The elements of a 1-dimensional array in brackets, on as many lines as needed."""
    edge = PRINT_OPTS.edgeitems
    if summarize and not edge:
        texts = ["..."]
    elif summarize and len(a) > 2 * edge:
        texts = [*map(form, a[:edge].tolist()), " ...", *map(form, a[-edge:].tolist())]
    else:
        texts = [form(v) for v in a.tolist()]
    # each element is followed by a comma and a space
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (form.width + 2)))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _summary(a: Array) -> Any:
    """The elements that a summary shows, as a smaller array: (R, C) becomes at most
    (2 * edgeitems, 2 * edgeitems).
    """
    edge = PRINT_OPTS.edgeitems
    if a.ndim == 0:
        return a
    if a.ndim > 1 and not edge:
        return a[:0]
    if len(a) > 2 * edge:
        a = np.concatenate([a[:edge], a[-edge:]]) if edge else a
    return a if a.ndim == 1 else np.stack([_summary(row) for row in a])


def _join(text: str, parts: list[str], indent: int) -> str:
    """Append the suffixes, each on the same line if it fits, and the closing parenthesis."""
    width = len(text) - text.rfind("\n") + 1  # of the last line
    for part in parts:
        if width + len(part) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + part
            width = indent + len(part)
        else:
            text += ", " + part
            width += len(part) + 2
    return text + ")"
