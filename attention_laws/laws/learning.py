"""It can learn: a batch by heart, to copy, to look back (not in the paper).

These three are about the code, not about the rate: where the optimizer is one of Adam's kind,
it is given the rate that the paper's schedule reaches for a model of this width.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam, Adamax, AdamW, NAdam, RAdam

from attention_laws.law import Law, Subject
from attention_laws.laws.loss import output_form
from attention_laws.laws.parameters import trainable
from attention_laws.laws.schedule import learning_rate
from attention_laws.report import Finding, broken, kept, not_tried, warned

SECONDS, STEPS = 20.0, 600  # seconds of this thread's computing
EXAMINE_EVERY = 25
SENTENCES = 32  # of a batch
PAPERS_WARMUP, WARMUP = 4000, 40  # §5.3 gives the peak of the rate; here it is reached sooner
MOVED = 0.05  # share of the weights' size below which nothing is said either
TYPES = 6  # of a toy language
BLIND = 0.97  # share of what is had without looking; above it nothing was learned

Pairs = tuple[list[list[int]], list[list[int]]]  # sources and targets


class _Task(NamedTuple):
    """Something to learn.

    Attributes:
        draw: `draw(number)` gives so many pairs.
        examined: What the loss is measured on.
        enough: Loss at which it is learned, nats per token.
        blind: Loss of who does not look where the answer is.
        without: What that is.
    """

    draw: Callable[[int], Pairs]
    examined: Pairs
    enough: float
    blind: float
    without: str


class _Learner:
    """Trains a model on a task and examines it."""

    def __init__(self, subject: Subject, task: _Task) -> None:
        self.subject, self.task = subject, task
        self.gives_probabilities = output_form(subject) == "probabilities"

    def learn(self) -> Finding:
        """Train until it is learned, or the time is up."""
        adapter = self.subject.adapter
        assert adapter.module is not None and adapter.train_step is not None
        before = _flat(self.subject)
        losses = [self._loss(adapter.module)]
        began, steps = time.thread_time(), 0
        with _at_our_rate(self.subject) as rate:
            while steps < STEPS and losses[-1] > self.task.enough:
                if time.thread_time() - began > SECONDS:
                    break
                adapter.module.train()
                adapter.train_step(*self._batch(self.task.draw(SENTENCES), asked=True))
                steps += 1
                if steps % EXAMINE_EVERY == 0:
                    losses.append(self._loss(adapter.module))
        moved = float((_flat(self.subject) - before).norm() / before.norm())
        at = "at its own rate" if rate is None else f"at a rate of {rate:.2g}"
        seen = f"loss {losses[0]:.2f} before, {losses[-1]:.2f} after {steps} steps {at}"
        return self._judged(losses[-1], seen, steps, moved, rate)

    def _judged(
        self, last: float, seen: str, steps: int, moved: float, rate: float | None
    ) -> Finding:
        """Say what a loss of `last` means."""
        task = self.task
        if last <= task.enough:
            return kept(f"{seen}; {task.blind:.2f} {task.without}")
        if steps < STEPS:
            return not_tried(f"{steps} steps in {SECONDS:.0f} s are too few to tell: {seen}")
        if moved < MOVED:
            return not_tried(f"the weights moved by {moved:.1%}, too little to tell: {seen}")
        if last <= BLIND * task.blind or rate is None:
            return warned(f"{seen}, not {task.enough:.2f}; {task.blind:.2f} {task.without}")
        return broken(f"{seen}; {task.blind:.2f} is had {task.without}")

    @torch.no_grad()
    def _loss(self, module: nn.Module) -> float:
        """Measure the loss in evaluation, nats per token."""
        module.eval()
        src, tgt_in, tgt_out = self._batch(self.task.examined, asked=False)
        logits = self.subject.logits(src, tgt_in)
        scores = logits.log() if self.gives_probabilities else logits
        loss = float(F.cross_entropy(scores.flatten(end_dim=1), tgt_out.flatten()))
        return loss if math.isfinite(loss) else math.inf

    def _batch(self, pairs: Pairs, asked: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Make a batch; where `asked`, as the adapter does."""
        adapter = self.subject.adapter
        sources, targets = pairs
        src = torch.tensor([[*each, adapter.eos_id] for each in sources])
        tgt_in = torch.tensor([[adapter.bos_id, *each] for each in targets])
        tgt_out = torch.tensor([[*each, adapter.eos_id] for each in targets])
        if adapter.make_batch is None:
            return src, tgt_in, tgt_out
        made = adapter.make_batch(sources, targets)
        return made if asked else (made[0], tgt_in, tgt_out)


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

    handle = optimizer.register_step_pre_hook(set_rate)
    try:
        yield rate
    finally:
        handle.remove()


