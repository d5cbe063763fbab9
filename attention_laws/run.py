"""Try every law on a model, or on what stands around one (not in the paper)."""

import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from attention_laws.adapter import Adapter
from attention_laws.adapters import from_module
from attention_laws.errors import NothingSeenError, UserError, told
from attention_laws.law import Law, Subject
from attention_laws.laws import LAWS, PIPELINE_LAWS
from attention_laws.pipeline import Pipeline
from attention_laws.report import Finding, Line, Report, Verdict, not_tried
from attention_laws.untouched import evaluating, untouched

# Laws without which outputs cannot be compared, and what is to be said then.
GATES = {"finite": "are no numbers", "repeats": "do not repeat"}


def diagnose(
    model: Adapter | nn.Module,
    *,
    minute: bool = False,
    seed: int = 0,
    laws: Iterable[Law] = LAWS,
    on_law: Callable[[str], None] = lambda name: None,
    on_line: Callable[[Line], None] = lambda line: None,
) -> Report:
    """Try the laws that an encoder-decoder must obey, and say what was found of each.

    Nothing of the model is changed: weights, mode, gradients, optimizer and random numbers are
    put back. Whatever it raises is told, `SystemExit` too; Ctrl-C alone goes through.

    Args:
        model: An adapter; or a module that gives logits (batch, tgt_len, vocab_size) of
            (src, tgt_in), of which the rest is found out or assumed, and said.
        minute: Try the laws that train, too.
        seed: Of the sentences that it is tried with.
        laws: Which; those of `attention_laws.laws` unless said otherwise.
        on_law: Called with the name of each law before it is tried.
        on_line: Called with what was found of each.

    Returns:
        The report; where the model cannot be run at all, one that says why.
    """
    try:
        adapter = model if isinstance(model, Adapter) else from_module(model)
        trial = Trial(adapter, seed=seed, minute=minute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever somebody's model raises
        return Report((), stopped=told(error), mistake=isinstance(error, UserError))
    for law in laws:
        on_law(law.name)
        on_line(trial.line(law))
    return trial.report()


class Trial:
    """A model on which laws are tried one by one.

    Args:
        adapter: The model.
        seed: Of the sentences that it is tried with.
        minute: Whether to try the laws that train, too.
    """

    def __init__(self, adapter: Adapter, *, seed: int = 0, minute: bool = False) -> None:
        self.adapter, self.minute = adapter, minute
        self.lines: list[Line] = []
        with _as_it_was(adapter):
            self.subject = Subject(adapter, seed)

    def line(self, law: Law) -> Line:
        """Try a law, and remember what was found of it."""
        self.lines.append(_line(law, "adapter", self.adapter, self._tried))
        return self.lines[-1]

    def report(self) -> Report:
        """Give what was found of all that were tried."""
        return Report(tuple(self.lines), self.adapter.assumptions, self.subject.tolerance)

    def _tried(self, law: Law) -> Finding:
        if law.minute and not self.minute:
            return not_tried("it trains for up to a minute: ask for it with minute=True (--minute)")
        if law.compares:
            for line in self.lines:
                if line.law in GATES and line.verdict != Verdict.KEPT:
                    what = GATES[line.law]
                    return not_tried(f"outputs that {what} cannot be compared: see `{line.law}`")
        with _as_it_was(self.adapter):
            torch.manual_seed(0)
            self.subject.generator.manual_seed(self.subject.seed)
            return law.check(self.subject)


@contextmanager
def _as_it_was(adapter: Adapter) -> Iterator[None]:
    """Let a model be in evaluation mode and have gradients within, and put all back afterwards."""
    with untouched(adapter.module, adapter.optimizer, adapter.stateful), torch.enable_grad():
        if adapter.module is not None:
            evaluating(adapter.module)
        yield


def diagnose_pipeline(
    pipeline: Pipeline,
    *,
    laws: Iterable[Law] = PIPELINE_LAWS,
    on_law: Callable[[str], None] = lambda name: None,
    on_line: Callable[[Line], None] = lambda line: None,
) -> Report:
    """Try the laws that data, tokenizers and scores must obey, and say what was found of each.

    Args:
        pipeline: What stands around a model.
        laws: Which; all of them unless said otherwise.
        on_law: Called with the name of each law before it is tried.
        on_line: Called with what was found of each.
    """
    lines = []
    for law in laws:
        on_law(law.name)
        lines.append(_line(law, "pipeline", pipeline, lambda law: law.check(pipeline)))
        on_line(lines[-1])
    return Report(tuple(lines))


def _line(law: Law, kind: str, given: Any, try_it: Callable[[Law], Finding]) -> Line:
    """Try a law where nothing is missing; what somebody's code raises is a reason."""
    began = time.perf_counter()
    missing = [name for name in law.needs if _is_missing(getattr(given, name))]
    if missing:
        finding = not_tried(f"the {kind} has no {' and no '.join(missing)}")
    else:
        try:
            finding = try_it(law)
        except NothingSeenError as reason:
            finding = not_tried(str(reason))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever somebody's model or pipeline raises
            finding = not_tried(f"it raised {told(error)}")
    seconds = time.perf_counter() - began
    found = finding.verdict, finding.seen
    return Line(law.name, law.says, *found, law.means, law.look, seconds)


def _is_missing(given: Any) -> bool:
    """Tell that nothing was given, or no pairs."""
    return given is None or (isinstance(given, Sized) and len(given) == 0)
