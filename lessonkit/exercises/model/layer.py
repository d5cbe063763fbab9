"""The hard exercise of lesson 04: a decoder layer, put together in both orders (§3.1, §5.4)."""

import itertools
from typing import Any

import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Layer
from transformer.masks import causal_mask

words = read_words("04")


def my_decoder_layer(
    hidden: Tensor, memory: Tensor, tgt_mask: Tensor, src_mask: Tensor, layer: Any, pre_norm: bool
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


class _Dropout(nn.Module):
    """A layer's own dropout, in a shape that PyTorch's layer can hold."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden: Tensor) -> Tensor:
        return self.layer.dropout(hidden)


def _with_weights_of(layer: Layer, pre_norm: bool) -> nn.TransformerDecoderLayer:
    """Give PyTorch's layer our weights."""
    width, heads, d_ff = layer.d_model, layer.num_heads, layer.inner.shape[1]
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
    return theirs


def _by_torch(
    hidden: Tensor, memory: Tensor, tgt_mask: Tensor, src_mask: Tensor, layer: Layer, pre_norm: bool
) -> Tensor:
    """Let PyTorch's layer do it; its masks say what may *not* be seen, head by head."""
    size = len(hidden), layer.num_heads, hidden.shape[1]
    shut = [
        ~mask.expand(*size, length).flatten(0, 1)
        for mask, length in ((tgt_mask, hidden.shape[1]), (src_mask, memory.shape[1]))
    ]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        theirs = _with_weights_of(layer, pre_norm)
        return theirs(hidden, memory, tgt_mask=shut[0], memory_mask=shut[1])


def _layer_cases() -> list[tuple[Tensor, Tensor, Tensor, Tensor, Layer, bool]]:
    """One token and more, as many as the source has and not; dropout off and on, both orders."""
    generator = torch.Generator().manual_seed(0)
    cases = []
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
_SELF = "lambda x: layer.self_attention(x, x, tgt_mask),\n"
_CROSS = "lambda x: layer.cross_attention(x, memory, src_mask),\n"
_PRE, _POST = "layer.dropout(sublayer(norm(hidden)))", "layer.dropout(sublayer(hidden))"

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
        "always_after": ("if pre_norm:", "if False:"),
        "always_before": ("if pre_norm:", "if True:"),
        "source_first": (f"{_SELF}        {_CROSS}", f"{_CROSS}        {_SELF}"),
        "masks_swapped": (
            *("(x, x, tgt_mask)", "(x, x, src_mask)"),
            *("(x, memory, src_mask)", "(x, memory, tgt_mask)"),
        ),
        "source_not_read": ("(x, memory, src_mask)", "(x, x, src_mask)"),
        "memory_normed": (
            "(x, memory, src_mask)",
            "(x, layer.norms[1](memory) if pre_norm else memory, src_mask)",
        ),
        "normed_on_the_road": (f"hidden + {_PRE}", f"norm(hidden) + {_PRE}"),
        "no_sum": (f"hidden + {_PRE}", _PRE, f"hidden + {_POST}", _POST),
        "dropped_after_the_sum": (
            *(f"hidden + {_PRE}", "layer.dropout(hidden + sublayer(norm(hidden)))"),
            *(f"hidden + {_POST}", "layer.dropout(hidden + sublayer(hidden))"),
        ),
        "never_drops": (_PRE, "sublayer(norm(hidden))", _POST, "sublayer(hidden)"),
    },
)
