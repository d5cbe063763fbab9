"""A model can learn: to overfit a batch, to copy, to look back (not in the paper).

These three are about the code, not about the learning rate: an optimizer of Adam's kind is given
the rate that the paper's schedule reaches for a model of this width.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Adam, Adamax, AdamW, NAdam, RAdam

from attention_laws.law import assert_not_none, law
from attention_laws.laws.loss import detect_model_output_form
from attention_laws.laws.schedule import paper_learning_rate
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 140
MAX_SECONDS, MAX_STEPS = 20.0, 600  # seconds of this thread's computing
STEPS_BETWEEN_EVALUATIONS = 25
# Sentences of a batch, and those that the loss is measured on.
SENTENCES, EVALUATED_SENTENCES = 32, 64
# §5.3 reaches the peak of the rate after its warm-up; here it is reached sooner.
PAPER_WARMUP, WARMUP = 4000, 40
# Share of the weights' size: if they moved less, nothing can be said.
MIN_RELATIVE_WEIGHT_CHANGE = 0.05
MAX_TOKEN_TYPES = 6  # of a toy language
# Share of the loss that needs no attention; above it nothing was learned.
MAX_LOSS_PER_SHORTCUT_LOSS = 0.97

TokenIdRows = list[list[int]]
SourcesAndTargets = tuple[TokenIdRows, TokenIdRows]  # sources and targets


@dataclass(frozen=True)
class ToyTask:
    """Something to learn."""

    draw: Callable[[int], SourcesAndTargets]  # draws so many sources and targets
    target_loss: float  # loss at which it is learned, nats per token
    shortcut_loss: float  # loss of a model that ignores what the task needs
    shortcut: str  # what such a model does


def train_and_judge_on_task(subject: Subject, task: ToyTask) -> Finding:
    """Train a model until it has learned a task or the time is up, and judge its loss."""
    train_step = assert_not_none(subject.adapter.train_step)
    form = detect_model_output_form(subject)
    before = _flatten_trainable_weights(subject)
    evaluated = task.draw(EVALUATED_SENTENCES)
    losses = [_evaluation_loss(subject, evaluated, form)]
    start, steps = time.thread_time(), 0
    with _temporarily_using_paper_peak_rate(subject) as rate:
        while steps < MAX_STEPS and losses[-1] > task.target_loss:
            if time.thread_time() - start > MAX_SECONDS:
                break
            subject.module.train()
            train_step(*_make_training_batch(subject, task.draw(SENTENCES)))
            steps += 1
            if steps % STEPS_BETWEEN_EVALUATIONS == 0:
                losses.append(_evaluation_loss(subject, evaluated, form))
    moved = float((_flatten_trainable_weights(subject) - before).norm() / before.norm())
    at_rate = "at its own rate" if rate is None else f"at a rate of {rate:.2g}"
    seen = f"loss {losses[0]:.2f} before, {losses[-1]:.2f} after {steps} steps {at_rate}"
    if losses[-1] <= task.target_loss:
        return kept_finding(f"{seen}; {task.shortcut_loss:.2f} {task.shortcut}")
    if steps < MAX_STEPS:
        return not_tried_finding(
            f"{steps} steps in {MAX_SECONDS:.0f} s are too few to tell: {seen}"
        )
    if moved < MIN_RELATIVE_WEIGHT_CHANGE:
        return not_tried_finding(f"the weights moved by {moved:.1%}, too little to tell: {seen}")
    if losses[-1] <= MAX_LOSS_PER_SHORTCUT_LOSS * task.shortcut_loss or rate is None:
        shortcut = f"{task.shortcut_loss:.2f} {task.shortcut}"
        return warned_finding(f"{seen}, not {task.target_loss:.2f}; {shortcut}")
    return broken_finding(f"{seen}; {task.shortcut_loss:.2f} can be reached {task.shortcut}")


@torch.no_grad()
def _evaluation_loss(subject: Subject, pairs: SourcesAndTargets, form: str) -> float:
    """Return the loss in evaluation mode, nats per token, however the adapter makes batches."""
    subject.module.eval()
    adapter, targets = subject.adapter, pairs[1]
    tgt_in = torch.tensor([[adapter.bos_id, *ids] for ids in targets])
    tgt_out = torch.tensor([[*ids, adapter.eos_id] for ids in targets])
    outputs = subject.logits(_make_training_batch(subject, pairs)[0], tgt_in)
    logits = outputs.log() if form == "probabilities" else outputs
    loss = float(F.cross_entropy(logits.flatten(end_dim=1), tgt_out.flatten()))
    return loss if math.isfinite(loss) else math.inf


def _make_training_batch(
    subject: Subject, pairs: SourcesAndTargets
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a batch, made by the adapter if it can."""
    adapter = subject.adapter
    if adapter.make_batch is not None:
        return adapter.make_batch(*pairs)
    sources, targets = pairs
    src = torch.tensor([[*ids, adapter.eos_id] for ids in sources])
    tgt_in = torch.tensor([[adapter.bos_id, *ids] for ids in targets])
    return src, tgt_in, torch.tensor([[*ids, adapter.eos_id] for ids in targets])


