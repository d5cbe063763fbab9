"""It can learn: a batch by heart, to copy, to look back (not in the paper).

These three are about the code, not about the rate: where the optimizer is one of Adam's kind,
it is given the rate that the paper's schedule reaches for a model of this width.
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

from attention_laws.law import Subject, law, needed
from attention_laws.laws.loss import output_form
from attention_laws.laws.parameters import trainable
from attention_laws.laws.schedule import learning_rate
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.untouched import hooked

SECONDS, STEPS = 20.0, 600  # seconds of this thread's computing
EXAMINE_EVERY = 25
SENTENCES, EXAMINED = 32, 64  # of a batch, and those that the loss is measured on
PAPERS_WARMUP, WARMUP = 4000, 40  # §5.3 gives the peak of the rate; here it is reached sooner
MOVED = 0.05  # share of the weights' size below which nothing is said either
TYPES = 6  # of a toy language
BLIND = 0.97  # share of what is had without looking; above it nothing was learned

Rows = list[list[int]]
Pairs = tuple[Rows, Rows]  # sources and targets


@dataclass(frozen=True)
class Task:
    """Something to learn."""

    draw: Callable[[int], Pairs]  # gives so many sources and targets
    enough: float  # loss at which it is learned, nats per token
    blind: float  # loss of who does not look where the answer is
    without: str  # what that is


def learned(subject: Subject, task: Task) -> Finding:
    """Train a model until it has learned a task, or the time is up, and say what its loss means."""
    train_step = needed(subject.adapter.train_step)
    form = output_form(subject)
    before = _flat(subject)
    examined = task.draw(EXAMINED)
    losses = [_loss(subject, examined, form)]
    began, steps = time.thread_time(), 0
    with _at_our_rate(subject) as rate:
        while steps < STEPS and losses[-1] > task.enough:
            if time.thread_time() - began > SECONDS:
                break
            subject.module.train()
            train_step(*_batch(subject, task.draw(SENTENCES)))
            steps += 1
            if steps % EXAMINE_EVERY == 0:
                losses.append(_loss(subject, examined, form))
    moved = float((_flat(subject) - before).norm() / before.norm())
    at = "at its own rate" if rate is None else f"at a rate of {rate:.2g}"
    seen = f"loss {losses[0]:.2f} before, {losses[-1]:.2f} after {steps} steps {at}"
    if losses[-1] <= task.enough:
        return kept(f"{seen}; {task.blind:.2f} {task.without}")
    if steps < STEPS:
        return not_tried(f"{steps} steps in {SECONDS:.0f} s are too few to tell: {seen}")
    if moved < MOVED:
        return not_tried(f"the weights moved by {moved:.1%}, too little to tell: {seen}")
    if losses[-1] <= BLIND * task.blind or rate is None:
        return warned(f"{seen}, not {task.enough:.2f}; {task.blind:.2f} {task.without}")
    return broken(f"{seen}; {task.blind:.2f} is had {task.without}")


@torch.no_grad()
def _loss(subject: Subject, examined: Pairs, form: str) -> float:
    """Measure the loss in evaluation, nats per token, whatever the adapter makes of targets."""
    subject.module.eval()
    adapter, targets = subject.adapter, examined[1]
    tgt_in = torch.tensor([[adapter.bos_id, *each] for each in targets])
    tgt_out = torch.tensor([[*each, adapter.eos_id] for each in targets])
    logits = subject.logits(_batch(subject, examined)[0], tgt_in)
    scores = logits.log() if form == "probabilities" else logits
    loss = float(F.cross_entropy(scores.flatten(end_dim=1), tgt_out.flatten()))
    return loss if math.isfinite(loss) else math.inf


def _batch(subject: Subject, pairs: Pairs) -> tuple[Tensor, Tensor, Tensor]:
    """Make a batch, as the adapter does if it says how."""
    adapter = subject.adapter
    if adapter.make_batch is not None:
        return adapter.make_batch(*pairs)
    sources, targets = pairs
    src = torch.tensor([[*each, adapter.eos_id] for each in sources])
    tgt_in = torch.tensor([[adapter.bos_id, *each] for each in targets])
    return src, tgt_in, torch.tensor([[*each, adapter.eos_id] for each in targets])


@contextmanager
def _at_our_rate(subject: Subject) -> Iterator[float | None]:
    """Let an optimizer of Adam's kind make its updates at a rate that suits the width.

    The rate is the peak of the paper's schedule. Others keep their own, which is given as None.
    """
    optimizer = subject.adapter.optimizer
    if not isinstance(optimizer, Adam | AdamW | Adamax | NAdam | RAdam):
        yield None
        return
    widths = sorted(w.shape[-1] for w in trainable(subject).values() if w.dim() > 1)
    width = subject.adapter.d_model or widths[len(widths) // 2]
    rate = learning_rate(PAPERS_WARMUP, width, PAPERS_WARMUP)
    updates = itertools.count(1)

    def set_rate(*_: object) -> None:
        rise = min(1.0, next(updates) / WARMUP)
        for group in optimizer.param_groups:
            group["lr"] = rate * rise

    with hooked([optimizer.register_step_pre_hook(set_rate)]):
        yield rate


def _flat(subject: Subject) -> Tensor:
    return torch.cat([w.detach().float().flatten() for w in trainable(subject).values()])


class Languages:
    """A few types of each side, and sentences of them."""

    def __init__(self, subject: Subject) -> None:
        adapter, self.generator = subject.adapter, subject.generator
        self.src_types, self.tgt_types = (
            [each for each in range(size) if each not in subject.special][:TYPES]
            for size in (adapter.src_vocab_size, adapter.tgt_vocab_size)
        )
        self.number = min(len(self.src_types), len(self.tgt_types))

    def draw(self, number: int, length: int) -> Rows:
        """Draw rows of indices of types, each alike and for itself."""
        return torch.randint(self.number, (number, length), generator=self.generator).tolist()

    def pairs(self, sources: Rows, targets: Rows) -> Pairs:
        """Write rows of indices in the ids of the two sides."""
        sides = (self.src_types, sources), (self.tgt_types, targets)
        src, tgt = ([[types[i] for i in row] for row in rows] for types, rows in sides)
        return src, tgt


@law("module", "train_step", minute=True)
def model_can_overfit_a_batch(subject: Subject) -> Finding:
    """A few sentences can be learned by heart.

    Means: the step trains another model, the loss is another, or logits do not see the sentence
    Look: at what the laws about loss, parameters and reach say
    """
    languages = Languages(subject)
    pairs = languages.pairs(languages.draw(4, 6), languages.draw(4, 6))
    blind = 6 / 7 * math.log(languages.number)
    return learned(subject, Task(lambda _: pairs, 0.4, blind, "without looking at the sentence"))


@law("module", "train_step", minute=True)
def model_can_learn_to_copy(subject: Subject) -> Finding:
    """A translation word by word can be learned.

    Means: the decoder does not see the source, or not in order; or targets are not shifted
    Look: at cross-attention, at positions, at the batches
    """
    languages = Languages(subject)

    def draw(number: int) -> Pairs:
        rows = languages.draw(number, 2)
        return languages.pairs(rows, rows)

    blind = 2 / 3 * math.log(languages.number)
    return learned(subject, Task(draw, blind / 2, blind, "without the source"))


@law("module", "train_step", minute=True)
def model_can_learn_to_look_back(subject: Subject) -> Finding:
    """A word that follows from the one before the last can be learned.

    Means: the decoder's self-attention is thrown away, or gives each position its own input
    Look: at what becomes of the self-attention's result in the decoder
    How: The source tells nothing, and the last word alone tells nothing either.
    """
    languages = Languages(subject)

    def draw(number: int) -> Pairs:
        rows = languages.draw(number, 2)
        for row in rows:
            row.extend((row[i % 2] + 1 + i // 2) % languages.number for i in range(4))
        return languages.pairs(languages.draw(number, 2), rows)

    blind = 6 / 7 * math.log(languages.number)
    return learned(subject, Task(draw, 0.6 * blind, blind, "with the last word alone"))
