"""Translates standard input (UTF-8), one sentence a line: `python translate.py < sentences.txt`.

Needs `pip install ctranslate2 tokenizers`, and this folder; nothing of the course.
"""

import sys
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer

NUM_SPECIAL_TOKENS = 4  # below it stand <pad>, <unk>, <bos> and <eos>


class Translator:
    """A model with its tokenizers; 0 threads leaves their number to CTranslate2."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self.source = Tokenizer.from_file(str(folder / "src_tokenizer.json"))
        self.target = Tokenizer.from_file(str(folder / "tgt_tokenizer.json"))
        self.engine = ctranslate2.Translator(str(folder), intra_threads=threads)
        self.ids = self.target.get_vocab()
        assert self.target.truncation is not None
        self.longest = self.target.truncation["max_length"] - 1  # one place is for <bos>

    def translate(self, sentences: list[str], beam_size: int = 4, alpha: float = 0.6) -> list[str]:
        """Translate sentences, in order; an empty one gives an empty translation.

        CTranslate2 divides a sum of log probabilities by length ** length_penalty, the paper by
        ((5 + length) / 6) ** alpha. So all that the search has finished is asked for, with the
        mean per token (length_penalty 1), and is ranked here in the paper's way. (Without a
        penalty, 0, CTranslate2 would search on until the best prefix ends.)
        """
        results = self.engine.translate_batch(
            [encoding.tokens for encoding in self.source.encode_batch(sentences)],
            max_batch_size=32,
            beam_size=beam_size,
            num_hypotheses=beam_size,
            length_penalty=1,
            return_scores=True,
            min_decoding_length=0,
            max_decoding_length=self.longest,
        )
        translations = []
        for sentence, result in zip(sentences, results, strict=True):
            best = max(
                zip(result.scores, result.hypotheses, strict=True),
                key=lambda found: paper_score(found[0], len(found[1]) + 1, alpha),
            )
            ids = [self.ids[token] for token in best[1]]
            text = self.target.decode([number for number in ids if number >= NUM_SPECIAL_TOKENS])
            translations.append(text if sentence.strip() else "")
        return translations


def paper_score(mean: float, length: int, alpha: float) -> float:
    """Give a translation's score as the paper has it, of its mean log probability per token."""
    return mean * length / ((5 + length) / 6) ** alpha


if __name__ == "__main__":
    lines = [line.decode("utf-8-sig") for line in sys.stdin.buffer]  # whatever the system's is
    for translation in Translator(Path(__file__).parent).translate(lines):
        said = " ".join(translation.split())  # one line in is one line out
        sys.stdout.buffer.write(f"{said}\n".encode())
