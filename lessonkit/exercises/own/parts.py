"""The classes to write, with their cases and their likely mistakes: edits of `reference`."""

import torch
from torch import Tensor

from lessonkit.exercises.outcome import Args
from lessonkit.exercises.own.part import Part
from lessonkit.exercises.own.reference import (
    MyAttention,
    MyDecoderLayer,
    MyEmbedding,
    MyEncoderLayer,
    MyResidual,
    MyTransformer,
)
from lessonkit.exercises.toys import drawing
from transformer.config import PAD_ID
from transformer.masks import causal_mask


def _attention_cases() -> list[Args]:
    draw, cases = drawing(2), []
    for d_model, heads, batch, q_len, k_len in (
        (2, 1, 1, 1, 2),
        (4, 2, 1, 3, 2),
        (6, 3, 2, 3, 5),
        (10, 2, 3, 5, 7),
    ):
        query, memory = draw(batch, q_len, d_model), draw(batch, k_len, d_model)
        mask = torch.ones(batch, 1, 1, k_len, dtype=torch.bool)
        mask[0, ..., -1] = False
        cases.append((d_model, heads, query, memory, mask))
    query = draw(2, 3, 6)
    cases.append((6, 2, query, query.clone(), causal_mask(3)))
    return cases


attention = Part(
    MyAttention, handle="own.attention", lesson="02", sizes=2, cases=_attention_cases()
)

embedding = Part(
    MyEmbedding,
    handle="own.embedding",
    lesson="03",
    sizes=2,
    cases=[
        (5, 2, torch.tensor([[3]])),
        (7, 4, torch.tensor([[4, 5]])),
        (7, 4, torch.tensor([[4], [5]])),
        (11, 6, torch.tensor([[4, 5, 10], [6, 6, 0]])),
    ],
)


def _layer_inputs() -> list[tuple[tuple[int, int, int], Tensor, Tensor, Tensor]]:
    """Sizes, source, target, and a mask that hides the source's last place from its first row."""
    draw, inputs = drawing(2), []
    for sizes, batch, src_len, tgt_len in (
        ((2, 3, 1), 1, 1, 2),
        ((4, 3, 2), 1, 3, 2),
        ((6, 5, 3), 2, 5, 3),
    ):
        src, tgt = (draw(batch, length, sizes[0]) for length in (src_len, tgt_len))
        src_mask = torch.ones(batch, 1, 1, src_len, dtype=torch.bool)
        src_mask[0, ..., -1] = src_len == 1
        inputs.append((sizes, src, tgt, src_mask))
    return inputs


encoder_layer = Part(
    MyEncoderLayer,
    handle="own.encoder_layer",
    lesson="04",
    sizes=3,
    cases=[(*sizes, src, src_mask) for sizes, src, _, src_mask in _layer_inputs()],
)


decoder_layer = Part(
    MyDecoderLayer,
    handle="own.decoder_layer",
    lesson="04",
    sizes=3,
    cases=[
        (*sizes, tgt, src, causal_mask(tgt.shape[1]), src_mask)
        for sizes, src, tgt, src_mask in _layer_inputs()
    ],
)


class _NormAfterTheSum(MyResidual):
    def forward(self, x, sublayer):  # type: ignore[no-untyped-def]
        return self.norm(x + sublayer(x))


class _PostNorm(MyTransformer):
    def __init__(self, *sizes: int) -> None:
        super().__init__(*sizes)
        for module in self.modules():
            if isinstance(module, MyResidual):
                module.__class__ = _NormAfterTheSum


transformer = Part(
    MyTransformer,
    handle="own.transformer",
    lesson="04",
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
    wrong={"post_norm": _PostNorm},
)
