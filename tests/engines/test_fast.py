"""The fast Transformer and its search are the textbook's, in whatever shape and company."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engines.fast.network import BLOCK, FastTransformer, state_of
from engines.fast.search import best_continuations, fast_beam_search
from tests.helpers.scripted import padded_sources
from transformer.config import EOS_ID, ModelConfig, Positions
from transformer.decoding import beam_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

VOCAB = 1009  # more than a few groups of types, and the last group is not whole

SHAPES: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"pre_norm": True},
    "biases": {"attention_bias": True, "output_bias": True},
    "heads of other widths": {"d_k": 3, "d_v": 5},
    "not tied": {"tie_softmax": False, "tie_source_target": False},
    "learned": {"positions": Positions.LEARNED},
    "concatenated": {
        "positions": Positions.CONCATENATED,
        "position_dim": 3,
        "tie_softmax": False,
    },
}


def make(**changes: Any) -> Transformer:
    """A small model whose biases and norms are not as they begin, and whose softmax is sharp."""
    torch.manual_seed(5)
    sizes = {"d_model": 14, "d_ff": 29, "num_heads": 7, "num_layers": 3, "max_len": 71}
    config = ModelConfig(**sizes, **changes)
    model = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape), alpha=0.3)
        model.output.weight.mul_(2)
    return model


@pytest.fixture(scope="module")
def src() -> Tensor:
    return padded_sources(VOCAB)


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES)
@torch.inference_mode()
def test_memory_and_logits_are_the_textbooks(changes: dict[str, Any], src: Tensor) -> None:
    model = make(**changes)
    fast, mask = FastTransformer(model), padding_mask(src)
    memory = model.encode(src, mask)
    torch.testing.assert_close(fast.encode(src, mask), memory)
    tgt_in = torch.randint(4, VOCAB, (5, 2 * BLOCK + 3))  # room is made twice
    cache = fast.new_cache(memory, mask, 1)
    steps = [fast.step(ids, cache) for ids in tgt_in.unbind(dim=1)]
    wanted = model.decode(tgt_in, memory, mask)
    torch.testing.assert_close(torch.stack(steps, dim=1), wanted, rtol=1e-4, atol=1e-4)


def test_what_is_not_just_the_textbooks_model_is_left_alone() -> None:
    class Other(nn.ReLU):
        pass

    def replace(model: Transformer) -> None:
        model.decoder.layers[0].feed_forward = Other()

    def overrule(model: Transformer) -> None:
        model.decoder.layers[0].forward = lambda *_: None

    for change in (
        lambda model: model.encoder.layers[1].register_forward_pre_hook(lambda *_: None),
        *(replace, overrule),
        lambda model: model.train(),
        lambda model: model.double(),
    ):
        model = make()
        assert state_of(model) is not None
        change(model)
        assert state_of(model) is None


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


def test_past_the_last_position_there_is_an_error_in_a_line(src: Tensor) -> None:
    fast, long = FastTransformer(make()), src.repeat(1, 6)
    with pytest.raises(UserError, match="72 tokens are more than max_len 71"):
        fast_beam_search(fast, src[:1], beam_size=1, alpha=0.0, extra_length=200)
    with pytest.raises(UserError, match="78 tokens are more than max_len 71"):
        fast.encode(long, padding_mask(long))


def test_a_translator_sees_that_its_models_weights_have_changed(tiny_folder: Path) -> None:
    translator, sentence = Translator.load(tiny_folder), ["The dog sees a cat."]
    before = translator.translate(sentence)
    fast = translator._searcher.fast
    assert isinstance(fast, FastTransformer)
    translator.translate(sentence)
    assert translator._searcher.fast is fast
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
