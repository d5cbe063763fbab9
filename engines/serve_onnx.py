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
EXTRA_LENGTH = 50  # tokens that a translation may have more than its source
BATCH = 32  # sentences side by side


class Translator:
    """A model with its tokenizers; 0 threads leaves their number to ONNX Runtime."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self.source = Tokenizer.from_file(str(folder / "src_tokenizer.json"))
        self.target = Tokenizer.from_file(str(folder / "tgt_tokenizer.json"))
        assert self.target.truncation is not None
        self.longest = self.target.truncation["max_length"] - 1  # one place is for <bos>
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(
                folder / f"{name}.onnx", options, providers=["CPUExecutionProvider"]
            )
            for name in ("encoder", "decoder")
        )

    def translate(self, sentences: list[str]) -> list[str]:
        """Translate sentences, in order, by greedy search; an empty one gives an empty one."""
        sources = [encoding.ids for encoding in self.source.encode_batch(sentences)]
        rows = [row for row, sentence in enumerate(sentences) if sentence.strip()]
        rows.sort(key=lambda row: len(sources[row]))  # those of like length together
        translations = [""] * len(sentences)
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            for row, ids in zip(batch, self.search([sources[row] for row in batch]), strict=True):
                translations[row] = self.target.decode([each for each in ids if each > EOS_ID])
        return translations

    def search(self, sources: list[list[int]]) -> list[list[int]]:
        """Take the most probable token at every step, of ids with <eos>; give ids without it."""
        src = np.full((len(sources), max(map(len, sources))), PAD_ID)
        for row, ids in enumerate(sources):
            src[row, : len(ids)] = ids
        limits = np.minimum([len(ids) + EXTRA_LENGTH for ids in sources], self.longest)
        mask, memory_keys, memory_values = self.encoder.run(None, {"src": src})
        known: dict[str, Any] = {
            "src_mask": mask,
            "memory_keys": memory_keys,
            "memory_values": memory_values,
            "past_keys": memory_keys[:, :, :, :0],  # no position yet
            "past_values": memory_values[:, :, :, :0],
        }
        token = np.full(len(src), BOS_ID)
        said: list[list[int]] = [[] for _ in sources]
        going_on = limits > 0
        while going_on.any():
            log_probs, keys, values = self.decoder.run(None, known | {"token": token[:, None]})
            known |= {"past_keys": keys, "past_values": values}
            token = log_probs.argmax(axis=-1)
            going_on &= token != EOS_ID
            for row in going_on.nonzero()[0]:
                said[row].append(int(token[row]))
                going_on[row] = len(said[row]) < limits[row]
        return said


if __name__ == "__main__":
    lines = [line.decode("utf-8-sig") for line in sys.stdin.buffer]  # whatever the system's is
    for translation in Translator(Path(__file__).parent).translate(lines):
        said = " ".join(translation.split())  # one line in is one line out
        sys.stdout.buffer.write(f"{said}\n".encode())
