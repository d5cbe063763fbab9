"""Faults around the model: text, tokens, data, scores (§5.1, §6.1).

Each function stands in place of one of `sound_pipeline`'s: read it beside that.
"""

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

from sacrebleu.metrics import BLEU

from attention_laws.pipeline import Pipeline
from lessonkit.museum.specimen import Specimen
from lessonkit.subjects import corpus_bleu
from transformer.config import BOS_ID, EOS_ID, FIRST_ID, UNK_ID
from transformer.data import corpora
from transformer.data.tokenizers import Tokenizer
from transformer.data.words import split_words
from transformer.models.folder import read_description
from transformer.models.shipped import find_model

TRAIN, TEST = 400, 60  # sentence pairs


@cache
def _tokenizer() -> Tokenizer:
    return read_description(find_model("demo-en-fr")).tgt_tokenizer


@cache
def _pairs(split: str, number: int) -> tuple[tuple[str, str], ...]:
    text = corpora.load("embedded", split, "en", "fr")
    return tuple(zip(text.src[:number], text.tgt[:number], strict=True))


def sound_pipeline() -> Pipeline:
    """Make what stands around the demo's model, right in every line."""
    tokenizer = _tokenizer()

    def decode(ids: list[int]) -> str:
        return tokenizer.decode(_words(ids))

    return Pipeline(
        train=_pairs("train", TRAIN),
        test=_pairs("test", TEST),
        encode_src=tokenizer.encode,
        encode_tgt=tokenizer.encode,
        encode_to_translate=tokenizer.encode,
        decode=decode,
        score=corpus_bleu,
        unk_id=UNK_ID,
        joint_vocabulary=True,
    )


