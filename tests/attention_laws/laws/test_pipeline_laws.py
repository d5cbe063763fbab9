"""Faults of data, tokenizers and scores are told from sound ones."""

import math
import random
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from sacrebleu.metrics import BLEU

from attention_laws import Pipeline, Verdict, diagnose_pipeline
from attention_laws.run_pipeline import PIPELINE_LAWS
from lessonkit.subjects import corpus_bleu
from transformer.config import BOS_ID, EOS_ID, PAD_ID, UNK_ID, DataConfig
from transformer.data import corpora, tokenizers

NAMES = [law.name for law in PIPELINE_LAWS]
Score = Callable[[list[str], list[str]], float]


@cache
def sound(kind: str = "bpe") -> Pipeline:
    """A pipeline over the embedded corpus, its tokenizers learnt from it."""
    train, test = (corpora.load("embedded", split, "en", "fr") for split in ("train", "test"))
    size = {"tokenizer": kind, "corpus": "embedded", "src_lang": "en", "tgt_lang": "fr"}
    config = DataConfig(**size, vocab_size=500)  # type: ignore[arg-type]
    src, tgt = tokenizers.train(config, train.src[:2000], train.tgt[:2000])
    return Pipeline(
        train=tuple(zip(train.src, train.tgt, strict=True))[:300],
        test=tuple(zip(test.src, test.tgt, strict=True))[:40],
        encode_src=src.encode,
        encode_tgt=tgt.encode,
        encode_to_translate=src.encode,
        decode=tgt.decode,
        score=corpus_bleu,
        unk_id=UNK_ID,
        joint_vocabulary=True,
    )


def test_on_sound_code_every_law_is_kept() -> None:
    report = diagnose_pipeline(sound())
    assert [line.law for line in report.of(Verdict.KEPT)] == NAMES, str(report)
    assert report.exit_status == 0


