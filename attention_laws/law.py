"""What a law is, and the subject that it is tried on (not in the paper)."""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attention_laws.adapter import Adapter
from attention_laws.report import Finding, Verdict, kept
from attention_laws.untouched import in_double
from attention_laws.watch import Called, Watch

CANNOT = Exception, SystemExit  # what a model raises that makes tensors of 32 bits itself
FAULT = 1e-6  # share of the largest logit that stays of a fault in 64 bits

Given = TypeVar("Given")
Check = Callable[[Any], Finding]


@dataclass(frozen=True)
class Law:
    """Something that holds for every sound encoder-decoder, or for what stands around one."""

    name: str
    says: str  # the law in one sentence
    means: str  # what it usually means when it is broken
    look: str  # where to look then
    check: Check  # tries it on a `Subject`, or on a `Pipeline`
    needs: tuple[str, ...] = ()  # attributes of what is given, without which it is not tried
    compares: bool = True  # whether it compares outputs, and so needs some that repeat
    minute: bool = False  # whether it trains, and so takes up to a minute


def law(*needs: str, compares: bool = True, minute: bool = False) -> Callable[[Check], Law]:
    """Make a check a law of its name; its docstring says the law, `Means:` and `Look:`."""

    def made(check: Check) -> Law:
        says, _, rest = (inspect.getdoc(check) or "").partition("\n\nMeans: ")
        means, _, look = rest.partition("\nHow: ")[0].partition("\nLook: ")
        means, look = (" ".join(each.split()) for each in (means, look))
        return Law(check.__name__, says, means, look, check, needs, compares, minute)

    return made


def laws_of(*modules: ModuleType) -> tuple[Law, ...]:
    """Give the laws of modules, in the order in which they stand there."""
    return tuple(each for one in modules for each in vars(one).values() if isinstance(each, Law))


def needed(given: Given | None) -> Given:
    """Give what a law has asked for by its `needs`, and so is there."""
    assert given is not None
    return given


