"""The model that laws are tried on, with sentences to try it with (not in the paper)."""

import contextlib
from collections.abc import Callable, Iterator
from functools import wraps

import torch
from torch import Tensor, nn

from attention_laws.adapter import Adapter
from attention_laws.law import assert_not_none
from attention_laws.model_state import Float32AsFloat64, weights_temporarily_in_float64
from attention_laws.report import Finding, Verdict, kept_finding
from attention_laws.torch_calls import TorchCall, TorchCallRecorder

# What a model may raise that makes float32 tensors itself.
MODEL_ERROR_TYPES = Exception, SystemExit
ZERO_WEIGHT_NOISE = 0.1  # standard deviation of what is put in the place of zeros
# Share of the largest logit that a real fault still moves in float64.
FLOAT64_TOLERANCE_PER_LARGEST_LOGIT = 1e-6


class Subject:
    """A model under diagnosis: sentences to try it with, and what counts as a difference."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.generator = torch.Generator().manual_seed(0)
        self.tgt_pad_id = adapter.pad_id if adapter.tgt_pad_id is None else adapter.tgt_pad_id
        ids = {adapter.pad_id, self.tgt_pad_id, adapter.bos_id, adapter.eos_id}
        self.special_ids = ids - {None}
        self.scale = 0.0  # the largest logit that was measured
        self.tolerance = self._measure_tolerance()

    @property
    def module(self) -> nn.Module:
        """The module with the parameters, for a law that needs it."""
        return assert_not_none(self.adapter.module)

    def draw_ids(self, vocab_size: int, *shape: int) -> Tensor:
        """Draw ordinary ids of any shape, without repeats in a row if there are enough."""
        usable = torch.tensor([i for i in range(vocab_size) if i not in self.special_ids])
        rows, length = (1, *shape)[-2:]
        return torch.stack([self._draw_id_row(usable, length) for _ in range(rows)]).reshape(shape)

    def _draw_id_row(self, usable: Tensor, length: int) -> Tensor:
        if length <= len(usable):
            return usable[torch.randperm(len(usable), generator=self.generator)[:length]]
        return usable[torch.randint(len(usable), (length,), generator=self.generator)]

    def draw_src(self, batch: int, src_len: int) -> Tensor:
        """Draw sources, (batch, src_len), each ending in eos."""
        src = self.draw_ids(self.adapter.src_vocab_size, batch, src_len)
        src[:, -1] = self.adapter.eos_id
        return src

    def draw_padded_src(self, batch: int, src_len: int) -> Tensor:
        """Draw sources of several lengths, (batch, src_len), if the model has padding."""
        src = self.draw_src(batch, src_len)
        if self.adapter.pad_id is not None:
            for row in range(1, batch):
                src[row, src_len - row % 4 :] = self.adapter.pad_id
                src[row, src_len - 1 - row % 4] = self.adapter.eos_id
        return src

    def draw_tgt_in(self, batch: int, tgt_len: int) -> Tensor:
        """Draw decoder inputs, (batch, tgt_len), each beginning with bos."""
        tgt_in = self.draw_ids(self.adapter.tgt_vocab_size, batch, tgt_len)
        tgt_in[:, 0] = self.adapter.bos_id
        return tgt_in

    def draw_batch(self, sentences: int = 4) -> tuple[Tensor, Tensor, Tensor]:
        """Draw src (sentences, 9), tgt_in (sentences, 8) and its successor tgt_out."""
        src, tgt_in = self.draw_src(sentences, 9), self.draw_tgt_in(sentences, 8)
        eos = torch.full((sentences, 1), self.adapter.eos_id)
        return src, tgt_in, torch.cat((tgt_in[:, 1:], eos), dim=1)

    def ordinary_id_other_than(self, token: int) -> int:
        """Return an ordinary id, of both sides, that is not this token."""
        return next(i for i in range(8) if i not in self.special_ids and i != token)

    def with_other_token(self, ids: Tensor, position: int) -> Tensor:
        """Return ids (1, length) with another token at a position."""
        changed = ids.clone()
        changed[0, position] = self.ordinary_id_other_than(int(ids[0, position]))
        return changed

    def with_src_padding_appended(self, src: Tensor, number: int) -> Tensor:
        """Return sources (batch, src_len) with `number` positions of padding appended."""
        if number == 0:
            return src
        return nn.functional.pad(src, (0, number), value=assert_not_none(self.adapter.pad_id))

    def with_tgt_padding_appended(self, tgt: Tensor, number: int) -> Tensor:
        """Return targets (batch, tgt_len) with `number` positions of padding appended."""
        if number == 0:
            return tgt
        return nn.functional.pad(tgt, (0, number), value=assert_not_none(self.tgt_pad_id))

    def trainable_parameters(self) -> dict[str, Tensor]:
        """Return the parameters that require a gradient, by their names."""
        return {name: p for name, p in self.module.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def logits(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Return logits (batch, tgt_len, tgt_vocab_size), at least in float32.

        The random state is reset each time, so that what still differs is not drawn.
        """
        torch.manual_seed(0)
        logits = self.adapter.forward(src, tgt_in)
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def torch_calls_of_forward(self, src: Tensor, tgt_in: Tensor) -> list[TorchCall]:
        """Return the calls of torch in one forward pass."""
        with TorchCallRecorder() as recorder:
            self.logits(src, tgt_in)
        return recorder.calls

    def difference_or_zero_if_tolerated(self, first: Tensor, second: Tensor) -> float:
        """Return the largest difference of two tensors, or 0 if it is within the tolerance."""
        largest = float((first - second).abs().max())
        is_nan = largest != largest
        return largest if largest > self.tolerance or is_nan else 0.0

    @contextlib.contextmanager
    def computing_in_float64(self) -> Iterator[None]:
        """Compute in float64 in the block if the model can; the tolerance is much smaller then."""
        with contextlib.ExitStack() as float64:
            tolerance = self.tolerance
            if self.adapter.module is not None:
                float64.enter_context(weights_temporarily_in_float64(self.adapter.module))
                float64.enter_context(Float32AsFloat64())
                try:
                    logits = self.logits(self.draw_src(1, 3), self.draw_tgt_in(1, 2))
                except MODEL_ERROR_TYPES:
                    float64.close()
                else:
                    if logits.dtype == torch.float64:
                        tolerance = max(1e-9 * float(logits.abs().max()), 1e-12)
            with self.temporarily_using_tolerance(tolerance):
                yield

    @contextlib.contextmanager
    def temporarily_using_tolerance(self, tolerance: float) -> Iterator[None]:
        """Let nothing smaller than this count as a difference in the block."""
        previous, self.tolerance = self.tolerance, tolerance
        try:
            yield
        finally:
            self.tolerance = previous

    def _measure_tolerance(self) -> float:
        """Return fifty times what rounding does to the logits, measured in float64 if possible.

        For logits in float32 it is at most a thousandth of the largest: if float64 changes more
        than that, something else than rounding is at work.
        """
        src, tgt_in = self.draw_src(2, 5), self.draw_tgt_in(2, 4)
        logits = self.logits(src, tgt_in)
        self.scale = float(logits.nan_to_num(0, 0, 0).abs().max())
        noise = 2e-7 * self.scale
        if self.adapter.module is not None:
            with (
                weights_temporarily_in_float64(self.adapter.module),
                contextlib.suppress(*MODEL_ERROR_TYPES),
            ):
                noise = max(noise, float((self.logits(src, tgt_in) - logits).abs().max()))
        if self.adapter.forward(src, tgt_in).dtype == torch.float32:
            noise = min(noise, 2e-5 * self.scale)
        return max(50 * noise, 1e-7)


