"""The fast Transformer is the textbook's, to rounding, in whatever shape and company."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.sources import padded_sources
from transformer.config import EOS_ID, PAD_ID, ModelConfig, Positions
from transformer.decoding import beam_search, greedy_search
from transformer.fast.fast_transformer import BLOCK, FastTransformer, place_rows, state_of
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
    wanted = model.decode(tgt_in, memory, mask)
    torch.testing.assert_close(fast.decode(tgt_in, memory, mask), wanted, rtol=1e-4, atol=1e-4)
    cache = fast.new_cache()
    parts = [fast.decode(part, memory, mask, cache) for part in tgt_in.split((1, 5, 29), dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("use_cache", [True, False])
def test_searches_find_the_same(changes: dict[str, Any], src: Tensor, use_cache: bool) -> None:
    model = make(**changes)
    fast = FastTransformer(model)
    options: dict[str, Any] = {"extra_length": 17, "use_cache": use_cache}
    greedy = greedy_search(fast, src, **options)
    for ours, theirs in zip(greedy, greedy_search(model, src, **options), strict=True):
        assert (ours.ids, ours.finished) == (theirs.ids, theirs.finished)
        assert ours.score == pytest.approx(theirs.score, rel=1e-4)
    beams = beam_search(fast, src, beam_size=3, **options)
    wanted = beam_search(model, src, beam_size=3, **options)
    for ours, theirs in zip(beams, wanted, strict=True):
        assert [h.ids for h in ours] == [h.ids for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], rel=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_neighbours_change_nothing(src: Tensor, beam_size: int) -> None:
    fast = FastTransformer(make())
    together = beam_search(fast, src, beam_size=beam_size, extra_length=17)
    for row, found in zip(src, together, strict=True):
        (alone,) = beam_search(fast, row[row != PAD_ID][None], beam_size=beam_size, extra_length=17)
        assert [h.ids for h in alone] == [h.ids for h in found]


@torch.inference_mode()
def test_a_reordered_cache_is_that_of_the_other_prefixes(src: Tensor) -> None:
    fast, mask = FastTransformer(make()), padding_mask(src)
    memory, tgt_in = fast.encode(src, mask), torch.randint(4, VOCAB, (10, 4))  # two of each source
    rows = torch.tensor([0, 0, 3, 2, 4, 5, 7, 7, 9, 8])
    moved, other = fast.new_cache(), fast.new_cache()
    fast.decode(tgt_in[:, :3], memory, mask, moved)
    moved.reorder(rows)
    fast.decode(tgt_in[rows, :3], memory, mask, other)
    last = tgt_in[:, 3:]
    after = fast.decode(last, memory, mask, moved)
    torch.testing.assert_close(after, fast.decode(last, memory, mask, other))
    kept = torch.tensor([9, 8, 2, 3])
    other.select(kept)
    left = fast.decode(last[kept], memory[[4, 1]], mask[[4, 1]], other)
    moved.select(kept)
    torch.testing.assert_close(left, fast.decode(last[kept], memory[[4, 1]], mask[[4, 1]], moved))
    assert left.shape == (4, 1, VOCAB)


def test_rows_are_placed_where_they_are_kept() -> None:
    kept = torch.arange(2 * 5 * 3).view(2, 5, 3)
    before = kept.clone()
    place_rows(kept[:, :, :2], torch.tensor([0, 4, 2]))  # of each row, two of three numbers
    assert torch.equal(kept[:, 1, :2], before[:, 4, :2])
    kept[:, 1, :2] = before[:, 1, :2]
    assert torch.equal(kept, before)  # nothing else was written


def test_past_the_last_position_there_is_an_error_in_a_line(src: Tensor) -> None:
    fast = FastTransformer(make())
    with pytest.raises(UserError, match="72 tokens are more than max_len 71"):
        greedy_search(fast, src[:1], extra_length=200)
    with pytest.raises(UserError, match="78 tokens are more than max_len 71"):
        fast.encode(src.repeat(1, 6), padding_mask(src.repeat(1, 6)))


def hook(model: Transformer) -> None:
    model.encoder.layers[1].register_forward_pre_hook(lambda *_: None)


def replace(model: Transformer) -> None:
    class Other(nn.ReLU):
        pass

    model.decoder.layers[0].feed_forward = Other()


def overrule(model: Transformer) -> None:
    model.decoder.layers[0].forward = lambda *_: None


def train(model: Transformer) -> None:
    model.train()


def widen(model: Transformer) -> None:
    model.double()


@pytest.mark.parametrize("change", [hook, replace, overrule, train, widen])
def test_what_is_not_just_the_textbooks_model_is_left_alone(change: Any) -> None:
    model = make()
    assert state_of(model) is not None
    change(model)
    assert state_of(model) is None


def test_a_translator_sees_that_its_models_weights_have_changed(tiny_folder: Path) -> None:
    translator, sentence = Translator.load(tiny_folder), ["The dog sees a cat."]
    before = translator.translate(sentence)
    assert isinstance(translator._searched(), FastTransformer)
    assert translator._searched() is translator._searched()
    assert isinstance(translator.model, Transformer)
    with torch.no_grad():
        for parameter in translator.model.encoder.parameters():
            parameter.mul_(-1)
    src = torch.tensor([[*translator.src_tokenizer.encode(sentence[0]), EOS_ID]])
    found = beam_search(translator.model, src, max_len=255)[0][0]
    assert translator.translate(sentence) == [translator.tgt_tokenizer.decode(found.ids)]
    assert translator.translate(sentence) != before


def test_a_model_made_in_inference_mode_is_searched_itself(tiny_folder: Path) -> None:
    with torch.inference_mode():
        translator = Translator.load(tiny_folder)
        said = translator.translate(["A dog."])
        assert translator._searched() is translator.model
    assert said == Translator.load(tiny_folder).translate(["A dog."])
