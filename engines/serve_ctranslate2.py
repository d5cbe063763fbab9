"""Translates standard input (UTF-8), one sentence a line: `python translate.py < sentences.txt`.

Needs `pip install ctranslate2 tokenizers`, and this folder; nothing of the course.
"""

import sys
from pathlib import Path
from typing import Any

import ctranslate2
from tokenizers import Tokenizer

NUM_SPECIAL_TOKENS = 4  # <pad>, <unk>, <bos> and <eos> have the ids 0 to 3
EOS = "<eos>"
MAX_EXTRA_TOKENS = 50  # a translation may have so many tokens more than its source


class Translator:
    """A model with its tokenizers; 0 threads leaves their number to CTranslate2."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self.source = Tokenizer.from_file(str(folder / "src_tokenizer.json"))
        self.target = Tokenizer.from_file(str(folder / "tgt_tokenizer.json"))
        self.engine = ctranslate2.Translator(str(folder), intra_threads=threads)
        self.ids = self.target.get_vocab()
        assert self.target.truncation is not None
        self.max_length = self.target.truncation["max_length"] - 1  # one position is for <bos>

    def translate(self, sentences: list[str], beam_size: int = 4, alpha: float = 0.6) -> list[str]:
        """Translate sentences, in order; an empty one gives an empty translation."""
        sources = [encoding.tokens for encoding in self.source.encode_batch(sentences)]
        # CTranslate2 has one limit for all sentences of a call, the paper one for each.
        rows_by_limit: dict[int, list[int]] = {}
        for row, sentence in enumerate(sentences):
            if not self.is_blank(sentence):
                limit = min(len(sources[row]) + MAX_EXTRA_TOKENS, self.max_length)
                rows_by_limit.setdefault(limit, []).append(row)
        translations = [""] * len(sentences)
        for limit, rows in rows_by_limit.items():
            batch = [sources[row] for row in rows]
            for row, tokens in zip(rows, self.search(batch, limit, beam_size, alpha), strict=True):
                ids = [self.ids[token] for token in tokens]
                text = self.target.decode([n for n in ids if n >= NUM_SPECIAL_TOKENS])
                translations[row] = text
        return translations

    def search(
        self, sources: list[list[str]], limit: int, beam_size: int, alpha: float
    ) -> list[list[str]]:
        """Return the tokens of each source's best translation, of at most `limit` tokens.

        CTranslate2 divides a sum of log probabilities by length ** length_penalty, the paper by
        ((5 + length) / 6) ** alpha, and hypotheses that end at the same step can be more than the
        beam_size that CTranslate2 returns. So it gets the exponent that orders lengths around the
        sources' as the paper's divisor does, and `paper_sort_key` chooses among what it returns.
        (Without a penalty, 0, CTranslate2 would search on until the best prefix ends.)
        """
        length = len(sources[0])
        options = {
            "max_batch_size": 32,
            "beam_size": beam_size,
            "length_penalty": max(alpha * length / (5 + length), 1e-6),
            "return_scores": True,
            "return_end_token": True,
            "min_decoding_length": 0,
            "max_decoding_length": limit,
        }
        results = self.engine.translate_batch(sources, num_hypotheses=beam_size, **options)
        if beam_size > 1:
            self.search_wider_at_limit(results, sources, options)
        return [
            max(
                zip(result.hypotheses, result.scores, strict=True),
                key=lambda pair: paper_sort_key(pair[0], pair[1], options["length_penalty"], alpha),
            )[0]
            for result in results
        ]

    def search_wider_at_limit(
        self, results: list[Any], sources: list[list[str]], options: dict[str, Any]
    ) -> None:
        """Replace the results in which a hypothesis has no end: it was cut off at the limit.

        There the prefixes join the hypotheses, of which the best beam_size return. Patience 2 makes
        room for both, so that no hypothesis with an end is lost.
        """
        rows = [
            row
            for row, result in enumerate(results)
            if any(tokens[-1] != EOS for tokens in result.hypotheses)
        ]
        wider = self.engine.translate_batch(
            [sources[row] for row in rows],
            num_hypotheses=2 * options["beam_size"],
            patience=2,
            **options,
        )
        for row, result in zip(rows, wider, strict=True):
            results[row] = result

    def is_blank(self, sentence: str) -> bool:
        """Return whether there is nothing to see in a sentence, for its normalizer."""
        assert self.source.normalizer is not None
        return self.source.normalizer.normalize_str(sentence) == ""


def paper_sort_key(
    tokens: list[str], score: float, length_penalty: float, alpha: float
) -> tuple[bool, float]:
    """Return whether a hypothesis has ended, and its score by the paper: the best has the most.

    `score` is CTranslate2's, with its own length penalty; both lengths count the end mark.
    """
    log_probability = score * len(tokens) ** length_penalty
    return tokens[-1] == EOS, log_probability / ((5 + len(tokens)) / 6) ** alpha


if __name__ == "__main__":
    # The input is UTF-8, whatever the system's encoding is.
    lines = [line.decode("utf-8-sig") for line in sys.stdin.buffer]
    for translation in Translator(Path(__file__).parent).translate(lines):
        # A model may write a line feed, and one line in is one line out.
        one_line = " ".join(translation.split())
        sys.stdout.buffer.write(f"{one_line}\n".encode())
