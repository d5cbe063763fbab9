"""A small Transformer with all that trains it and searches with it, right in every line.

Not in the paper. The faults of the museum are edits of this file and of the package's own. Laws
are tried on it to see that nothing sound breaks them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Adam

from attention_laws.adapter import Adapter, Candidate
from lessonkit.adapters import adapt_transformer
from transformer.config import PAD_ID, ModelConfig
from transformer.data.batches import Example, collate
from transformer.decoding import Hypothesis, beam_search, greedy_search, length_penalty
from transformer.fast_dropout import use_fast_dropout
from transformer.model import Transformer
from transformer.support.checks import check_number
from transformer.support.modes import evaluation_mode
from transformer.support.signatures import check_argument_types
from transformer.training.schedule import learning_rate

MAX_SEED = 2**63 - 1  # of PyTorch's generators
SRC_VOCAB_SIZE, TGT_VOCAB_SIZE = 23, 29  # unequal, so that neither can stand for the other
SMALL_MODEL_CONFIG: dict[str, Any] = {
    "d_model": 32,
    "d_ff": 64,
    "num_heads": 4,
    "num_layers": 2,
    "tie_source_target": False,
}


class TrainingSetup:
    """A Transformer, and how it is trained and searched (§5.3, §5.4)."""

    def __init__(
        self, model: Transformer, *, warmup_steps: int = 40, label_smoothing: float = 0.1
    ) -> None:
        self.model = model
        self.warmup_steps = warmup_steps
        self.label_smoothing = label_smoothing
        self.optimizer = Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)  # §5.3

    def make_batch(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return src, tgt_in and tgt_out, (batch, length) each, of ids without special ones."""
        examples = [Example(src, tgt) for src, tgt in zip(sources, targets, strict=True)]
        batch = collate(examples)
        return batch.src, batch.tgt_in, batch.tgt_out

    def loss(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Return the smoothed loss, nats per real token (§5.4)."""
        logits, tgt_out = logits.flatten(end_dim=1), tgt_out.flatten()
        options: Any = {"ignore_index": PAD_ID, "label_smoothing": self.label_smoothing}
        return F.cross_entropy(logits, tgt_out, **options)

    def rate_of_step(self, step: int) -> float:
        """Return the learning rate of a step, from 1 (§5.3, Eq. 3)."""
        return learning_rate(step, self.model.config.d_model, self.warmup_steps)

    def count_updates(self) -> int:
        """Count the updates made so far, as Adam does."""
        state = next(iter(self.optimizer.state.values()), None)
        return 0 if state is None else int(state["step"])

    def train_step(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        """Make one update on a batch; return the loss before it, in nats per token."""
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.loss(self.model(src, tgt_in), tgt_out)
        loss.backward()
        step = self.count_updates() + 1
        self.optimizer.param_groups[0]["lr"] = self.rate_of_step(step)
        self.optimizer.step()
        return float(loss.detach())

    def validate(self, batches: Sequence[tuple[Tensor, Tensor, Tensor]]) -> float:
        """Measure the loss on held-out batches, without dropout or smoothing: nats per token."""
        nll, tokens = 0.0, 0
        with evaluation_mode(self.model), torch.no_grad():
            for src, tgt_in, tgt_out in batches:
                logits, wanted = self.model(src, tgt_in).flatten(end_dim=1), tgt_out.flatten()
                loss = F.cross_entropy(logits, wanted, ignore_index=PAD_ID, reduction="sum")
                nll += loss.item()
                tokens += int((tgt_out != PAD_ID).sum())
        return nll / tokens

    def greedy_token_ids(self, src: Tensor, length: int) -> list[list[int]]:
        """Translate sources greedily, into at most `length` tokens each."""
        hypotheses = self._eval_search(greedy_search, src, max_len=length)
        return [hypothesis.ids for hypothesis in hypotheses]

    def beam_hypotheses_of_each_source(
        self, src: Tensor, beam_size: int, length: int, alpha: float = 0.0
    ) -> list[list[Hypothesis]]:
        """Translate sources with a beam (§6.1), the best of each first."""
        return self._eval_search(beam_search, src, beam_size=beam_size, alpha=alpha, max_len=length)

    def _eval_search(self, search: Callable[..., Any], src: Tensor, **options: Any) -> Any:
        with evaluation_mode(self.model):
            return search(self.model, src, use_cache=True, **options)

    def beam_candidates(self, src: Tensor, beam_size: int, length: int) -> list[list[Candidate]]:
        """Return what a beam finds without length penalty, as the laws take it."""
        hypotheses = self.beam_hypotheses_of_each_source(src, beam_size, length)
        return [[_hypothesis_to_candidate(hypothesis) for hypothesis in row] for row in hypotheses]

    def ranking_score(self, log_prob: float, length: int) -> float:
        """Return what candidates are ranked by, `length` with eos (§6.1)."""
        return log_prob / length_penalty(length)

    def to_adapter(self) -> Adapter:
        """Return an adapter that shows all of it to the laws."""
        return adapt_transformer(self.model).replace(
            greedy=self.greedy_token_ids,
            beam=self.beam_candidates,
            candidate_score=self.ranking_score,
            alpha=0.6,
            loss=self.loss,
            optimizer=self.optimizer,
            optimizer_settings={"betas": (0.9, 0.98), "eps": 1e-9},
            train_step=self.train_step,
            schedule=self.rate_of_step,
            warmup_steps=self.warmup_steps,
            make_batch=self.make_batch,
            untrained=self.count_updates() == 0,
        )


def _hypothesis_to_candidate(hypothesis: Hypothesis) -> Candidate:
    return Candidate(ids=hypothesis.ids, log_prob=hypothesis.score, finished=hypothesis.finished)


def sound_model(seed: int = 0, **changes: Any) -> Transformer:
    """Make a small Transformer with random weights.

    Changes are of the vocabularies' sizes (`src_vocab_size`, `tgt_vocab_size`), or of what
    `SMALL_MODEL_CONFIG` and `ModelConfig` have.
    """
    sizes: dict[str, Any] = {"src_vocab_size": SRC_VOCAB_SIZE, "tgt_vocab_size": TGT_VOCAB_SIZE}
    sizes |= {name: changes.pop(name) for name in sizes if name in changes}
    torch.manual_seed(seed)
    return use_fast_dropout(Transformer(ModelConfig(**SMALL_MODEL_CONFIG | changes), **sizes))


@check_argument_types
def sound_adapter(seed: int = 0, **changes: Any) -> Adapter:
    """Make a sound Transformer, as `sound_model` does, with everything that an adapter can hold."""
    check_number("seed", seed, 0, MAX_SEED, integer=True)
    return TrainingSetup(sound_model(seed, **changes)).to_adapter()