class Subject:
    """A model under diagnosis: sentences to try it with, and what counts as a difference."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.generator = torch.Generator().manual_seed(0)
        self.special = {adapter.pad_id, adapter.bos_id, adapter.eos_id} - {None}
        self.scale = 0.0  # the largest logit that was measured
        self.tolerance = self._tolerance()

    @property
    def module(self) -> nn.Module:
        """What holds the parameters, where a law has asked for it."""
        return needed(self.adapter.module)

    def ids(self, vocab_size: int, *shape: int) -> Tensor:
        """Draw ids that are no special ones, of any shape, without repeats in a row if possible."""
        usable = torch.tensor([each for each in range(vocab_size) if each not in self.special])
        rows, length = (1, *shape)[-2:]
        drawn = [self._row(usable, length) for _ in range(rows)]
        return torch.stack(drawn).reshape(shape)

    def _row(self, usable: Tensor, length: int) -> Tensor:
        if length <= len(usable):
            return usable[torch.randperm(len(usable), generator=self.generator)[:length]]
        return usable[torch.randint(len(usable), (length,), generator=self.generator)]

    def src(self, batch: int, src_len: int) -> Tensor:
        """Draw sources, (batch, src_len), the last of each eos."""
        drawn = self.ids(self.adapter.src_vocab_size, batch, src_len)
        drawn[:, -1] = self.adapter.eos_id
        return drawn

    def tgt_in(self, batch: int, tgt_len: int) -> Tensor:
        """Draw targets to be read, (batch, tgt_len), the first of each bos."""
        drawn = self.ids(self.adapter.tgt_vocab_size, batch, tgt_len)
        drawn[:, 0] = self.adapter.bos_id
        return drawn

    def other_id(self, used: int) -> int:
        """Give an ordinary id, of both sides, that is not `used`."""
        return next(i for i in range(8) if i not in self.special and i != used)

    def changed(self, ids: Tensor, place: int) -> Tensor:
        """Give (1, length) with another id at a place."""
        other = ids.clone()
        other[0, place] = self.other_id(int(ids[0, place]))
        return other

    def padded(self, ids: Tensor, number: int) -> Tensor:
        """Append `number` places of padding to (batch, length)."""
        more = (0, number)
        return nn.functional.pad(ids, more, value=needed(self.adapter.pad_id)) if number else ids

    @torch.no_grad()
    def logits(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Give (batch, tgt_len, tgt_vocab_size) as floats of 32 bits at least.

        Random numbers begin anew each time: what still differs is not drawn.
        """
        torch.manual_seed(0)
        found = self.adapter.forward(src, tgt_in)
        return found.to(torch.promote_types(found.dtype, torch.float32))

    def calls(self, src: Tensor, tgt_in: Tensor) -> list[Called]:
        """Give what torch is called for in a pass."""
        with Watch() as watch:
            self.logits(src, tgt_in)
        return watch.calls

    def sources(self, batch: int, src_len: int) -> Tensor:
        """Draw sources of several lengths, (batch, src_len), where the model has padding."""
        src = self.src(batch, src_len)
        if self.adapter.pad_id is not None:
            for row in range(1, batch):
                src[row, src_len - row % 4 :] = self.adapter.pad_id
                src[row, src_len - 1 - row % 4] = self.adapter.eos_id
        return src

    def differ(self, one: Tensor, other: Tensor) -> float:
        """Give the largest difference of two tensors, 0 where it is within the tolerance."""
        largest = float((one - other).abs().max())
        return largest if largest > self.tolerance or largest != largest else 0.0

    @contextlib.contextmanager
    def in_float64(self) -> Iterator[None]:
        """Compute in 64 bits within, if the model can; then much less counts as a difference."""
        with contextlib.ExitStack() as double:
            tolerance = self.tolerance
            if self.adapter.module is not None:
                double.enter_context(in_double(self.adapter.module))
                try:
                    logits = self.logits(self.src(1, 3), self.tgt_in(1, 2))
                except CANNOT:
                    double.close()
                else:
                    if logits.dtype == torch.float64:
                        tolerance = max(1e-9 * float(logits.abs().max()), 1e-12)
            with self.tolerating(tolerance):
                yield

    @contextlib.contextmanager
    def tolerating(self, tolerance: float) -> Iterator[None]:
        """Let no less than this count as a difference within."""
        own, self.tolerance = self.tolerance, tolerance
        try:
            yield
        finally:
            self.tolerance = own

    def _tolerance(self) -> float:
        """Take fifty times what rounding does to the logits, measured in 64 bits if possible.

        At most a thousandth of the largest logit, if these are of 32 bits: where 64 bits change
        more than that, something else than rounding is at work.
        """
        src, tgt_in = self.src(2, 5), self.tgt_in(2, 4)
        logits = self.logits(src, tgt_in)
        self.scale = float(logits.nan_to_num(0, 0, 0).abs().max())
        noise = 2e-7 * self.scale
        if self.adapter.module is not None:
            with in_double(self.adapter.module), contextlib.suppress(*CANNOT):
                noise = max(noise, float((self.logits(src, tgt_in) - logits).abs().max()))
        if self.adapter.forward(src, tgt_in).dtype == torch.float32:
            noise = min(noise, 2e-5 * self.scale)
        return max(50 * noise, 1e-7)


def rounding_aside(check: Callable[[Subject], Finding]) -> Callable[[Subject], Finding]:
    """Try a check that is broken by little again in 64 bits: a fault stays, rounding goes.

    By little: by less than the largest logit, and by a number. The sentences are the same. Where
    the model cannot run in 64 bits, what was found in 32 holds.
    """

    @wraps(check)
    def tried(subject: Subject) -> Finding:
        drawn = subject.generator.get_state()

        def again() -> bool:
            subject.generator.set_state(drawn)
            return check(subject).verdict == Verdict.KEPT

        found = check(subject)
        if found.verdict == Verdict.BROKEN:
            with subject.tolerating(subject.scale):
                little = again()
            least = FAULT * subject.scale
            with subject.in_float64(), subject.tolerating(least), contextlib.suppress(*CANNOT):
                if little and again():
                    return kept(f"kept in 64 bits, where less is rounded; in 32: {found.seen}")
        return found

    return tried
