"""The hard exercise of lesson 04: a decoder layer, put together in both orders (§3.1, §5.4)."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Layer
from transformer.masks import causal_mask

words = read_words("04")


def my_decoder_layer(
    hidden: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    layer: Any,
    pre_norm: bool,
) -> Tensor:
    """(batch, tgt_len, d_model) -> the same shape."""
    sublayers = (
        lambda x: layer.self_attention(x, x, tgt_mask),
        lambda x: layer.cross_attention(x, memory, src_mask),
        layer.feed_forward,
    )
    for sublayer, norm in zip(sublayers, layer.norms, strict=True):
        if pre_norm:
            hidden = hidden + layer.dropout(sublayer(norm(hidden)))
        else:
            hidden = norm(hidden + layer.dropout(sublayer(hidden)))
    return hidden


Case = tuple[Tensor, Tensor, Tensor, Tensor, Layer, bool]
Map = Callable[[Tensor], Tensor]
Frame = Callable[[Tensor, Map, Map, Map, bool], Tensor]


def _framed(x: Tensor, sublayer: Map, norm: Map, drop: Map, pre_norm: bool) -> Tensor:
    return x + drop(sublayer(norm(x))) if pre_norm else norm(x + drop(sublayer(x)))


def _put_together(case: Any, frame: Frame = _framed, order: str = "scf") -> Tensor:
    """Do it with another frame around the sub-layers, or in another order."""
    hidden, memory, tgt_mask, src_mask, layer, pre_norm = case
    sublayers = {
        "s": lambda x: layer.self_attention(x, x, tgt_mask),
        "c": lambda x: layer.cross_attention(x, memory, src_mask),
        "n": lambda x: layer.cross_attention(x, layer.norms[1](memory), src_mask),
        "i": lambda x: layer.cross_attention(x, x, src_mask),
        "f": layer.feed_forward,
    }
    for name, norm in zip(order, layer.norms, strict=True):
        hidden = frame(hidden, sublayers[name], norm, layer.dropout, pre_norm)
    return hidden


def always_after(*case: Any) -> Tensor:
    """Know one order only, the paper's."""
    return _put_together((*case[:-1], False))


def always_before(*case: Any) -> Tensor:
    """Know one order only, the newer one."""
    return _put_together((*case[:-1], True))


def source_first(*case: Any) -> Tensor:
    """Look at the source before looking at what has been written."""
    return _put_together(case, order="csf")


def masks_swapped(*case: Any) -> Tensor:
    """Give each attention the other's mask."""
    hidden, memory, tgt_mask, src_mask, layer, pre_norm = case
    return my_decoder_layer(hidden, memory, src_mask, tgt_mask, layer, pre_norm)


def source_not_read(*case: Any) -> Tensor:
    """Let the second attention look at the target too."""
    return _put_together(case, order="sif")


def memory_normed(*case: Any) -> Tensor:
    """In pre-norm, normalise the memory like the queries."""
    return _put_together(case, order="snf" if case[-1] else "scf")


def normed_on_the_road(*case: Any) -> Tensor:
    """In pre-norm, add to what is normalised."""

    def frame(x: Tensor, sublayer: Map, norm: Map, drop: Map, pre_norm: bool) -> Tensor:
        return norm(x) + drop(sublayer(norm(x))) if pre_norm else norm(x + drop(sublayer(x)))

    return _put_together(case, frame)


def no_sum(*case: Any) -> Tensor:
    """Leave the residual connection out."""

    def frame(x: Tensor, sublayer: Map, norm: Map, drop: Map, pre_norm: bool) -> Tensor:
        return drop(sublayer(norm(x))) if pre_norm else norm(drop(sublayer(x)))

    return _put_together(case, frame)


def dropped_after_the_sum(*case: Any) -> Tensor:
    """Drop numbers of the sum, so that the residual connection loses some too."""

    def frame(x: Tensor, sublayer: Map, norm: Map, drop: Map, pre_norm: bool) -> Tensor:
        return drop(x + sublayer(norm(x))) if pre_norm else norm(drop(x + sublayer(x)))

    return _put_together(case, frame)


def never_drops(*case: Any) -> Tensor:
    """Forget dropout."""

    def frame(x: Tensor, sublayer: Map, norm: Map, drop: Map, pre_norm: bool) -> Tensor:
        return _framed(x, sublayer, norm, lambda hidden: hidden, pre_norm)

    return _put_together(case, frame)


