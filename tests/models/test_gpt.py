"""The small GPT: looks back only, ties its weights, generates. What it computes is compared in
`test_models.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.models import GPT, GPTConfig
from internals.nn import functional as F
from tests.support import examples, to_numpy

SMALL = GPTConfig(block_size=8, vocab_size=11, n_layer=2, n_head=2, n_embd=16)


def small(**changes: Any) -> GPT:
    torch.manual_seed(3)
    return GPT(GPTConfig(**{**vars(SMALL), **changes})).eval()


def test_names_are_those_of_nanogpt() -> None:
    block = ["ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"]
    layers = [f"transformer.h.{i}.{part}" for i in range(2) for part in block] + [
        "transformer.ln_f"
    ]
    pairs = [f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")]
    assert list(small().state_dict()) == [
        "transformer.wte.weight",
        "transformer.wpe.weight",
        *pairs,
        "lm_head.weight",
    ]
    assert not any(name.endswith("bias") for name in small(bias=False).state_dict())


def test_head_and_embedding_are_one_parameter() -> None:
    model = small()
    assert model.lm_head.weight is model.transformer.wte.weight
    assert sum(p is model.lm_head.weight for p in model.parameters()) == 1
    assert model.get_num_params(non_embedding=False) - model.get_num_params() == 8 * 16


def test_the_smallest_gpt2_has_its_124_million() -> None:
    c, v, t, n = 768, 50257, 1024, 12
    model = small(n_embd=32, vocab_size=40)  # the formula, at a size that is made at once
    assert model.get_num_params(non_embedding=False) == formula(32, 40, 8, 2)
    assert formula(c, v, t, n) == 124_439_808  # as OpenAI's


def formula(c: int, vocabulary: int, positions: int, layers: int) -> int:
    return (vocabulary + positions) * c + layers * (12 * c * c + 13 * c) + 2 * c


def test_residual_projections_start_smaller() -> None:
    model = small(n_embd=64, n_layer=8)
    block = model.transformer.h[3]
    assert block.mlp.c_fc.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert block.mlp.c_proj.weight.std().item() == pytest.approx(0.02 / 4, rel=0.1)
    assert not block.mlp.c_fc.bias.any() and (block.ln_1.weight == 1).all()


@examples(20)
@given(st.lists(st.integers(0, 10), min_size=2, max_size=8), st.data())
def test_what_comes_later_changes_nothing(tokens: list[int], data: Any) -> None:
    at = data.draw(st.integers(1, len(tokens) - 1))
    changed = [*tokens[:at], (tokens[at] + 1) % 11, *tokens[at + 1 :]]
    model, before, after = small(), torch.tensor([tokens]), torch.tensor([changed])
    a, b = (to_numpy(model(x, x)[0].detach()) for x in (before, after))
    np.testing.assert_allclose(a[:, :at], b[:, :at], atol=1e-6)
    assert not np.allclose(a[:, at], b[:, at], atol=1e-6)


def test_loss_and_the_last_positions_scores() -> None:
    model, idx = small(), torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    targets = torch.tensor([[2, 3, 4, -1], [6, 7, 8, -1]])
    logits, loss = model(idx, targets)
    last, nothing = model(idx)
    assert nothing is None and last.shape == (2, 1, 11)
    np.testing.assert_allclose(
        to_numpy(last[:, 0].detach()), to_numpy(logits[:, -1].detach()), atol=1e-6
    )
    counted = F.cross_entropy(logits[:, :-1].reshape(6, 11), targets[:, :-1].reshape(6))
    assert loss is not None and loss.item() == pytest.approx(counted.item(), rel=1e-5)


def test_generate_takes_the_best_token_when_only_one_may_be_drawn() -> None:
    model, idx = small(), torch.tensor([[1, 2, 3]])
    expected = idx
    for _ in range(9):  # further than the block is long: the oldest tokens drop out
        best = model(expected[:, -8:])[0][:, -1].argmax(dim=-1, keepdim=True)
        expected = torch.cat([expected, best], dim=1)
    got = model.generate(idx, 9, top_k=1)
    assert got.tolist() == expected.tolist() and not got.requires_grad
    assert model.generate(idx, 0).tolist() == idx.tolist()


def test_generate_draws_by_the_scores() -> None:
    model, idx = small(), torch.tensor([[1, 2, 3]] * 400)
    chances = model(idx[:1])[0][0, -1].softmax(dim=-1)
    best = set(chances.topk(3)[1].tolist())
    torch.manual_seed(0)
    assert set(model.generate(idx, 1, top_k=3)[:, -1].tolist()) == best
    cold = model.generate(idx, 1, temperature=1e-4)[:, -1]
    assert (cold == chances.argmax()).all()
    torch.manual_seed(5)
    first = model.generate(idx, 2).tolist()
    torch.manual_seed(5)
    assert model.generate(idx, 2).tolist() == first


def test_it_learns_a_sequence_by_heart() -> None:
    model, text = small(n_layer=1).train(), torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    for _ in range(60):
        _, loss = model(text[:, :-1], text[:, 1:])
        assert loss is not None
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.sub_(p.grad, alpha=0.5)
    assert model.eval().generate(text[:, :1], 7, top_k=1).tolist() == text.tolist()


def test_errors() -> None:
    with pytest.raises(
        AssertionError, match="Cannot forward sequence of length 9, block size is only 8"
    ):
        small()(torch.zeros(1, 9, dtype=torch.int64))
    with pytest.raises(AssertionError, match=r"n_embd \(16\) must be a multiple of n_head \(3\)"):
        small(n_head=3)
