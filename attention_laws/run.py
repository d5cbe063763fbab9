"""Try every law on a model, or on what stands around one (not in the paper)."""

import time
from collections.abc import Callable, Iterable, Sized
from typing import Any

import torch
from torch import nn

from attention_laws.adapter import Adapter
from attention_laws.adapters import from_module
from attention_laws.errors import UserError
from attention_laws.law import Law, Subject
from attention_laws.laws import LAWS, PIPELINE_LAWS
from attention_laws.pipeline import Pipeline
from attention_laws.report import Finding, Line, Report, Verdict, not_tried
from attention_laws.untouched import untouched

REPEATS = "repeats"  # the law without which outputs cannot be compared


def diagnose(
    model: Adapter | nn.Module,
    *,
    minute: bool = False,
    seed: int = 0,
    laws: Iterable[Law] = LAWS,
    on_law: Callable[[str], None] = lambda name: None,
) -> Report:
    """Try the laws that an encoder-decoder must obey, and say what was found of each.

    Nothing of the model is changed: weights, mode, gradients, optimizer and random numbers are
    put back.

    Args:
        model: An adapter; or a module that gives logits (batch, tgt_len, vocab_size) of
            (src, tgt_in), of which the rest is found out or assumed, and said.
        minute: Try the laws that train, too.
        seed: Of the sentences that it is tried with.
        laws: Which; those of `attention_laws.laws` unless said otherwise.
        on_law: Called with the name of each law before it is tried.

    Returns:
        The report; where the model cannot be run at all, one that says why.
    """
    try:
        adapter = from_module(model) if isinstance(model, nn.Module) else model
        with untouched(adapter.module, adapter.optimizer, adapter.stateful):
            if adapter.module is not None:
                adapter.module.eval()
            subject = Subject(adapter, seed)
    except Exception as error:  # whatever somebody's model raises
        return Report((), stopped=_told(error))
    lines: list[Line] = []

    def tried(law: Law) -> Finding:
        if law.minute and not minute:
            return not_tried("it trains for up to a minute: ask for it with minute=True (--minute)")
        repeats = all(line.verdict == Verdict.KEPT for line in lines if line.law == REPEATS)
        if law.compares and not repeats:
            return not_tried("outputs that do not repeat cannot be compared: see `repeats`")
        with untouched(adapter.module, adapter.optimizer, adapter.stateful):
            if adapter.module is not None:
                adapter.module.eval()
            torch.manual_seed(0)
            subject.generator.manual_seed(subject.seed)
            return law.check(subject)

    for law in laws:
        on_law(law.name)
        lines.append(_line(law, "adapter", adapter, tried))
    return Report(tuple(lines), adapter.assumptions, subject.tolerance)


def diagnose_pipeline(
    pipeline: Pipeline,
    *,
    laws: Iterable[Law] = PIPELINE_LAWS,
    on_law: Callable[[str], None] = lambda name: None,
) -> Report:
    """Try the laws that data, tokenizers and scores must obey, and say what was found of each.

    Args:
        pipeline: What stands around a model.
        laws: Which; all of them unless said otherwise.
        on_law: Called with the name of each law before it is tried.
    """
    lines = []
    for law in laws:
        on_law(law.name)
        lines.append(_line(law, "pipeline", pipeline, lambda law: law.check(pipeline)))
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
        except Exception as error:  # whatever somebody's model or pipeline raises
            finding = not_tried(f"it raised {_told(error)}")
    seconds = time.perf_counter() - began
    found = finding.verdict, finding.seen
    return Line(law.name, law.says, *found, law.means, law.look, seconds)


def _is_missing(given: Any) -> bool:
    """Tell that nothing was given, or no pairs."""
    return given is None or (isinstance(given, Sized) and len(given) == 0)


def _told(error: Exception) -> str:
    """Give an error in one line: kind, message, and the last place in the code.

    What we say ourselves has its remedy in it, and no place.
    """
    if isinstance(error, UserError):
        return str(error)
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" ({place.tb_frame.f_code.co_filename}:{place.tb_lineno})"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{where}"
