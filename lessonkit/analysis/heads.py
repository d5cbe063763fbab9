"""What single attention heads do, measured, and a model without some of them (§3.2.2, appendix)."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.attention import MultiHeadAttention
from transformer.model import AttentionMaps, Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

STACKS = AttentionMaps._fields


class Head(NamedTuple):
    """One attention head of a model; `layer` and `head` count from 1.

    Attributes:
        stack: "encoder" or "decoder" (their self-attention), or "cross".
        layer: 1 is the one next to the embeddings.
        head: Its place in the layer; nothing orders the heads of a layer.
    """

    stack: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.stack} {self.layer}.{self.head}"

    def part(self, d_v: int) -> slice:
        """Give its place among the joined outputs of its layer's heads, num_heads * d_v wide."""
        return slice((self.head - 1) * d_v, self.head * d_v)


def all_heads(model: Transformer) -> list[Head]:
    """Name every head of a model: stack by stack, layer by layer."""
    layers, heads = model.config.num_layers, model.config.num_heads
    return [
        Head(stack, layer, head)
        for stack in STACKS
        for layer in range(1, layers + 1)
        for head in range(1, heads + 1)
    ]


@contextmanager
def without_heads(model: Transformer, removed: Collection[Head]) -> Iterator[Transformer]:
    """Run a model without some heads; afterwards it has them again.

    Not in the paper (Michel et al. 2019 do this). The output projection adds up what the
    heads give, each through columns of its own (§3.2.2). With these columns at 0 the head
    adds nothing, as if it were not there.

    Args:
        model: Changed in place inside the `with` block.
        removed: Which heads.

    Raises:
        UserError: the model has no such head.
    """
    kept = [(columns, columns.clone()) for columns in (_columns(model, h) for h in set(removed))]
    try:
        for columns, _ in kept:
            columns.zero_()
        yield model
    finally:
        for columns, before in kept:
            columns.copy_(before)


def _columns(model: Transformer, head: Head) -> Tensor:
    """Give the part of the output projection that reads a head, (d_model, d_v)."""
    weight = attention_of(model, head).output_projection.weight.detach()  # the model's memory
    return weight[:, head.part(model.config.value_size)]


def attention_of(model: Transformer, head: Head) -> MultiHeadAttention:
    """Give the attention that a head is one of.

    Raises:
        UserError: the model has no such head.
    """
    if head not in all_heads(model):
        raise UserError(
            f"no head {head}: the model has the stacks {', '.join(STACKS)}, "
            f"{model.config.num_layers} layers and {model.config.num_heads} heads, from 1"
        )
    if head.stack == "encoder":
        return model.encoder.layers[head.layer - 1].self_attention  # type: ignore[return-value]
    layer = model.decoder.layers[head.layer - 1]
    return layer.self_attention if head.stack == "decoder" else layer.cross_attention  # type: ignore[return-value]


def entropy(weights: Tensor) -> Tensor:
    """Measure how widely each query spreads its attention.

    Not in the paper. 0 nats: all on one key; ln k: evenly over k keys.

    Args:
        weights: (..., q_len, k_len), each row summing to 1.

    Returns:
        Nats, (..., q_len).
    """
    return torch.special.entr(weights).sum(-1)  # entr(0) is 0


def distance(weights: Tensor) -> Tensor:
    """Measure how far from its own place each query attends, on average.

    Not in the paper. Query i and key i stand in the same place.

    Args:
        weights: (..., q_len, k_len), each row summing to 1.

    Returns:
        Tokens, (..., q_len).
    """
    q_len, k_len = weights.shape[-2:]
    places = torch.arange(max(q_len, k_len), device=weights.device)
    apart = (places[:q_len, None] - places[None, :k_len]).abs()
    return (weights * apart).sum(-1)


class HeadFigures(NamedTuple):
    """Means over every query token of some sentences, (num_layers, num_heads) each.

    Attributes:
        entropy: Nats.
        distance: Tokens.
    """

    entropy: Tensor
    distance: Tensor


def head_figures(translator: Translator, sentences: Sequence[str]) -> dict[str, HeadFigures]:
    """Measure every head while a model translates.

    Not in the paper.

    Args:
        translator: The model.
        sentences: Plain text, none empty.

    Returns:
        The figures of each stack of `STACKS`.

    Raises:
        UserError: there are no sentences, or one is empty.
    """
    if not sentences:
        raise UserError("no sentences to measure the heads on: give at least one")
    sums: dict[str, list[Tensor]] = {stack: [] for stack in STACKS}
    tokens = dict.fromkeys(STACKS, 0)
    for sentence in sentences:
        maps = translator.attention(sentence, beam_size=1).maps._asdict()
        for stack, weights in maps.items():
            rows = weights[:, 0]  # (num_layers, num_heads, q_len, k_len)
            measured = torch.stack((entropy(rows), distance(rows)))
            sums[stack].append(measured.sum(-1))
            tokens[stack] += rows.shape[-2]
    return {s: HeadFigures(*(torch.stack(sums[s]).sum(0) / tokens[s])) for s in STACKS}
