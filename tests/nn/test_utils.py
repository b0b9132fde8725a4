"""Gradient clipping, and parameters as one vector. The same code runs in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from tests.answers import answer
from tests.nn.support import error_of
from tests.support import assert_same


def with_gradients(T: Any, *grads: Any) -> list[Any]:
    parameters = []
    for grad in grads:
        p = T.nn.Parameter(T.zeros(len(grad)) if grad is not None else T.zeros(1))
        p.grad = None if grad is None else T.tensor(grad)
        parameters.append(p)
    return parameters


@pytest.mark.parametrize(
    "text, sizes",
    [
        ("nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)", (4, 2, 3, 3)),
        ("nn.Conv1d(2, 3, 2, bias=False), nn.BatchNorm1d(3, affine=False)", (4, 2, 5)),
        ("nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3)", (4, 2, 3, 3)),
        ("nn.Linear(2, 3), nn.BatchNorm1d(3)", (4, 2)),
    ],
)
def test_a_fused_layer_does_both(T: Any, text: str, sizes: tuple[int, ...]) -> None:
    layer, bn = eval(text, {"nn": T.nn})
    x = T.arange(float(T.Size(sizes).numel())).reshape(sizes).sin()
    bn(layer(x))  # for the running statistics
    layer.eval(), bn.eval()
    fused = T.nn.utils.fuse_linear_bn_eval(layer, bn) if "Linear" in text else None
    fused = fused or T.nn.utils.fuse_conv_bn_eval(layer, bn, "Transpose" in text)
    assert T.allclose(fused(x), bn(layer(x)), atol=1e-6) and fused.bias.requires_grad is (
        "bias" not in text
    )
    assert "Fusion only for eval!" in error_of(
        lambda: T.nn.utils.fuse_conv_bn_eval(layer.train(), bn)
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(T: Any, dim: int | None) -> None:
    layer, x = T.nn.Linear(3, 2), T.arange(6.0).reshape(2, 3)
    plain = layer(x)
    assert T.nn.utils.weight_norm(layer, dim=dim) is layer and T.allclose(layer(x), plain)
    assert list(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert layer.weight_g.shape == {0: (2, 1), 1: (1, 3), None: ()}[dim]
    with T.no_grad():
        layer.weight_g.mul_(2)
    assert T.allclose(layer(x) - layer.bias, 2 * (plain - layer.bias), atol=1e-5)
    layer(x).sum().backward()
    along = (layer.weight_v.grad * layer.weight_v).sum()  # a direction does not grow longer
    assert layer.weight_g.grad is not None and abs(along.item()) < 1e-5
    assert "Cannot register two" in error_of(lambda: T.nn.utils.weight_norm(layer))
    doubled = layer(x)
    T.nn.utils.remove_weight_norm(layer)
    assert T.allclose(layer(x), doubled) and sorted(layer.state_dict()) == ["bias", "weight"]
    assert "not found" in error_of(lambda: T.nn.utils.remove_weight_norm(layer))


@pytest.mark.parametrize("layer", ["Linear(3, 2)", "Conv2d(2, 3, 2)", "ConvTranspose1d(2, 3, 2)"])
def test_spectral_norm(T: Any, layer: str) -> None:
    norm, remove = T.nn.utils.spectral_norm, T.nn.utils.remove_spectral_norm
    layer = eval(f"T.nn.{layer}")
    original = layer.weight
    assert norm(layer, n_power_iterations=30) is layer and layer.weight_orig is original
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert layer.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    rows = original.transpose(0, 1) if "Transpose" in str(layer) else original
    largest = T.linalg.svdvals(rows.detach().reshape(rows.size(0), -1))[0]
    x = T.arange(36.0).sin().reshape({2: (12, 3), 3: (1, 2, 18), 4: (1, 2, 6, 3)}[original.dim()])
    layer(x).sum().backward()
    assert T.allclose(layer.weight * largest, original, atol=1e-3) and layer.weight.requires_grad
    # a weight that is divided by its length does not grow longer
    along = (original.grad * original).sum()
    assert abs(along.item()) < 1e-3
    layer.eval()
    before = layer.weight_u.clone()
    y = layer(x)
    assert T.equal(layer.weight_u, before) and "Cannot register two" in error_of(
        lambda: norm(layer)
    )
    assert (
        remove(layer) is layer
        and T.allclose(layer(x), y)
        and list(layer.state_dict()) == ["bias", "weight"]
    )
    assert "not found" in error_of(lambda: remove(layer)) and "positive" in error_of(
        lambda: norm(layer, "bias", 0)
    )
    assert "is None" in error_of(lambda: norm(T.nn.Linear(3, 2, bias=False), "bias"))


def test_spectral_norm_beside_pytorch() -> None:
    def weights(library: Any) -> Any:
        library.manual_seed(0)
        layer = library.nn.utils.spectral_norm(library.nn.Conv2d(2, 3, 2))
        optimizer = library.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(3):
            layer(library.arange(18.0).cos().reshape(1, 2, 3, 3)).square().sum().backward()
            optimizer.step()
        return [layer.weight_orig, layer.weight_u, layer.weight]

    assert_same(
        [t.detach() for t in weights(internals)], answer(weights, family="layers"), rtol=1e-4
    )


def test_skip_init(T: Any) -> None:
    layer = T.nn.utils.skip_init(T.nn.Linear, 3, 2, dtype=T.float64)
    assert (
        layer.weight.shape == (2, 3)
        and layer.weight.dtype is T.float64
        and layer.weight.device.type == "cpu"
    )
    assert "'device' arg" in error_of(lambda: T.nn.utils.skip_init(T.nn.ReLU))


def test_clip_grad_norm(T: Any) -> None:
    clip = T.nn.utils.clip_grad_norm_
    a, b, c = with_gradients(T, [3.0, 0.0], None, [0.0, 4.0])
    grad = a.grad
    assert clip([a, b, c], 10.0).item() == 5 and a.grad.tolist() == [3, 0]
    assert clip((p for p in (a, b, c)), 1.0).item() == 5
    assert (
        a.grad is grad
        and T.allclose(a.grad, T.tensor([0.6, 0.0]))
        and T.allclose(c.grad, T.tensor([0.0, 0.8]))
    )
    (a,) = with_gradients(T, [3.0, -4.0])
    assert clip(a, 2.0, norm_type="inf").item() == 4 and T.allclose(a.grad, T.tensor([1.5, -2.0]))
    assert abs(clip([a], 7.0, norm_type=1).item() - 3.5) < 1e-5
    assert clip([], 1.0).item() == 0 and clip(with_gradients(T, None), 1.0).item() == 0
    with pytest.warns(UserWarning, match="is an empty generator"):
        clip((p for p in [a][:0]), 1.0)


def test_clip_grad_norm_of_no_finite_number(T: Any) -> None:
    parameters = with_gradients(T, [float("inf"), 1.0])
    assert error_of(
        lambda: T.nn.utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
    ) == (
        "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, "
        "so it cannot be clipped. To disable this error and scale the gradients by the non-finite "
        "norm anyway, set `error_if_nonfinite=False`"
    )
    assert T.nn.utils.clip_grad_norm_(parameters, 1.0).item() == float("inf")
    assert (
        parameters[0].grad.isnan().tolist() == [True, False] and parameters[0].grad[1].item() == 0
    )


def test_the_two_halves_of_clipping(T: Any) -> None:
    parameters = with_gradients(T, [3.0], [4.0])
    total = T.nn.utils.get_total_norm([p.grad for p in parameters])
    assert total.item() == 5
    T.nn.utils.clip_grads_with_norm_(parameters, 2.5, total)
    assert T.allclose(parameters[1].grad, T.tensor([2.0]))


def test_clip_grad_value(T: Any) -> None:
    a, b = with_gradients(T, [-3.0, 0.5, 2.0], None)
    assert T.nn.utils.clip_grad_value_([a, b], 1) is None
    assert a.grad.tolist() == [-1, 0.5, 1]
    T.nn.utils.clip_grad_value_(a, 0.25)
    assert a.grad.tolist() == [-0.25, 0.25, 0.25]


def test_parameters_as_a_vector(T: Any) -> None:
    model = T.nn.Linear(2, 2)
    vector = T.nn.utils.parameters_to_vector(model.parameters())
    assert vector.shape == (6,) and T.equal(vector[4:], model.bias)
    weight = model.weight
    T.nn.utils.vector_to_parameters(T.arange(6.0), model.parameters())
    assert (
        model.weight is weight
        and weight.tolist() == [[0, 1], [2, 3]]
        and model.bias.tolist() == [4, 5]
    )
    assert weight.requires_grad and weight.is_leaf
    assert error_of(lambda: T.nn.utils.vector_to_parameters([1.0], model.parameters())) == (
        "TypeError: expected internals.Tensor, but got: list"
    )
    assert T.nn.utils.parameters_to_vector([T.zeros(2, 1)]).shape == (2,)
