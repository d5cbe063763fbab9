"""Try every law on a model (not in the paper)."""

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import nn

from attention_laws.adapter import Adapter
from attention_laws.adapters import from_module
from attention_laws.errors import UserError
from attention_laws.law import Law, Subject
from attention_laws.laws import LAWS
from attention_laws.report import Finding, Line, Report, Verdict, line_of, not_tried
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
    repeats = True
    for law in laws:
        on_law(law.name)
        line = line_of(law, partial(_tried, law, subject, minute, repeats))
        lines.append(line)
        if law.name == REPEATS:
            repeats = line.verdict == Verdict.KEPT
    return Report(tuple(lines), adapter.assumptions, subject.tolerance)


def _tried(law: Law, subject: Subject, minute: bool, repeats: bool) -> Finding:
    """Try one law, and leave the model as it was."""
    adapter = subject.adapter
    missing = [name for name in law.needs if getattr(adapter, name) is None]
    if missing:
        return not_tried(f"the adapter has no {' and no '.join(missing)}")
    if law.minute and not minute:
        return not_tried("it trains for up to a minute: ask for it with minute=True (--minute)")
    if law.compares and not repeats:
        return not_tried("outputs that do not repeat cannot be compared: see `repeats`")
    return _checked(law, subject)


def _checked(law: Law, subject: Subject) -> Finding:
    """Run the check in evaluation mode; what the model raises is a reason, never a traceback."""
    adapter = subject.adapter
    with untouched(adapter.module, adapter.optimizer, adapter.stateful):
        if adapter.module is not None:
            adapter.module.eval()
        torch.manual_seed(0)
        subject.generator.manual_seed(subject.seed)
        try:
            return law.check(subject)
        except Exception as error:  # whatever somebody's model raises
            return not_tried(f"it raised {_told(error)}")


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
