"""Scores of what needs no model; placeholders that translations keep."""

import dataclasses

import pytest

from transformer.data.parallel import ParallelText
from transformer.evaluation.baselines import measure_baselines
from transformer.evaluation.kept_placeholders import placeholder_sentence_accuracy
from transformer.evaluation.scores import bleu, chrf_plus_plus
from transformer.support.errors import UserError

TRAIN = ParallelText(
    "en",
    "fr",
    src=["Open the file now please", "Close the window at once", "Save all of it"],
    tgt=["Ouvrez le fichier maintenant", "Fermez la fenêtre tout de suite", "Gardez tout"],
)
TEXT = ParallelText(
    "en",
    "fr",
    src=["Close the old window at once", "XTerm is an old program"],
    tgt=["Fermez la fenêtre tout de suite", "XTerm is an old program"],
)


def test_copying_and_the_nearest_source_are_scored() -> None:
    baselines = measure_baselines(TEXT, TRAIN)
    references = [[translation] for translation in TEXT.tgt]
    # Of both sentences "old" is unknown in training, and "the" is of two; then the first is taken.
    found = [TRAIN.tgt[1], TRAIN.tgt[0]]
    for name, hypotheses in (("copied_source", TEXT.src), ("nearest_training_source", found)):
        assert baselines[name] == {
            "bleu": bleu(hypotheses, references)["score"],
            "chrf++": chrf_plus_plus(hypotheses, references)["score"],
        }
    both = dataclasses.replace(TEXT, references=[[TEXT.tgt[0], TEXT.src[0]], [TEXT.tgt[1]]])
    copied = measure_baselines(both)["copied_source"]
    assert copied == {"bleu": 100, "chrf++": 100}  # any of the references is right


def test_without_the_training_text_one_baseline_is_left() -> None:
    baselines = measure_baselines(TEXT)
    assert baselines["nearest_training_source"] is None
    assert baselines["copied_source"] == measure_baselines(TEXT, TRAIN)["copied_source"]


def test_baselines_are_scored_by_the_tokenizer_of_the_language() -> None:
    same = "我爱北京天安门"
    text = ParallelText("ja", "zh", [same], [same])
    assert measure_baselines(text)["copied_source"] == {"bleu": 100, "chrf++": 100}
    assert measure_baselines(dataclasses.replace(text, tgt_lang="fr"))["copied_source"] != {
        "bleu": 100,
        "chrf++": 100,
    }


def test_placeholders_by_hand() -> None:
    rows = (
        ("open %s: %d", "%d : ouvrir %s", "ouvrez %s : %d", True),  # in any order
        ("open %s", "ouvrir", "ouvrez %s", False),
        ("open %s", "ouvrir %s %s", "ouvrez %s", False),  # one too many
        ("%s of %s", "%1$s de %2$s", "%2$s : %1$s", True),  # as the reference has them
        ("%s of %s", "%s de", "%1$s de %2$s", False),
        ("one file", "un fichier", "%d fichier", True),  # as the source has none
        ("a file", "fichier %s", "un fichier", None),  # not counted: neither has any
    )
    sources, hypotheses, references, right = zip(*rows, strict=True)
    accepted = [[reference] for reference in references]
    counted = [row for row in right if row is not None]
    assert placeholder_sentence_accuracy(sources, hypotheses, accepted) == {
        "sentences": len(counted),
        "kept": round(100 * sum(counted) / len(counted), 1),
    }
    for source, hypothesis, reference, expected in rows:
        single = placeholder_sentence_accuracy([source], [hypothesis], [[reference]])
        assert (single and single["kept"]) == (None if expected is None else 100 * expected)
    with pytest.raises(UserError, match="no translations to score"):
        placeholder_sentence_accuracy([], [], [])
