"""Translates standard input (UTF-8), one sentence a line: `python translate.py < sentences.txt`.

Needs `pip install onnxruntime tokenizers`, and this folder; nothing of the course.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(4)
MAX_EXTRA_TOKENS = 50  # a translation may have so many tokens more than its source
SENTENCES_PER_BATCH = 32


class Translator:
    """A model with its tokenizers; 0 threads leaves their number to ONNX Runtime."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self.source = Tokenizer.from_file(str(folder / "src_tokenizer.json"))
        self.target = Tokenizer.from_file(str(folder / "tgt_tokenizer.json"))
        assert self.target.truncation is not None
        self.max_length = self.target.truncation["max_length"] - 1  # one position is for <bos>
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        on_cpu = ["CPUExecutionProvider"]
        self.encoder = onnxruntime.InferenceSession(
            folder / "encoder.onnx", options, providers=on_cpu
        )
        self.decoder = onnxruntime.InferenceSession(
            folder / "decoder.onnx", options, providers=on_cpu
        )

    def translate(self, sentences: list[str]) -> list[str]:
        """Translate sentences, in order, by greedy search; an empty one gives an empty one."""
        sources = [encoding.ids for encoding in self.source.encode_batch(sentences)]
        rows = [row for row, sentence in enumerate(sentences) if not self.is_blank(sentence)]
        # Sentences of like length share a batch.
        rows.sort(key=lambda row: len(sources[row]))
        translations = [""] * len(sentences)
        for start in range(0, len(rows), SENTENCES_PER_BATCH):
            batch = rows[start : start + SENTENCES_PER_BATCH]
            outputs = self.greedy_search([sources[row] for row in batch])
            for row, ids in zip(batch, outputs, strict=True):
                translations[row] = self.target.decode(
                    [number for number in ids if number > EOS_ID]
                )
        return translations

    def is_blank(self, sentence: str) -> bool:
        """Return whether there is nothing to see in a sentence, for its normalizer."""
        assert self.source.normalizer is not None
        return self.source.normalizer.normalize_str(sentence) == ""

    def greedy_search(self, sources: list[list[int]]) -> list[list[int]]:
        """Take the most probable token at every step.

        The sources' ids end in <eos>; those that are returned do not.
        """
        src = np.full((len(sources), max(len(ids) for ids in sources)), PAD_ID)
        for row, ids in enumerate(sources):
            src[row, : len(ids)] = ids
        limits = np.minimum([len(ids) + MAX_EXTRA_TOKENS for ids in sources], self.max_length)
        mask, memory_keys, memory_values = self.encoder.run(None, {"src": src})
        inputs: dict[str, Any] = {
            "src_mask": mask,
            "memory_keys": memory_keys,
            "memory_values": memory_values,
            "past_keys": memory_keys[:, :, :, :0],  # no position yet
            "past_values": memory_values[:, :, :, :0],
        }
        token = np.full(len(src), BOS_ID)
        outputs: list[list[int]] = [[] for _ in sources]
        unfinished = limits > 0
        while unfinished.any():
            inputs["token"] = token[:, None]
            log_probs, inputs["past_keys"], inputs["past_values"] = self.decoder.run(None, inputs)
            token = log_probs.argmax(axis=-1)
            unfinished &= token != EOS_ID
            for row in unfinished.nonzero()[0]:
                outputs[row].append(int(token[row]))
                unfinished[row] = len(outputs[row]) < limits[row]
        return outputs


if __name__ == "__main__":
    # The input is UTF-8, whatever the system's encoding is.
    lines = [line.decode("utf-8-sig") for line in sys.stdin.buffer]
    for translation in Translator(Path(__file__).parent).translate(lines):
        # A model may write a line feed, and one line in is one line out.
        one_line = " ".join(translation.split())
        sys.stdout.buffer.write(f"{one_line}\n".encode())
