"""The knife: what is said after a cut is what a search with the cut says."""

from typing import Any

import pytest
import torch

from lessonkit.analysis import knife as kn
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import (
    Hiding,
    edges_cut,
    next_token,
    run_of,
    source_of,
    without_heads,
)
from lessonkit.analysis.knife import Cut, Knife
from transformer.config import EOS_ID
from transformer.decoding import greedy_search
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SENTENCE = "The saleswoman is reading."


@pytest.fixture(scope="module")
def knife(shipped: Translator) -> Knife:
    return Knife(shipped, SENTENCE)


def test_with_nothing_cut_it_is_the_model(shipped: Translator, knife: Knife) -> None:
    outcome = knife.cut(Cut())
    assert outcome.said == knife.whole.said
    assert outcome.said[-1] == EOS_ID
    assert knife.text(outcome) == shipped.translate([SENTENCE], 1)[0] == "La vendeuse lit."
    assert outcome.chances.shape == (len(knife.tgt_tokens), len(outcome.chances[0]))
    for step in range(3):
        torch.testing.assert_close(
            outcome.chances[step], next_token(shipped, SENTENCE, knife.whole.said[:step])
        )


def test_hidden_places(shipped: Translator, knife: Knife) -> None:
    seen = set()
    for what, which, cut in kn.places_hidden(knife):
        outcome = knife.cut(cut)
        places: dict[str, Any] = {"before" if what == kn.PLACE_BEFORE else "after": [int(which)]}
        (said,) = greedy_search(Hiding(knife.model, **places), source_of(shipped, SENTENCE))
        assert knife.text(outcome) == shipped.tgt_tokenizer.decode(said.ids)
        torch.testing.assert_close(outcome.chances[0], next_token(shipped, SENTENCE, **places))
        seen.add((what, which))
    assert len(seen) == 2 * len(knife.src_tokens)


def test_edges_in_all_heads_of_a_stack(shipped: Translator, knife: Knife) -> None:
    cuts = {(what, which): cut for what, which, cut in kn.edges_each(knife)}
    src_len, tgt_len = len(knife.src_tokens), len(knife.tgt_tokens)
    below = tgt_len * (tgt_len + 1) // 2 - 1  # all but <bos> to itself
    assert len(cuts) == src_len**2 + src_len * tgt_len + below
    changed = 0
    for (what, which), cut in cuts.items():
        outcome = knife.cut(cut)
        if outcome.said != knife.whole.said:
            changed += 1
            query, key = map(int, which.split("-"))
            stack = next(stack for stack, name in kn.EDGES.items() if name == what)
            heads = [head for head in all_heads(knife.model) if head.stack == stack]
            with edges_cut(knife.model, {head: [(query, key)] for head in heads}):
                assert knife.text(outcome) == shipped.translate([SENTENCE], 1)[0]
    assert 0 < changed < len(cuts) / 2


def test_heads_by_zero_by_a_vector_and_swapped(shipped: Translator, knife: Knife) -> None:
    means = {head: torch.full((32,), 0.5) for head in all_heads(knife.model)}
    own, longer = run_of(shipped, SENTENCE), run_of(shipped, "The old dog is reading a book.")
    cuts = {(what, which): cut for what, which, cut in kn.heads_each(knife, means, own)}
    assert len(cuts) == 3 * len(means)
    head = Head("decoder", 1, 3)
    with without_heads(knife.model, [head]):
        torch.testing.assert_close(
            knife.cut(cuts[kn.ZERO, "decoder 1.3"]).chances[0], next_token(shipped, SENTENCE)
        )
    assert cuts[kn.MEAN, "decoder 1.3"].heads == {head: means[head]}
    for what, which in cuts:
        if what == kn.SWAP:
            same = knife.cut(cuts[what, which]).chances
            torch.testing.assert_close(same, knife.whole.chances, atol=1e-5, rtol=1e-4)
    swaps = {which: c for what, which, c in kn.heads_each(knife, means, longer) if what == kn.SWAP}
    assert len(swaps) == len(means)
    assert len(swaps["encoder 1.3"].heads[Head("encoder", 1, 3)]) == len(knife.src_tokens)
    swapped = knife.cut(swaps["cross 1.3"]).chances
    assert not torch.allclose(swapped, knife.whole.chances, atol=1e-3)


def test_errors(shipped: Translator, knife: Knife) -> None:
    with pytest.raises(UserError, match="give some words"):
        Knife(shipped, " ")
    with pytest.raises(UserError, match="no place 9"):
        knife.cut(Cut(before=[9]))
