"""Translates standard input (UTF-8), one sentence a line: `python translate.py < sentences.txt`.

Needs `pip install transformers torch`, and this folder; nothing of the course.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer


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
        for start in range(0, len(sentences), 32):
            part = sentences[start : start + 32]
            batch = self.tokenizer(part, return_tensors="pt", padding=True, truncation=True)
            given = {name: batch[name] for name in ("input_ids", "attention_mask")}
            found = self.model.generate(**given, num_beams=beam_size)
            said = self.tokenizer.batch_decode(found, skip_special_tokens=True)
            translations += [
                text if sentence.strip() else "" for text, sentence in zip(said, part, strict=True)
            ]
        return translations


if __name__ == "__main__":
    lines = [line.decode("utf-8-sig") for line in sys.stdin.buffer]  # whatever the system's is
    for translation in Translator(Path(__file__).parent).translate(lines):
        said = " ".join(translation.split())  # one line in is one line out
        sys.stdout.buffer.write(f"{said}\n".encode())
