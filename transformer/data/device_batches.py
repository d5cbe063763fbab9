"""Batches gathered on the device from flat tensors of ids: what `collate` makes on the CPU.

Not in the paper. Only the numbers of the examples are sent to the device, and nothing is read from
it, so that a CUDA graph can record the gathering.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.batch_shapes import BatchShape
from transformer.data.batches import Batch
from transformer.data.examples import ExampleArrays
from transformer.data.token_arrays import TokenArrays


class DeviceBatch(Batch):
    """A batch that was made on its device, which counts its tokens too."""

    @property
    def num_tgt_tokens(self) -> Tensor:  # type: ignore[override]
        """Number of target tokens without padding, eos included, as a scalar on the device."""
        return (self.tgt_out != PAD_ID).sum()


class ExampleTensors:
    """Sentence pairs in flat tensors on a device, and batches of them.

    Attributes:
        padding_row: The number of an example more, without tokens, which fills a batch up. Its loss
            and gradients are 0. No query of it is without a key: both sides have a special id.
    """

    def __init__(self, examples: ExampleArrays, device: torch.device) -> None:
        self.padding_row = len(examples)
        self._src = _SentenceTensors(examples.src, device)
        self._tgt = _SentenceTensors(examples.tgt, device)

    def pad_rows(self, rows: NDArray[np.int64], sentences: int) -> Tensor:
        """Return examples' numbers, filled up with `padding_row`, (sentences,), on the CPU."""
        padded = np.full(sentences, self.padding_row)
        padded[: len(rows)] = rows
        return torch.from_numpy(padded)

    def gather(self, rows: Tensor, shape: BatchShape) -> DeviceBatch:
        """Put examples side by side, with bos, eos and padding.

        Args:
            rows: Their numbers, on the device, (shape.sentences,).
            shape: At least as long as the longest of them on either side.
        """
        src, is_src_end = self._src.pad(rows, shape.src_len)
        tgt, is_tgt_end = self._tgt.pad(rows, shape.tgt_len)
        # A padding row has no target, not even eos.
        is_real = (rows != self.padding_row).unsqueeze(1)
        bos = torch.full_like(tgt[:, :1], BOS_ID)
        return DeviceBatch(
            src.masked_fill(is_src_end, EOS_ID),
            torch.cat([bos, tgt[:, :-1]], dim=1),
            tgt.masked_fill(is_tgt_end & is_real, EOS_ID),
        )


class _SentenceTensors:
    """Sentences of token ids, one after the other, and one more without tokens."""

    def __init__(self, sentences: TokenArrays, device: torch.device) -> None:
        # One id more than there are, so that the place after the last sentence can be read.
        ids = np.append(sentences.ids.astype(np.int32), np.int32(PAD_ID))
        offsets = sentences.offsets.astype(np.int64)
        self._ids = torch.from_numpy(ids).to(device)  # (tokens + 1,)
        self._starts = torch.from_numpy(offsets).to(device)  # (sentences + 1,)
        lengths = np.append(sentences.lengths(), 0)
        self._lengths = torch.from_numpy(lengths).to(device)  # (sentences + 1,)

    def pad(self, rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Put sentences side by side.

        Returns:
            Their ids with padding, int64 of (rows, width), and where each has ended, boolean of
            (rows, width): True at the place after its last id.
        """
        positions = torch.arange(width, device=rows.device)  # (width,)
        starts, lengths = self._starts[rows].unsqueeze(1), self._lengths[rows].unsqueeze(1)
        places = (starts + positions).clamp_(max=len(self._ids) - 1)  # (rows, width)
        ids = self._ids[places].long()  # (rows, width)
        return ids.masked_fill_(positions >= lengths, PAD_ID), positions == lengths
