"""The generated files are fresh, and say what the YAML file says."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import internals as torch
from codegen import derivatives, model
from codegen.__main__ import TARGET, generate
from codegen.gen_nodes import write_nodes
from codegen.gen_ops import takes_out, write_variants
from codegen.saved import is_missing
from internals.core.dispatcher import dispatcher


def test_generated_files_are_fresh() -> None:
    stale = [name for name, text in generate().items() if (TARGET / name).read_text() != text]
    assert not stale, f"{stale} differ from what codegen writes; run `python -m codegen`"
    extra = {p.name for p in TARGET.iterdir() if p.suffix in (".py", ".pyi")} - set(generate())
    assert not extra, f"{extra} are not written by codegen"


def test_every_kernel_named_in_the_yaml_exists_and_takes_the_schemas_arguments() -> None:
    for function in model.load():
        op = dispatcher.find(function.schema.full_name)
        for kernel in op.kernels.values():
            f = kernel.function()
            if kernel.takes_keys:
                continue
            inspect.signature(f).bind(*function.schema.arguments)


def test_every_variant_is_reachable_from_python() -> None:
    import importlib

    from internals._generated import functions
    from internals._tensor import Tensor

    for f in model.load():
        if "method" in f.variants:
            assert hasattr(Tensor, f.schema.name), f.schema.full_name
        if "function" in f.variants:
            home = (
                importlib.import_module(f"internals._generated.{f.python_module}_functions")
                if f.python_module
                else functions
            )
            assert hasattr(home, f.python_name), f.schema.full_name
            if not f.python_module and not f.schema.name.startswith("_"):
                assert hasattr(torch, f.schema.name), f.schema.full_name


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "- {func: 'f(Tensor x) -> Tensor', dispatch: {CPU: a.b}, typo: 1}",
            "unknown keys \\['typo'\\]",
        ),
        ("- {func: 'f(Tensor x) -> Tensor', dispatch: {CPU: a.b}}\n" * 2, "declared twice"),
        (
            "- {func: 'f(Matrix x) -> Tensor', dispatch: {CPU: a.b}}",
            r"f\(Matrix x\) -> Tensor: \nunknown type specifier",
        ),
        (
            "- {func: 'f(SymInt[2] x) -> Tensor', dispatch: {CPU: a.b}}",
            "a SymInt of PyTorch's file is an int here",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', dispatch: {Cpu: a.b}}",
            "dispatch: there is no 'Cpu'; known are .*CPU, CUDA",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', dispatch: {CPU: b}}",
            "'b' names no kernel; write module.function",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', variants: methods, dispatch: {CPU: a.b}}",
            "variants: there is no 'methods'",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', python_module: la, dispatch: {CPU: a.b}}",
            "python_module: there is no 'la'",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', tags: elementwise, dispatch: {CPU: a.b}}",
            "tags: there is no 'elementwise'",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', device_check: No, dispatch: {CPU: a.b}}",
            "device_check: there is no ",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', autogen: f_ f.out, dispatch: {CPU: a.b}}",
            "'f_ f.out' is no twin; write f_, f.out",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', no_overlap: y, dispatch: {CPU: a.b}}",
            "no_overlap: there is no tensor 'y'",
        ),
        (
            "- {func: 'f(Tensor x) -> Tensor', autogen: 'g.out', dispatch: {CPU: a.b}}",
            "'g.out' is no twin",
        ),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, entry: str, message: str) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(entry)
    with pytest.raises(ValueError, match=message):
        model.load(path)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("grad * (self", "aten::f: 'grad \\* \\(self' is no Python expression"),
        ("'is_enabled() ? grad : grad'", "is no Python expression"),
        (
            "is_enabled() ? grad : grad",
            "derivatives.yaml is no YAML: mapping values are not allowed",
        ),
        (
            "f_gradient(grad)",
            "nothing is called 'f_gradient'; a formula calls operators and the public functions of",
        ),
    ],
)
def test_a_wrong_formula_is_named(tmp_path: Path, formula: str, message: str) -> None:
    operators, entries = declared(tmp_path, formula)
    with pytest.raises(ValueError, match=message):
        write_nodes(operators, derivatives.load(operators, entries))


def test_formulas_of_forward_mode_are_refused(tmp_path: Path) -> None:
    """They stand in PyTorch's file, and are copied from there."""
    operators, entries = declared(tmp_path, "grad\n  result: auto_linear")
    with pytest.raises(
        ValueError,
        match="no argument called result; a formula for a result is PyTorch's forward mode",
    ):
        derivatives.load(operators, entries)


