"""A translator keeps order, minds its limits, and shows the attention of what it says."""

import sys
import warnings
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.helpers.terminal import Terminal
from transformer.config import BOS_ID, EOS_ID
from transformer.data import corpora
from transformer.data.batches import collate_sources
from transformer.decoding import beam_search
from transformer.models.translator import MAX_BATCH_TOKENS, Translator
from transformer.support import progress
from transformer.support.errors import UserError


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    """Thirteen sentences of different lengths, none in order of length."""
    return list(corpora.load("embedded", "test", "en", "fr").src[:13])


def leaning(folder: Path, lean: float) -> Translator:
    """The tiny model, its output moved so that the end mark is likely (1) or never comes (-1)."""
    translator = Translator.load(folder)
    model = translator.model
    with torch.no_grad():
        direction = torch.zeros(translator.recipe.model.d_model)
        direction[0] = 1.0
        assert model.decoder.norm is not None
        model.decoder.norm.bias.copy_(10 * direction)
        model.tgt_embedding.token.weight[:, 0] = 0.0
        model.tgt_embedding.token.weight[EOS_ID] = 10 * lean * direction
    return translator


def test_order_is_kept_and_empty_lines_stay_empty(tiny: Translator, sentences: list[str]) -> None:
    mixed = ["", sentences[3], " \t\u00a0", sentences[0], sentences[7], "\n"]
    first, second, third, fourth, fifth, sixth = tiny.translate(mixed)
    assert first == third == sixth == ""
    assert [second, fourth, fifth] == tiny.translate([sentences[3], sentences[0], sentences[7]])
    assert len({second, fourth, fifth}) == 3


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_batch_gives_what_one_by_one_gives(
    tiny: Translator, sentences: list[str], beam_size: int
) -> None:
    assert len({len(s) for s in sentences}) > 5
    alone = [tiny.translate([sentence], beam_size)[0] for sentence in sentences]
    assert tiny.translate(sentences, beam_size) == alone


def test_batches_hold_each_sentence_once_within_the_budget(tiny: Translator) -> None:
    sources = [[5] * length for length in (700, 0, 3, 1, 900, 20_000, 0, 17, 2)]
    batches = list(tiny._length_sorted_batches(sources, beam_size=2))
    assert sorted(row for rows in batches for row in rows) == [0, 2, 3, 4, 5, 7, 8]
    for rows in batches:
        widest = max(len(sources[row]) for row in rows)
        assert len(rows) == 1 or len(rows) * widest * 2 <= MAX_BATCH_TOKENS
    assert len(batches) > 1


def test_a_long_sentence_is_cut_with_a_warning_at_the_callers_line(
    tiny: Translator, sentences: list[str]
) -> None:
    limit = tiny.recipe.model.max_len - 1
    long = "the " * (limit + 9)
    ids = tiny.src_tokenizer.encode(long.strip())
    message = f"^'the the .{{,50}} has {len(ids)} tokens, and this model takes {limit}: the rest"
    with pytest.warns(UserWarning, match=message) as caught:
        translations = tiny.translate([sentences[0], long], beam_size=1)
    assert [warning.filename for warning in caught] == [__file__]
    assert translations[0] == tiny.translate([sentences[0]], beam_size=1)[0]
    fits = tiny.src_tokenizer.decode(ids[:limit])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert translations[1] == tiny.translate([fits], beam_size=1)[0]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_attention_is_that_of_the_translation(
    tiny: Translator, sentences: list[str], beam_size: int
) -> None:
    for sentence in sentences[:3]:
        attention = tiny.attention(sentence, beam_size)
        assert [attention.translation] == tiny.translate([sentence], beam_size)
        src_len, tgt_len = len(attention.src_tokens), len(attention.tgt_tokens)
        assert attention.maps.cross.shape[-2:] == (tgt_len, src_len)
        assert not attention.maps.cross.requires_grad
        assert attention.src_tokens[:-1] == tiny.src_tokenizer.tokens(sentence)
        assert attention.src_tokens[-1] == "<eos>"


def log_prob_by_teacher_forcing(translator: Translator, sentence: str, ids: list[int]) -> float:
    """Sum the log probabilities of target ids, each read after the right ones before it."""
    src = torch.tensor([[*translator.src_tokenizer.encode(sentence), EOS_ID]])
    tgt_in = torch.tensor([[BOS_ID, *ids[:-1]]])
    with torch.no_grad():
        log_probs = translator.model(src, tgt_in)[0].double().log_softmax(dim=-1)
    return sum(float(log_probs[place, token]) for place, token in enumerate(ids))


