"""Ablation: what is said after a cut is what a search with the cut says."""

from typing import Any

import pytest
import torch

from lessonkit.analysis import ablation as ab
from lessonkit.analysis.ablation import AblationSpec, AblationStudy
from lessonkit.analysis.activations import (
    next_token_probabilities,
    record_activations,
    source_token_ids,
)
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import SourceMaskedModel, ablate_edges, ablate_heads
from transformer.config import EOS_ID
from transformer.decoding import greedy_search
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SENTENCE = "The saleswoman is reading."


@pytest.fixture(scope="module")
def study(shipped: Translator) -> AblationStudy:
    return AblationStudy(shipped, SENTENCE)


def test_with_nothing_cut_it_is_the_model(shipped: Translator, study: AblationStudy) -> None:
    outcome = study.translate_sentence_without(AblationSpec())
    assert outcome.ids == study.baseline.ids
    assert outcome.ids[-1] == EOS_ID
    assert (
        study.translation_text(outcome) == shipped.translate([SENTENCE], 1)[0] == "La vendeuse lit."
    )
    assert outcome.probabilities.shape == (len(study.tgt_tokens), len(outcome.probabilities[0]))
    for step in range(3):
        torch.testing.assert_close(
            outcome.probabilities[step],
            next_token_probabilities(shipped, SENTENCE, study.baseline.ids[:step]),
        )


def test_hidden_places(shipped: Translator, study: AblationStudy) -> None:
    seen = set()
    for what, which, cut in ab.source_ablation_specs(study):
        outcome = study.translate_sentence_without(cut)
        places: dict[str, Any] = {
            "before" if what == ab.SOURCE_HIDDEN_BEFORE_ENCODER else "after": [int(which)]
        }
        (said,) = greedy_search(
            SourceMaskedModel(study.model, **places), source_token_ids(shipped, SENTENCE)
        )
        assert study.translation_text(outcome) == shipped.tgt_tokenizer.decode(said.ids)
        torch.testing.assert_close(
            outcome.probabilities[0], next_token_probabilities(shipped, SENTENCE, **places)
        )
        seen.add((what, which))
    assert len(seen) == 2 * len(study.src_tokens)


def test_edges_in_all_heads_of_a_stack(shipped: Translator, study: AblationStudy) -> None:
    cuts = {(what, which): cut for what, which, cut in ab.edge_ablation_specs(study)}
    src_len, tgt_len = len(study.src_tokens), len(study.tgt_tokens)
    below = tgt_len * (tgt_len + 1) // 2 - 1  # all but <bos> to itself
    assert len(cuts) == src_len**2 + src_len * tgt_len + below
    changed = 0
    for (what, which), cut in cuts.items():
        outcome = study.translate_sentence_without(cut)
        if outcome.ids != study.baseline.ids:
            changed += 1
            query, key = map(int, which.split("-"))
            stack = next(stack for stack, name in ab.EDGE_KIND_BY_STACK.items() if name == what)
            heads = [head for head in all_heads(study.model) if head.stack == stack]
            with ablate_edges(study.model, {head: [(query, key)] for head in heads}):
                assert study.translation_text(outcome) == shipped.translate([SENTENCE], 1)[0]
    assert 0 < changed < len(cuts) / 2


def test_heads_by_zero_by_a_vector_and_swapped(shipped: Translator, study: AblationStudy) -> None:
    means = {head: torch.full((32,), 0.5) for head in all_heads(study.model)}
    own, longer = (
        record_activations(shipped, SENTENCE),
        record_activations(shipped, "The old dog is reading a book."),
    )
    cuts = {(what, which): cut for what, which, cut in ab.head_ablation_specs(study, means, own)}
    assert len(cuts) == 3 * len(means)
    head = Head("decoder", 1, 3)
    with ablate_heads(study.model, [head]):
        torch.testing.assert_close(
            study.translate_sentence_without(cuts[ab.ZERO_HEAD_KIND, "decoder 1.3"]).probabilities[
                0
            ],
            next_token_probabilities(shipped, SENTENCE),
        )
    assert cuts[ab.MEAN_HEAD_KIND, "decoder 1.3"].heads == {head: means[head]}
    for what, which in cuts:
        if what == ab.PATCHED_HEAD_ABLATION_KIND:
            same = study.translate_sentence_without(cuts[what, which]).probabilities
            torch.testing.assert_close(same, study.baseline.probabilities, atol=1e-5, rtol=1e-4)
    swaps = {
        which: c
        for what, which, c in ab.head_ablation_specs(study, means, longer)
        if what == ab.PATCHED_HEAD_ABLATION_KIND
    }
    assert len(swaps) == len(means)
    assert len(swaps["encoder 1.3"].heads[Head("encoder", 1, 3)]) == len(study.src_tokens)
    swapped = study.translate_sentence_without(swaps["cross 1.3"]).probabilities
    assert not torch.allclose(swapped, study.baseline.probabilities, atol=1e-3)


def test_errors(shipped: Translator, study: AblationStudy) -> None:
    with pytest.raises(UserError, match="give some words"):
        AblationStudy(shipped, " ")
    with pytest.raises(UserError, match="no place 9"):
        study.translate_sentence_without(AblationSpec(before=[9]))
