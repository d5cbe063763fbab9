"""The translator's search finds what the paper's does, in whatever network and company."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.helpers.scripted import padded_sources
from transformer.attention import MultiHeadAttention
from transformer.config import BOS_ID, EOS_ID, PAD_ID, ModelConfig
from transformer.decoding import beam_search, top_continuations
from transformer.fast_search import fast_beam_search, fast_top_continuations
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.modern import find_parts
from transformer.support.errors import UserError

VOCAB = 1009  # more than a few groups of types, and the last group is not whole


def make_model(parts_name: str = "paper", **settings: Any) -> Transformer:
    sizes: dict[str, Any] = {"d_model": 14, "d_ff": 29, "num_heads": 7, "num_layers": 3}
    settings.setdefault("max_len", 71)
    config, parts = ModelConfig(**(sizes | settings)), find_parts(parts_name)
    model = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB, parts=parts).eval()
    with torch.no_grad():
        model.output.weight.mul_(2)  # so that the softmax is sharp
    return model


def assert_same_search(model: Any, src: torch.Tensor, **options: Any) -> None:
    found, plain = fast_beam_search(model, src, **options), beam_search(model, src, **options)
    for ours, theirs in zip(found, plain, strict=True):
        assert [(h.ids, h.finished) for h in ours] == [(h.ids, h.finished) for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], rel=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("network", ["post-norm", "pre-norm", "biases", "modern", "LSTM"])
def test_it_finds_what_the_plain_search_finds(network: str, beam_size: int) -> None:
    torch.manual_seed(5)
    biases: Any = {"attention_bias": True, "output_bias": True, "positions": "learned"}
    make: Any = {
        "post-norm": make_model,
        "pre-norm": partial(make_model, pre_norm=True),
        "biases": partial(make_model, **biases),
        "modern": partial(make_model, "modern", num_heads=2, d_k=6),
        "LSTM": lambda: Translator.load("demo-lstm").model,
    }
    model: Any = make[network]()
    with torch.no_grad():
        for bias in (p for name, p in model.named_parameters() if name.endswith("bias")):
            bias.normal_()
    src = padded_sources(VOCAB if network != "LSTM" else 300)
    # Longer than the room that a cache has at first.
    assert_same_search(model, src, beam_size=beam_size, alpha=0.6, extra_length=41)


@pytest.mark.parametrize("beam_size", [1, 4, 13])
def test_it_finds_it_where_there_is_next_to_nothing(beam_size: int) -> None:
    torch.manual_seed(6)
    sizes: Any = {"d_model": 6, "d_ff": 5, "num_heads": 3, "num_layers": 2, "max_len": 11}
    config = ModelConfig(**sizes, tie_source_target=False)
    model = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=5).eval()
    sources = ([EOS_ID], [PAD_ID, PAD_ID], [7, EOS_ID], [7, PAD_ID], [*range(5, 15), EOS_ID])
    for source in sources:
        assert_same_search(model, torch.tensor([source]), beam_size=beam_size, max_len=10)
    together = torch.tensor([[EOS_ID, PAD_ID], [PAD_ID, PAD_ID], [7, EOS_ID]])
    assert_same_search(model, together, beam_size=beam_size, max_len=10)


def test_weights_that_change_are_read_anew() -> None:
    torch.manual_seed(5)
    model, src = make_model(attention_bias=True), padded_sources(VOCAB)[1:3]
    layer: Any = model.decoder.layers[1]
    for weight in (*layer.parameters(), *model.decoder.norm.parameters(), model.output.weight):
        fast_beam_search(model, src, beam_size=1, max_len=2)
        weight.data.add_(torch.randn(weight.shape))  # PyTorch does not count such a change
        assert_same_search(model, src, beam_size=1, max_len=2)
    assert_same_search(model.double(), src, beam_size=1, max_len=2)


def test_a_decoder_with_anything_of_ones_own_runs_itself() -> None:
    torch.manual_seed(5)
    src, calls = padded_sources(VOCAB), []
    for path in ("decoder.layers.1.cross_attention", "output", "decoder.norm"):
        model = make_model()
        model.get_submodule(path).register_forward_hook(lambda *call: calls.append(call[0]))
        fast_beam_search(model, src, extra_length=2)
        assert calls.pop() is model.get_submodule(path)
    model = make_model()
    attention: Any = model.decoder.layers[0].self_attention
    attention.attend = lambda queries, *others: (torch.zeros_like(queries), None)
    assert_same_search(model, src, extra_length=2)
    for other in (make_model(d_k=3), make_model().bfloat16()):
        assert_same_search(other, src, beam_size=1, alpha=0.0, extra_length=7)


def without_norm(layer: Any) -> None:
    layer.cross_attention_residual.norm = nn.Identity()


def with_linear_feed_forward(layer: Any) -> None:
    layer.feed_forward = nn.Linear(14, 14)


def with_norm_first(layer: Any) -> None:
    layer.self_attention_residual.pre_norm = True


def without_heads(layer: Any) -> None:
    layer.self_attention = MultiHeadAttention(14, 3, 2, 2)


def with_wider_heads(layer: Any) -> None:
    layer.self_attention = MultiHeadAttention(14, 7, 3, 3)


def without_bias_of_keys(layer: Any) -> None:
    for attention in (layer.self_attention, layer.cross_attention):
        attention.query_projection.bias = nn.Parameter(torch.ones(14))
        attention.value_projection.bias = nn.Parameter(torch.ones(14))


@pytest.mark.parametrize(
    "alter",
    [
        *(without_norm, with_linear_feed_forward, with_norm_first, without_heads),
        *(with_wider_heads, without_bias_of_keys),
    ],
)
def test_a_layer_that_was_altered_computes_what_it_is_now(alter: Any) -> None:
    torch.manual_seed(5)
    model, src = make_model(), padded_sources(VOCAB)
    alter(model.decoder.layers[1])
    assert_same_search(model.eval(), src, beam_size=2, extra_length=4)


def test_a_model_that_was_altered_computes_what_it_is_now() -> None:
    torch.manual_seed(5)
    model, src = make_model(), padded_sources(VOCAB)
    model.decoder.layers = model.decoder.layers[:-1]
    assert_same_search(model.eval(), src, beam_size=2, extra_length=4)
    plain: Any = model.decode_hidden
    model.decode_hidden = lambda *arguments: -plain(*arguments)  # type: ignore[method-assign]
    assert_same_search(model, src, beam_size=2, extra_length=4)


def test_it_picks_the_continuations_that_the_plain_search_picks() -> None:
    for vocab_size, count, seed in product((63, 64, 65, 130, 10_000), (1, 8), range(20)):
        generator = torch.Generator().manual_seed(seed)
        beam_size = 1 if count == 1 else 4
        logits = torch.randn(5, beam_size, vocab_size, generator=generator)
        if seed % 2:  # ties everywhere: of equals any will do, but none twice
            logits = logits.round()
        prefix_scores = torch.randn(5, beam_size, generator=generator) * (seed % 3)
        expected, _ = top_continuations(logits, prefix_scores, count)
        log_probs = logits.log_softmax(dim=-1)
        totals = (prefix_scores[:, :, None] + log_probs).flatten(start_dim=1)
        scores, indices = fast_top_continuations(logits, prefix_scores, count)
        torch.testing.assert_close(scores, expected, rtol=0, atol=0)
        torch.testing.assert_close(totals.gather(1, indices), scores, rtol=0, atol=0)
        assert all(len(set(row)) == count for row in indices.tolist())
        assert not {PAD_ID, BOS_ID} & set((indices % vocab_size).flatten().tolist())


def test_past_the_last_position_there_is_an_error_in_a_line(tiny_folder: Path) -> None:
    model: Any = Translator.load(tiny_folder).model
    src = torch.full((1, 5), 7)
    with pytest.raises(UserError, match="257 tokens are more than max_len 256"):
        fast_beam_search(model, src, beam_size=1, alpha=0.0, extra_length=400)