def both_ways(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Each token of a reference is passed as if it were a whole reference: system 2's fault."""
    scores = [
        BLEU(effective_order=True, tokenize="none").sentence_score(said, wanted.split()).score
        for said, wanted in zip(hypotheses, references, strict=True)
    ]
    return sum(scores) / len(scores)


def exchanged(hypotheses: list[str], references: list[str]) -> float:
    return corpus_bleu(references, hypotheses)


def averaged(hypotheses: list[str], references: list[str]) -> float:
    pairs = zip(hypotheses, references, strict=True)
    return sum(corpus_bleu([said], [wanted]) for said, wanted in pairs) / len(references)


def as_share(hypotheses: list[str], references: list[str]) -> float:
    return corpus_bleu(hypotheses, references) / 100


@pytest.mark.parametrize(
    ("score", "broken"),
    [
        (both_ways, "references_score_100"),
        (as_share, "references_score_100"),
        (exchanged, "in_their_places"),
        (averaged, "corpus_not_mean"),
    ],
)
def test_a_fault_of_the_score_breaks_its_law(score: Score, broken: str) -> None:
    report = diagnose_pipeline(sound().replace(score=score))
    assert broken in report.broken, str(report)
    assert report.exit_status == 1


def test_a_perfect_translation_scores_next_to_nothing_in_system_2() -> None:
    report = diagnose_pipeline(sound().replace(score=both_ways))
    seen = report["references_score_100"].seen
    assert float(seen.split(" score ")[1].split()[0]) < 20, seen
    hint = diagnose_pipeline(sound().replace(score=as_share))["references_score_100"].seen
    assert "a share, not in percent?" in hint


@pytest.mark.parametrize("metric", ["none", "char", "intl"])
def test_other_tokenisations_of_a_score_are_sound(metric: str) -> None:
    def score(hypotheses: list[str], references: list[str]) -> float:
        bleu = BLEU(tokenize=metric, force=True)
        return float(bleu.corpus_score(hypotheses, [references]).score)

    assert not diagnose_pipeline(sound().replace(score=score)).broken


def spelt_out(ids: list[int]) -> str:
    """Every token by itself: "l' homme" and "dor ##t"."""
    tokenizer_text = sound().decode
    assert tokenizer_text is not None
    return " ".join(tokenizer_text([each]) for each in ids)


def with_marks(ids: list[int]) -> str:
    decode = sound().decode
    assert decode is not None
    marks = {PAD_ID: "<pad>", BOS_ID: "<bos>", EOS_ID: "<eos>"}
    said = decode(ids)
    return " ".join([said, *(marks[each] for each in ids if each in marks)])


def of_another_vocabulary(ids: list[int]) -> str:
    decode, encode = sound().decode, sound().encode_tgt
    assert decode is not None
    assert encode is not None
    order = list(range(4, 400))
    random.Random(0).shuffle(order)
    return decode([order[each - 4] if 4 <= each < 400 else each for each in ids])


@pytest.mark.parametrize(
    ("decode", "broken"),
    [
        (spelt_out, "tokenised_once"),
        (with_marks, "no_marks_scored"),
        (of_another_vocabulary, "round_trip"),
    ],
)
def test_a_fault_of_decoding_breaks_its_law(
    decode: Callable[[list[int]], str], broken: str
) -> None:
    report = diagnose_pipeline(sound().replace(decode=decode))
    assert broken in report.broken, str(report)


def test_what_a_lower_cased_vocabulary_costs_is_warned_of() -> None:
    decode = sound().decode
    assert decode is not None
    report = diagnose_pipeline(sound().replace(decode=lambda ids: decode(ids).lower()))
    assert report["tokenised_once"].verdict == Verdict.WARNED
    assert not report.broken


def test_a_text_that_is_lower_cased_in_training_alone_is_found() -> None:
    encode = sound().encode_src
    assert encode is not None
    pipeline = sound().replace(encode_src=lambda text: encode(text.lower()))
    report = diagnose_pipeline(pipeline)
    assert report.broken == ["treated_alike"]
    assert "in training and" in report["treated_alike"].seen


def test_sources_with_another_vocabulary_are_found_where_there_is_but_one() -> None:
    other = sound("words").encode_src  # ids as good as any, of another vocabulary
    pipeline = sound().replace(encode_src=other, encode_to_translate=other)
    report = diagnose_pipeline(pipeline)
    assert report.broken == ["round_trip"]
    assert "of the words of training sources come back" in report["round_trip"].seen
    assert not diagnose_pipeline(pipeline.replace(joint_vocabulary=False)).broken


def test_marks_that_training_adds_are_no_difference() -> None:
    encode = sound().encode_src
    assert encode is not None
    pipeline = sound().replace(encode_src=lambda text: [BOS_ID, *encode(text), EOS_ID])
    assert not diagnose_pipeline(pipeline).broken


def test_test_sentences_among_the_training_sentences_are_found() -> None:
    train, test = sound().train, sound().test
    report = diagnose_pipeline(sound().replace(test=(*test[:36], *train[:4])))
    assert report.broken == ["nothing_shared"]
    assert "of 40 test pairs 10.0% have a source" in report["nothing_shared"].seen
    targets = tuple(
        (f"{source} {place}", train[place][1]) for place, (source, _) in enumerate(test)
    )
    other = diagnose_pipeline(sound().replace(test=targets))["nothing_shared"]
    assert other.verdict == Verdict.WARNED  # of trees and labels, which are shared by right


def test_words_in_place_of_pieces_are_sound() -> None:
    """A word model's French comes back with blanks at its apostrophes, which cost it points."""
    report = diagnose_pipeline(sound("words"))
    assert set(report.broken) <= {"tokenised_once"}, str(report)


def test_what_is_missing_is_said() -> None:
    report = diagnose_pipeline(Pipeline())
    assert [line.law for line in report.of(Verdict.NOT_TRIED)] == NAMES
    assert report["treated_alike"].seen == (
        "the pipeline has no test and no encode_src and no encode_to_translate"
    )
    few = diagnose_pipeline(sound().replace(train=(), test=sound().test[:3]))
    assert "have 5 words or more: give 8" in few["references_score_100"].seen


def test_what_a_score_raises_is_a_reason() -> None:
    def score(hypotheses: list[str], references: list[str]) -> float:
        return math.log(0)

    line = diagnose_pipeline(sound().replace(score=score))["corpus_not_mean"]
    assert line.verdict == Verdict.NOT_TRIED
    assert "ValueError" in line.seen
