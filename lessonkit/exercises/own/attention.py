"""Multi-head attention of one's own (§3.2.2), and its likely mistakes."""

import torch
from torch import Tensor, nn

from lessonkit.exercises.outcome import Args
from lessonkit.exercises.own.part import Part
from lessonkit.exercises.own.reference import MyAttention
from transformer.masks import causal_mask


class _Unscaled(MyAttention):
    """Leave out the division by sqrt(d_k)."""

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        d_k = self.query_projection.out_features // self.num_heads
        return super().forward(query * d_k**0.5, memory, mask)


class _MaskInverted(MyAttention):
    """Hide what may be seen."""

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(query, memory, ~mask)


class _MaskForgotten(MyAttention):
    """Let everything see everything."""

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(query, memory, torch.ones_like(mask))


class _MemoryForgotten(MyAttention):
    """Make keys and values of the query, always."""

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(query, query, mask)


class _ComponentsDealtOut(MyAttention):
    """Give each head every h-th component, not h blocks side by side."""

    def split(self, joined: Tensor) -> Tensor:
        return joined.unflatten(-1, (-1, self.num_heads)).movedim(-1, 1)


class _HeadsNotMovedBack(MyAttention):
    """Join the heads without bringing the length back to its place."""

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        projection, self.output_projection = self.output_projection, nn.Identity()  # type: ignore[assignment]
        joined, weights = super().forward(query, memory, mask)
        self.output_projection = projection
        heads = self.split(joined).reshape(query.shape)
        return projection(heads), weights


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
    call=lambda module, *inputs: module(*inputs),
    sizes=2,
    cases=_attention_cases(),
    minutes=15,
    hints=(
        "Three projections make queries, keys and values; which of them read memory?",
        "unflatten(-1, (num_heads, -1)) cuts d_model into blocks; transpose(1, 2) brings the "
        "heads before the length. At the end both are undone.",
        "Your attention function of this lesson does the middle; the last projection the rest.",
    ),
    wrong=[
        (_Unscaled, "The scores are not divided by the square root of d_k, a head's width."),
        (_MaskInverted, "The mask says True where a query may attend: yours hides those."),
        (_MaskForgotten, "The mask does nothing here: what it forbids is still read."),
        (_MemoryForgotten, "Keys and values are made of memory, also where it is not the query."),
        (
            _ComponentsDealtOut,
            "A head gets d_k components that stand side by side, not every h-th one: which "
            "comes first in unflatten, the heads or their width?",
        ),
        (
            _HeadsNotMovedBack,
            "Before the heads are joined, the length must be brought back in front of them.",
        ),
    ],
)
