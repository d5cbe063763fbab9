"""The fast search finds what the plain one finds; its parts against a flat topk, and by hand."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from engines.fast.network import FastTransformer
from engines.fast.search import best_continuations, fast_beam_search, stay_in_place
from tests.engines.fast.test_network import SHAPES, VOCAB, make
from tests.helpers.sources import padded_sources
from transformer.config import EOS_ID
from transformer.decoding import beam_search
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError


@pytest.fixture(scope="module")
def src() -> Tensor:
    return padded_sources(VOCAB)


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_it_finds_what_the_plain_search_finds(
    changes: dict[str, Any], beam_size: int, src: Tensor
) -> None:
    model = make(**changes)
    options: dict[str, Any] = {"beam_size": beam_size, "alpha": 0.6, "extra_length": 17}
    found = fast_beam_search(FastTransformer(model), src, **options)
    for ours, theirs in zip(found, beam_search(model, src, **options), strict=True):
        assert [(h.ids, h.finished) for h in ours] == [(h.ids, h.finished) for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], rel=1e-4)


@pytest.mark.parametrize("vocab_size", [63, 64, 65, 130, 10_000])
@pytest.mark.parametrize("number", [1, 8])
def test_the_best_continuations_are_those_of_a_flat_topk(vocab_size: int, number: int) -> None:
    for seed in range(20):
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


def test_who_can_stays_in_place() -> None:
    for chosen, placed in (
        ([0, 2, 5, 6], [0, 6, 2, 5]),  # 1, 3 and 4 of 7 have left: the last take their places
        ([3, 3, 0, 3], [0, 3, 3, 3]),
        ([1, 0, 2], [0, 1, 2]),
        ([3], [3]),
        ([], []),
    ):
        assert [chosen[number] for number in stay_in_place(chosen)] == placed


def test_past_the_last_position_there_is_an_error_in_a_line(src: Tensor) -> None:
    fast = FastTransformer(make())
    with pytest.raises(UserError, match="72 tokens are more than max_len 71"):
        fast_beam_search(fast, src[:1], beam_size=1, alpha=0.0, extra_length=200)


def test_a_translator_sees_that_its_models_weights_have_changed(tiny_folder: Path) -> None:
    translator, sentence = Translator.load(tiny_folder), ["The dog sees a cat."]
    before = translator.translate(sentence)
    fast = translator._searcher.fast
    assert isinstance(fast, FastTransformer)
    translator.translate(sentence)
    assert translator._searcher.fast is fast
    assert isinstance(translator.model, Transformer)
    with torch.no_grad():
        for parameter in translator.model.encoder.parameters():
            parameter.mul_(-1)
    src = torch.tensor([[*translator.src_tokenizer.encode(sentence[0]), EOS_ID]])
    found = beam_search(translator.model, src, max_len=255)[0][0]
    assert translator.translate(sentence) == [translator.tgt_tokenizer.decode(found.ids)]
    assert translator.translate(sentence) != before
    assert translator._searcher.fast is not fast


def test_a_model_made_in_inference_mode_is_searched_itself(tiny_folder: Path) -> None:
    with torch.inference_mode():
        translator = Translator.load(tiny_folder)
        said = translator.translate(["A dog."])
        assert translator._searcher.fast is None
    assert said == Translator.load(tiny_folder).translate(["A dog."])