@contextmanager
def _temporarily_using_paper_peak_rate(subject: Subject) -> Iterator[float | None]:
    """Let an optimizer of Adam's kind use a learning rate that suits the width in the block.

    The rate is the peak of the paper's schedule. Other optimizers keep their own: None.
    """
    optimizer = subject.adapter.optimizer
    if not isinstance(optimizer, Adam | AdamW | Adamax | NAdam | RAdam):
        yield None
        return
    parameters = subject.trainable_parameters().values()
    widths = sorted(weight.shape[-1] for weight in parameters if weight.dim() > 1)
    width = subject.adapter.d_model or widths[len(widths) // 2]
    rate = paper_learning_rate(PAPER_WARMUP, width, PAPER_WARMUP)
    updates = itertools.count(1)

    def set_rate(*_: object) -> None:
        warmup = min(1.0, next(updates) / WARMUP)
        for group in optimizer.param_groups:
            group["lr"] = rate * warmup

    with hooks_removed_afterwards([optimizer.register_step_pre_hook(set_rate)]):
        yield rate


def _flatten_trainable_weights(subject: Subject) -> Tensor:
    parameters = subject.trainable_parameters().values()
    return torch.cat([weight.detach().float().flatten() for weight in parameters])


class ToyLanguages:
    """A few types of each side, and sentences made of them."""

    def __init__(self, subject: Subject) -> None:
        self.generator = subject.generator
        self.src_types = self._choose_token_types(subject, subject.adapter.src_vocab_size)
        self.tgt_types = self._choose_token_types(subject, subject.adapter.tgt_vocab_size)
        self.num_types = min(len(self.src_types), len(self.tgt_types))

    @staticmethod
    def _choose_token_types(subject: Subject, vocab_size: int) -> list[int]:
        return [i for i in range(vocab_size) if i not in subject.special_ids][:MAX_TOKEN_TYPES]

    def draw_token_index_rows(self, number: int, length: int) -> TokenIdRows:
        """Draw rows of indices of types, uniformly and independently."""
        return torch.randint(self.num_types, (number, length), generator=self.generator).tolist()

    def to_sources_and_targets(
        self, sources: TokenIdRows, targets: TokenIdRows
    ) -> SourcesAndTargets:
        """Return rows of indices as ids of the two sides."""
        src = [[self.src_types[i] for i in row] for row in sources]
        tgt = [[self.tgt_types[i] for i in row] for row in targets]
        return src, tgt


@law("module", "train_step", minute=True)
def model_can_overfit_a_batch(subject: Subject) -> Finding:
    """A few sentences can be learned by heart.

    Means: the step trains another model, the loss is another, or logits ignore the sentence
    Look: at the laws about loss, gradients and dependence on tokens
    """
    languages = ToyLanguages(subject)
    pairs = languages.to_sources_and_targets(
        languages.draw_token_index_rows(4, 6), languages.draw_token_index_rows(4, 6)
    )
    task = ToyTask(
        draw=lambda _: pairs,
        target_loss=0.4,
        shortcut_loss=6 / 7 * math.log(languages.num_types),
        shortcut="without looking at the sentence",
    )
    return train_and_judge_on_task(subject, task)


@law("module", "train_step", minute=True)
def model_can_learn_to_copy(subject: Subject) -> Finding:
    """A word-by-word translation can be learned.

    Means: the decoder does not see the source, or not in order; or targets are not shifted
    Look: at cross-attention, at positions, at the batches
    """
    languages = ToyLanguages(subject)

    def draw(number: int) -> SourcesAndTargets:
        rows = languages.draw_token_index_rows(number, 2)
        return languages.to_sources_and_targets(rows, rows)

    shortcut_loss = 2 / 3 * math.log(languages.num_types)
    return train_and_judge_on_task(
        subject, ToyTask(draw, shortcut_loss / 2, shortcut_loss, "without the source")
    )


@law("module", "train_step", minute=True)
def model_can_learn_to_look_back(subject: Subject) -> Finding:
    """A word that follows from the one before the last can be learned.

    Means: the decoder's self-attention is thrown away, or gives each position its own input
    Look: at what becomes of the self-attention's result in the decoder
    How: Neither the source nor the last word alone says what follows.
    """
    languages = ToyLanguages(subject)

    def draw(number: int) -> SourcesAndTargets:
        rows = languages.draw_token_index_rows(number, 2)
        for row in rows:
            row.extend((row[i % 2] + 1 + i // 2) % languages.num_types for i in range(4))
        return languages.to_sources_and_targets(languages.draw_token_index_rows(number, 2), rows)

    shortcut_loss = 6 / 7 * math.log(languages.num_types)
    task = ToyTask(draw, 0.6 * shortcut_loss, shortcut_loss, "with the last word alone")
    return train_and_judge_on_task(subject, task)
