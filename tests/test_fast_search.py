"""The translator's search finds what the paper's does, in whatever network and company."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers.scripted import padded_sources
from transformer.config import BOS_ID, PAD_ID, ModelConfig
from transformer.decoding import beam_search, top_continuations
from transformer.fast_search import fast_beam_search, fast_top_continuations
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

VOCAB = 1009  # more than a few groups of types, and the last group is not whole


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("network", ["post-norm", "pre-norm", "LSTM"])
def test_it_finds_what_the_plain_search_finds(network: str, beam_size: int) -> None:
    torch.manual_seed(5)
    model: Any = Translator.load("demo-lstm").model
    if network != "LSTM":
        sizes = {"d_model": 14, "d_ff": 29, "num_heads": 7, "num_layers": 3, "max_len": 71}
        config = ModelConfig(**sizes, pre_norm=network == "pre-norm")
        model = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB).eval()
        with torch.no_grad():
            model.output.weight.mul_(2)  # so that the softmax is sharp
    src = padded_sources(VOCAB if network != "LSTM" else 300)
    options: dict[str, Any] = {"beam_size": beam_size, "alpha": 0.6, "extra_length": 17}
    found, plain = fast_beam_search(model, src, **options), beam_search(model, src, **options)
    for ours, theirs in zip(found, plain, strict=True):
        assert [(h.ids, h.finished) for h in ours] == [(h.ids, h.finished) for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], rel=1e-4)


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
