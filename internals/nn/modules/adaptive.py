"""A softmax for large vocabularies that is cheap for frequent words
(`torch/nn/modules/adaptive.py`).

The head is a softmax over the words below the first cutoff, with one more entry for each cluster of
rarer words. The probability of a rare word is that of its cluster times its own within the cluster,
which is computed from fewer features, and only for the samples that need it (Grave et al., 2016).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from internals import Tensor
from internals.nn import functional as F
from internals.nn.containers import ModuleList, Sequential
from internals.nn.modules._options import _Options
from internals.nn.modules.linear import Linear

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(_Options):
    """`input` (N, in_features), `target` (N) to (log-probabilities of the targets (N), mean loss).
    A single sample is (in_features) and ().

    Classes are numbered by frequency; 0 is the most frequent. `cutoffs` are the first classes of
    the clusters; cluster i = 1, 2, ... is computed from in_features / div_valueⁱ features. Raises
    ValueError unless the cutoffs increase between 1 and n_classes - 1.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        increasing = cutoffs == sorted(set(cutoffs)) and all(int(c) == c for c in cutoffs)
        if not increasing or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        super().__init__(
            in_features=in_features, n_classes=n_classes, cutoffs=[*cutoffs, n_classes],
            div_value=div_value, head_bias=head_bias,
        )  # fmt: skip
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        # each cluster: in_features -> fewer features -> its words
        for i in range(self.n_clusters):
            hidden, words = (
                int(in_features // div_value ** (i + 1)),
                self.cutoffs[i + 1] - self.cutoffs[i],
            )
            first = Linear(in_features, hidden, bias=False, device=device, dtype=dtype)
            self.tail.append(
                Sequential(first, Linear(hidden, words, bias=False, device=device, dtype=dtype))
            )

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The pair (output, loss); see the class.

        Raises RuntimeError for shapes that do not fit, and for a target that is not a class.
        """
        self._check(input_, target_)
        is_batched = target_.dim() > 0
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)
        output = input.new_zeros(target.size(0))
        frequent = target < self.shortlist_size
        # the target's entry in the head: itself, or its cluster (0 until the loop sets it)
        in_head = target * frequent.to(target.dtype)
        used = int(((target >= 0) & frequent).sum())
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() != 0:
                log_probs = F.log_softmax(cluster(input.index_select(0, rows)), dim=1)
                here = log_probs.gather(1, (target.index_select(0, rows) - low).unsqueeze(1))
                in_head.index_fill_(0, rows, self.shortlist_size + i)
                output.index_copy_(0, rows, here.squeeze(1))
            used += rows.numel()
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        # log P(word) = log P(cluster) + log P(word | cluster); output has the second term already
        head_log_probs = F.log_softmax(self.head(input), dim=1)  # (N, head_size)
        output += head_log_probs.gather(1, in_head.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        if not is_batched:
            output = output.squeeze(0)
        return _ASMoutput(output, loss)

    def _check(self, input: Tensor, target: Tensor) -> None:
        """Raise RuntimeError for shapes that do not fit."""
        if target.dim() == 1:
            if input.size(0) != target.size(0):
                raise RuntimeError(
                    "Input and target should have the same size in the batch dimension."
                )
            if input.dim() != 2:
                raise RuntimeError(
                    "1D target tensor expects 2D input tensors, but found inputs with size "
                    f"{input.size()}"
                )
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError(
                    "0D target tensor expects 1D input tensors, but found inputs with size "
                    f"{input.size()}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (N, n_classes)."""
        return self._full(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample, (N).

        Clusters are computed only for samples whose most probable entry of the head is a cluster.
        """
        head = self.head(input)
        best = head.argmax(1)
        rare = best >= self.shortlist_size
        if not rare.any():
            return best
        if rare.all():
            return self._full(input, head).argmax(1)
        best[rare] = self._full(input[rare], head[rare]).argmax(1)
        return best

    def _full(self, input: Tensor, head: Tensor) -> Tensor:
        """The log-probabilities of all classes, (N, n_classes), from the head's scores."""
        out = input.new_empty((head.size(0), self.n_classes))
        log_probs = F.log_softmax(head, dim=1)
        out[:, : self.shortlist_size] = log_probs[:, : self.shortlist_size]
        for i, cluster in enumerate(self.tail):
            inside = F.log_softmax(cluster(input), dim=1)
            out[:, self.cutoffs[i] : self.cutoffs[i + 1]] = inside + log_probs[
                :, self.shortlist_size + i
            ].unsqueeze(1)
        return out
