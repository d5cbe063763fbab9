"""Toys of lesson 12: a decoder that glimpses later tokens, a loss that may have a fault."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.config import PAD_ID

LOSS_FAULTS = ("none", "padding counts", "sentences count alike", "softmax twice")
MOST_PLACES = 16  # of a sentence


@dataclass
class Glimpse:
    """A toy decoder that sees what has been written, and some tokens that it must not.

    `leaks` has a pair (position, place) for each later token that a position sees. Its numbers
    are few binary digits long, so that no sum is rounded, on any machine.
    """

    leaks: list[tuple[int, int]]
    seed: int

    def __post_init__(self) -> None:
        """Draw the weights."""
        chance = torch.Generator().manual_seed(self.seed)
        self._tokens = torch.randint(-50, 51, (9, 4), generator=chance) / 32
        self._seen = torch.randint(4, 13, (MOST_PLACES, MOST_PLACES), generator=chance) / 8

    def __repr__(self) -> str:
        """Write it as a lesson would, where `ex` is the module of the exercises."""
        return f"ex.Glimpse({self.leaks}, {self.seed})"

    def __call__(self, tgt_in: Tensor) -> Tensor:
        """Ids (tgt_len,), 1 to 8 -> logits (tgt_len, 9)."""
        length = len(tgt_in)
        mask = torch.ones(length, length).tril()
        for position, place in self.leaks:
            if place < length:
                mask[position, place] = 1
        return (self._seen[:length, :length] * mask) @ self._tokens[tgt_in] @ self._tokens.T


@dataclass
class Loss:
    """A loss in nats, over a batch's tokens or for each of them, that may have a fault.

    Args:
        fault: One of `LOSS_FAULTS`.
        total: Whether it is a sum over tokens; a mean where not.
    """

    fault: str
    total: bool = False

    def __repr__(self) -> str:
        """Write it as a lesson would, where `ex` is the module of the exercises."""
        return f"ex.Loss({self.fault!r}, {self.total})"

    def __call__(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Logits (batch, tgt_len, vocab_size) and ids (batch, tgt_len), 0 for padding -> scalar."""
        if self.fault == "softmax twice":
            logits = logits.softmax(dim=-1)
        each = F.cross_entropy(logits.transpose(1, 2), tgt_out, reduction="none")
        real = (tgt_out != PAD_ID).float()
        if self.fault == "padding counts":
            real = torch.ones_like(real)
        each = each.masked_fill(real == 0, 0.0)  # also where it is infinite, or no number
        if self.fault == "sentences count alike":
            return ((each * real).sum(dim=1) / real.sum(dim=1)).mean()
        return (each * real).sum() / (1 if self.total else real.sum())
