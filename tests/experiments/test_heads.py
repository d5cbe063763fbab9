"""What heads are worth; attributions judged by gold alignments."""

import pytest

from experiments import heads
from experiments.heads import alignment_error_by_attribution
from lessonkit.analysis.activations import mean_head_outputs
from lessonkit.analysis.alignment import alignment_error_rate, strongest_links, word_attention
from lessonkit.analysis.bleu_comparison import compare_bleu
from lessonkit.analysis.heads import Head, all_heads
from lessonkit.analysis.interventions import ablate_heads, patch_heads
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.evaluation.scores import bleu
from transformer.models.translator import Translator
from transformer.support.errors import UserError


@pytest.mark.weekly  # 12 seconds
def test_what_each_head_is_worth(shipped: Translator) -> None:
    model = shipped.model
    text = corpora.load("embedded", "test", "en", "fr")
    sources, references, others = text.src[:7], text.tgt[:7], text.src[20:23]
    scores = heads.scores_without_each_head(shipped, sources, references, others)
    names, gold = [str(head) for head in all_heads(model)], [[tgt] for tgt in references]
    for way in ("zero", "mean"):
        assert list(scores[way]["heads"]) == names
        assert list(scores[way]["stacks"]) == ["encoder", "decoder", "cross"]

    whole = shipped.translate(sources)
    assert scores["whole"]["beam"] == bleu(whole, gold)["score"]
    head = Head("decoder", 1, 3)
    with ablate_heads(model, [head]):
        broken = shipped.translate(sources)
    found = scores["zero"]["heads"][str(head)]
    assert found["beam"] == bleu(broken, gold)["score"]
    compared = compare_bleu(whole, broken, gold)
    assert (found["low"], found["high"]) == (round(compared.low, 2), round(compared.high, 2))
    assert found["p"] == round(compared.p_value, 4)

    with ablate_heads(model, [each for each in all_heads(model) if each.stack == "encoder"]):
        without_encoder_heads = shipped.translate(sources)
    expected = bleu(without_encoder_heads, gold)["score"]
    assert scores["zero"]["stacks"]["encoder"]["beam"] == expected

    means = mean_head_outputs(shipped, others)
    with patch_heads(model, {head: means[head]}):
        blind = shipped.translate(sources)
    assert scores["mean"]["heads"][str(head)]["beam"] == bleu(blind, gold)["score"]


def test_scores_are_those_of_the_alignments(shipped: Translator) -> None:
    text = corpora.load("embedded", "test", "en", "fr")
    few = ParallelText(
        src_lang="en", tgt_lang="fr", src=text.src[:5], tgt=text.tgt[:5],
        alignments=text.alignments[:5],
    )  # fmt: skip
    scores = alignment_error_by_attribution(shipped, few)
    assert list(scores) == ["attention weights", "hiding"]
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
        alignment_error_by_attribution(shipped, text)
