"""Translations as the lines that `translate` prints: plain, tab-separated or JSON."""

import json
from collections.abc import Iterator, Sequence

from transformer.data.normalizers import normalize_whitespace
from transformer.models.translator import Translator


def translate_to_output_lines(
    translator: Translator,
    sentences: Sequence[str],
    first_number: int,
    beam_size: int,
    n_best: int | None = None,
    as_json: bool = False,
) -> Iterator[str]:
    """Translate sentences, and yield the lines to print.

    A model may generate a line feed or a tab; in each text they become blanks, so that a line is a
    line, and a field a field.

    Args:
        translator: What translates.
        sentences: In the order of the input.
        first_number: The number of the first one in the input, from 1.
        beam_size: As of `Translator.translate`.
        n_best: How many candidates of a sentence, each with its scores; None: the best without.
        as_json: A line of JSON for each sentence instead.
    """
    if n_best is None and not as_json:
        yield from map(normalize_whitespace, translator.translate(sentences, beam_size))
        return
    all_candidates = translator.translate_n_best(
        sentences, 1 if n_best is None else n_best, beam_size
    )
    for number, candidates in enumerate(all_candidates, start=first_number):
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
            yield json.dumps({"sentence": number, "candidates": fields}, ensure_ascii=False)
            continue
        for rank, candidate in enumerate(fields, start=1):
            scores = f"{candidate['score']:.4f}\t{candidate['log_prob']:.4f}"
            yield f"{number}\t{rank}\t{scores}\t{candidate['translation']}"
