"""The translator's search finds what the paper's does, in whatever network and company."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from engines.search import best_continuations, quick_search
from tests.helpers.scripted import padded_sources
from transformer.config import ModelConfig
from transformer.decoding import beam_search
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
    found, plain = quick_search(model, src, **options), beam_search(model, src, **options)
    for ours, theirs in zip(found, plain, strict=True):
        assert [(h.ids, h.finished) for h in ours] == [(h.ids, h.finished) for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], rel=1e-4)


def test_the_best_continuations_are_those_of_a_flat_topk() -> None:
    for vocab_size, number, seed in product((63, 64, 65, 130, 10_000), (1, 8), range(20)):
        chance = torch.Generator().manual_seed(seed)
        prefixes = 1 if number == 1 else 4
        log_probs = torch.randn(5, prefixes, vocab_size, generator=chance)
        if seed % 2:  # ties everywhere: of equals any will do, but none twice
            log_probs = log_probs.round()
        scores = torch.randn(5, prefixes, generator=chance) * (seed % 3)
        flat = (scores[:, :, None] + log_probs).flatten(start_dim=1)
        found, places = best_continuations(log_probs, scores, number)
        torch.testing.assert_close(found, flat.topk(number)[0], rtol=0, atol=0)
        torch.testing.assert_close(flat.gather(1, places), found, rtol=0, atol=0)
        assert all(len(set(row)) == number for row in places.tolist())


def test_past_the_last_position_there_is_an_error_in_a_line(tiny_folder: Path) -> None:
    model: Any = Translator.load(tiny_folder).model
    src = torch.full((1, 5), 7)
    with pytest.raises(UserError, match="257 tokens are more than max_len 256"):
        quick_search(model, src, beam_size=1, alpha=0.0, extra_length=400)
