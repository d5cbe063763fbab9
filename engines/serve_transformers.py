"""Translates standard input (UTF-8), one sentence a line: `python translate.py < sentences.txt`.

Needs `pip install transformers torch`, and this folder; nothing of the course.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

MAX_EXTRA_TOKENS = 50  # a translation may have so many tokens more than its source
SENTENCES_PER_BATCH = 32


class Translator:
    """A model with its tokenizer; 0 threads leaves their number to PyTorch."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        if threads:
            torch.set_num_threads(threads)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()

    def translate(self, sentences: list[str], beam_size: int = 4, alpha: float = 0.6) -> list[str]:
        """Translate sentences, in order; an empty one gives an empty translation."""
        sources = self.tokenizer(sentences, truncation=True)["input_ids"]
        # The library has one limit for all sentences of a call, the paper one for each.
        rows_by_length: dict[int, list[int]] = {}
        for row, sentence in enumerate(sentences):
            if not self.is_blank(sentence):
                rows_by_length.setdefault(len(sources[row]), []).append(row)
        translations = [""] * len(sentences)
        for rows in rows_by_length.values():
            for start in range(0, len(rows), SENTENCES_PER_BATCH):
                batch = rows[start : start + SENTENCES_PER_BATCH]
                src = torch.tensor([sources[row] for row in batch])
                for row, ids in zip(batch, self.search(src, beam_size, alpha), strict=True):
                    translations[row] = self.tokenizer.decode(ids, skip_special_tokens=True)
        return translations

    def search(self, src: torch.Tensor, beam_size: int, alpha: float) -> list[list[int]]:
        """Return the ids of each source's best translation; `src` is (batch, src_len), unpadded.

        The library divides a sum of log probabilities by length ** length_penalty, the paper by
        ((5 + length) / 6) ** alpha. So it gets the exponent that orders lengths around the source's
        as the paper's divisor does, and `paper_sort_key` chooses among its best beam_size.
        """
        length = src.shape[1]
        length_penalty = alpha * length / (5 + length)
        beams = {"length_penalty": length_penalty, "early_stopping": True} if beam_size > 1 else {}
        result = self.model.generate(
            input_ids=src,
            attention_mask=torch.ones_like(src),
            num_beams=beam_size,
            num_return_sequences=beam_size,
            # <bos> counts.
            max_length=min(1 + length + MAX_EXTRA_TOKENS, self.tokenizer.model_max_length),
            return_dict_in_generate=True,
            output_scores=True,
            **beams,
        )
        hypotheses = [self.until_end(ids) for ids in result.sequences[:, 1:].tolist()]
        if beam_size == 1:
            return hypotheses
        keys = [
            self.paper_sort_key(ids, score, length_penalty, alpha)
            for ids, score in zip(hypotheses, result.sequences_scores.tolist(), strict=True)
        ]
        return [
            hypotheses[max(range(first, first + beam_size), key=keys.__getitem__)]
            for first in range(0, len(hypotheses), beam_size)
        ]

    def until_end(self, ids: list[int]) -> list[int]:
        """Return ids up to the end mark, which counts, without the padding after it."""
        end = self.tokenizer.eos_token_id
        return ids[: ids.index(end) + 1] if end in ids else ids

    def paper_sort_key(
        self, ids: list[int], score: float, length_penalty: float, alpha: float
    ) -> tuple[bool, float]:
        """Return whether a hypothesis has ended, and its score by the paper: the best has the most.

        `score` is the library's, with its own length penalty; both lengths count the end mark.
        """
        log_probability = score * len(ids) ** length_penalty
        ended = ids[-1] == self.tokenizer.eos_token_id
        return ended, log_probability / ((5 + len(ids)) / 6) ** alpha

    def is_blank(self, sentence: str) -> bool:
        """Return whether there is nothing to see in a sentence, for its normalizer."""
        normalized: str = self.tokenizer.backend_tokenizer.normalizer.normalize_str(sentence)
        return normalized == ""


if __name__ == "__main__":
    # The input is UTF-8, whatever the system's encoding is.
    lines = [line.decode("utf-8-sig") for line in sys.stdin.buffer]
    for translation in Translator(Path(__file__).parent).translate(lines):
        # A model may write a line feed, and one line in is one line out.
        one_line = " ".join(translation.split())
        sys.stdout.buffer.write(f"{one_line}\n".encode())
