"""Text is treated alike everywhere, comes back whole, and is not learned by heart."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from attention_laws.adapter import Pair, Pipeline
from attention_laws.errors import UserError
from attention_laws.law import law, needed
from attention_laws.laws.scores import folded
from attention_laws.report import Finding, Verdict, broken, kept, not_tried, warned

SENTENCES = 200
SOME, NEARLY_ALL = 0.5, 0.98  # of the words
LEAK = 0.01  # of the test pairs


def _encoded(pipeline: Pipeline, side: str) -> list[tuple[str, list[int]]]:
    """Give training targets (or sources) with their ids, none with an unknown word."""
    encode = needed(pipeline.encode_tgt if side == "target" else pipeline.encode_src)
    texts = [pair[side == "target"] for pair in pipeline.train[:SENTENCES]]
    encoded = [(text, encode(text)) for text in texts]
    return [(text, ids) for text, ids in encoded if pipeline.unk_id not in ids]


@law("train", "encode_tgt", "decode")
def text_survives_round_trip(pipeline: Pipeline) -> Finding:
    """Text comes back from its ids, but for blanks, case, accents and punctuation.

    Means: decode has another vocabulary than encode, or most words are unknown
    Look: at which tokenizer was saved, and which is loaded
    """
    found = [_come_back(pipeline, "target")]
    if pipeline.joint_vocabulary and pipeline.encode_src is not None:
        found.append(_come_back(pipeline, "source"))
    worst = next(verdict for verdict in Verdict if verdict in [each.verdict for each in found])
    return Finding(worst, "; ".join(each.seen for each in found if each.verdict == worst))


def _come_back(pipeline: Pipeline, side: str) -> Finding:
    """Encode the training texts of a side, and decode them."""
    came, total, worst = 0, 0, (1.0, "")
    for text, ids in _encoded(pipeline, side):
        try:
            given = needed(pipeline.decode)(ids)
        except (LookupError, ValueError) as error:  # an id that decode does not have
            return broken(f"decode refuses the ids {ids[:12]} of {side} {text!r}: {error}")
        words, back = _words(text), _words(given)
        shared = (words & back).total()
        came, total = came + shared, total + words.total()
        share = shared / max(words.total(), 1)
        worst = min(worst, (share, f"{text!r} comes back as {given!r}"))
    if not total:
        return not_tried(f"no training {side} is without an unknown word")
    share = came / total
    of = f"of the words of training {side}s come back"
    seen = f"{100 * share:.1f}% {of}"
    if share < NEARLY_ALL:
        return (broken if share < SOME else warned)(f"{seen}: {worst[1]}")
    return kept(seen)


def _words(text: str) -> Counter[str]:
    """Count words, without what stands between them."""
    return Counter("".join(c if c.isalnum() else " " for c in folded(text)).split())


@law("train", "encode_tgt", "decode")
def scored_text_has_no_special_tokens(pipeline: Pipeline) -> Finding:
    """No bos, eos or padding is in the text that is scored.

    Means: ids are turned into words with the special ones: one right token more in each sentence
    Look: at decode, before the tokens are joined
    """
    decode = needed(pipeline.decode)
    targets = _encoded(pipeline, "target")
    if not targets:
        return not_tried("no training target is without an unknown word")
    text, ids = targets[0]
    plain = pipeline.without_marks(ids)
    wanted = decode(plain)
    marks = {"bos": [pipeline.bos_id, *plain], "eos": [*plain, pipeline.eos_id]}
    if pipeline.pad_id is not None:
        marks["padding"] = [*plain, pipeline.eos_id, pipeline.pad_id, pipeline.pad_id]
    for name, marked in marks.items():
        given = decode(marked)
        if " ".join(given.split()) != " ".join(wanted.split()):
            return broken(f"with {name} the ids of {text!r} are decoded to {given!r}")
    return kept(f"{', '.join(marks)} around a sentence leave no trace in its text")


@law("test", "encode_src", "encode_to_translate")
def training_and_inference_encode_alike(pipeline: Pipeline) -> Finding:
    """A text has the same ids in training and in translation.

    Means: the corpus is lower-cased, normalised or cleaned as it is read, what users type is not
    Look: at what is done to a text before encode: put it into encode
    """
    encoders = needed(pipeline.encode_src), needed(pipeline.encode_to_translate)
    number = 0
    for source, _ in [*pipeline.test[:SENTENCES], *pipeline.train[:20]]:
        for text in _written(source):
            number += 1
            ids = [pipeline.without_marks(encode(text)) for encode in encoders]
            if ids[0] != ids[1]:
                first, second = (each[:12] for each in ids)
                return broken(f"{text!r} has the ids {first} in training, {second} in translation")
    return kept(f"{number} texts have the same ids in training and in translation")


def _written(text: str) -> list[str]:
    """Give a text as the corpus has it, and as people type it."""
    wide, curled = f" {text}".replace(" ", "  "), text.replace("'", "\u2019")
    return [text, unicodedata.normalize("NFD", text), curled, text.upper(), wide]


def key(sentence: str) -> str:
    """Reduce a sentence to its words: lower-cased, without punctuation."""
    return " ".join(re.sub(r"[^\w\s]", " ", sentence.lower()).split())


class Leak(NamedTuple):
    """Shares of the test pairs, 0 to 1, whose side or sides stand in the training pairs."""

    first: float  # of the two sides
    second: float
    either: float  # one of them at least


def measure_leak(train: Sequence[Pair], test: Sequence[Pair]) -> Leak:
    """Count the test pairs whose sides were seen in training, whatever case and punctuation.

    Raises:
        UserError: there are no test pairs.
    """
    if not test:
        raise UserError("no test pairs: there is nothing that could leak")
    firsts, seconds = ({key(pair[side]) for pair in train} for side in (0, 1))
    first = [key(pair[0]) in firsts for pair in test]
    second = [key(pair[1]) in seconds for pair in test]
    either = [a or b for a, b in zip(first, second, strict=True)]
    return Leak(*(sum(seen) / len(test) for seen in (first, second, either)))


@law("train", "test")
def train_and_test_are_disjoint(pipeline: Pipeline) -> Finding:
    """No source of a test pair is learned from, nor its target.

    Means: a corpus with several translations of a sentence was split at random
    Look: at the split: pairs that share a side belong on the same side of it
    """
    leak = measure_leak(pipeline.train, pipeline.test)
    shown = f"of {len(pipeline.test)} test pairs {100 * leak.first:.1f}% have a source, "
    shown += f"{100 * leak.second:.1f}% a target that is learned from"
    if leak.first > LEAK:
        return broken(shown)
    return warned(shown) if leak.either else kept(shown)  # trees and labels are shared by right
