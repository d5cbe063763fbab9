"""Greedy and beam search: equal where they must be, right where it is worked by hand."""

import copy
import math
from functools import partial

import pytest
import torch
from torch import Tensor

from tests.helpers.scripted import VOCAB, Scripted, Sparse, padded_sources
from transformer.config import BOS_ID, EOS_ID, NUM_SPECIAL_TOKENS, PAD_ID, ModelConfig
from transformer.decoding import beam_search, greedy_search, length_penalty
from transformer.fast_search import fast_beam_search
from transformer.model import Transformer
from transformer.support.errors import UserError


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(5)
    config = ModelConfig(d_model=14, d_ff=29, num_heads=7, num_layers=2, max_len=120)
    made = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB).eval()
    with torch.no_grad():  # an untrained softmax is flat and ties are near: sharpen it
        made.output.weight.mul_(3)
    return made.double()


@pytest.fixture(scope="module")
def src() -> Tensor:
    return padded_sources(VOCAB)


def test_a_model_without_a_cache_is_searched_without_one() -> None:
    src = torch.tensor([[4, EOS_ID]])
    assert greedy_search(Scripted(), src, extra_length=1, use_cache=False)[0].ids
    for search in (greedy_search, beam_search, fast_beam_search):
        with pytest.raises(UserError, match="use_cache=False"):
            search(Scripted(), src)


def test_greedy_and_beam_on_a_case_worked_by_hand() -> None:
    src = torch.tensor([[4, EOS_ID]])
    # Greedy takes a (.6), then a again: of two equal ones the first. It never meets eos.
    (greedy,) = greedy_search(Scripted(), src, extra_length=1, use_cache=False)
    assert greedy.ids == [4, 4, 4]
    assert not greedy.finished
    assert greedy.score == pytest.approx(math.log(0.6 * 0.45 * 0.45))
    # "b eos" has .4 * .9 = .36; "a b eos" has .6 * .45 * .9 = .243; "a eos" only .06.
    (found,) = beam_search(Scripted(), src, beam_size=2, alpha=0.0, use_cache=False)
    assert [hypothesis.ids for hypothesis in found] == [[5], [4, 5]]
    assert found[0].score == pytest.approx(math.log(0.36))
    assert found[1].score == pytest.approx(math.log(0.243))


def test_length_penalty_can_turn_the_order() -> None:
    src = torch.tensor([[4, EOS_ID]])
    assert length_penalty(1) == 1.0
    assert length_penalty(7, alpha=1.0) == 2.0
    assert math.isfinite(length_penalty(10**9, 10.0))
    # log .36 / (7/6)^4 = -.551; log .243 / (8/6)^4 = -.448: the longer one wins.
    for alpha in (4.0, 10.0):  # 10 is the largest
        (found,) = beam_search(Scripted(), src, beam_size=2, alpha=alpha, use_cache=False)
        assert [hypothesis.ids for hypothesis in found] == [[4, 5], [5]]
        assert found[0].score == pytest.approx(math.log(0.243) / (8 / 6) ** alpha)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_neither_cache_nor_neighbours_change_anything(
    model: Transformer, src: Tensor, beam_size: int
) -> None:
    search = partial(beam_search, model, beam_size=beam_size, extra_length=17)
    together = search(src)
    alone = [search(row[row != PAD_ID][None])[0] for row in src]
    for others in (alone, search(src, use_cache=False), search(src.flip(0))[::-1]):
        for ours, theirs in zip(together, others, strict=True):
            assert [h.ids for h in ours] == [h.ids for h in theirs]
            scores = [h.score for h in theirs]
            assert scores == pytest.approx([h.score for h in ours], rel=1e-9)


def test_a_target_is_at_most_source_length_plus_the_extra(model: Transformer, src: Tensor) -> None:
    lengths = (src != PAD_ID).sum(dim=1).tolist()
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.output.weight[EOS_ID] = 0  # eos is seldom the best now
    beams = beam_search(model, src, beam_size=3, extra_length=3)
    assert {len(found) for found in beams} == {3}
    for found, length in zip(beams, lengths, strict=True):
        assert all(h.finished or len(h.ids) == length + 3 for h in found)


def test_an_alpha_out_of_range_is_refused(model: Transformer, src: Tensor) -> None:
    for alpha in (-0.1, 10.1, 400.0, math.nan, math.inf, -math.inf):
        for call in (partial(beam_search, model, src), partial(length_penalty, 7)):
            with pytest.raises(UserError, match=f"alpha is {alpha}: give a number"):
                call(alpha=alpha)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_model_whose_logits_are_no_numbers_is_an_error_and_no_translation(
    model: Transformer, src: Tensor, value: float
) -> None:
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.output.weight[7, 3] = value
    for search in (greedy_search, beam_search, fast_beam_search):
        with pytest.raises(UserError, match="logits hold nan or an infinite number"):
            search(model, src)


def test_scores_are_the_models_own_log_probabilities(model: Transformer, src: Tensor) -> None:
    for row, found in enumerate(beam_search(model, src, beam_size=3, extra_length=17)):
        assert found == sorted(found, key=lambda h: (not h.finished, -h.score))
        for hypothesis in found:
            ids = [*hypothesis.ids, EOS_ID] if hypothesis.finished else hypothesis.ids
            tgt_in = torch.tensor([[BOS_ID, *ids[:-1]]])
            with torch.no_grad():
                logits = model(src[row : row + 1], tgt_in)
            logged = logits[0].float().log_softmax(dim=-1)[range(len(ids)), ids].sum().item()
            assert hypothesis.score == pytest.approx(logged / length_penalty(len(ids)), rel=1e-5)


@pytest.mark.parametrize("beam_size", [1, 2, 7, 40])
def test_what_is_impossible_is_never_said(beam_size: int) -> None:
    src = torch.tensor([[4, EOS_ID], [5, EOS_ID]])
    for seed in range(20):
        model = Sparse(seed)
        for found in beam_search(model, src, beam_size=beam_size, alpha=0.0, use_cache=False):
            assert 1 <= len(found) <= beam_size
            for hypothesis in found:
                assert not {PAD_ID, BOS_ID} & set(hypothesis.ids)
                score = model.score([*hypothesis.ids, *[EOS_ID] * hypothesis.finished])
                assert hypothesis.score == pytest.approx(score, rel=1e-4)


def test_a_beam_wider_than_what_is_alive_finds_what_there_is() -> None:
    src = torch.tensor([[4, EOS_ID]])
    (found,) = beam_search(Scripted(), src, beam_size=5, alpha=0.0, max_len=1, use_cache=False)
    assert [(h.ids, h.finished) for h in found] == [([4], False), ([5], False)]


def test_a_prefix_that_nothing_can_follow_is_taken_as_it_stands() -> None:
    src = torch.tensor([[4, EOS_ID]])
    one_word = Sparse(2, dead=tuple(range(NUM_SPECIAL_TOKENS, VOCAB)))
    (greedy,) = greedy_search(one_word, src, use_cache=False)
    (beam, *_) = beam_search(one_word, src, beam_size=3, alpha=0.0, use_cache=False)[0]
    for hypothesis in (greedy, beam):
        assert len(hypothesis.ids) == 1
        assert not hypothesis.finished
        assert hypothesis.score == pytest.approx(one_word.score(hypothesis.ids), rel=1e-4)
    none = Sparse(2, dead=(BOS_ID,))
    (greedy,) = greedy_search(none, src, use_cache=False)
    ((beam,),) = beam_search(none, src, beam_size=3, use_cache=False)
    assert greedy == beam == ([], 0.0, False)
