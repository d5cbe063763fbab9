"""Counts of BLEU each by another road; leaks by hand; memory says what it has read."""

import dataclasses

import pytest
from sacrebleu import corpus_bleu, sentence_bleu
from torchtext.data.metrics import bleu_score

from attention_laws.errors import UserError
from lessonkit.analysis import scores
from transformer.data import corpora
from transformer.data.grouping import Pair
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import split_words
from transformer.models.translator import Translator

HYPOTHESES = ["The dog sees a cat.", "A small house is there.", "Yes."]
REFERENCES = ["The dog sees the cat.", "A small house stands there.", "Yes."]
TRAIN: list[Pair] = [
    ("Go!", "Va !"),
    ("I sleep.", "Je dors."),
    ("The cat sleeps.", "Le chat dort."),
    ("The dog sleeps.", "Le chien dort."),
    ("A bird sings.", "Un oiseau chante."),
]


@pytest.mark.slow  # loads spaCy
def test_begin_and_end_tokens_are_counted_like_words() -> None:
    hypotheses, references = ([split_words("en", t) for t in s] for s in (HYPOTHESES, REFERENCES))
    plain = bleu_score(hypotheses, [[words] for words in references])
    theirs = bleu_score(
        [["<bos>", *words, "<eos>"] for words in hypotheses],
        [[["<bos>", *words, "<eos>"]] for words in references],
    )
    assert scores.with_begin_and_end(HYPOTHESES, REFERENCES, "en") == pytest.approx(
        100 * theirs, abs=0.01
    )
    assert theirs > plain  # two tokens of each sentence are right for nothing


def test_the_mean_of_sentences_is_the_mean_of_sentences() -> None:
    alone = [sentence_bleu(h, [r]).score for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]
    mean = scores.mean_of_sentences(HYPOTHESES, REFERENCES)
    assert mean == pytest.approx(sum(alone) / 3, abs=0.01)
    assert mean != pytest.approx(corpus_bleu(HYPOTHESES, [REFERENCES]).score, abs=1)


def test_a_teacher_forced_output_has_seen_the_reference(shipped: Translator) -> None:
    text = corpora.load("embedded", "test", "en", "fr")
    text = dataclasses.replace(text, src=text.src[:23], tgt=text.tgt[:23], alignments=None)
    guesses, references = scores.teacher_forced(shipped, text)
    assert sorted(references) == sorted(text.tgt)
    assert len(guesses) == len(references)
    # The same by hand for one sentence, one token at a time.
    source = dict(zip(text.tgt, text.src, strict=True))[references[0]]
    one = ParallelText(src_lang="en", tgt_lang="fr", src=[source], tgt=[references[0]])
    assert scores.teacher_forced(shipped, one) == ([guesses[0]], [references[0]])


def test_leak_by_hand() -> None:
    test = [
        ("Go.", "Allez-y."),  # the English side, but for the sign
        ("Leave!", "va"),  # the French side, but for case and sign
        ("I sleep!", "je dors"),  # both
        ("He sleeps.", "Il dort."),  # neither
    ]
    assert scores.measure_leak(TRAIN, test) == scores.Leak(first=0.5, second=0.5, either=0.75)
    assert scores.measure_leak([("Paris", "Rome")], [("Rome", "Paris")]) == scores.Leak(0, 0, 0)
    with pytest.raises(UserError, match="nothing that could leak"):
        scores.measure_leak(TRAIN, [])


def test_memory_knows_what_it_has_read_and_else_the_likest() -> None:
    sources = ["Le chien dort.", "un oiseau ne chante pas", "Le chat", "Mon chien"]
    said = ["The dog sleeps.", "A bird sings.", "The cat sleeps.", "The dog sleeps."]
    assert scores.from_memory(TRAIN, sources) == said
    assert scores.from_memory(TRAIN, ["xylophone", "!"]) == ["Go!", "Go!"]  # it never read them
    rare = [("A", "le le2 un"), ("B", "rare x y"), ("C", "le z"), ("D", "le q"), ("E", "le r")]
    assert scores.from_memory(rare, ["le rare"]) == ["B"]  # a rare word counts more
    whole = [("We sleep.", "nous dormons"), ("We.", "nous")]  # word for word it is the likest
    whole += [(f"x{n}", f"nous w{n}") for n in range(100)]
    whole += [(f"y{n}", f"dormons w{n}") for n in range(100)]
    assert scores.from_memory(whole, ["nous"]) == ["We."]


def test_holm_by_hand() -> None:
    # sorted 0.01 * 4, 0.02 * 3, 0.02 * 2 (but not under the one before), 0.6
    assert scores.holm([0.02, 0.6, 0.01, 0.02]) == pytest.approx([0.06, 0.6, 0.04, 0.06])
    assert scores.holm([0.5, 0.7]) == [1.0, 1.0]
    assert scores.holm([]) == []
