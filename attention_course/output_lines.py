"""Translations as the lines that `translate` prints: plain, tab-separated or JSON."""

import json
from collections.abc import Iterator, Sequence

from attention_course.long_lines import is_far_longer
from transformer.data.normalizers import normalize_whitespace
from transformer.models.translator import EncodedSource, Translator


def translate_to_output_lines(
    translator: Translator,
    sources: Sequence[EncodedSource],
    first_number: int,
    longest_source: int,
    beam_size: int,
    n_best: int | None = None,
    as_json: bool = False,
) -> Iterator[str]:
    """Translate sentences, and yield the lines to print.

    A model may generate a line feed or a tab; in each text they become blanks, so that a line is a
    line, and a field a field.

    Args:
        translator: What translates.
        sources: As its `encode_all` encodes them, in the order of the input.
        first_number: The number of the first one in the input, from 1.
        longest_source: The tokens of the longest source of training, for `is_far_longer`.
        beam_size: As of `Translator.translate`.
        n_best: How many candidates of a sentence, each with its scores; None: the best without.
        as_json: A line of JSON for each sentence instead.
    """
    all_candidates = translator.translate_encoded(
        sources, 1 if n_best is None else n_best, beam_size
    )
    if n_best is None and not as_json:
        for candidates in all_candidates:
            yield normalize_whitespace(candidates[0].translation) if candidates else ""
        return
    for number, (source, candidates) in enumerate(
        zip(sources, all_candidates, strict=True), start=first_number
    ):
        fields = [
            {
                "translation": normalize_whitespace(candidate.translation),
                "score": round(candidate.score, 4),
                "log_prob": round(candidate.log_prob, 4),
                "finished": candidate.finished,
            }
            for candidate in candidates
        ]
        if as_json:
            sentence = {
                "sentence": number,
                "far_longer_than_training": is_far_longer(source, longest_source),
                "cut_short": source.is_cut_short,
                "candidates": fields,
            }
            yield json.dumps(sentence, ensure_ascii=False)
            continue
        for rank, candidate in enumerate(fields, start=1):
            scores = f"{candidate['score']:.4f}\t{candidate['log_prob']:.4f}"
            yield f"{number}\t{rank}\t{scores}\t{candidate['translation']}"
