"""What removed heads cost: each figure is that of the model without them, read anew."""

import pytest
import torch

from lessonkit.analysis.heads import STACKS, Head, all_heads, without_heads
from lessonkit.analysis.interventions import heads_replaced, mean_outputs
from lessonkit.analysis.removals import removal_scores
from transformer.data import corpora
from transformer.evaluation.compare import paired_bootstrap
from transformer.evaluation.scores import bleu
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError


@pytest.mark.slow
def test_what_each_head_is_worth() -> None:
    translator = Translator.load("demo-en-fr")
    model = translator.model
    assert isinstance(model, Transformer)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    text = corpora.load("embedded", "test", "en", "fr")
    sources, references, others = text.src[:7], text.tgt[:7], text.src[20:23]
    scores = removal_scores(translator, sources, references, others)
    names, gold = [str(head) for head in all_heads(model)], [[tgt] for tgt in references]
    for way in ("zero", "mean"):
        assert list(scores[way]["heads"]) == names
        assert list(scores[way]["stacks"]) == list(STACKS)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0)

    whole = translator.translate(sources)
    assert scores["whole"]["beam"] == bleu(whole, gold)["score"]
    head = Head("decoder", 1, 3)
    with without_heads(model, [head]):
        broken = {size: translator.translate(sources, beam_size=size) for size in (1, 4)}
    found = scores["zero"]["heads"][str(head)]
    assert found["greedy"] == bleu(broken[1], gold)["score"]
    assert found["beam"] == bleu(broken[4], gold)["score"]
    compared = paired_bootstrap(whole, broken[4], gold)
    assert (found["low"], found["high"]) == (round(compared.low, 2), round(compared.high, 2))
    assert found["p"] == round(compared.p_value, 4)
    long = [len(a.split()) > 2 * len(b.split()) for a, b in zip(broken[1], references, strict=True)]
    assert found["greedy_runs_on"] == sum(long) > 0

    cross = [head for head in all_heads(model) if head.stack == "cross"]
    means = mean_outputs(translator, others)
    with heads_replaced(model, {head: means[head] for head in cross}):
        blind = translator.translate(sources)
    assert scores["mean"]["stacks"]["cross"]["beam"] == bleu(blind, gold)["score"] < 30


def test_a_network_without_heads_is_refused() -> None:
    with pytest.raises(UserError, match="no heads to remove: give a Transformer"):
        removal_scores(Translator.load("demo-lstm"), ["The dog."], ["Le chien."], ["The cat."])
