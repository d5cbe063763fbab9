"""What is offered around a model takes what the model takes (not in the paper)."""

import linecache
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from attention_laws.errors import describe_error, is_user_file, user_code_place
from attention_laws.law import assert_not_none, law
from attention_laws.laws.search import BEAM_SIZE, LENGTH, draw_source_batch, make_sentences_end
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 118
# What code raises that is wrong; whoever refuses an input raises another, such as ValueError, or
# has a `raise` of their own.
FAULT_TYPES = (ArithmeticError, AttributeError, LookupError, NameError, RuntimeError, TypeError)
REFUSAL_TYPES = (NotImplementedError, torch.OutOfMemoryError)
# In messages: of a device that is not there, and of a function that was given other arguments.
WORDS_OF_NO_FAULT = ("cuda", "nvidia", "device", "argument")

NamedCalls = Iterator[tuple[str, Callable[[], Any]]]


@law()
@torch.no_grad()
def functions_take_what_forward_takes(subject: Subject) -> Finding:
    """Each function of the adapter takes a batch of the lengths that forward takes.

    Means: a search, a cache or a loss raises an error on a batch of several sentences, at a later
    step, or once a sentence has ended
    Look: at the line that is named
    """
    src = draw_source_batch(subject)
    tgt_in = subject.draw_tgt_in(len(src), LENGTH)
    subject.logits(src, tgt_in)
    tried: list[str] = []
    for name, call in _yield_calls(subject, src, tgt_in):
        try:
            call()
        except FAULT_TYPES as error:
            if not _is_fault_of_users_code(error):
                raise
            return broken_finding(
                f"`{name}` raises {describe_error(error)}, and forward reads as much", src=src[-1]
            )
        tried.append(name)
    if not tried:
        return not_tried_finding("the adapter has no function but forward")
    return kept_finding(f"{', '.join(dict.fromkeys(tried))} take what forward takes")


def _yield_calls(subject: Subject, src: Tensor, tgt_in: Tensor) -> NamedCalls:
    """Yield calls of the functions that an adapter has, on one batch, with their names."""
    adapter = subject.adapter
    if adapter.loss is not None:
        loss = adapter.loss
        # Of a model that is not batch first the logits were transposed, and a loss may view them.
        yield "loss", lambda: loss(subject.logits(src, tgt_in).contiguous(), tgt_in)
    if adapter.encode is not None and adapter.decode is not None:
        encode, decode = adapter.encode, adapter.decode
        yield "decode", lambda: decode(tgt_in, encode(src), src)
    if adapter.cached is not None and not adapter.cached.is_assumed:
        yield "cached", lambda: _decode_and_reorder(subject, src, tgt_in)
    yield from _yield_searches(subject, src)
    if (adapter.greedy or adapter.beam) is not None:
        yield "greedy or beam", lambda: make_sentences_end(subject)
        yield from _yield_searches(subject, src)


def _yield_searches(subject: Subject, src: Tensor) -> NamedCalls:
    greedy, beam = subject.adapter.greedy, subject.adapter.beam
    if greedy is not None:
        yield "greedy", lambda: list(greedy(src, LENGTH))
    if beam is not None:
        for size in (1, BEAM_SIZE):
            yield "beam", lambda size=size: list(beam(src, size, LENGTH))  # type: ignore[misc]


def _decode_and_reorder(subject: Subject, src: Tensor, tgt_in: Tensor) -> None:
    """Read a batch token by token with a cache, its rows exchanged after each step."""
    cached = assert_not_none(subject.adapter.cached)
    cache, rows = cached.start(src), torch.arange(len(src)).flip(0)
    for place in range(tgt_in.shape[1]):
        _, cache = cached.step(tgt_in[:, place : place + 1], cache)
        if cached.reorder is not None:
            cache = cached.reorder(cache, rows)


def _is_fault_of_users_code(error: Exception) -> bool:
    """Return whether an error is a fault, and no refusal, and arose inside what was called.

    A function of another signature raises where it is called, and the adapter is to be mended.
    """
    if isinstance(error, REFUSAL_TYPES) or _is_raised_by_statement_of_user(error):
        return False
    if any(word in str(error).lower() for word in WORDS_OF_NO_FAULT):
        return False
    return is_user_file(user_code_place(error).rpartition(":")[0])


def _is_raised_by_statement_of_user(error: Exception) -> bool:
    """Return whether a `raise` in the user's code raised an error, and no library or operator."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0)
    return is_user_file(frame.filename) and line.split()[:1] == ["raise"]
