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
from transformer.config import PAD_ID
from transformer.masks import causal_mask


def _attention_cases() -> list[Args]:
    generator, cases = torch.Generator().manual_seed(2), []
    for d_model, heads, batch, q_len, k_len in (
        (2, 1, 1, 1, 2),
        (4, 2, 1, 3, 2),
        (6, 3, 2, 3, 5),
        (10, 2, 3, 5, 7),
    ):
        query = torch.randn(batch, q_len, d_model, generator=generator)
        memory = torch.randn(batch, k_len, d_model, generator=generator)
        mask = torch.ones(batch, 1, 1, k_len, dtype=torch.bool)
        mask[0, ..., -1] = False
        cases.append((d_model, heads, query, memory, mask))
    query = torch.randn(2, 3, 6, generator=generator)
    cases.append((6, 2, query, query.clone(), causal_mask(3)))
    return cases


attention = Part(
    MyAttention,
    handle="own.attention",
    lesson="02",
    sizes=2,
    cases=_attention_cases(),
    wrong={
        "unscaled": ("attention(queries,", "attention(queries * queries.shape[-1] ** 0.5,"),
        "mask_inverted": ("values, mask)", "values, ~mask)"),
        "mask_forgotten": ("values, mask)", "values, mask | True)"),
        "memory_forgotten": (
            *("key_projection(memory)", "key_projection(query)"),
            *("value_projection(memory)", "value_projection(query)"),
        ),
        "components_dealt_out": (
            "(self.num_heads, -1)).transpose(1, 2)",
            "(-1, self.num_heads)).movedim(-1, 1)",
        ),
        "heads_not_moved_back": ("heads.transpose(1, 2).flatten(2)", "heads.reshape(query.shape)"),
    },
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
    wrong={
        "words_unscaled": ("self.token(ids) * self.scale", "self.token(ids)"),
        "sum_scaled": (
            *("self.token(ids) * self.scale", "(self.token(ids)"),
            *("[: ids.shape[1]]", "[: ids.shape[1]]) * self.scale"),
        ),
        "no_places": (" + self.waves[: ids.shape[1]]", ""),
        "places_from_one": ("[: ids.shape[1]]", "[1 : ids.shape[1] + 1]"),
        "sentences_numbered": ("[: ids.shape[1]]", "[: ids.shape[0], None]"),
    },
)


def _layer_inputs() -> list[tuple[tuple[int, int, int], Tensor, Tensor, Tensor]]:
    """Sizes, source, target, and a mask that hides the source's last place from its first row."""
    generator, inputs = torch.Generator().manual_seed(2), []
    for sizes, batch, src_len, tgt_len in (
        ((2, 3, 1), 1, 1, 2),
        ((4, 3, 2), 1, 3, 2),
        ((6, 5, 3), 2, 5, 3),
    ):
        src, tgt = (
            torch.randn(batch, length, sizes[0], generator=generator)
            for length in (src_len, tgt_len)
        )
        src_mask = torch.ones(batch, 1, 1, src_len, dtype=torch.bool)
        src_mask[0, ..., -1] = src_len == 1
        inputs.append((sizes, src, tgt, src_mask))
    return inputs


_READS = "x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, src_mask)[0])"
_FEEDS = "self.feed_forward_residual(x, self.feed_forward)"

encoder_layer = Part(
    MyEncoderLayer,
    handle="own.encoder_layer",
    lesson="04",
    sizes=3,
    cases=[(*sizes, src, src_mask) for sizes, src, _, src_mask in _layer_inputs()],
    wrong={
        "no_sum_around_feed_forward": (
            _FEEDS,
            "self.feed_forward(self.feed_forward_residual.norm(x))",
        ),
        "feed_forward_first": (
            f"{_READS}\n        return {_FEEDS}",
            f"x = {_FEEDS}\n        {_READS}\n        return x",
        ),
        "source_mask_forgotten": ("y, y, src_mask", "y, y, src_mask | True"),
    },
)

_LOOKS_BACK = _READS.replace("src_mask", "tgt_mask")
_CROSSES = (
    "x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, memory, src_mask)[0])"
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
    wrong={
        "looks_ahead": ("y, y, tgt_mask", "y, y, tgt_mask | True"),
        "reads_padding": ("y, memory, src_mask", "y, memory, src_mask | True"),
        "crosses_first": (
            f"{_LOOKS_BACK}\n        {_CROSSES}",
            f"{_CROSSES}\n        {_LOOKS_BACK}",
        ),
        "never_reads_source": (_CROSSES, ""),
        "norms_memory": ("y, memory,", "y, self.cross_attention_residual.norm(memory),"),
    },
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
    wrong={
        "post_norm": _PostNorm,
        "no_causal_mask": (
            "causal_mask(tgt_in.shape[1],",
            "torch.ones(2 * tgt_in.shape[1:], dtype=torch.bool,",
        ),
        "padding_read": ("src_mask = padding_mask(src)", "src_mask = padding_mask(src) | True"),
        "padding_read_by_decoder": ("src_mask), src_mask)", "src_mask), src_mask | True)"),
        "no_last_norm": (
            "return self.encoder(self.src_embedding(src), src_mask)",
            "x = self.src_embedding(src)\n        "
            "for layer in self.encoder.layers:\n            x = layer(x, src_mask)\n        "
            "return x",
        ),
        "gives_probabilities": ("tgt_mask, src_mask))", "tgt_mask, src_mask)).softmax(dim=-1)"),
    },
)
