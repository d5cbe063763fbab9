"""What heads do and are worth; attributions judged by gold alignments."""

import pytest
import torch

from experiments import heads
from experiments.heads import Role, attribution_scores, name_heads, role_scores
from lessonkit.analysis import roles
from lessonkit.analysis.alignment import (
    METHODS,
    alignment_error_rate,
    strongest_links,
    word_attention,
)
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import heads_replaced, mean_outputs, without_heads
from tests.helpers.habits import of_habits, one_piece_each
from transformer.data import corpora
from transformer.data.corpora import embedded
from transformer.data.parallel import ParallelText
from transformer.evaluation.compare import paired_bootstrap
from transformer.evaluation.scores import bleu
from transformer.models.translator import Translator
from transformer.support.errors import UserError


def test_positional_heads_score_one_and_find_no_noun(
    shipped: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up heads, on sentences whose words have one piece each."""
    maps = of_habits("itself", "before", "next", "first", "second")
    monkeypatch.setattr(shipped.model, "attention_maps", maps)
    monkeypatch.setattr(heads, "FEWEST", 11)
    some = one_piece_each(shipped, 150)
    scored = {(role.stack, role.role): role for role in role_scores(shipped, some)}
    for head, role in enumerate((roles.ITSELF, roles.BEFORE, roles.NEXT)):
        assert scored["encoder", role].scores[0, head] == 1
    assert scored["decoder", roles.READ].scores[0].tolist()[0] == 1
    assert scored["decoder", roles.START].scores[0].tolist()[3] == 1
    # Most determiners stand one or two words before their nouns: either fails in the others.
    nouns = scored["encoder", roles.NOUN]
    assert nouns.cases >= 11
    assert nouns.scores[0].tolist() == [0, 0, 0, 0, 0]
    assert 0 < nouns.even < 0.25


def role(name: str, even: float, *scores: float, cases: int = 90) -> Role:
    return Role("cross", name, cases, even, torch.tensor([scores]))


def test_heads_are_named_on_some_sentences_and_scored_on_others() -> None:
    chosen_on = [role("a", 0.1, 0.3, 0.9), role("b", 0.5, 0.6, 0.95)]
    scored_on = [role("a", 0.2, 0.4, 0.7), role("b", 0.5, 0.9, 0.1, cases=70)]
    found = name_heads(chosen_on, scored_on)
    assert list(found) == ["cross 1.1", "cross 1.2"]
    first = {"role": "a", "score": 0.4, "even": 0.2, "cases": 90, "named": False}
    assert found["cross 1.1"] == first
    assert (found["cross 1.2"]["role"], found["cross 1.2"]["named"]) == ("a", True)
    rare = [role("a", 0.1, 0.3, 0.3), role("b", 0.1, 0.9, 0.9)]  # b has too few cases elsewhere
    assert name_heads(rare, [role("a", 0.1, 0.2, 0.2)])["cross 1.1"]["role"] == "a"


def test_relations_by_hand() -> None:
    (sentence,) = (
        each
        for each in embedded.sentences("test")
        if each.en == "She asks whether I greeted a tired policeman ."
    )
    words = sentence.en.split()
    found = {
        (p.question, words[p.query], *(words[k] for k in p.keys)) for p in heads.relations(sentence)
    }
    assert found == {
        (heads.OF_VERB, "asks", "She"),
        (heads.OF_VERB, "greeted", "I"),
        (heads.OBJECT, "greeted", "policeman"),
        (roles.NOUN, "a", "policeman"),
        (heads.OF_ADJECTIVE, "tired", "policeman"),
    }


@pytest.mark.slow
def test_what_each_head_is_worth(shipped: Translator) -> None:
    model = shipped.model
    text = corpora.load("embedded", "test", "en", "fr")
    sources, references, others = text.src[:7], text.tgt[:7], text.src[20:23]
    scores = heads.removal_scores(shipped, sources, references, others)
    names, gold = [str(head) for head in all_heads(model)], [[tgt] for tgt in references]
    for way in ("zero", "mean"):
        assert list(scores[way]["heads"]) == names

    whole = shipped.translate(sources)
    assert scores["whole"]["beam"] == bleu(whole, gold)["score"]
    head = Head("decoder", 1, 3)
    with without_heads(model, [head]):
        broken = shipped.translate(sources)
    found = scores["zero"]["heads"][str(head)]
    assert found["beam"] == bleu(broken, gold)["score"]
    compared = paired_bootstrap(whole, broken, gold)
    assert (found["low"], found["high"]) == (round(compared.low, 2), round(compared.high, 2))
    assert found["p"] == round(compared.p_value, 4)

    means = mean_outputs(shipped, others)
    with heads_replaced(model, {head: means[head]}):
        blind = shipped.translate(sources)
    assert scores["mean"]["heads"][str(head)]["beam"] == bleu(blind, gold)["score"]


def test_scores_are_those_of_the_alignments(shipped: Translator) -> None:
    text = corpora.load("embedded", "test", "en", "fr")
    few = ParallelText(
        src_lang="en", tgt_lang="fr", src=text.src[:5], tgt=text.tgt[:5],
        alignments=text.alignments[:5],
    )  # fmt: skip
    scores = attribution_scores(shipped, few)
    assert list(scores) == list(METHODS)
    weights = [
        word_attention(shipped, *pair).weights.mean(dim=(0, 1))
        for pair in zip(few.src, few.tgt, strict=True)
    ]
    by_hand = alignment_error_rate(
        [strongest_links(each) for each in weights], few.alignments or []
    )
    assert scores["attention weights"]["error"] == pytest.approx(by_hand, abs=1e-4)


def test_errors(shipped: Translator) -> None:
    text = ParallelText(src_lang="en", tgt_lang="fr", src=["A cat."], tgt=["Un chat."])
    with pytest.raises(UserError, match="without gold alignments"):
        attribution_scores(shipped, text)
