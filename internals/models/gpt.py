"""A small GPT: given the tokens so far, a score for each token that could come next.

Token and position embeddings are added. Blocks of causal self-attention and a perceptron follow,
each with a norm before it and a residual connection around it. Finally, each vector is compared
with the embedding of every token: the head's weight *is* the embedding's (weight tying). Names in
the `state_dict` are those of nanoGPT (https://github.com/karpathy/nanoGPT, `model.py`), so its
checkpoints load here. PyTorch itself has no GPT; the attention is its
`nn.functional.scaled_dot_product_attention`.

How the real one differs: nanoGPT also configures optimizers, estimates FLOPs and imports OpenAI's
weights. A GPT in production caches the keys and values of earlier tokens, which `generate` computes
again for each new token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import internals as torch
from internals import Tensor, nn
from internals.nn import functional as F

if TYPE_CHECKING:
    from internals.nn.module import Module


@dataclass
class GPTConfig:
    """Sizes of a GPT; the defaults are those of the smallest GPT-2, with the vocabulary padded to a
    multiple of 64.
    """

    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.0
    bias: bool = True


class GPT(nn.Module):
    """int64 tokens `(N, T)` to scores; T is at most `config.block_size`, AssertionError otherwise.

    `model(idx, targets)` gives scores `(N, T, vocab_size)` and the mean cross entropy (targets of
    -1 do not count); `model(idx)` gives the scores of the last position alone, `(N, 1,
    vocab_size)`, and None.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.block_size = config.block_size
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, config.n_embd),
                "wpe": nn.Embedding(config.block_size, config.n_embd),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                "ln_f": nn.LayerNorm(config.n_embd, bias=config.bias),
            }
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight  # tied: one (vocab_size, n_embd) matrix
        self.apply(initialize)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                # 2 n_layer such outputs are added to the residual stream: dividing by
                # sqrt(2 n_layer) keeps the variance of their sum independent of the depth
                nn.init.normal_(parameter, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        length = idx.size(1)
        if length > self.block_size:
            raise AssertionError(
                f"Cannot forward sequence of length {length}, block size is only {self.block_size}"
            )
        positions = torch.arange(length, dtype=torch.long, device=idx.device)
        # (N, T, C) + (T, C)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(positions))
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is None:  # generating: only the last position predicts something new
            return self.lm_head(x[:, -1:]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)

    @torch.no_grad()
    def generate(
        self, idx: Tensor, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None
    ) -> Tensor:
        """Extend `idx` `(N, T)` to `(N, T + max_new_tokens)` by sampling one token at a time.

        Tokens are drawn from softmax(scores / temperature); with `top_k`, from the k best only, so
        `top_k=1` always takes the best. Call `eval()` first, or dropout is active.
        """
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.block_size :])
            logits = logits[:, -1] / temperature  # (N, vocab_size)
            if top_k is not None:
                best, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits = logits.masked_fill(logits < best[:, -1:], -math.inf)
            idx = torch.cat(
                [idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)], dim=1
            )
        return idx

    def get_num_params(self, non_embedding: bool = True) -> int:
        """The number of learned numbers, by default without the position embeddings.

        Token embeddings count, as they are the head's weight too.
        """
        total = sum(p.numel() for p in self.parameters())
        return total - self.transformer.wpe.weight.numel() if non_embedding else total


class Block(nn.Module):
    """(N, T, C) to (N, T, C): attention mixes the positions, then the perceptron works on each
    position alone.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class CausalSelfAttention(nn.Module):
    """Each position attends to itself and to earlier ones, with `n_head` heads of n_embd / n_head
    features each.

    One linear layer computes queries, keys and values together. Raises AssertionError when the
    heads do not divide `n_embd`.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        if config.n_embd % config.n_head != 0:
            raise AssertionError(
                f"n_embd ({config.n_embd}) must be a multiple of n_head ({config.n_head})"
            )
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head = config.n_head
        self.dropout = config.dropout

    def forward(self, x: Tensor) -> Tensor:
        n, t, c = x.shape
        # (N, T, 3C) -> three of (N, heads, T, C / heads)
        q, k, v = (
            y.view(n, t, self.n_head, -1).transpose(1, 2) for y in self.c_attn(x).split(c, dim=2)
        )
        y = F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        y = y.transpose(1, 2).reshape(n, t, c)  # (N, heads, T, C / heads) -> (N, T, C)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Module):
    """C to 4C features, GELU, and back to C, for each position by itself."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


def initialize(module: Module) -> None:
    """GPT-2's initialization: normal weights of std 0.02, zero biases; norms keep their own."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, mean=0.0, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
