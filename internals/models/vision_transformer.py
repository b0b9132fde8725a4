"""The Vision Transformer (`torchvision/models/vision_transformer.py`): an image cut into patches,
which are read like the words of a sentence.

One strided convolution turns each patch into a vector, a learned vector per position is added, and
the encoder of a Transformer follows (Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929). A
learned class token stands before the patches; it collects information from all of them by
attention, and the image is classified by its last vector.

How the real one differs: torchvision can put a stem of convolutions in front, interpolates
position embeddings for other image sizes, and can download trained weights.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import internals as torch
from internals import Tensor, nn
from internals.models._blocks import MLP, no_weights

Norm = Callable[..., nn.Module]
LAYER_NORM = partial(nn.LayerNorm, eps=1e-6)


class VisionTransformer(nn.Module):
    """Images `(N, 3, image_size, image_size)` to scores `(N, num_classes)`.

    `representation_size` adds a hidden layer of that width, with tanh, before the last one.
    Raises AssertionError when patches do not fill the image, or an image has another size.
    Source: `torchvision.models.vision_transformer.VisionTransformer`.
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Norm = LAYER_NORM,
    ) -> None:
        super().__init__()
        require(image_size % patch_size == 0, "Input shape indivisible by patch size!")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.mlp_dim = mlp_dim
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.num_classes = num_classes
        self.representation_size = representation_size
        self.norm_layer = norm_layer
        self.seq_length = (image_size // patch_size) ** 2 + 1  # the patches and the class token

        self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.encoder = Encoder(
            self.seq_length,
            num_layers,
            num_heads,
            hidden_dim,
            mlp_dim,
            dropout,
            attention_dropout,
            norm_layer,
        )
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialize()

    def forward(self, x: Tensor) -> Tensor:
        patches = self._process_input(x)
        class_token = self.class_token.expand(patches.shape[0], -1, -1)  # (N, 1, hidden_dim)
        x = self.encoder(torch.cat([class_token, patches], dim=1))  # (N, 1 + patches, hidden_dim)
        return self.heads(x[:, 0])

    def _process_input(self, x: Tensor) -> Tensor:
        """`(N, 3, H, W)` to `(N, patches, hidden_dim)`."""
        n, _, h, w = x.shape
        require(
            h == self.image_size, f"Wrong image height! Expected {self.image_size} but got {h}!"
        )
        require(w == self.image_size, f"Wrong image width! Expected {self.image_size} but got {w}!")
        # (N, hidden_dim, rows, columns) -> (N, hidden_dim, patches) -> (N, patches, hidden_dim)
        return self.conv_proj(x).reshape(n, self.hidden_dim, -1).permute(0, 2, 1)

    def _initialize(self) -> None:
        """Normal weights of variance 1 / fan_in; the last layer is zero, so that at first all
        classes are equally likely.
        """
        projections = [(self.conv_proj, 3 * self.patch_size**2)]
        if self.representation_size is not None:
            projections.append((self.heads.pre_logits, self.hidden_dim))
        for layer, fan_in in projections:
            nn.init.trunc_normal_(layer.weight, std=math.sqrt(1 / fan_in))
            nn.init.zeros_(layer.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)


class Encoder(nn.Module):
    """Position embeddings, the blocks and a last norm: `(N, seq_length, hidden_dim)` in and out."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = LAYER_NORM,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i in range(num_layers):
            layers[f"encoder_layer_{i}"] = EncoderBlock(
                num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
            )
        self.layers = nn.Sequential(layers)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        require(
            input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}"
        )
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class EncoderBlock(nn.Module):
    """Attention, then a perceptron, each with a norm before and a residual connection around it."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = LAYER_NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        require(
            input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}"
        )
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class MLPBlock(MLP):
    """Two linear layers with GELU between them, and dropout after each."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, dropout=dropout)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.normal_(m.bias, std=1e-6)


def vit_b_16(*, weights: None = None, progress: bool = True, **kwargs: Any) -> VisionTransformer:
    """ViT-B/16: 86,567,656 parameters. `kwargs` go to `VisionTransformer`; ValueError for
    `weights`, which are not downloaded.
    """
    no_weights(weights)
    return _vit(kwargs, patch_size=16, num_layers=12, num_heads=12, hidden_dim=768, mlp_dim=3072)


def vit_tiny(**kwargs: Any) -> VisionTransformer:
    """ViT-Ti/16: 5,717,416 parameters, few enough to train at home; not in torchvision."""
    return _vit(kwargs, patch_size=16, num_layers=12, num_heads=3, hidden_dim=192, mlp_dim=768)


def _vit(given: dict[str, Any], **size: int) -> VisionTransformer:
    """A model of the given size for 224x224 images; `given` may override everything."""
    return VisionTransformer(**{"image_size": 224, **size, **given})


def require(condition: bool, message: str) -> None:
    """`torch._assert`: raise AssertionError, which `python -O` would skip for an `assert`."""
    if not condition:
        raise AssertionError(message)
