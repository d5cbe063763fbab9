"""The two layers of one's own (§3.1), and their likely mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from lessonkit.exercises.outcome import Args
from lessonkit.exercises.own.part import Part
from lessonkit.exercises.own.reference import MyDecoderLayer, MyEncoderLayer
from transformer.masks import causal_mask


class _NoSumAroundFeedForward(MyEncoderLayer):
    """Leave out the second residual sum."""

    def forward(self, x: Tensor, src_mask: Tensor) -> Tensor:
        y = super().forward(x, src_mask)
        return y - self.self_attention_residual(
            x, lambda each: self.self_attention(each, each, src_mask)[0]
        )


class _FeedForwardFirst(MyEncoderLayer):
    """Exchange the sub-layers."""

    def forward(self, x: Tensor, src_mask: Tensor) -> Tensor:
        x = self.feed_forward_residual(x, self.feed_forward)
        return self.self_attention_residual(
            x, lambda each: self.self_attention(each, each, src_mask)[0]
        )


class _SourceMaskForgotten(MyEncoderLayer):
    """Let padding be read."""

    def forward(self, x: Tensor, src_mask: Tensor) -> Tensor:
        return super().forward(x, torch.ones_like(src_mask))


def _layer_cases(inputs: Callable[..., Args]) -> list[Args]:
    generator, cases = torch.Generator().manual_seed(2), []
    for sizes, batch, src_len, tgt_len in (
        ((2, 3, 1), 1, 1, 2),
        ((4, 3, 2), 1, 3, 2),
        ((6, 5, 3), 2, 5, 3),
    ):
        drawn = [
            torch.randn(batch, length, sizes[0], generator=generator)
            for length in (src_len, tgt_len)
        ]
        src_mask = torch.ones(batch, 1, 1, src_len, dtype=torch.bool)
        src_mask[0, ..., -1] = src_len == 1
        cases.append((*sizes, *inputs(*drawn, src_mask)))
    return cases


encoder_layer = Part(
    MyEncoderLayer,
    handle="own.encoder_layer",
    lesson="04",
    call=lambda module, *inputs: module(*inputs),
    sizes=3,
    cases=_layer_cases(lambda src, tgt, src_mask: (src, src_mask)),
    minutes=10,
    hints=(
        "Two sub-layers, each in its frame: self-attention, then feed-forward.",
        "A frame is called with x and the sub-layer; it does norm and sum.",
        "self.self_attention(y, y, src_mask)[0] is the sub-layer of the first frame.",
    ),
    wrong=[
        (_NoSumAroundFeedForward, "The feed-forward network needs its residual sum too."),
        (_FeedForwardFirst, "Self-attention comes first, then feed-forward (Figure 1)."),
        (_SourceMaskForgotten, "The source's mask is not passed on: padding is read."),
    ],
)


class _LooksAhead(MyDecoderLayer):
    """Leave out the target's mask."""

    def forward(self, x: Tensor, memory: Tensor, tgt_mask: Tensor, src_mask: Tensor) -> Tensor:
        return super().forward(x, memory, torch.ones_like(tgt_mask), src_mask)


class _ReadsPadding(MyDecoderLayer):
    """Leave out the source's mask."""

    def forward(self, x: Tensor, memory: Tensor, tgt_mask: Tensor, src_mask: Tensor) -> Tensor:
        return super().forward(x, memory, tgt_mask, torch.ones_like(src_mask))


class _CrossesFirst(MyDecoderLayer):
    """Ask the memory before the target's own words."""

    def forward(self, x: Tensor, memory: Tensor, tgt_mask: Tensor, src_mask: Tensor) -> Tensor:
        x = self.cross_attention_residual(
            x, lambda each: self.cross_attention(each, memory, src_mask)[0]
        )
        x = self.self_attention_residual(
            x, lambda each: self.self_attention(each, each, tgt_mask)[0]
        )
        return self.feed_forward_residual(x, self.feed_forward)


class _NeverReadsSource(MyDecoderLayer):
    """Leave out cross-attention."""

    def forward(self, x: Tensor, memory: Tensor, tgt_mask: Tensor, src_mask: Tensor) -> Tensor:
        x = self.self_attention_residual(
            x, lambda each: self.self_attention(each, each, tgt_mask)[0]
        )
        return self.feed_forward_residual(x, self.feed_forward)


class _NormsMemory(MyDecoderLayer):
    """Bring the memory through the frame's norm once more."""

    def forward(self, x: Tensor, memory: Tensor, tgt_mask: Tensor, src_mask: Tensor) -> Tensor:
        normed = self.cross_attention_residual.norm(memory)
        return super().forward(x, normed, tgt_mask, src_mask)


decoder_layer = Part(
    MyDecoderLayer,
    handle="own.decoder_layer",
    lesson="04",
    call=lambda module, *inputs: module(*inputs),
    sizes=3,
    cases=_layer_cases(lambda src, tgt, src_mask: (tgt, src, causal_mask(tgt.shape[1]), src_mask)),
    minutes=15,
    hints=(
        "Three sub-layers, each in its frame, in the order of Figure 1 from below.",
        "In the middle one the queries come from x, keys and values from memory.",
        "Two masks: the target's for self-attention, the source's for cross-attention.",
    ),
    wrong=[
        (_LooksAhead, "Self-attention needs the target's mask: a position sees later ones here."),
        (_ReadsPadding, "Cross-attention needs the source's mask: it reads padding here."),
        (_CrossesFirst, "Self-attention comes first, then cross-attention (Figure 1)."),
        (_NeverReadsSource, "The source is never read: where is the cross-attention?"),
        (_NormsMemory, "The frame's norm is for x. The memory was normed at the encoder's end."),
    ],
)
