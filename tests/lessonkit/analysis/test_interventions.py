"""Taking away: what is hidden has no influence, what is not hidden keeps it."""

import pytest
import torch

from lessonkit.analysis.heads import Head, all_heads, attention_of, without_heads
from lessonkit.analysis.interventions import (
    Hiding,
    heads_replaced,
    mean_outputs,
    next_token,
    translate_hiding,
)
from transformer.config import BOS_ID, ModelConfig
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

VOCAB = 29


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    config = ModelConfig(d_model=14, d_ff=19, num_heads=2, num_layers=3, d_k=5, d_v=3)
    return Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB).double().eval()


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo-en-fr")


SRC = torch.tensor([[5, 6, 7, 8, 9, 3]])
TGT_IN = torch.tensor([[BOS_ID, 11, 12, 13]])


def logits(model: object, src: torch.Tensor = SRC) -> torch.Tensor:
    mask = padding_mask(src)
    with torch.no_grad():
        return model.decode(TGT_IN, model.encode(src, mask), mask)  # type: ignore[attr-defined, no-any-return]


def exchanged(place: int) -> torch.Tensor:
    src = SRC.clone()
    src[0, place] = 20
    return src


def test_with_nothing_hidden_it_is_the_model(model: Transformer) -> None:
    torch.testing.assert_close(logits(Hiding(model)), logits(model))


def test_a_place_hidden_before_the_encoder_has_no_influence(model: Transformer) -> None:
    hiding = Hiding(model, before=[2])
    torch.testing.assert_close(logits(hiding, exchanged(2)), logits(hiding))
    for place in (0, 1, 3, 4):
        assert not torch.allclose(logits(hiding, exchanged(place)), logits(hiding))


def test_a_place_hidden_after_the_encoder_acts_through_its_neighbours(model: Transformer) -> None:
    hiding, mask = Hiding(model, after=[2]), padding_mask(SRC)
    assert not torch.allclose(logits(hiding, exchanged(2)), logits(hiding))
    memory = model.encode(SRC, mask)
    spoilt = memory.clone()
    spoilt[0, 2] = 100.0
    with torch.no_grad():
        before, after = (hiding.decode(TGT_IN, m, mask) for m in (memory, spoilt))
    torch.testing.assert_close(after, before)


def test_a_cached_search_hides_the_same(model: Transformer) -> None:
    hiding, mask = Hiding(model, before=[1], after=[3]), padding_mask(SRC)
    cache = hiding.new_cache()
    with torch.no_grad():
        memory = hiding.encode(SRC, mask)
        steps = [
            hiding.decode(TGT_IN[:, i : i + 1], memory, mask, cache) for i in range(TGT_IN.shape[1])
        ]
    torch.testing.assert_close(torch.cat(steps, dim=1), logits(hiding))


@pytest.mark.parametrize(
    ("hidden", "message"),
    [({6}, "no place 6 to hide: the source has 6 tokens"), ({-1}, "no place -1"),
     (set(range(6)), "every place is hidden: leave one")],
)  # fmt: skip
def test_what_cannot_be_hidden(model: Transformer, hidden: set[int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        logits(Hiding(model, before=hidden))
    with pytest.raises(UserError, match=message):
        logits(Hiding(model, after=hidden))


def test_translations_with_places_hidden(translator: Translator) -> None:
    sentence = "The saleswoman is reading a novel."
    assert translate_hiding(translator, sentence) == translator.translate([sentence], 1)[0]
    told, untold = (
        next_token(translator, sentence, **{way: [1]}) for way in ("after", "before")
    )  # the noun
    assert float(told.sum()) == pytest.approx(1, abs=1e-5)
    (la,) = translator.tgt_tokenizer.encode("La")
    assert told[la] > untold[la]  # the encoder had told The of its noun


def test_a_head_replaced_by_zeros_is_a_head_removed(model: Transformer) -> None:
    head = Head("cross", 2, 1)
    with without_heads(model, [head]):
        removed = logits(model)
    whole = logits(model)
    with heads_replaced(model, {head: torch.zeros(3, dtype=torch.float64)}):
        torch.testing.assert_close(logits(model), removed)
    torch.testing.assert_close(logits(model), whole)  # it is back
    assert not torch.allclose(whole, removed)


@pytest.mark.parametrize("head", [Head("encoder", 1, 2), Head("decoder", 3, 1)])
def test_a_replaced_head_adds_its_vector_s_projection(model: Transformer, head: Head) -> None:
    attention, vector = attention_of(model, head), torch.tensor([0.5, -2.0, 7.0]).double()
    hidden = torch.randn(1, 4, 14, dtype=torch.float64)
    with torch.no_grad(), without_heads(model, [head]):
        others = attention(hidden)[0]
    with torch.no_grad(), heads_replaced(model, {head: vector}):
        together = attention(hidden)[0]
    columns = attention.output_projection.weight[:, 3 * (head.head - 1) : 3 * head.head]
    torch.testing.assert_close(together, others + columns @ vector)


def test_the_mean_of_a_constant_head_is_the_constant(translator: Translator) -> None:
    model = translator.model
    assert isinstance(model, Transformer)
    head, vector = Head("cross", 1, 2), torch.arange(32.0)
    with heads_replaced(model, {head: vector}):
        means = mean_outputs(translator, ["The dog is sleeping.", "David sees the cat."])
    torch.testing.assert_close(means[head], vector)
    assert set(means) == set(all_heads(model))


def test_a_mean_is_over_all_tokens_of_all_sentences(translator: Translator) -> None:
    sentences = ["The dog is sleeping.", "David sees the old cat of the woman."]
    one, other = (mean_outputs(translator, [sentence]) for sentence in sentences)
    both = mean_outputs(translator, sentences)
    lengths = [len(translator.src_tokenizer.encode(sentence)) + 1 for sentence in sentences]
    head = Head("encoder", 2, 3)
    wanted = (lengths[0] * one[head] + lengths[1] * other[head]) / sum(lengths)
    torch.testing.assert_close(both[head], wanted)


def test_errors(model: Transformer, translator: Translator) -> None:
    with (
        pytest.raises(
            UserError, match=r"encoder 1\.1 is given a vector of shape \(2,\), not \(3,\)"
        ),
        heads_replaced(model, {Head("encoder", 1, 1): torch.zeros(2)}),
    ):
        pass
    with (
        pytest.raises(UserError, match=r"no head cross 9\.1"),
        heads_replaced(model, {Head("cross", 9, 1): torch.zeros(3)}),
    ):
        pass
    whole = logits(model)
    good, bad = torch.zeros(3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    with (
        pytest.raises(UserError, match="not"),
        heads_replaced(model, {Head("encoder", 1, 1): good, Head("encoder", 1, 2): bad}),
    ):
        pass
    torch.testing.assert_close(logits(model), whole)  # the good one was taken back
    with pytest.raises(UserError, match="no sentences"):
        mean_outputs(translator, [])
    with pytest.raises(UserError, match="a recurrent network has no heads"):
        mean_outputs(Translator.load("demo-lstm"), ["The dog is sleeping."])