def test_somebody_has_to_say_what_the_gradient_is(tmp_path: Path) -> None:
    operators, entries = declared(tmp_path, "grad")
    # f, f_, and f.out, which has none
    assert [is_missing(f, {}) for f in operators] == [True, True, False]
    assert not any(is_missing(f, derivatives.load(operators, entries)) for f in operators)


def test_an_out_twin_copies_what_the_kernel_gave(tmp_path: Path) -> None:
    operators, _ = declared(tmp_path, "grad")
    assert "write_out(out, a.f(self))" in write_variants(operators)


def declared(
    folder: Path, formula: str, text: str = "f(Tensor self) -> Tensor"
) -> tuple[list[model.NativeFunction], Path]:
    """An operator with its twins, and the file of its derivative."""
    (folder / "ops.yaml").write_text(
        f"- func: {text}\n  autogen: f_, f.out\n  dispatch: {{CPU: a.f}}"
    )
    (folder / "derivatives.yaml").write_text(f"- name: {text}\n  self: {formula}")
    return model.load(folder / "ops.yaml"), folder / "derivatives.yaml"


@pytest.mark.parametrize(
    ("entry", "takes"),
    [("gt.Tensor", True), ("special_i0e", True), ("hypot", True), ("max_pool2d", False)],
)
def test_a_kernel_is_found_where_it_is_written(entry: str, takes: bool) -> None:
    """Also one that is another, perhaps of another file, with some arguments given."""
    (function,) = (
        f for f in model.load() if str(f.schema).removeprefix("aten::").startswith(f"{entry}(")
    )
    assert takes_out(function) is takes


def test_every_view_has_a_twin_that_copies() -> None:
    declared = {f.schema.full_name: f for f in model.load()}
    views = [
        f.schema
        for f in declared.values()
        if f.schema.is_view and not f.is_composite and not f.schema.is_inplace
    ]
    assert len(views) > 20
    for s in views:
        copy = declared[s.full_name.replace(f"::{s.name}", f"::{s.name}_copy")]
        assert (
            copy.is_view_copy
            and not copy.schema.is_view
            and copy.schema.arguments[0].name == "self"
        )


def test_the_table_of_contents_names_every_file() -> None:
    """And derivatives stand in the file that is called like the one that declares the operator."""
    contents = (model.FOLDER / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)`[,; |]", contents.partition("| looking for")[2]))
    assert {file.stem for file in model.FOLDER.glob("*.yaml")} == named
    home = {
        e["func"].partition("(")[0]: file.stem
        for file in model.FOLDER.glob("*.yaml")
        for e in model.read_entries(file)
    }
    for file in derivatives.FOLDER.glob("*.yaml"):
        elsewhere = [
            e["name"]
            for e in model.read_entries(file)
            if home[e["name"].partition("(")[0]] != file.stem
        ]
        assert not elsewhere, f"{file.name}: declared elsewhere"


def test_the_example_of_an_entry_is_one(tmp_path: Path) -> None:
    shown = re.findall(
        r"```yaml\n(.*?)```", (model.FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    (tmp_path / "shown.yaml").write_text("".join(shown))
    examples = model.read_entries(tmp_path / "shown.yaml")
    entries = [entry | {"place": ""} for entry in model.read_entries(model.FOLDER)]
    assert examples and all(entry | {"place": ""} in entries for entry in examples)


def test_what_is_generated_names_the_line_that_declares_it() -> None:
    """In tracebacks, in the docstring of a node, behind the `def` of a kernel."""
    from internals._generated import autograd_nodes

    for name in (
        "aten::addmv",
        "aten::add_.Tensor",
        "aten::abs.out",
        "aten::arccos",
        "aten::linalg_det",
    ):
        op = dispatcher.operators[name]
        path, line = op.call.__code__.co_filename.partition(", ")[0].rsplit(":", 1)
        declared = Path(path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert declared.startswith(
            f"- func: {name.removeprefix('aten::').partition('.')[0].removesuffix('_')}"
        )
    place = re.search(
        r"\((derivatives/\w+\.yaml):(\d+)\)", autograd_nodes.MulBackward0.__doc__ or ""
    )
    assert place is not None
    lines = (
        (Path(torch.__file__).parent / "autograd" / place[1])
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert lines[int(place[2]) - 1].startswith("- name: mul.Tensor(")
