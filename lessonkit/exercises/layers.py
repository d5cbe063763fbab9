"""The exercises of lesson 04, in its order: a norm, a layer; its gaps are `own`'s.

`DecoderLayerParts` is its toy.
"""

import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler, seeded_generator
from lessonkit.exercises.toy_models import DecoderLayerParts
from lessonkit.exercises.wording import read_lesson_wording
from transformer.masks import causal_mask

lesson_wording = read_lesson_wording("04")
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
gradient_without_residuals = lesson_wording.prediction("gradient_without_residuals")
articles_without_unit = lesson_wording.prediction("articles_without_unit")


def my_layer_norm(hidden: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    """Bring each position to mean 0 and variance 1; then scale and shift."""
    mean = hidden.mean(dim=-1, keepdim=True)
    variance = ((hidden - mean) ** 2).mean(dim=-1, keepdim=True)
    return (hidden - mean) / torch.sqrt(variance + 1e-5) * gain + bias


def _layer_norm_cases() -> list[tuple[Tensor, Tensor, Tensor]]:
    generator, cases = seeded_generator(3), []
    for length, width in ((1, 2), (2, 3), (3, 5), (5, 7)):
        hidden = 4 * torch.rand(length, width, generator=generator) + 1
        gain = torch.rand(width, generator=generator) + 0.5
        cases.append((hidden, gain, torch.rand(width, generator=generator)))
    return cases


layer_norm = Exercise(
    my_layer_norm,
    lesson_wording,
    worked=[
        (
            (tensor([[1.0, 3.0]]), torch.ones(2), torch.zeros(2)),
            tensor([[-1.0, 1.0]]) / (1 + 1e-5) ** 0.5,
        ),
        ((tensor([[2.0, 2.0]]), torch.ones(2), tensor([5.0, 6.0])), tensor([[5.0, 6.0]])),
        (  # the variance is as small as what is added to it
            (tensor([[-1.0, 1.0]]) * 1e-5**0.5, torch.ones(2), torch.zeros(2)),
            tensor([[-1.0, 1.0]]) / 2**0.5,
        ),
    ],
    cases=_layer_norm_cases(),
    expected=lambda hidden, *affine: F.layer_norm(hidden, hidden.shape[-1:], *affine),
)


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


def _torch_decoder_layer_with_weights_of(
    layer: DecoderLayerParts, pre_norm: bool
) -> nn.TransformerDecoderLayer:
    width, heads, d_ff = layer.d_model, layer.num_heads, layer.inner.shape[1]
    theirs = nn.TransformerDecoderLayer(
        width, heads, d_ff, dropout=0.0, batch_first=True, norm_first=pre_norm
    )
    for attention, weights in (
        (theirs.self_attn, layer.self_weights),
        (theirs.multihead_attn, layer.cross_weights),
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
        delattr(theirs, f"dropout{number}")  # a module, in whose place a function may stand
        setattr(theirs, f"dropout{number}", layer.dropout)
    return theirs


def _decoder_layer_output_by_pytorch(
    hidden: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    layer: DecoderLayerParts,
    pre_norm: bool,
) -> Tensor:
    """Let PyTorch's layer do it; its masks say what may *not* be seen, head by head."""
    batch, tgt_len, _ = hidden.shape
    src_len = memory.shape[1]
    no_target = ~tgt_mask.expand(batch, layer.num_heads, tgt_len, tgt_len).flatten(0, 1)
    no_source = ~src_mask.expand(batch, layer.num_heads, tgt_len, src_len).flatten(0, 1)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        theirs = _torch_decoder_layer_with_weights_of(layer, pre_norm)
        return theirs(hidden, memory, tgt_mask=no_target, memory_mask=no_source)


def _decoder_layer_cases() -> list[tuple[Tensor, Tensor, Tensor, Tensor, DecoderLayerParts, bool]]:
    """One token and more, as many as the source has and not; dropout off and on, both orders."""
    draw, cases = make_normal_sampler(0), []
    for seed, (batch, tgt_len, src_len, num_heads, d_model) in enumerate(
        ((1, 2, 2, 1, 3), (1, 3, 2, 1, 2), (1, 3, 3, 2, 4), (2, 3, 5, 1, 7), (2, 5, 3, 3, 6))
    ):
        hidden = draw(batch, tgt_len, d_model).round(decimals=1)
        memory = draw(batch, src_len, d_model).round(decimals=1)
        src_mask = torch.ones(batch, 1, 1, src_len, dtype=torch.bool)
        src_mask[-1, ..., -1] = False
        for drops, pre_norm in itertools.product((False, True), repeat=2):
            layer = DecoderLayerParts(d_model, num_heads, seed, drops)
            cases.append((hidden, memory, causal_mask(tgt_len), src_mask, layer, pre_norm))
    return cases


_IN, _MEMORY = tensor([[[1.0, 3.0]]]), tensor([[[1.0, 1.0]]])
_ONE_KEY_MASK = torch.ones(1, 1, 1, 1, dtype=torch.bool)


decoder_layer = Exercise(
    my_decoder_layer,
    lesson_wording,
    worked=[
        # every matrix is the identity, and one token attends to itself and to one other:
        # 1 3 + 1 3 is normed to -1 1; + 1 1 is 0 2, normed to -1 1; + 0 1 is -1 2, normed
        (
            (_IN, _MEMORY, _ONE_KEY_MASK, _ONE_KEY_MASK, DecoderLayerParts(2, 1), False),
            tensor([[[-1.0, 1.0]]]),
        ),
        # 1 3 + -1 1 is 0 4; + 1 1 is 1 5; its norm is -1 1, of which the ReLU leaves 0 1
        (
            (_IN, _MEMORY, _ONE_KEY_MASK, _ONE_KEY_MASK, DecoderLayerParts(2, 1), True),
            tensor([[[1.0, 6.0]]]),
        ),
        # dropout leaves 0 of the first number and makes 3/2 of the second:
        # 1 3 + 0 1.5 is 1 4.5; + 0 1.5 is 1 6; + 0 1.5
        (
            (
                _IN,
                _MEMORY,
                _ONE_KEY_MASK,
                _ONE_KEY_MASK,
                DecoderLayerParts(2, 1, None, drops=True),
                True,
            ),
            tensor([[[1.0, 7.5]]]),
        ),
    ],
    cases=_decoder_layer_cases(),
    expected=_decoder_layer_output_by_pytorch,
)
