"""A whole model of one's own (§3, Fig. 1), and its likely mistakes."""

from typing import Any

import torch
from torch import Tensor

from lessonkit.exercises.own.part import Part
from lessonkit.exercises.own.reference import MyResidual, MyTransformer
from transformer.config import PAD_ID
from transformer.masks import padding_mask


class _NoCausalMask(MyTransformer):
    """Let the decoder see the future."""

    def decode(
        self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: None = None
    ) -> Tensor:
        everything = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool)
        x = self.decoder(self.tgt_embedding(tgt_in), memory, everything, src_mask)
        return self.output(x)


class _PaddingRead(MyTransformer):
    """Mask no padding."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        src_mask = torch.ones_like(padding_mask(src))
        return self.decode(tgt_in, self.encode(src, src_mask), src_mask)


class _PaddingReadByDecoder(MyTransformer):
    """Mask padding in the encoder alone."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        memory = self.encode(src, padding_mask(src))
        return self.decode(tgt_in, memory, torch.ones_like(padding_mask(src)))


class _NormAfterTheSum(MyResidual):
    """Norm the sum, as Figure 1 has it."""

    def forward(self, x: Tensor, sublayer: Any) -> Tensor:
        return self.norm(x + sublayer(x))


class _PostNorm(MyTransformer):
    """Take the paper's order."""

    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        for module in self.modules():
            if isinstance(module, MyResidual):
                module.__class__ = _NormAfterTheSum


class _NoLastNorm(MyTransformer):
    """Leave out the norm at the end of the encoder."""

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        x = self.src_embedding(src)
        for layer in self.encoder.layers:
            x = layer(x, src_mask)
        return x


class _GivesProbabilities(MyTransformer):
    """Take the softmax already."""

    def decode(
        self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: None = None
    ) -> Tensor:
        return super().decode(tgt_in, memory, src_mask).softmax(dim=-1)


transformer = Part(
    MyTransformer,
    handle="own.transformer",
    lesson="04",
    call=lambda module, *inputs: module(*inputs),
    sizes=5,
    cases=[
        (5, 2, 3, 1, 1, torch.tensor([[4]]), torch.tensor([[1, 4]])),
        (7, 4, 3, 2, 1, torch.tensor([[4, 6]]), torch.tensor([[1, 5, 4]])),
        (
            *(11, 6, 5, 3, 2),
            torch.tensor([[4, 5, 6, 2, PAD_ID], [7, 8, 9, 10, 2]]),
            torch.tensor([[1, 4, 5], [1, 6, 7]]),
        ),
    ],
    minutes=20,
    hints=(
        "encode: embed the source, run the encoder. decode: embed the target, run the decoder, "
        "and map to logits.",
        "padding_mask(src) goes to the encoder and to the decoder; causal_mask(length) to the "
        "decoder alone.",
        "One matrix three times: one MyEmbedding for both sides, and output.weight is its "
        "token.weight.",
    ),
    wrong=[
        (
            _PostNorm,
            "This is post-norm, Figure 1's order. The lesson's frame is x + sublayer(norm(x)).",
        ),
        (_NoCausalMask, "A position sees later ones: decode needs the causal mask."),
        (_PaddingRead, "Padding is read: both stacks need the source's mask."),
        (_PaddingReadByDecoder, "The decoder reads the source's padding: it needs the mask too."),
        (_NoLastNorm, "A pre-norm stack ends in a norm, the encoder's too."),
        (_GivesProbabilities, "Logits are wanted, before the softmax: loss and search take it."),
    ],
)
