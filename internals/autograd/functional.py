"""Jacobians and Hessians of functions, and their products with vectors
(`torch/autograd/functional.py`).

Reverse mode computes vᵀJ for a given v (`vjp`); all else is made of that. A whole Jacobian takes
one such product for each element of the output. A Hessian is the Jacobian of a gradient. Jv (`jvp`)
takes two backward passes: vᵀJ is linear in v, and the backward of this linear function, applied to
another vector, multiplies J by it from the other side.

    >>> from internals import tensor
    >>> jacobian(lambda x: x * x, tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])

Every function takes a tensor or a tuple of tensors, and returns the same. `func` gets aliases of
the caller's tensors: only these are the variables, all other tensors that it uses are constants.
With `create_graph` the results can be differentiated further; with `strict` a result that is zero
because there is no connection is an error.

How the real one differs: `vectorize=True` runs all backward passes as one batched pass (`vmap`),
and `strategy="forward-mode"` uses forward-mode derivatives. Both give the same numbers, faster for
some shapes; here they are accepted and change nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals import autograd
from internals._generated import functions as fn
from internals.autograd.grad_mode import enable_grad, set_grad_enabled
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor, TensorImpl

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

Function = Callable[..., Any]
Tensors = tuple[Any, ...]


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)` and vᵀJ, which has the shape of `inputs`. `v` has the shape of the output, and
    can be omitted if that is one number.
    """
    with enable_grad():
        many_inputs, args = _tensors(inputs, "inputs", "vjp")
        # aliases: derivatives are those by the arguments, whatever else `func` uses
        args = _aliases(args, create_graph, needs_graph=True)
        many_outputs, outputs = _outputs(func, args, "vjp", strict)
        if v is None:
            if len(outputs) != 1 or outputs[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the user-provided function returns a single "
                    "Tensor with a single element."
                )
        else:
            v = _vector(v, "vjp", create_graph, like=outputs, many=many_outputs)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        grads = _grad(outputs, args, v, create_graph)
        result = _zeros_for_none(grads, args, strict, create_graph, "back")
    return _returned(outputs, many_outputs, create_graph), _returned(
        result, many_inputs, create_graph
    )


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)` and Jv, which has the shape of the output. `v` has the shape of `inputs`, and
    can be omitted if that is one number.
    """
    with enable_grad():
        _, args, v = _inputs_and_vector(inputs, v, "jvp", create_graph)
        many_outputs, outputs = _outputs(func, args, "jvp", strict)
        # cotangentᵀJ is linear in the cotangent: its derivative is the same everywhere, also at 0
        cotangent = tuple(fn.zeros_like(o, requires_grad=True) for o in outputs)
        grads = _grad(outputs, args, cotangent, create_graph=True)
        _need_grad(grads, "grad_inputs", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        columns = _grad(grads, cotangent, v, create_graph)
        result = _zeros_for_none(columns, outputs, strict, create_graph, "back_trick")
    return _returned(outputs, many_outputs, create_graph), _returned(
        result, many_outputs, create_graph
    )


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of `func`: for an output of shape A and an input of shape B, a tensor of
    shape A + B.

    For a tuple of inputs the result is a tuple of these, for a tuple of outputs a tuple of such
    tuples. `vectorize` and `strategy` change nothing here, see above; but combinations that PyTorch
    refuses raise its RuntimeError or NotImplementedError.
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    with enable_grad():
        many_inputs, args = _tensors(inputs, "inputs", "jacobian")
        args = _aliases(args, create_graph, needs_graph=True)
        many_outputs, outputs = _outputs(func, args, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "internals.autograd.functional.jacobian: `strict=True` and `vectorized=True` are "
                "not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        blocks = tuple(_rows(i, o, args, create_graph, strict) for i, o in enumerate(outputs))
        answers = tuple(_returned(block, many_inputs, create_graph) for block in blocks)
    return answers if many_outputs else answers[0]


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a `func` that returns one number: for an input of shape B, a tensor
    of shape B + B.

    For a tuple of inputs it is a tuple of tuples: element [i][j] has the derivatives by inputs i
    and j.
    """
    many, args = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*x: Any) -> Any:
        return _one_number(func(*x), "hessian", strict).squeeze()

    def gradient(*x: Any) -> Any:
        result = jacobian(number, x, create_graph=True)
        _need_grad(result, "jacobian", strict)
        return result

    rows = jacobian(gradient, args, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if many else rows[0][0]


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)`, which must be one number, and vᵀH for its Hessian H. `v` and the product have
    the shape of `inputs`.
    """
    with enable_grad():
        many, args, v = _inputs_and_vector(inputs, v, "vhp", create_graph)
        output = _one_number(func(*args), "vhp", strict)
        gradient = _grad((output,), args, None, create_graph=True)
        _need_grad(gradient, "jacobian", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _grad(gradient, args, v, create_graph)
        result = _zeros_for_none(product, args, strict, create_graph, "double_back")
    return _returned((output,), False, create_graph), _returned(result, many, create_graph)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(inputs)`, which must be one number, and Hv. It is the same as `vhp` where H is
    symmetric, and slower, as `jvp` is.
    """
    with enable_grad():
        many, args, v = _inputs_and_vector(inputs, v, "hvp", create_graph)
        output = _one_number(func(*args), "hvp", strict)
        gradient = _grad((output,), args, None, create_graph=True)
        _need_grad(gradient, "jacobian", strict)
        cotangent = tuple(fn.zeros_like(x, requires_grad=True) for x in args)
        rows = _grad(gradient, args, cotangent, create_graph=True)
        _need_grad(gradient, "hessian", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _grad(rows, cotangent, v, create_graph)
        result = _zeros_for_none(product, args, strict, create_graph, "double_back_trick")
    return _returned((output,), False, create_graph), _returned(result, many, create_graph)


def _rows(index: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of output `index` by each input: the gradients of its elements, stacked to the
    shape of the output + that of the input.
    """
    rows: list[list[Any]] = [[] for _ in inputs]
    flat = output.reshape(-1)
    for j in range(output.numel()):  # one backward pass for each element; the graph is kept
        grads = _grad((flat[j],), inputs, None, create_graph, retain_graph=True)
        for i, (g, x) in enumerate(zip(grads, inputs)):
            if g is None and strict:
                raise RuntimeError(
                    f"Output {index} of the user-provided function is independent of input {i}. "
                    "This is not allowed in strict mode."
                )
            if g is not None and strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {index}. "
                    "This is not allowed in strict mode when create_graph=True."
                )
            rows[i].append(fn.zeros_like(x) if g is None else g)
    return tuple(fn.stack(r).view((*output.shape, *x.shape)) for r, x in zip(rows, inputs))


def _check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Raises PyTorch's error for a combination of arguments that it refuses."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            "function has more outputs than "
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            '"reverse-mode".'
        )
    if strategy == "reverse-mode":
        return  # the others are refused although forward mode is not used here
    if create_graph:
        raise NotImplementedError(
            "internals.autograd.functional.jacobian: `create_graph=True` and "
            '`strategy="forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'internals.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` '
            "are not supported together "
            '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )


def _inputs_and_vector(
    inputs: Any, v: Any, name: str, create_graph: bool
) -> tuple[bool, Tensors, Tensors | None]:
    """Whether `inputs` is a tuple; aliases of the inputs; and the vector, which has their shapes,
    or None, which stands for 1.
    """
    many, args = _tensors(inputs, "inputs", name)
    args = _aliases(args, create_graph, needs_graph=True)
    if v is not None:
        return many, args, _vector(v, name, create_graph, like=args, many=many)
    if len(args) != 1 or args[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single "
            "Tensor with a single element."
        )
    return many, args, None


def _tensors(value: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """Whether `value` is a tuple, and the tuple of tensors. Raises TypeError for a non-tensor."""
    many = isinstance(value, tuple)
    tensors = value if many else (value,)
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorImpl):
            which = f"value at index {i}" if many else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{which} has type {type(t)}."
            )
    return many, tensors


def _aliases(tensors: Tensors, create_graph: bool, needs_graph: bool) -> Tensors:
    """Aliases of the tensors: connected to the caller's graph if `create_graph`, so that results
    can be differentiated by it; else leaves of a new graph.
    """
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(needs_graph)
        for t in tensors
    )


def _outputs(func: Function, inputs: Tensors, name: str, strict: bool) -> tuple[bool, Tensors]:
    """Whether `func` returns a tuple, and the tuple of its results, checked if `strict`."""
    many, outputs = _tensors(func(*inputs), "outputs of the user-provided function", name)
    _need_grad(outputs, "outputs", strict)
    return many, outputs


def _one_number(result: Tensor, name: str, strict: bool) -> Any:
    """`result`, which `func` returned. Raises RuntimeError unless it is a tensor of one element."""
    many, outputs = _tensors(result, "outputs of the user-provided function", name)
    _need_grad(outputs, "outputs", strict)
    if many:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if result.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    return result


def _vector(v: Any, name: str, create_graph: bool, like: Tensors, many: bool) -> Tensors:
    """`v` as a tuple of tensors. Raises RuntimeError unless they have the shapes of `like`."""
    vector = _aliases(_tensors(v, "v", name)[1], create_graph, needs_graph=False)
    if len(vector) != len(like):
        if many:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(vector, like)):
        if a.shape != b.shape:
            entry = f"Entry {i} in " if many else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {b.shape} but got {a.shape}.")
    return vector


def _grad(
    outputs: Sequence[Any],
    inputs: Tensors,
    v: Tensors | None,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> Sequence[Any]:
    """`autograd.grad` for outputs of which some may be None or constants. The gradient of an input
    that no output depends on is None.
    """
    pairs = [
        (o, g)
        for o, g in zip(outputs, v or [None] * len(outputs))
        if o is not None and o.requires_grad
    ]
    if not pairs:
        return [None] * len(inputs)
    connected, grads = zip(*pairs)
    return autograd.grad(connected, inputs, grads, retain_graph, create_graph, allow_unused=True)


def _returned(tensors: Tensors, many: bool, create_graph: bool) -> Any:
    """The result for the user: detached unless `create_graph`, and a tuple if `many`."""
    results = tensors if create_graph else tuple(t.detach() for t in tensors)
    return results if many else results[0]


def _need_grad(tensors: Sequence[Any], kind: str, strict: bool) -> None:
    """Raises RuntimeError, if `strict`, for the first tensor that does not depend on the inputs."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None:
            raise RuntimeError(_INDEPENDENT["back"].format(i))
        if not t.requires_grad:
            raise RuntimeError(_NO_GRAD[kind].format(i))


def _zeros_for_none(
    grads: Sequence[Any], like: Tensors, strict: bool, create_graph: bool, stage: str
) -> Tensors:
    """`grads` with zeros, of the shapes of `like`, for None. Raises RuntimeError in strict mode."""
    for i, g in enumerate(grads if strict else ()):
        if g is None:
            raise RuntimeError(_INDEPENDENT[stage].format(i))
        if create_graph and not g.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode when create_graph=True."
            )
    return tuple(fn.zeros_like(x) if g is None else g for g, x in zip(grads, like))


_INDEPENDENT = {
    "back": (
        "The output of the user-provided function is independent of input {}. This is not allowed "
        "in strict mode."
    ),
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs "
        "when using the double backward trick to compute forward mode gradients. This is not "
        "allowed in strict mode."
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {}. This is not "
        "allowed in strict mode."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {} in the "
        "grad_jacobian. This is not allowed in strict mode as it prevents from using the double "
        "backward trick to replace forward mode AD."
    ),
}
_NO_GRAD = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be "
        "computed in a differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided "
        "function. This is not allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with "
        "respect to input {} is independent of the input. This is not allowed in strict mode. You "
        "should ensure that your function is twice differentiable and that the jacobian depends on "
        "the inputs (this would be violated by a linear function for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {} is independent of the "
        "input. This is not allowed in strict mode. You should ensure that your function is thrice "
        "differentiable and that the hessian depends on the inputs."
    ),
}
