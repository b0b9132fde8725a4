"""The working models of 2016 in notebooks/before_codegen.py: they compute what today's operators
compute.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import internals as torch

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def bc() -> Iterator[Any]:
    sys.path.insert(0, str(NOTEBOOKS))
    try:
        yield importlib.import_module("before_codegen")
    finally:
        sys.path.remove(str(NOTEBOOKS))


@pytest.fixture(scope="module", params=["C", "Python"])
def toytorch(
    bc: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    if request.param == "C" and bc.compiler() is None:
        pytest.skip("needs a C compiler")
    build = bc.Build(tmp_path_factory.mktemp("build"), with_compiler=request.param == "C")
    package = build.run()
    assert (build.root / "toytorch/lib/libTH.so").exists() == (request.param == "C")
    return package


def test_macros_are_replaced_as_whole_words(bc: Any) -> None:
    text = "THTensor_(add)(THTensor *r, real x, accreal y); THPUtils_(checkReal)(unreal)"
    wanted = (
        "THFloatTensor_add(THFloatTensor *r, float x, double y); THPFloatUtils_checkReal(unreal)"
    )
    assert bc.specialise(text, "Float") == wanted


def test_split_types_needs_its_comment(bc: Any) -> None:
    assert set(bc.split_types("a\n//generic_include TH generic/X.c\nb")) == set(bc.TYPES)
    with pytest.raises(RuntimeError, match="generic include not found"):
        bc.split_types("int main() {}")


def test_cwrap_enumerates_every_way_to_leave_out_an_argument(bc: Any) -> None:
    (declaration,) = bc.parse_cwrap("copied through\n" + bc.CWRAP)
    options = [[a["name"] for a in bc.given(o)] for o in bc.enumerate_options(declaration)]
    assert options == [
        ["beta", "alpha", "mat", "vec"],
        ["beta", "mat", "vec"],
        ["alpha", "mat", "vec"],
        ["mat", "vec"],
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64], ids=str)
def test_addmv_is_todays(toytorch: Any, dtype: Any) -> None:
    mat = torch.arange(6, dtype=dtype).reshape(3, 2).t()
    vec = torch.arange(6, dtype=dtype)[::2]
    calls: list[tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = [
        ((mat, vec), {}, {}),
        ((3, mat, vec), {}, {"beta": 3}),
        ((3, 2, mat), {"vec": vec}, {"beta": 3, "alpha": 2}),
        ((), {"vec": vec, "mat": mat, "alpha": 5}, {"alpha": 5}),
    ]
    for args, kwargs, todays in calls:
        y = torch.ones(4, dtype=dtype)[1:3]
        assert toytorch.addmv_(y, *args, **kwargs) is y
        assert y.tolist() == torch.ones(2, dtype=dtype).addmv(mat, vec, **todays).tolist()


def test_errors(toytorch: Any) -> None:
    y, mat, vec = torch.ones(2), torch.ones(2, 3), torch.ones(3)
    with pytest.raises(TypeError, match=r"got \(DoubleTensor, FloatTensor\), but expected one of"):
        toytorch.addmv_(y, mat.double(), vec)
    with pytest.raises(TypeError, match="invalid combination"):
        toytorch.addmv_(y, mat)
    with pytest.raises(TypeError, match="invalid combination"):
        # as in 2016: the first position belongs to alpha
        toytorch.addmv_(y, mat, vec, alpha=2)
    for wrong in ((mat, y), (mat.t(), y), (vec, vec), (mat, mat)):
        with pytest.raises(RuntimeError, match="size mismatch"):
            toytorch.addmv_(torch.ones(2), *wrong)
