"""Translates standard input (UTF-8), one sentence a line: `python translate.py < sentences.txt`.

Needs `pip install transformers torch`, and this folder; nothing of the course.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

SENTENCES_PER_BATCH = 32  # sentences


class Translator:
    """A model with its tokenizer; 0 threads leaves their number to PyTorch."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        if threads:
            torch.set_num_threads(threads)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()

    def translate(self, sentences: list[str], beam_size: int = 4) -> list[str]:
        """Translate sentences, in order; an empty one gives an empty translation."""
        translations = []
        for start in range(0, len(sentences), SENTENCES_PER_BATCH):
            batch = sentences[start : start + SENTENCES_PER_BATCH]
            encoded = self.tokenizer(batch, return_tensors="pt", padding=True, truncation=True)
            ids = self.model.generate(
                input_ids=encoded["input_ids"],
                attention_mask=encoded["attention_mask"],
                num_beams=beam_size,
            )
            texts = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
            for sentence, text in zip(batch, texts, strict=True):
                translations.append("" if self.is_blank(sentence) else text)
        return translations

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
