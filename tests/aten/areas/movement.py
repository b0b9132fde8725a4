"""Writing by index, diagonals, stacking, splitting, grids, and the copies of views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Dtype, Recipe, Stream, TensorSpec, integers, n, shape, tensor


def _as_recipe_of(view: str) -> Recipe:
    """The copy of a view takes what the view takes."""

    def recipe(s: Stream) -> dict[str, Any]:
        from tests.aten.op_recipes import RECIPES as others

        return others[view](s)

    return recipe


def _sizes(s: Stream, low: int = 1) -> tuple[tuple[int, ...], int]:
    """Sizes, and one of their dimensions."""
    sizes = tuple(n(s) for _ in range(n(s, low, 4)))
    return sizes, n(s, 0, len(sizes))


def _reduced(s: Stream) -> dict[str, Any]:
    sizes, dim = _sizes(s)
    index = tuple(n(s, 1, k + 1) for k in sizes)
    given = {"self": sizes, "dim": dim, "index": integers(s, index, sizes[dim]), "src": index}
    return {**given, "reduce": str(s.choice(["sum", "prod", "mean", "amax", "amin"]))}


def _slices(s: Stream) -> dict[str, Any]:
    """`source` for slices that are named at most once: which of several wins is open."""
    sizes, dim = _sizes(s)
    count = n(s, 0, sizes[dim] + 1)
    index = TensorSpec(s.permutation(sizes[dim])[:count])
    given = {
        "self": sizes,
        "dim": dim,
        "index": index,
        "source": (*sizes[:dim], count, *sizes[dim + 1 :]),
    }
    return {**given, "value": TensorSpec(np.array(2.0)) if s.random() < 0.5 else 2}


def _reduced_slices(s: Stream) -> dict[str, Any]:
    given = _slices(s)
    size = given["self"][given["dim"]]
    index = integers(s, given["index"].values.shape, size)
    return {**given, "index": index, "reduce": str(s.choice(["prod", "mean", "amax", "amin"]))}


def _flat_places(s: Stream) -> dict[str, Any]:
    sizes, _ = _sizes(s)
    total = int(np.prod(sizes))
    places = (n(s, 1, total + 1),)
    index = TensorSpec(s.permutation(total)[: places[0]] - (total if s.random() < 0.3 else 0))
    return {"self": sizes, "index": index, "source": places}


def _along(s: Stream) -> dict[str, Any]:
    sizes, dim = _sizes(s)
    wanted = tuple(n(s) if d == dim else k for d, k in enumerate(sizes))
    return {
        "self": sizes,
        "indices": integers(s, wanted, sizes[dim]),
        "dim": dim if s.random() < 0.7 else None,
    }


def _masked(s: Stream) -> dict[str, Any]:
    sizes = shape(s)
    return {
        "self": sizes,
        "mask": tensor(s, sizes, "bool"),
        "source": (int(np.prod(sizes, dtype=int)) + n(s, 0),),
    }


def _part(s: Stream) -> dict[str, Any]:
    sizes, dim = _sizes(s)
    start = n(s, 0, sizes[dim])
    end = n(s, start, sizes[dim] + 1)
    given = {
        "self": sizes,
        "dim": dim,
        "start": start,
        "end": end,
        "step": 1,
        "length": end - start,
    }
    return {**given, "src": (*sizes[:dim], end - start, *sizes[dim + 1 :])}


def _position(s: Stream) -> dict[str, Any]:
    sizes, dim = _sizes(s)
    return {
        "self": sizes,
        "dim": dim,
        "index": n(s, -sizes[dim], sizes[dim]),
        "src": sizes[:dim] + sizes[dim + 1 :],
    }


def _on_diagonal(s: Stream) -> dict[str, Any]:
    rows, columns = n(s), n(s)
    return {
        "self": (rows, columns),
        "src": (min(rows, columns),),
        "offset": 0,
        "dim1": 0,
        "dim2": 1,
    }


def _on_strides(s: Stream) -> dict[str, Any]:
    size = [n(s), n(s)]
    given = {"self": tensor(s, (24,), "float64", "plain"), "src": tensor(s, tuple(size), "float64")}
    return {**given, "size": size, "stride": [5, 1], "storage_offset": n(s, 0, 4)}


def _matrix(s: Stream) -> dict[str, Any]:
    return {
        "self": tuple(n(s) for _ in range(n(s, 1, 3))),
        "diagonal": n(s, -2, 3),
        "offset": n(s, -2, 3),
    }


def _parts(s: Stream) -> dict[str, Any]:
    sizes = tuple(2 * n(s) for _ in range(n(s, 1, 5)))
    return {
        "self": sizes, "dim": n(s, -len(sizes), len(sizes)),
        "sections": n(s, 1, 3) if s.random() < 0.8 else 0,
        "indices": sorted(int(i) for i in s.integers(-2, 5, n(s, 0, 3))), "split_size": n(s, 1, 4),
        "split_sizes": [sizes[0] - 1, 1],
        "tensor_indices_or_sections": TensorSpec(np.array([1, 2])),
    }  # fmt: skip


def _alike(low: int, high: int) -> Recipe:
    """Tensors of one shape and of one dtype or several."""

    def recipe(s: Stream) -> dict[str, Any]:
        sizes = tuple(n(s) for _ in range(n(s, low, high)))
        dtypes = (
            ["float32", "float32"] if s.random() < 0.6 else ["int64", "float64", "float16", "bool"]
        )
        return {
            "tensors": [tensor(s, sizes, d) for d in dtypes],
            "indexing": str(s.choice(["ij", "xy"])),
        }

    return recipe


def _vectors(s: Stream) -> dict[str, Any]:
    vectors = [tensor(s, (n(s, 0),), "float32") for _ in range(n(s, 1, 4))]
    return {"tensors": vectors, "indexing": str(s.choice(["ij", "xy"]))}


def _range(s: Stream) -> dict[str, Any]:
    tensors = {"start": TensorSpec(np.array(0.0)), "end": TensorSpec(np.array(2.0))}
    numbers = {"start": n(s, -2, 2), "end": n(s, 2, 4)}
    given = {name: tensors[name] if s.random() < 0.5 else numbers[name] for name in tensors}
    return {
        **given,
        "steps": n(s, 0, 6),
        "base": 2.0,
        "step": n(s, 1, 3),
        "dtype": Dtype("float64"),
    }


RECIPES: dict[str, Recipe] = {
    **{
        f"{v}_copy": _as_recipe_of(v)
        for v in "select slice split split_with_sizes as_strided expand unfold".split()
    },
    "scatter_reduce": _reduced,
    "index_reduce": _reduced_slices,
    **dict.fromkeys(["index_copy", "index_fill"], _slices),
    **dict.fromkeys(["put", "take"], _flat_places),
    "take_along_dim": _along,
    "masked_scatter": _masked,
    **dict.fromkeys(["slice_scatter", "narrow_copy"], _part),
    "select_scatter": _position,
    "diagonal_scatter": _on_diagonal,
    "as_strided_scatter": _on_strides,
    **dict.fromkeys(["diag", "diagflat"], _matrix),
    "fill_diagonal_": lambda s: {"self": (n(s), n(s, 1, 3))},
    **dict.fromkeys(
        "tensor_split hsplit vsplit dsplit unsafe_split unsafe_split_with_sizes".split(), _parts
    ),
    **dict.fromkeys(
        ["hstack", "vstack", "dstack", "row_stack", "column_stack", "concat", "concatenate"],
        _alike(1, 4),
    ),
    "block_diag": _alike(0, 3),
    **dict.fromkeys(["meshgrid", "cartesian_prod"], _vectors),
    "combinations": lambda s: {"self": (n(s, 0),), "r": n(s, 0, 4)},
    "vander": lambda s: {"x": (n(s, 0),), "N": n(s, 0)},
    "rot90": lambda s: {
        "self": (2, 3, n(s)),
        "k": n(s, -3, 6),
        "dims": [[0, 1], [2, 0], [-1, 1]][n(s, 0, 3)],
    },
    **dict.fromkeys(
        ["tril_indices", "triu_indices"],
        lambda s: {"row": n(s, 0), "col": n(s, 0), "offset": n(s, -2, 3)},
    ),
    **dict.fromkeys(["logspace", "range"], _range),
    "view_as_real_copy": lambda s: {
        "self": tensor(s, shape(s), "complex64"),
        "out": TensorSpec(np.zeros(0, "float32")),
    },
    "view_as_complex_copy": lambda s: {
        "self": tensor(s, (*shape(s), 2), "float32", "plain"),
        "out": TensorSpec(np.zeros(0, "complex64")),
    },
    "empty_permuted": lambda s: {
        "size": [2, n(s, 0), 3],
        "physical_layout": [int(d) for d in s.permutation(3)],
    },
}

NOT_CALLED = {
    "_reshape_alias_copy": "it believes that its strides fit, because reshape computed them",
    "empty_permuted": "its elements are open: tests/aten/test_ops_movement.py",
}

NOT_SAMPLED = {"_reshape_alias_copy": NOT_CALLED["_reshape_alias_copy"]}
NOT_COMPARED = {"tensor_split.tensor_indices_or_sections": "its second tensor has to be on the CPU"}

KNOWN: list[Any] = [
    (
        "linspace|logspace",
        lambda v: "out" in v and v["out"].values.dtype == bool,
        "which error comes first",
    ),
    (
        "view_as_complex_copy",
        lambda v: v["self"].values.dtype == np.float16,
        "complex32 does not exist here",
    ),
    (
        "view_as_complex(_copy)?",
        lambda v: v["self"].values.size == 0,
        "PyTorch's strides of some tensors without elements are 0",
    ),
    (
        "_conj_copy",
        lambda v: v["self"].values.dtype.kind != "c",
        "PyTorch fails an assertion of its own",
    ),
    (
        "view_copy",
        lambda v: "dtype" in v and v["self"].values.size == 0,
        "PyTorch's strides of some tensors without elements are 0",
    ),
]

GRADIENTS_KNOWN = [
    (
        "as_strided_scatter",
        lambda v: True,
        "PyTorch's gradient of `self` keeps what was written over, and loses the rest",
    ),
    (
        "vander",
        lambda v: v["N"] is None or v["N"] > 1,
        "PyTorch writes to what it has saved, and then cannot differentiate",
    ),
]