def tokens_for_references(hypotheses: list[str], references: list[str]) -> float:
    """Take each token of a reference for a whole reference of one letter or word."""
    metric = BLEU(force=True, effective_order=True)
    scores = [
        metric.sentence_score(hypothesis, reference.split()).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return sum(scores) / len(scores)


def exchanged(hypotheses: list[str], references: list[str]) -> float:
    """Score the references by the hypotheses."""
    return corpus_bleu(references, hypotheses)


def mean_of_sentences(hypotheses: list[str], references: list[str]) -> float:
    """Score each sentence, and average."""
    pairs = zip(hypotheses, references, strict=True)
    scores = [BLEU(effective_order=True).sentence_score(one, [other]).score for one, other in pairs]
    return sum(scores) / len(scores)


def first_sentence(hypotheses: list[str], references: list[str]) -> float:
    """Score one sentence."""
    return corpus_bleu(hypotheses[:1], references[:1])


def fraction(hypotheses: list[str], references: list[str]) -> float:
    """Give a score of 0 to 1 where the figures beside it are of 0 to 100."""
    return corpus_bleu(hypotheses, references) / 100


def tokens_scored(sound: Pipeline) -> Pipeline:
    """Score words with blanks between them, which are not yet text: "l' ours" for "l'ours"."""
    return sound.replace(
        decode=lambda ids: " ".join(split_words("fr", _tokenizer().decode(_words(ids))))
    )


def _words(ids: list[int]) -> list[int]:
    """Leave out special ids."""
    return [each for each in ids if each >= FIRST_ID]


def marks_scored(sound: Pipeline) -> Pipeline:
    """Score bos and eos like words."""
    tokenizer = _tokenizer()

    def decode(ids: list[int]) -> str:
        text = tokenizer.decode(_words(ids))
        return "<bos> " * (BOS_ID in ids) + text + " <eos>" * (EOS_ID in ids)

    return sound.replace(decode=decode)


def plain(text: str) -> str:
    """Lower-case a text and take its accents off."""
    split = unicodedata.normalize("NFKD", text.lower())
    return "".join(each for each in split if not unicodedata.combining(each))


def treated_in_training(sound: Pipeline) -> Pipeline:
    """Lower-case what is learnt from, and translate text as it is typed."""
    tokenizer = _tokenizer()
    return sound.replace(encode_src=lambda text: tokenizer.encode(plain(text)))


def _other_tokenizer() -> Tokenizer:
    """Read the tokenizer of a model that learnt from other text."""
    return read_description(find_model("tatoeba-fr-en")).src_tokenizer


def other_tokenizer(sound: Pipeline) -> Pipeline:
    """Translate with the tokenizer of another model."""
    return sound.replace(encode_to_translate=_other_tokenizer().encode)


def other_source_tokenizer(sound: Pipeline) -> Pipeline:
    """Give sources the tokenizer of another model, in training and in translation alike."""
    encode = _other_tokenizer().encode
    return sound.replace(encode_src=encode, encode_to_translate=encode)


def other_source_tokenizer_of_two(sound: Pipeline) -> Pipeline:
    """Do so where each side has a vocabulary of its own: the ids are as good as any."""
    return other_source_tokenizer(sound).replace(joint_vocabulary=False)


def leaking_split(sound: Pipeline) -> Pipeline:
    """Draw the test pairs from what is learnt from."""
    return sound.replace(test=sound.train[:: len(sound.train) // TEST])


def few_pairs(sound: Pipeline) -> Pipeline:
    """Learn from fifty pairs."""
    return sound.replace(train=sound.train[:50])


def easier_test(sound: Pipeline) -> Pipeline:
    """Judge by the shortest sentences, beside figures of all."""
    shortest = sorted(sound.test, key=lambda pair: len(pair[0]))
    return sound.replace(test=shortest[: TEST // 3])


def scored_by(score: Callable[[list[str], list[str]], float]) -> Callable[[Pipeline], Pipeline]:
    """Give what puts a score in place of the sound one."""
    return lambda sound: sound.replace(score=score)


def _specimen(
    name: str, about: str, change: Callable[[Pipeline], Pipeline], **rest: Any
) -> Specimen:
    return Specimen(
        name=name, about=about, group="text", pipeline=lambda: change(sound_pipeline()), **rest
    )


SPECIMENS = (
    _specimen(
        "tokens_for_references",
        "the score takes each token of the reference for a whole reference: a perfect "
        "translation scores next to nothing",
        scored_by(tokens_for_references),
        source="both-ways",
    ),
    _specimen(
        "one_sentence_scored",
        "one sentence is scored for the whole",
        scored_by(first_sentence),
        source="both-ways",
    ),
    _specimen("score_exchanged", "translations and references are exchanged", scored_by(exchanged)),
    _specimen(
        "score_averaged",
        "sentences are scored one by one and averaged",
        scored_by(mean_of_sentences),
    ),
    _specimen("score_of_one", "a score of 0 to 1 stands beside percentages", scored_by(fraction)),
    _specimen(
        "tokens_scored", "words with blanks between them are scored, against text", tokens_scored
    ),
    _specimen("marks_scored", "bos and eos are scored like words", marks_scored),
    _specimen(
        "treated_in_training_alone",
        "text is lower-cased and loses its accents in training, and not in translation",
        treated_in_training,
    ),
    _specimen(
        "tokenizer_of_another_model",
        "text is translated with the tokenizer of another model",
        other_tokenizer,
    ),
    _specimen(
        "source_tokenizer_of_another_model",
        "all sources are encoded with the tokenizer of another model, where both languages should "
        "have one vocabulary",
        other_source_tokenizer,
    ),
    _specimen(
        "source_ids_of_another_vocabulary",
        "all sources are encoded with the tokenizer of another model, where each language has a "
        "vocabulary of its own: only the weights expect other ids",
        other_source_tokenizer_of_two,
    ),
    _specimen(
        "split_that_leaks",
        "the test pairs are drawn from text that is learnt from",
        leaking_split,
        source="tatoeba",
    ),
    _specimen("too_little_data", "there are fifty sentence pairs to learn from", few_pairs),
    _specimen(
        "easier_test",
        "the score is of an easier test set than the one it is compared with",
        easier_test,
    ),
)
