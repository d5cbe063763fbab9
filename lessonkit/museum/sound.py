"""A small Transformer with all that trains it and searches with it, right in every line.

Not in the paper. The specimens of the museum are variations of it: a method of `Setup`, or a
part of its model, is another. Laws are tried on it to see that they break on nothing sound.
"""

import random
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Adam, Optimizer

from attention_laws.adapter import Adapter, Candidate
from lessonkit.subjects import from_transformer
from transformer.config import PAD_ID, ModelConfig
from transformer.data.batches import Example, collate
from transformer.decoding import Hypothesis, beam_search, greedy_search, length_penalty
from transformer.dropout import evaluating
from transformer.model import Transformer
from transformer.training.schedule import learning_rate

SRC_VOCAB_SIZE, TGT_VOCAB_SIZE = 23, 29  # unequal, so that neither can stand for the other
CONFIG: dict[str, Any] = {
    "d_model": 32,
    "d_ff": 64,
    "num_heads": 4,
    "num_layers": 2,
    "tie_source_target": False,
}


class Setup:
    """A model, and how it is trained and searched.

    Args:
        model: A Transformer, its weights freshly drawn.
        warmup_steps: Steps of rising rate (§5.3).
        label_smoothing: Probability moved away from the true type (§5.4).
    """

    use_cache = True

    def __init__(
        self, model: Transformer, *, warmup_steps: int = 40, label_smoothing: float = 0.1
    ) -> None:
        self.model = model
        self.warmup_steps = warmup_steps
        self.label_smoothing = label_smoothing
        self.optimizer = self.make_optimizer()

    def make_optimizer(self) -> Optimizer:
        """Make Adam for the model (§5.3)."""
        return Adam(self.model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)

    def make_batch(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Give src, tgt_in and tgt_out, (batch, length) each, of ids without special ones."""
        batch = collate([Example(*pair) for pair in zip(sources, targets, strict=True)])
        return batch.src, batch.tgt_in, batch.tgt_out

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Give the smoothed loss, nats per real token (§5.4)."""
        return F.cross_entropy(
            logits.flatten(end_dim=1),
            tgt_out.flatten(),
            ignore_index=PAD_ID,
            label_smoothing=self.label_smoothing,
        )

    def rate(self, step: int) -> float:
        """Give the learning rate of a step, from 1 (§5.3, Eq. 3)."""
        return learning_rate(step, self.model.config.d_model, self.warmup_steps)

    def updates(self) -> int:
        """Count the updates made so far, as Adam does."""
        state = next(iter(self.optimizer.state.values()), None)
        return 0 if state is None else int(state["step"])

    def train_step(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        """Make one update on a batch, and give its loss in nats per token."""
        self.forward_mode()
        self.clear()
        loss = self.loss(self.model(src, tgt_in), tgt_out)
        loss.backward()
        self.update(self.updates() + 1)
        return float(loss.detach())

    def forward_mode(self) -> None:
        """Turn dropout on."""
        self.model.train()

    def clear(self) -> None:
        """Forget the gradients of the step before."""
        self.optimizer.zero_grad()

    def update(self, step: int) -> None:
        """Move the weights at this step's rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(step)
        self.optimizer.step()

    def validate(self, batches: Sequence[tuple[Tensor, Tensor, Tensor]]) -> float:
        """Measure the loss on held-out batches, without dropout or smoothing: nats per token."""
        nll, tokens = 0.0, 0
        with evaluating(self.model), torch.no_grad():
            for src, tgt_in, tgt_out in batches:
                nll += summed_nll(self.model(src, tgt_in), tgt_out)
                tokens += int((tgt_out != PAD_ID).sum())
        return nll / tokens

    def search_mode(self) -> AbstractContextManager[None]:
        """Turn dropout off within."""
        return evaluating(self.model)

    def searched(self) -> Transformer:
        """Give the model as it is when it translates."""
        return self.model

    def greedy(self, src: Tensor, length: int) -> list[list[int]]:
        """Translate sources greedily, into at most `length` tokens each."""
        with self.search_mode():
            found = greedy_search(self.searched(), src, max_len=length, use_cache=self.use_cache)
        return [each.ids for each in found]

    def beam(
        self, src: Tensor, beam_size: int, length: int, alpha: float = 0.0
    ) -> list[list[Hypothesis]]:
        """Translate sources with a beam (§6.1), the best of each first."""
        with self.search_mode():
            return beam_search(
                self.searched(),
                src,
                beam_size=beam_size,
                alpha=alpha,
                max_len=length,
                use_cache=self.use_cache,
            )

    def candidates(self, src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        """Give what a beam finds without length penalty, as the laws take it."""
        found = self.beam(src, beam_size, length)
        return [[Candidate(*each) for each in row] for row in found]

    def rank(self, log_prob: float, length: int) -> float:
        """Give what candidates are ranked by, `length` with eos (§6.1)."""
        return log_prob / length_penalty(length)

    def adapter(self) -> Adapter:
        """Show all of it to the laws."""
        return from_transformer(self.model).replace(
            greedy=self.greedy,
            beam=self.candidates,
            rank=self.rank,
            loss=self.loss,
            optimizer=self.optimizer,
            train_step=self.train_step,
            schedule=self.rate,
            warmup_steps=self.warmup_steps,
            make_batch=self.make_batch,
            fresh=self.updates() == 0,
        )


def summed_nll(logits: Tensor, tgt_out: Tensor) -> float:
    """Sum the negative log likelihood of the real tokens, in nats."""
    flat = logits.flatten(end_dim=1), tgt_out.flatten()
    return float(F.cross_entropy(*flat, ignore_index=PAD_ID, reduction="sum"))


def sound_model(seed: int = 0, **changes: Any) -> Transformer:
    """Make a small Transformer, its weights drawn.

    Args:
        seed: Of the weights.
        changes: Of the vocabularies' sizes (`src_vocab_size`, `tgt_vocab_size`), or of what
            `CONFIG` and `ModelConfig` have.
    """
    sizes = {"src_vocab_size": SRC_VOCAB_SIZE, "tgt_vocab_size": TGT_VOCAB_SIZE}
    sizes |= {name: changes.pop(name) for name in sizes if name in changes}
    torch.manual_seed(seed)
    return Transformer(ModelConfig(**CONFIG | changes), **sizes)


def drawn_config(seed: int) -> dict[str, Any]:
    """Draw a configuration that is as sound as any, as `sound_model` takes it.

    Args:
        seed: Of what is drawn.
    """
    draw = random.Random(seed)
    heads = draw.choice([1, 2, 4])
    positions = draw.choice(["sinusoidal", "learned", "concatenated"])
    joint = draw.random() < 0.5
    config: dict[str, Any] = {
        "d_model": heads * draw.choice([8, 12, 16]),
        "d_ff": draw.choice([31, 64, 97]),
        "num_heads": heads,
        "num_layers": draw.randint(1, 4),
        "dropout": draw.choice([0.0, 0.1, 0.3]),
        "attention_dropout": draw.choice([0.0, 0.1]),
        "pre_norm": draw.random() < 0.5,
        "positions": positions,
        "tie_source_target": joint,
        "tie_softmax": positions != "concatenated" and draw.random() < 0.5,
        "attention_bias": draw.random() < 0.5,
        "output_bias": draw.random() < 0.5,
        "tgt_vocab_size": draw.choice([29, 61, 211]),
    }
    if joint:
        config["src_vocab_size"] = config["tgt_vocab_size"]
    if positions == "concatenated":
        config["position_dim"] = 4
    return config


def sound(seed: int = 0, **changes: Any) -> Adapter:
    """Make a sound Transformer with everything that an adapter can hold.

    Args:
        seed: Of the weights.
        changes: As `sound_model` takes them.
    """
    return Setup(sound_model(seed, **changes)).adapter()
