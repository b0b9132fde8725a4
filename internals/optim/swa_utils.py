"""The average of a model's parameters over its training (`torch/optim/swa_utils.py`).

Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018: a model
in training moves around a minimum, and the average of its positions is closer to it. Either all
positions have equal weight (SWA), or later ones more (EMA, the exponential moving average).

How the real one differs: it also has `SWALR`, a schedule, and updates all parameters by one call of
a `_foreach` operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from internals import long, no_grad, tensor
from internals._tensor import Tensor
from internals.core.device import device
from internals.nn.module import Module
from internals.nn.modules.batchnorm import _BatchNorm

AverageOne = Callable[[Any, Any, Any], Any]
AverageAll = Callable[[Sequence[Any], Sequence[Any], Any], None]


class AveragedModel(Module):
    """A copy of `model`, on `device` if given, whose parameters are averages; call
    `update_parameters` after each step to include its parameters.

    `avg_fn(average, value, n)` returns the new average of one parameter, if n values are in it
    already; `multi_avg_fn` changes lists of averages in place. Without either, all values have
    equal weight. Buffers are copied, or with `use_buffers` averaged as well. Raises AssertionError
    if both functions are given.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: device | None = None,
        avg_fn: AverageOne | None = None,
        multi_avg_fn: AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Include the parameters of `model` in the averages; the first ones are copied."""
        averages, values = (
            _tensors(self.module, self.use_buffers),
            _tensors(model, self.use_buffers),
        )
        values = [v.to(a.device) for a, v in zip(averages, values)]
        if self.n_averaged == 0:
            for average, value in zip(averages, values):
                average.copy_(value)
        elif self.multi_avg_fn is not None:
            # one call for each device and dtype, as `_foreach` operators require
            for kind in dict.fromkeys((a.device, a.dtype) for a in averages):
                chosen = [i for i, a in enumerate(averages) if (a.device, a.dtype) == kind]
                self.multi_avg_fn(
                    [averages[i] for i in chosen], [values[i] for i in chosen], self.n_averaged
                )
        else:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, value in zip(averages, values):
                average.copy_(average_of(average, value, self.n_averaged))
        if not self.use_buffers:
            for ours, theirs in zip(self.module.buffers(), model.buffers()):
                ours.copy_(theirs)
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: device | None = None) -> None:
    """Recompute the running statistics of the batch normalizations of `model`, from the inputs of
    `loader`.

    The statistics of training belong to other parameters than the averaged ones. If a batch is a
    list or tuple, its first element is the input.
    """
    layers = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not layers:
        return
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # a plain mean of all batches
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for layer, momentum in layers.items():
        layer.momentum = momentum
    model.train(was_training)


def get_ema_avg_fn(decay: float = 0.999) -> AverageOne:
    """`decay * average + (1 - decay) * value`. Raises ValueError for a decay outside [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Tensor) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """`get_ema_avg_fn` for lists, in place. Raises ValueError for a decay outside [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def ema_update(
        ema_param_list: Sequence[Any], current_param_list: Sequence[Any], num_averaged: Tensor
    ) -> None:
        for average, value in zip(ema_param_list, current_param_list):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> AverageOne:
    """The mean of all values: a new one has weight 1 / (n + 1)."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> AverageAll:
    """`get_swa_avg_fn` for lists, in place."""

    @no_grad()
    def swa_update(
        averaged_param_list: Sequence[Any], current_param_list: Sequence[Any], num_averaged: Any
    ) -> None:
        for average, value in zip(averaged_param_list, current_param_list):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(value, float(1 / (num_averaged + 1)))
            else:
                average.addcdiv_(value - average, num_averaged + 1)

    return swa_update


def _tensors(model: Module, with_buffers: bool) -> list[Any]:
    """The tensors to be averaged, in a fixed order."""
    return [
        t.detach()
        for t in (
            chain(model.parameters(), model.buffers()) if with_buffers else model.parameters()
        )
    ]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )
