"""Faults of data, tokenizers and scores are told from sound ones."""

from functools import cache
from typing import Any

import pytest

from attention_laws import Pipeline, Verdict, diagnose_pipeline
from attention_laws.laws import PIPELINE_LAWS
from lessonkit.adapters import corpus_bleu
from transformer.config import BOS_ID, EOS_ID, UNK_ID, DataConfig
from transformer.data import corpora, tokenizers

NAMES = [law.name for law in PIPELINE_LAWS]


@cache
def sound(kind: str = "bpe") -> Pipeline:
    """A pipeline over the embedded corpus, its tokenizers learned from it."""
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


def test_on_sound_code_every_law_is_kept_and_marks_that_training_adds_are_no_difference() -> None:
    report = diagnose_pipeline(sound())
    assert [line.law for line in report.results_with_verdict(Verdict.KEPT)] == NAMES, str(report)
    assert report.exit_status == 0
    encode: Any = sound().encode_src
    marked = sound().replace(encode_src=lambda text: [BOS_ID, *encode(text), EOS_ID])
    assert not diagnose_pipeline(marked).broken_laws
    decode: Any = sound().decode  # what a lower-cased vocabulary costs is warned of
    report = diagnose_pipeline(sound().replace(decode=lambda ids: decode(ids).lower()))
    assert report["scored_text_is_detokenized"].verdict == Verdict.WARNED
    assert not report.broken_laws


def test_targets_that_are_learned_from_are_warned_of() -> None:
    train, test = sound().train, sound().test
    targets = [(f"{source} {place}", train[place][1]) for place, (source, _) in enumerate(test)]
    other = diagnose_pipeline(sound().replace(test=targets))["train_and_test_are_disjoint"]
    assert other.verdict == Verdict.WARNED  # of trees and labels, which are shared by right


@pytest.mark.slow
def test_words_in_place_of_pieces_are_sound() -> None:
    """A word model's French comes back with blanks at its apostrophes, which cost it points."""
    report = diagnose_pipeline(sound("words"))
    assert set(report.broken_laws) <= {"scored_text_is_detokenized"}, str(report)


def test_what_is_missing_is_said() -> None:
    report = diagnose_pipeline(Pipeline())
    assert [line.law for line in report.results_with_verdict(Verdict.NOT_TRIED)] == NAMES
    reason = report["training_and_inference_encode_alike"].seen
    assert all(name in reason for name in ("test", "encode_src", "encode_to_translate"))
    few = diagnose_pipeline(sound().replace(train=(), test=sound().test[:3]))
    assert few["references_score_100"].verdict == Verdict.NOT_TRIED
