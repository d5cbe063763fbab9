"""Text has the same ids everywhere, and comes back from them (§5.1)."""

import unicodedata
from collections import Counter

from attention_laws.adapter import Pipeline
from attention_laws.law import assert_not_none, pipeline_law
from attention_laws.laws.bleu import text_without_case_and_accents
from attention_laws.report import (
    Finding,
    Verdict,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)

LAW_MODULE_SORT_KEY = 20
MAX_SENTENCES_TRIED = 200
# Shares of the words that must come back: less is broken, or warned of.
MIN_SHARE, MIN_SOUND_SHARE = 0.5, 0.98


def _encode_training_texts(pipeline: Pipeline, side: str) -> list[tuple[str, list[int]]]:
    """Return training texts of a side with their ids, without those with an unknown word."""
    pairs = pipeline.train[:MAX_SENTENCES_TRIED]
    if side == "source":
        texts, encode = [source for source, _ in pairs], assert_not_none(pipeline.encode_src)
    else:
        texts, encode = [target for _, target in pairs], assert_not_none(pipeline.encode_tgt)
    encoded = [(text, encode(text)) for text in texts]
    return [(text, ids) for text, ids in encoded if pipeline.unk_id not in ids]


@pipeline_law("train", "encode_tgt", "decode")
def text_survives_round_trip(pipeline: Pipeline) -> Finding:
    """Text comes back from its ids, but for blanks, case, accents and punctuation.

    Means: decode has another vocabulary than encode, or most words are unknown
    Look: at which tokenizer was saved, and which is loaded
    """
    findings = [_judge_round_trips_of_side(pipeline, "target")]
    if pipeline.joint_vocabulary and pipeline.encode_src is not None:
        findings.append(_judge_round_trips_of_side(pipeline, "source"))
    verdicts = [finding.verdict for finding in findings]
    worst = next(verdict for verdict in Verdict if verdict in verdicts)
    return Finding(worst, "; ".join(x.seen for x in findings if x.verdict == worst))


def _judge_round_trips_of_side(pipeline: Pipeline, side: str) -> Finding:
    """Encode the training texts of a side, and decode them."""
    shared_words, all_words = 0, 0
    worst_share, worst_example = 1.0, ""
    for text, ids in _encode_training_texts(pipeline, side):
        try:
            decoded = assert_not_none(pipeline.decode)(ids)
        except (LookupError, ValueError) as error:  # An id may be missing from the vocabulary.
            return broken_finding(f"decode refuses the ids {ids[:12]} of {side} {text!r}: {error}")
        words, decoded_words = _count_each_word(text), _count_each_word(decoded)
        shared = (words & decoded_words).total()
        shared_words += shared
        all_words += words.total()
        example = (shared / max(words.total(), 1), f"{text!r} comes back as {decoded!r}")
        worst_share, worst_example = min((worst_share, worst_example), example)
    if not all_words:
        return not_tried_finding(f"no training {side} is without an unknown word")
    share = shared_words / all_words
    seen = f"{100 * share:.1f}% of the words of training {side}s come back"
    if share < MIN_SHARE:
        return broken_finding(f"{seen}: {worst_example}")
    if share < MIN_SOUND_SHARE:
        return warned_finding(f"{seen}: {worst_example}")
    return kept_finding(seen)


def _count_each_word(text: str) -> Counter[str]:
    """Count words, without what stands between them."""
    return Counter(
        "".join(c if c.isalnum() else " " for c in text_without_case_and_accents(text)).split()
    )


@pipeline_law("train", "encode_tgt", "decode")
def scored_text_has_no_special_tokens(pipeline: Pipeline) -> Finding:
    """No bos, eos or padding is in the text that is scored.

    Means: special ids are turned into words as well: one right token more in each sentence
    Look: at decode, before the tokens are joined
    """
    decode = assert_not_none(pipeline.decode)
    targets = _encode_training_texts(pipeline, "target")
    if not targets:
        return not_tried_finding("no training target is without an unknown word")
    text, ids = targets[0]
    plain = pipeline.without_special_ids(ids)
    expected = decode(plain)
    cases = {"bos": [pipeline.bos_id, *plain], "eos": [*plain, pipeline.eos_id]}
    if pipeline.pad_id is not None:
        cases["padding"] = [*plain, pipeline.eos_id, pipeline.pad_id, pipeline.pad_id]
    for name, with_special_ids in cases.items():
        decoded = decode(with_special_ids)
        if " ".join(decoded.split()) != " ".join(expected.split()):
            return broken_finding(f"with {name} the ids of {text!r} are decoded to {decoded!r}")
    return kept_finding(f"{', '.join(cases)} around a sentence leave no trace in its text")


@pipeline_law("test", "encode_src", "encode_to_translate")
def training_and_inference_encode_alike(pipeline: Pipeline) -> Finding:
    """A text has the same ids in training and in translation.

    Means: the corpus is lower-cased, normalized or cleaned as it is read, what users type is not
    Look: at what is done to a text before encode: put it into encode
    """
    encode = assert_not_none(pipeline.encode_src)
    encode_to_translate = assert_not_none(pipeline.encode_to_translate)
    count = 0
    for source, _ in [*pipeline.test[:MAX_SENTENCES_TRIED], *pipeline.train[:20]]:
        for text in _text_and_typed_variants(source):
            count += 1
            in_training = pipeline.without_special_ids(encode(text))
            in_translation = pipeline.without_special_ids(encode_to_translate(text))
            if in_training != in_translation:
                seen = f"{text!r} has the ids {in_training[:12]} in training"
                return broken_finding(f"{seen}, {in_translation[:12]} in translation")
    return kept_finding(f"{count} texts have the same ids in training and in translation")


def _text_and_typed_variants(text: str) -> list[str]:
    """Return a text as the corpus has it, and as people type it."""
    wide_blanks, curly_quotes = f" {text}".replace(" ", "  "), text.replace("'", "\u2019")
    decomposed = unicodedata.normalize("NFD", text)
    return [text, decomposed, curly_quotes, text.upper(), wide_blanks]
