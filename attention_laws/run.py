"""Try every law on a model, or on what stands around one (not in the paper)."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from attention_laws.adapter import Adapter, Pipeline
from attention_laws.adapters import from_module
from attention_laws.errors import NothingSeenError, UserError, told
from attention_laws.law import Law, Subject
from attention_laws.laws import LAWS, PIPELINE_LAWS
from attention_laws.report import Finding, Line, Report, Verdict, not_tried
from attention_laws.untouched import evaluating, untouched

# Laws without which outputs cannot be compared, and what is to be said then.
GATES = {"logits_are_finite": "are no numbers", "evaluation_is_deterministic": "do not repeat"}


def diagnose(
    model: Adapter | nn.Module,
    *,
    minute: bool = False,
    laws: Iterable[Law] = LAWS,
) -> Report:
    """Try the laws that an encoder-decoder must obey, and say what was found of each.

    Nothing of the model is changed: weights, mode, gradients, optimizer and random numbers are
    put back. Whatever it raises is told, `SystemExit` too; Ctrl-C alone goes through.

    Args:
        model: An adapter; or a module that gives logits, of which the rest is found out.
        minute: Try the laws that train, too.
        laws: Which; those of `attention_laws.laws` unless said otherwise.

    Returns:
        The report; where the model cannot be run at all, one that says why.
    """
    try:
        adapter = model if isinstance(model, Adapter) else from_module(model)
        trial = Trial(adapter, minute=minute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever somebody's model raises
        return Report((), stopped=told(error), mistake=isinstance(error, UserError))
    for law in laws:
        trial.line(law)
    return trial.report()


def diagnose_pipeline(pipeline: Pipeline, *, laws: Iterable[Law] = PIPELINE_LAWS) -> Report:
    """Try the laws that data, tokenizers and scores must obey; see `diagnose`."""
    trial = Trial(pipeline)
    for law in laws:
        trial.line(law)
    return trial.report()


class Trial:
    """A model, or what stands around one, on which laws are tried one by one; see `diagnose`."""

    stops: tuple[type[BaseException], ...] = (KeyboardInterrupt,)  # what goes through

    def __init__(self, given: Adapter | Pipeline, *, minute: bool = False) -> None:
        self.given, self.minute = given, minute
        self.laws = LAWS if isinstance(given, Adapter) else PIPELINE_LAWS
        self.lines: list[Line] = []
        self.subject: Subject | None = None
        if isinstance(given, Adapter):
            with _as_it_was(given):
                self.subject = Subject(given)

    def line(self, law: Law) -> Line:
        """Try a law where nothing is missing, and remember what was found of it."""
        began = time.perf_counter()
        missing = [name for name in law.needs if getattr(self.given, name) in (None, (), [])]
        if missing:
            kind = type(self.given).__name__.lower()
            finding = not_tried(f"the {kind} has no {' and no '.join(missing)}")
        else:
            try:
                finding = self._tried(law)
            except NothingSeenError as reason:
                finding = not_tried(str(reason))
            except self.stops:
                raise
            except BaseException as error:  # whatever somebody's model or pipeline raises
                finding = not_tried(f"it raised {told(error)}")
        seconds = time.perf_counter() - began
        found = finding.verdict, finding.seen
        self.lines.append(Line(law.name, law.says, *found, law.means, law.look, seconds))
        return self.lines[-1]

    def try_gates(self) -> None:
        """Try those laws first without which others say nothing."""
        for law in self.laws:
            if law.name in GATES:
                self.line(law)

    def report(self) -> Report:
        """Give what was found of all that were tried."""
        if self.subject is None:
            return Report(tuple(self.lines))
        adapter = self.subject.adapter
        return Report(tuple(self.lines), adapter.assumptions, self.subject.tolerance)

    def _tried(self, law: Law) -> Finding:
        if self.subject is None:
            return law.check(self.given)
        if law.minute and not self.minute:
            return not_tried("it trains for up to a minute: ask for it with minute=True (--minute)")
        if law.compares:
            for line in self.lines:
                if line.law in GATES and line.verdict != Verdict.KEPT:
                    what = GATES[line.law]
                    return not_tried(f"outputs that {what} cannot be compared: see `{line.law}`")
        with _as_it_was(self.subject.adapter):
            torch.manual_seed(0)
            self.subject.generator.manual_seed(0)
            return law.check(self.subject)


@contextmanager
def _as_it_was(adapter: Adapter) -> Iterator[None]:
    """Let a model be in evaluation mode and have gradients within, and put all back afterwards."""
    with untouched(adapter.module, adapter.optimizer, adapter.stateful), torch.enable_grad():
        if adapter.module is not None:
            evaluating(adapter.module)
        yield
