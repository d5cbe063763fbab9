"""Translates standard input (UTF-8), one sentence a line: `python translate.py < sentences.txt`.

Needs `pip install ctranslate2 tokenizers`, and this folder; nothing of the course.
"""

import sys
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer

NUM_SPECIAL_TOKENS = 4  # <pad>, <unk>, <bos> and <eos> have the ids 0 to 3


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
        """Translate sentences, in order; an empty one gives an empty translation.

        CTranslate2 divides a sum of log probabilities by length ** length_penalty, the paper by
        ((5 + length) / 6) ** alpha. So this asks for every hypothesis that the search has
        finished, with its mean per token (length_penalty 1), and ranks them in the paper's way.
        (Without a penalty, 0, CTranslate2 would search on until the best prefix ends.)
        """
        results = self.engine.translate_batch(
            [encoding.tokens for encoding in self.source.encode_batch(sentences)],
            max_batch_size=32,
            beam_size=beam_size,
            num_hypotheses=beam_size,
            length_penalty=1,
            return_scores=True,
            min_decoding_length=0,
            max_decoding_length=self.max_length,
        )
        translations = []
        for sentence, result in zip(sentences, results, strict=True):
            # The length counts <eos>, which a hypothesis does not show.
            scores = [
                paper_length_penalized_score(mean, len(tokens) + 1, alpha)
                for mean, tokens in zip(result.scores, result.hypotheses, strict=True)
            ]
            best = result.hypotheses[scores.index(max(scores))]
            ids = [self.ids[token] for token in best]
            text = self.target.decode([number for number in ids if number >= NUM_SPECIAL_TOKENS])
            translations.append("" if self.is_blank(sentence) else text)
        return translations

    def is_blank(self, sentence: str) -> bool:
        """Return whether there is nothing to see in a sentence, for its normalizer."""
        assert self.source.normalizer is not None
        return self.source.normalizer.normalize_str(sentence) == ""


def paper_length_penalized_score(mean: float, length: int, alpha: float) -> float:
    """Return the paper's score of a translation from its mean log probability per token."""
    return mean * length / ((5 + length) / 6) ** alpha


if __name__ == "__main__":
    # The input is UTF-8, whatever the system's encoding is.
    lines = [line.decode("utf-8-sig") for line in sys.stdin.buffer]
    for translation in Translator(Path(__file__).parent).translate(lines):
        # A model may write a line feed, and one line in is one line out.
        one_line = " ".join(translation.split())
        sys.stdout.buffer.write(f"{one_line}\n".encode())