class _Dropout(nn.Module):
    """A layer's own dropout, in a shape that PyTorch's layer can hold."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden: Tensor) -> Tensor:
        return self.layer.dropout(hidden)


def _by_torch(
    hidden: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    layer: Layer,
    pre_norm: bool,
) -> Tensor:
    """Give PyTorch's layer our weights; its masks say what may *not* be seen, head by head."""
    width, heads, d_ff = layer.d_model, layer.num_heads, layer.inner.shape[1]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        theirs = nn.TransformerDecoderLayer(
            width, heads, d_ff, dropout=0.0, batch_first=True, norm_first=pre_norm
        )
        for attention, weights in (
            (theirs.self_attn, layer.own),
            (theirs.multihead_attn, layer.cross),
        ):
            attention.in_proj_weight.copy_(torch.cat([matrix.T for matrix in weights[:3]]))
            attention.out_proj.weight.copy_(weights[3].T)
        for linear, matrix in ((theirs.linear1, layer.inner), (theirs.linear2, layer.outer)):
            linear.weight.copy_(matrix.T)
            linear.bias.zero_()
        for number, (gain, bias) in enumerate(zip(layer.gains, layer.biases, strict=True), start=1):
            norm = getattr(theirs, f"norm{number}")
            norm.weight.copy_(gain)
            norm.bias.copy_(bias)
            setattr(theirs, f"dropout{number}", _Dropout(layer))
        size = len(hidden), heads, hidden.shape[1]
        shut = [
            ~mask.expand(*size, length).flatten(0, 1)
            for mask, length in ((tgt_mask, hidden.shape[1]), (src_mask, memory.shape[1]))
        ]
        return theirs(hidden, memory, tgt_mask=shut[0], memory_mask=shut[1])


def _layer_cases() -> list[Case]:
    """One token and more, as many as the source has and not; dropout off and on, both orders."""
    generator = torch.Generator().manual_seed(0)
    cases: list[Case] = []
    for seed, (batch, tgt_len, src_len, num_heads, d_model) in enumerate(
        ((1, 2, 2, 1, 3), (1, 3, 2, 1, 2), (1, 3, 3, 2, 4), (2, 3, 5, 1, 7), (2, 5, 3, 3, 6))
    ):
        hidden = torch.randn(batch, tgt_len, d_model, generator=generator).round(decimals=1)
        memory = torch.randn(batch, src_len, d_model, generator=generator).round(decimals=1)
        src_mask = torch.ones(batch, 1, 1, src_len, dtype=torch.bool)
        src_mask[-1, ..., -1] = False
        for drops, pre_norm in itertools.product((False, True), repeat=2):
            layer = Layer(d_model, num_heads, seed, drops)
            cases.append((hidden, memory, causal_mask(tgt_len), src_mask, layer, pre_norm))
    return cases


_IN, _MEMORY = torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[1.0, 1.0]]])
_OPEN = torch.ones(1, 1, 1, 1, dtype=torch.bool)

decoder_layer = Exercise(
    my_decoder_layer,
    words,
    worked=[
        # every matrix is the identity, and one token attends to itself and to one other:
        # 1 3 + 1 3 is normed to -1 1; + 1 1 is 0 2, normed to -1 1; + 0 1 is -1 2, normed
        (
            (_IN, _MEMORY, _OPEN, _OPEN, Layer(2, 1), False),
            torch.tensor([[[-1.0, 1.0]]]),
        ),
        # 1 3 + -1 1 is 0 4; + 1 1 is 1 5; its norm is -1 1, of which the ReLU leaves 0 1
        (
            (_IN, _MEMORY, _OPEN, _OPEN, Layer(2, 1), True),
            torch.tensor([[[1.0, 6.0]]]),
        ),
        # dropout leaves 0 of the first number and makes 3/2 of the second:
        # 1 3 + 0 1.5 is 1 4.5; + 0 1.5 is 1 6; + 0 1.5
        (
            (_IN, _MEMORY, _OPEN, _OPEN, Layer(2, 1, None, drops=True), True),
            torch.tensor([[[1.0, 7.5]]]),
        ),
    ],
    cases=_layer_cases(),
    expected=_by_torch,
    wrong={
        "always_after": always_after,
        "always_before": always_before,
        "source_first": source_first,
        "masks_swapped": masks_swapped,
        "source_not_read": source_not_read,
        "memory_normed": memory_normed,
        "normed_on_the_road": normed_on_the_road,
        "no_sum": no_sum,
        "dropped_after_the_sum": dropped_after_the_sum,
        "never_drops": never_drops,
    },
)
