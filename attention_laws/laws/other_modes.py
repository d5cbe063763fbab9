"""Other ways to compute the same: compiled, checkpointed, by fused attention (not in the paper)."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_laws.errors import describe_error
from attention_laws.law import law
from attention_laws.laws.gradients import format_first_parameter_names
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    noted_finding,
)
from attention_laws.subject import MODEL_ERROR_TYPES, Subject, retry_check_in_float64

LAW_MODULE_SORT_KEY = 135
CHECKPOINTING_FLAG_PATTERN = re.compile(r"(grad|use|activation).*checkpoint(ing)?$")
FUSED_ATTENTION_FLAG_PATTERN = re.compile(r"(^|_)(flash|sdpa|sdp|fused)(_attn|_attention)?$")
# Of the largest number of a gradient.
MAX_RELATIVE_GRADIENT_GAP = 1e-3


@law("module", minute=True)
@torch.no_grad()
def compiled_forward_matches_eager(subject: Subject) -> Finding:
    """What `torch.compile` makes of the model computes what the model computes.

    Means: a branch for the compiler computes something else, or forward keeps numbers of Python
    that a traced graph holds fixed
    Look: at torch.compiler.is_compiling, and at what forward counts or keeps on self
    How: Its calls are traced and run as they are, without a compiler of machine code.
    """
    graphs = 0

    def run_graph_as_it_is(graph: Any, _: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return graph.forward

    # Of two shapes, so that a graph meets sizes that it was not traced with.
    inputs = [
        (subject.draw_padded_src(batch, 7), subject.draw_tgt_in(batch, 5)) for batch in (2, 3)
    ]
    expected = [subject.logits(*both) for both in inputs]
    compiled_before = subject.module._compiled_call_impl
    torch._dynamo.reset()
    subject.module.compile(backend=run_graph_as_it_is)
    try:
        compiled = [subject.logits(*both) for both in inputs]
    except MODEL_ERROR_TYPES as error:
        return noted_finding(f"torch.compile cannot trace it: {describe_error(error)}")
    finally:
        subject.module._compiled_call_impl = compiled_before
        torch._dynamo.reset()
    if not graphs:
        return not_tried_finding("forward is not called as module(...), which alone is compiled")
    for (src, tgt_in), one, other in zip(inputs, expected, compiled, strict=True):
        moved = subject.difference_or_zero_if_tolerated(other, one)
        if moved:
            seen = f"compiled, it gives logits {moved:.2g} away from those of eager mode"
            return broken_finding(seen, src=src[-1], tgt_in=tgt_in[-1])
    return kept_finding(f"{graphs} graphs give the logits of eager mode")


@law("module")
def gradient_checkpointing_matches_plain(subject: Subject) -> Finding:
    """With gradient checkpointing loss and gradients in training are those without it.

    Means: under checkpointing a layer is called with other arguments, or dropout is drawn anew
    when it is computed again
    Look: at the call of checkpoint, and at what it passes on
    """
    switch = _checkpointing_switch(subject.module)
    if switch is None:
        return not_tried_finding(
            "it offers no gradient checkpointing (gradient_checkpointing_enable, or a flag)"
        )
    batch = subject.draw_batch()
    subject.module.train()
    plain = _loss_and_gradients(subject, batch)
    try:
        with switch():
            checkpointed = _loss_and_gradients(subject, batch)
    except MODEL_ERROR_TYPES as error:
        return not_tried_finding(f"with gradient checkpointing it raises {describe_error(error)}")
    gap = abs(checkpointed.loss - plain.loss)
    if not gap <= 1e-4 * max(1.0, abs(plain.loss)):
        return broken_finding(f"the loss is {checkpointed.loss:.4g}, and {plain.loss:.4g} without")
    wrong = [
        name
        for name, gradient in plain.gradients.items()
        if _gradients_differ(gradient, checkpointed.gradients[name])
    ]
    if wrong:
        names = format_first_parameter_names(wrong)
        return broken_finding(f"other gradients than without it at {names}")
    return kept_finding(f"loss and {len(plain.gradients)} gradients are those without it")


class _LossAndGradients(NamedTuple):
    loss: float
    gradients: dict[str, Tensor | None]


def _loss_and_gradients(
    subject: Subject, batch: tuple[Tensor, Tensor, Tensor]
) -> _LossAndGradients:
    """Return loss and gradients of a batch in training mode, with equal random numbers.

    By `backward`, since checkpointing in its older form refuses `torch.autograd.grad`.
    """
    parameters = subject.trainable_parameters()
    for weight in parameters.values():
        weight.grad = None
    torch.manual_seed(0)
    src, tgt_in, tgt_out = batch
    logits = subject.adapter.forward(src, tgt_in)
    loss = nn.functional.cross_entropy(logits.flatten(end_dim=1).float(), tgt_out.flatten())
    loss.backward()
    gradients = {name: weight.grad for name, weight in parameters.items()}
    for weight in parameters.values():
        weight.grad = None
    return _LossAndGradients(float(loss.detach()), gradients)


def _gradients_differ(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is not other
    largest = max(float(one.abs().max()), 1e-8)
    return not float((one - other).abs().max()) <= MAX_RELATIVE_GRADIENT_GAP * largest


def _checkpointing_switch(module: nn.Module) -> Callable[[], Any] | None:
    """Return a context in which a module uses gradient checkpointing; None if it offers none."""
    if hasattr(module, "gradient_checkpointing_enable"):

        @contextmanager
        def enabled() -> Iterator[None]:
            enable: Any = module.gradient_checkpointing_enable
            enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            try:
                yield
            finally:
                disable: Any = module.gradient_checkpointing_disable
                disable()

        return enabled
    flags = _flags_matching(module, CHECKPOINTING_FLAG_PATTERN)
    return partial(_flags_set, flags, True) if flags else None


@law("module")
@retry_check_in_float64
@torch.no_grad()
def fused_attention_matches_explicit(subject: Subject) -> Finding:
    """Fused attention gives the logits of attention written out.

    Means: the two branches differ in their mask, their scale or their dropout, or one of them takes
    True for hidden where the other takes it for visible
    Look: at what is passed to scaled_dot_product_attention
    """
    src, tgt_in = subject.draw_padded_src(3, 7), subject.draw_tgt_in(3, 5)
    try:
        by_way = {
            name: _logits_within(subject, switch, src, tgt_in)
            for name, switch in _attention_switches(subject.module).items()
        }
    except MODEL_ERROR_TYPES as error:
        return not_tried_finding(f"the other kind of attention raises {describe_error(error)}")
    if len(by_way) < 2:
        return not_tried_finding(
            "its attention cannot be switched (set_attn_implementation, or a flag such as flash)"
        )
    (one, first), (other, second) = by_way.items()
    moved = subject.difference_or_zero_if_tolerated(first, second)
    if moved:
        seen = f"logits with {one} are {moved:.2g} away from those with {other}"
        return broken_finding(seen, src=src[-1], tgt_in=tgt_in[-1])
    return kept_finding(f"{one} and {other} give equal logits")


def _logits_within(
    subject: Subject, switch: Callable[[], Any], src: Tensor, tgt_in: Tensor
) -> Tensor:
    with switch():
        return subject.logits(src, tgt_in)


def _attention_switches(module: nn.Module) -> dict[str, Callable[[], Any]]:
    """Return contexts in which a module uses one kind of attention; none if it has no switch."""
    config = getattr(module, "config", None)
    if hasattr(module, "set_attn_implementation") and hasattr(config, "_attn_implementation"):
        return {
            f"attn_implementation={name}": partial(_implementation_set, module, name)
            for name in ("eager", "sdpa")
        }
    flags = _flags_matching(module, FUSED_ATTENTION_FLAG_PATTERN)
    names = ", ".join(sorted({name for _, name in flags}))
    return {
        f"{names}={value}": partial(_flags_set, flags, value)
        for value in ((False, True) if flags else ())
    }


@contextmanager
def _implementation_set(module: Any, name: str) -> Iterator[None]:
    """Let a model of Hugging Face use one kind of attention in the block."""
    before = module.config._attn_implementation
    module.set_attn_implementation(name)
    try:
        yield
    finally:
        module.set_attn_implementation(before)


def _flags_matching(module: nn.Module, pattern: re.Pattern[str]) -> list[tuple[nn.Module, str]]:
    """Return the truth values on submodules whose names match, each with its owner."""
    return [
        (part, name)
        for part in module.modules()
        for name, value in vars(part).items()
        if isinstance(value, bool) and pattern.search(name)
    ]


@contextmanager
def _flags_set(flags: list[tuple[nn.Module, str]], value: bool) -> Iterator[None]:
    """Set truth values in the block, and put back what they were."""
    before = [getattr(part, name) for part, name in flags]
    for part, name in flags:
        setattr(part, name, value)
    try:
        yield
    finally:
        for (part, name), old in zip(flags, before, strict=True):
            setattr(part, name, old)
