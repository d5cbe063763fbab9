"""Attributions: on a model whose answer is known, each finds the source token that is used."""

from typing import Any

import pytest
import torch
from torch import Tensor

from lessonkit.analysis.alignment import word_attention
from lessonkit.analysis.attribution import (
    METHODS,
    attention_weights,
    gradient_times_input,
    hiding,
    value_zeroing,
    word_attribution,
)
from lessonkit.analysis.heads import all_heads
from lessonkit.analysis.interventions import Hiding, edges_cut, every_head, without_heads
from transformer.config import BOS_ID, ModelConfig
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SRC = torch.tensor([[5, 6, 7, 8, 9, 3]])
TGT_IN = torch.tensor([[BOS_ID, 11, 12, 13]])
SAID = torch.tensor([[11, 12, 13, 14]])


def model(num_layers: int = 1) -> Transformer:
    torch.manual_seed(3)
    config = ModelConfig(
        d_model=14, d_ff=19, num_heads=2, num_layers=num_layers, d_k=5, d_v=3, pre_norm=True
    )
    return Transformer(config, src_vocab_size=29, tgt_vocab_size=29).double().eval()


def test_a_model_that_can_see_one_place_takes_all_from_it() -> None:
    """No heads in the encoder, and the edges of cross-attention to all other places cut."""
    made = model()
    encoder, cross = ([h for h in all_heads(made) if h.stack == s] for s in ("encoder", "cross"))
    for place in (0, 3):
        others = [(query, key) for query in range(4) for key in range(6) if key != place]
        expected = torch.zeros(4, 6, dtype=torch.float64)
        expected[:, place] = 1
        with without_heads(made, encoder), edges_cut(made, every_head(cross, others)):
            for method in (attention_weights, value_zeroing, gradient_times_input):
                torch.testing.assert_close(method(made, SRC, TGT_IN, SAID), expected)


def test_value_zeroing_by_hand() -> None:
    """One place at a time, with a hook of the test's own."""
    made, mask = model(num_layers=2), padding_mask(SRC)
    with torch.no_grad():
        memory, scores = made.encode(SRC, mask), torch.zeros(2, 4, 6, dtype=torch.float64)
        for number, layer in enumerate(made.decoder.layers):
            values: Any = layer.cross_attention.value_projection  # type: ignore[union-attr]

            def output(place: int | None, layer: Any = layer, values: Any = values) -> Tensor:
                def zero(_: object, __: object, given: Tensor) -> Tensor:
                    kept = torch.arange(given.shape[1]) != (-1 if place is None else place)
                    return given * kept[:, None]

                heard: list[Tensor] = []
                hook = layer.register_forward_hook(lambda _, __, out: heard.append(out[0]))
                with hook, values.register_forward_hook(zero):
                    made.decode(TGT_IN, memory, mask)
                return heard[0][0]

            for place in range(6):
                alike = torch.cosine_similarity(output(None), output(place), dim=-1)
                scores[number, :, place] = 1 - alike
    expected = scores.mean(0) / scores.mean(0).sum(-1, keepdim=True)
    torch.testing.assert_close(value_zeroing(made, SRC, TGT_IN, SAID), expected)


def test_gradient_times_input_is_the_slope() -> None:
    """By finite differences: the logit when the embedding grows by a little."""
    made, mask, step = model(num_layers=2), padding_mask(SRC), 1e-6

    def logit(place: int, grown: float) -> Tensor:
        embedded = made.src_embedding(SRC).clone()
        embedded[:, place] *= 1 + grown
        memory = made.encoder(embedded, mask)[0]
        return made.decode(TGT_IN, memory, mask)[0].gather(-1, SAID.T)[:, 0]

    with torch.no_grad():
        slopes = torch.stack(
            [(logit(p, step) - logit(p, -step)).abs() / (2 * step) for p in range(6)], dim=1
        )
    expected = slopes / slopes.sum(-1, keepdim=True)
    shares = gradient_times_input(made, SRC, TGT_IN, SAID)
    torch.testing.assert_close(shares, expected, atol=1e-6, rtol=1e-5)


def test_hiding_is_the_loss_when_the_decoder_cannot_look() -> None:
    made, mask = model(num_layers=2), padding_mask(SRC)
    rows = SAID.T
    with torch.no_grad():
        memory = made.encode(SRC, mask)
        whole = made.decode(TGT_IN, memory, mask)[0].log_softmax(-1).gather(-1, rows)[:, 0]
        lost = []
        for place in range(6):
            logits = Hiding(made, after=[place]).decode(TGT_IN, memory, mask)[0]
            lost.append(whole - logits.log_softmax(-1).gather(-1, rows)[:, 0])
    expected = torch.stack(lost, dim=1).clamp(min=0)
    expected = expected / expected.sum(-1, keepdim=True)
    torch.testing.assert_close(hiding(made, SRC, TGT_IN, SAID), expected)


def test_words_get_their_pieces_shares(shipped: Translator) -> None:
    src, tgt = "The clever saleswoman is reading.", "La vendeuse intelligente lit."
    seen = word_attribution(shipped, src, tgt, attention_weights)
    known = word_attention(shipped, src, tgt)
    assert (seen.src_words, seen.tgt_words) == (known.src_words, known.tgt_words)
    mean = known.weights.mean(dim=(0, 1))
    torch.testing.assert_close(seen.weights[0, 0], mean, atol=1e-5, rtol=1e-4)
    for name, method in METHODS.items():
        weights = word_attribution(shipped, src, tgt, method).weights
        assert weights.shape == (1, 1, 5, 7)
        if name != "gradient times input":
            assert weights[0, 0, 1].argmax() == 2  # vendeuse takes most from saleswoman


def test_errors(shipped: Translator) -> None:
    with pytest.raises(UserError, match="a recurrent network"):
        word_attribution(Translator.load("demo-lstm"), "A cat.", "Un chat.", hiding)
    with pytest.raises(UserError, match="no words to align"):
        word_attribution(shipped, " ", "Un chat.", hiding)