def retry_check_with_zero_weights_drawn(
    check: Callable[[Subject], Finding],
) -> Callable[[Subject], Finding]:
    """Retry a check that is broken while whole tensors are zero, with small numbers in them.

    ReZero, and maps that begin as zeros, let nothing through at the start, and rightly: their
    gradient is not zero. Zeros without a gradient stay zero in training, and are not drawn.
    """

    @wraps(check)
    def retried_check(subject: Subject) -> Finding:
        random_state = subject.generator.get_state()
        finding = check(subject)
        if finding.verdict != Verdict.BROKEN or subject.adapter.module is None:
            return finding
        weights = _zero_weights_with_gradient(subject)
        if not weights:
            return finding
        # A vector of zeros may be a shift, which lets everything through; a scale is drawn as well.
        with torch.no_grad():
            for weight in weights:
                noise = torch.randn(weight.shape, generator=subject.generator)
                weight.copy_(ZERO_WEIGHT_NOISE * noise)
        subject.generator.set_state(random_state)
        retried = check(subject)
        if retried.verdict == Verdict.KEPT:
            return kept_finding(f"{retried.seen}, once weights that begin as zeros are not")
        return finding

    return retried_check


def _zero_weights_with_gradient(subject: Subject) -> list[Tensor]:
    """Return the trainable tensors that are all zero and have a gradient that is not."""
    weights = [w for w in subject.trainable_parameters().values() if not bool(w.any())]
    if not weights:
        return []
    try:
        logits = subject.adapter.forward(subject.draw_src(2, 5), subject.draw_tgt_in(2, 4))
        gradients = torch.autograd.grad(logits.square().sum(), weights, allow_unused=True)
    except MODEL_ERROR_TYPES:
        return []
    pairs = zip(weights, gradients, strict=True)
    return [weight for weight, gradient in pairs if gradient is not None and bool(gradient.any())]


def retry_check_in_float64(check: Callable[[Subject], Finding]) -> Callable[[Subject], Finding]:
    """Retry in float64 a check that is broken by little: a fault remains, rounding goes.

    By little: by less than the largest logit, and by a number. The sentences are the same. If the
    model cannot run in float64, the finding in float32 stands.
    """

    @wraps(check)
    def retried_check(subject: Subject) -> Finding:
        random_state = subject.generator.get_state()

        def is_kept_now() -> bool:
            subject.generator.set_state(random_state)
            return check(subject).verdict == Verdict.KEPT

        finding = check(subject)
        if finding.verdict == Verdict.BROKEN:
            with subject.temporarily_using_tolerance(subject.scale):
                broken_by_little = is_kept_now()
            tolerance = FLOAT64_TOLERANCE_PER_LARGEST_LOGIT * subject.scale
            with (
                subject.computing_in_float64(),
                subject.temporarily_using_tolerance(tolerance),
                contextlib.suppress(*MODEL_ERROR_TYPES),
            ):
                if broken_by_little and is_kept_now():
                    reason = "kept in float64, where less is rounded"
                    return kept_finding(f"{reason}; in float32: {finding.seen}")
        return finding

    return retried_check