@pytest.mark.parametrize("lean", [1, -1])
def test_the_n_best_have_the_scores_that_teacher_forcing_gives(
    tiny_folder: Path, sentences: list[str], lean: int
) -> None:
    translator = leaning(tiny_folder, lean)
    asked = [sentences[0], " ", sentences[1]]
    first, none, second = translator.translate_n_best(asked, n_best=3, beam_size=5, alpha=0.7)
    assert none == []
    assert [first[0].translation, "", second[0].translation] == translator.translate(asked, 5, 0.7)
    src = collate_sources([translator.encode(sentences[0]), translator.encode(sentences[1])])
    found = beam_search(translator.model, src, beam_size=5, alpha=0.7, max_len=255)
    for sentence, candidates, hypotheses in zip(asked[::2], (first, second), found, strict=True):
        assert len(candidates) == 3
        ranked = [(not candidate.finished, -candidate.score) for candidate in candidates]
        assert ranked == sorted(ranked)
        for candidate, hypothesis in zip(candidates, hypotheses, strict=False):
            ids = hypothesis.ids + [EOS_ID] * candidate.finished
            log_prob = log_prob_by_teacher_forcing(translator, sentence, ids)
            assert candidate.translation == translator.tgt_tokenizer.decode(hypothesis.ids)
            assert candidate.log_prob == pytest.approx(log_prob, rel=1e-4, abs=1e-5)
            score = log_prob / ((5 + len(ids)) / 6) ** 0.7
            assert candidate.score == pytest.approx(score, rel=1e-4, abs=1e-5)
    assert {candidate.finished for candidate in first} == {lean == 1}


def test_what_was_encoded_before_is_translated_alike(
    tiny: Translator, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a terminal sees how much of it is done."""
    monkeypatch.setattr(progress, "SECONDS_BEFORE_PROGRESS", 0.0)
    lines = [sentences[0], "\u200b", sentences[1], "the " * 300]
    with pytest.warns(UserWarning, match="^'the the .* has 300 tokens, .* cut off$") as caught:
        sources = tiny.encode_all(lines)
    assert [warning.filename for warning in caught] == [__file__]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    candidates = tiny.translate_encoded(sources, n_best=2, beam_size=3)
    assert "translating" in terminal.getvalue()
    assert f"/{sum(len(source.ids) for source in sources)}" in terminal.getvalue()
    with pytest.warns(UserWarning, match="cut off"):
        assert candidates == tiny.translate_n_best(lines, n_best=2, beam_size=3)
    assert [source.is_cut_short for source in sources] == [False, False, False, True]
    assert (sources[1].ids, sources[3].num_tokens, len(sources[3].ids)) == ([], 300, 255)


def test_the_n_best_of_too_small_a_beam_are_refused(tiny: Translator) -> None:
    for n_best, beam_size, message in (
        (5, 4, "n_best is 5, and a beam of 4 .*: give a beam of 5 or more"),
        (0, 4, "n_best is 0"),
        (1.5, 4, r"n_best is 1\.5"),
        (1, 0, "beam_size is 0"),
    ):
        with pytest.raises(UserError, match=message):
            tiny.translate_n_best(["the dog"], n_best, beam_size)  # type: ignore[arg-type]


def test_attention_of_a_translation_that_ends(tiny_folder: Path, sentences: list[str]) -> None:
    """At once, in this model: one row, of the end mark, that has read only the beginning."""
    attention = leaning(tiny_folder, 1).attention(sentences[0])
    assert attention.translation == ""
    assert attention.tgt_tokens == ["<eos>"]
    assert attention.maps.decoder.flatten().tolist() == [1, 1]  # two heads


def test_attention_of_a_translation_that_never_ends(
    tiny_folder: Path, sentences: list[str]
) -> None:
    """Source length, end mark included, + 50 tokens (§6.1), none of them the end mark."""
    attention = leaning(tiny_folder, -1).attention(sentences[0], beam_size=1)
    assert "<eos>" not in attention.tgt_tokens
    assert len(attention.tgt_tokens) == len(attention.src_tokens) + 50
    assert attention.maps.cross.shape[-2] == len(attention.tgt_tokens)


def test_many_long_sentences_are_one_warning(tiny: Translator, sentences: list[str]) -> None:
    long = ["the " * 300, sentences[0], *["dog " * 400] * 2]
    for translate in (tiny.translate, partial(tiny.translate_n_best, n_best=1)):
        with pytest.warns(UserWarning, match=r"^'the the .* cut off \(and 2 more") as caught:
            translate(long, beam_size=1)
        assert len(caught) == 1


def test_attention_of_nothing_and_of_too_much(tiny: Translator) -> None:
    with pytest.raises(UserError, match="an empty sentence has no attention"):
        tiny.attention(" \n")
    with pytest.warns(UserWarning, match="cut off") as caught:
        attention = tiny.attention("the " * 300, beam_size=1)
    assert [warning.filename for warning in caught] == [__file__]
    assert len(attention.src_tokens) == 256


def test_what_nobody_sees_changes_no_translation(shipped: Translator) -> None:
    lines = ["The dog sleeps.", "\u200b", "\ufeff \u2060\u00ad"]
    hidden = ["The d\u00adog\u200b sle\u2060eps.\ufeff", "", ""]
    translation = shipped.translate(lines)
    assert translation == shipped.translate(hidden)
    assert translation[0] != ""
    assert translation[1:] == ["", ""]
    assert shipped.translate_n_best(lines, 1)[1:] == [[], []]