def _flat(subject: Subject) -> Tensor:
    return torch.cat([w.detach().float().flatten() for w in trainable(subject).values()])


class _Languages:
    """A few types of each side, and sentences of them."""

    def __init__(self, subject: Subject) -> None:
        adapter, self.generator = subject.adapter, subject.generator
        self.src_types, self.tgt_types = (
            [each for each in range(size) if each not in subject.special][:TYPES]
            for size in (adapter.src_vocab_size, adapter.tgt_vocab_size)
        )
        self.number = min(len(self.src_types), len(self.tgt_types))

    def draw(self, number: int, length: int) -> list[list[int]]:
        """Draw rows of indices of types, each alike and for itself."""
        shape = (number, length)
        return torch.randint(self.number, shape, generator=self.generator).tolist()

    def source(self, rows: list[list[int]]) -> list[list[int]]:
        """Write rows in the source's ids."""
        return [[self.src_types[each] for each in row] for row in rows]

    def target(self, rows: list[list[int]]) -> list[list[int]]:
        """Write rows in the target's ids."""
        return [[self.tgt_types[each] for each in row] for row in rows]


def _by_heart(subject: Subject) -> Finding:
    """Train on the same few sentences again and again."""
    languages = _Languages(subject)
    pairs = languages.source(languages.draw(4, 6)), languages.target(languages.draw(4, 6))
    blind = 6 / 7 * math.log(languages.number)
    task = _Task(lambda _: pairs, pairs, 0.4, blind, "without looking at the sentence")
    return _Learner(subject, task).learn()


def _copies(subject: Subject) -> Finding:
    """Train on random sentences whose translation is word by word."""
    languages = _Languages(subject)

    def draw(number: int) -> Pairs:
        rows = languages.draw(number, 2)
        return languages.source(rows), languages.target(rows)

    blind = 2 / 3 * math.log(languages.number)
    task = _Task(draw, draw(64), blind / 2, blind, "without the source")
    return _Learner(subject, task).learn()


def _looks_back(subject: Subject) -> Finding:
    """Train on targets in which each word follows from the one before the last.

    The source tells nothing, and the last word alone tells nothing either.
    """
    languages = _Languages(subject)

    def draw(number: int) -> Pairs:
        rows = languages.draw(number, 2)
        for row in rows:
            row.extend((row[i % 2] + 1 + i // 2) % languages.number for i in range(4))
        return languages.source(languages.draw(number, 2)), languages.target(rows)

    blind = 6 / 7 * math.log(languages.number)
    task = _Task(draw, draw(64), 0.6 * blind, blind, "with the last word alone")
    return _Learner(subject, task).learn()


LAWS = (
    Law(
        name="learns_a_batch",
        says="A few sentences can be learned by heart.",
        means="the step does not train this model, the loss is about something else, or the "
        "logits do not see the sentence",
        look="at what the laws about loss, parameters and reach say",
        check=_by_heart,
        needs=("module", "train_step"),
        minute=True,
    ),
    Law(
        name="learns_to_copy",
        says="A translation word by word can be learned.",
        means="the decoder does not see the source, or not in order; or targets are not shifted",
        look="at cross-attention, at positions, at the batches",
        check=_copies,
        needs=("module", "train_step"),
        minute=True,
    ),
    Law(
        name="learns_to_look_back",
        says="A word that follows from the one before the last can be learned.",
        means="the decoder's self-attention is thrown away, or gives each position its own input",
        look="at what becomes of the self-attention's result in the decoder",
        check=_looks_back,
        needs=("module", "train_step"),
        minute=True,
    ),
)
