"""One way to call a module: its parameters, masks, and where its logits are (not in the paper)."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws.errors import one_line_error_message, user_code_place
from attention_laws.forward_signature import (
    SRC_NAME_PATTERN,
    TGT_NAME_PATTERN,
    ForwardSignature,
)
from attention_laws.logits_layout import (
    LOGITS_LAYOUTS,
    logits_layout_name,
    yield_paths_and_float_tensors,
)
from attention_laws.mask_style import MaskStyle, make_mask
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.older_code import Uint8MasksAsBooleans
from attention_laws.vocabularies import EmbeddingRecorder

# Of the first call: these are distinct, also after one token was cut off, so that a shape
# identifies its axes.
BATCH, SRC_LEN, TGT_LEN = 2, 5, 4


class NoLogitsError(ValueError):
    """What a call returned contains no logits."""


@dataclass(frozen=True)
class CallingConvention:
    """One way to call a module."""

    module: nn.Module  # what is called
    signature: ForwardSignature  # its parameters
    batch_first: bool = True  # whether ids are (batch, length)
    mask_style: MaskStyle | None = None  # how masks are written; None: none are passed
    # Padding, from which masks are made.
    src_pad: int | None = 0
    tgt_pad: int | None = 0
    path: tuple[Any, ...] = ()  # keys that lead to the logits in what it returns
    layout: str = ""  # the order of the logits' axes: a key of `LOGITS_LAYOUTS`
    drops_last: bool = False  # whether it cuts the last token off the target itself
    shifts_target: bool = False  # whether it shifts the target by one position itself
    # Name of a submodule that makes logits from what it returns, and that others call.
    head: str = ""
    # Name of a submodule that returns logits, if the module itself returns a loss.
    logits_module: str = ""
    # Lengths of source and target to which sentences are padded, if it takes no other.
    fixed_lengths: tuple[int, int] | None = None
    with_targets: bool = False  # whether a decoder-only model is given its ids as targets, too
    uint8_masks: bool = False  # whether it fills with uint8 masks, which torch refuses

    def __call__(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Return logits (batch, tgt_len, vocab) for ids, batch first."""
        if self.drops_last or self.shifts_target:
            tgt_in = torch.cat((tgt_in, tgt_in[:, -1:]), dim=1)
        output = self.follow_path(self.call_for_raw_output(src, tgt_in))
        batch, length = len(tgt_in), self._output_length(tgt_in) - self.drops_last
        batch_first = LOGITS_LAYOUTS[self.layout].to_batch_first(output, batch, length)
        batch_first = batch_first[:, : tgt_in.shape[1] - self.drops_last]
        if self.shifts_target:
            batch_first = batch_first[:, 1:]
        return self.module.get_submodule(self.head)(batch_first) if self.head else batch_first

    def follow_path(self, output: Any) -> Any:
        """Return the tensor that `path` leads to in what the module returned."""
        for key in self.path:
            is_key = isinstance(key, int) or isinstance(output, dict)
            output = output[key] if is_key else getattr(output, key)
        return output

    def with_output_head_if_needed(
        self, src: Tensor, tgt_in: Tensor, vocab_size: int
    ) -> "CallingConvention":
        """Return the convention that ends in the submodule that makes logits, if there is one.

        The Annotated Transformer is such a case: its `forward` leaves its `generator` to the loss.
        """
        output = self(src, tgt_in)
        if output.shape[-1] == vocab_size:
            return self
        for name, submodule in self.module.named_modules():
            try:
                if submodule(output).shape == (*output.shape[:2], vocab_size):
                    return replace(self, head=name)
            except Exception:  # A submodule of somebody's model may raise anything.
                continue
        return self

    def call_for_raw_output(self, src: Tensor, tgt_in: Tensor) -> Any:
        """Call the module and return its output, or the last output of `logits_module`."""
        if not self.logits_module:
            return self._call_module(src, tgt_in)
        outputs: list[Any] = []
        submodule = self.module.get_submodule(self.logits_module)

        def record(module: nn.Module, inputs: Any, output: Any) -> None:
            outputs.append(output)

        with hooks_removed_afterwards([submodule.register_forward_hook(record)]):
            self._call_module(src, tgt_in)
        return outputs[-1]

    def _output_length(self, tgt_in: Tensor) -> int:
        """Return the length of the target that the module is given."""
        return self.fixed_lengths[1] if self.fixed_lengths else tgt_in.shape[1]

    def _call_module(self, src: Tensor, tgt_in: Tensor) -> Any:
        if self.fixed_lengths:
            src = _pad_to_length(src, self.fixed_lengths[0], self.src_pad)
            tgt_in = _pad_to_length(tgt_in, self.fixed_lengths[1], self.tgt_pad)
        if not self.uint8_masks:
            return self._call_module_with_ids(src, tgt_in)
        with Uint8MasksAsBooleans():
            return self._call_module_with_ids(src, tgt_in)

    def _call_module_with_ids(self, src: Tensor, tgt_in: Tensor) -> Any:
        ids = (src, tgt_in) if self.batch_first else (src.T, tgt_in.T)
        if self.signature.decoder_only:
            return self._call_decoder_only(src, tgt_in, ids[1])
        if self.signature.pair:
            return self.module(ids)
        masks = self._make_named_masks(src, tgt_in)
        positional = [mask for name, mask in masks if not name]
        options = {name: mask for name, mask in masks if name}
        for name in self.signature.others:
            options[name] = self._make_length_or_position_argument(name.lower(), src, tgt_in)
        if not self.signature.src or not self.signature.tgt:
            return self.module(*ids, *positional, **options)
        return self.module(**{self.signature.src: ids[0], self.signature.tgt: ids[1]}, **options)

    def _call_decoder_only(self, src: Tensor, tgt_in: Tensor, ids: Tensor) -> Any:
        options: dict[str, Any] = dict(self._make_named_masks(src, tgt_in))
        for name in self.signature.others:
            options[name] = self._make_length_or_position_argument(name.lower(), src, tgt_in)
        if self.with_targets:
            options[self.signature.targets] = ids
        return self.module(ids, **options)

    def _make_named_masks(self, src: Tensor, tgt_in: Tensor) -> list[tuple[str, Tensor]]:
        if self.mask_style is None:
            return []
        src_real = _is_not_padding(src, self.src_pad)
        tgt_real = _is_not_padding(tgt_in, self.tgt_pad)
        masks = self.signature.masks
        beside_padding = any(role.padding for _, role in masks)
        return [
            (name, make_mask(self.mask_style, role, src_real, tgt_real, beside_padding))
            for name, role in masks
        ]

    def _make_length_or_position_argument(self, name: str, src: Tensor, tgt_in: Tensor) -> Any:
        """Return lengths or positions of the side that a parameter's name says."""
        if "teacher" in name:
            return 1.0
        is_target = TGT_NAME_PATTERN.search(name) and not SRC_NAME_PATTERN.match(name)
        ids, pad = (tgt_in, self.tgt_pad) if is_target else (src, self.src_pad)
        if "len" in name:
            return _is_not_padding(ids, pad).sum(dim=1)
        positions = torch.arange(ids.shape[1]).expand(ids.shape)
        if self.signature.decoder_only:
            positions = (_is_not_padding(ids, pad).cumsum(dim=1) - 1).clamp(min=0)
        return positions if self.batch_first else positions.T

    def with_logits_located(
        self, src: Tensor, tgt_in: Tensor, recorder: EmbeddingRecorder
    ) -> "CallingConvention":
        """Call the module once, and return the convention that knows where the logits are.

        Of several tensors of the shape of logits they are the one as wide as the vocabulary of
        `tgt_in`, whose ids are all one, or else the first.

        Raises:
            NoLogitsError: nothing that it returns has the shape of logits.
        """
        with recorder:
            output = self.call_for_raw_output(src, tgt_in)
        vocab_size = recorder.vocab_sizes.get(int(tgt_in[0, 0]))
        shapes, located = [], []
        batch, tgt_len = len(tgt_in), self._output_length(tgt_in)
        for path, tensor in yield_paths_and_float_tensors(output):
            shapes.append(tuple(tensor.shape))
            for drops_last, length in ((False, tgt_len), (True, tgt_len - 1)):
                layout = logits_layout_name(tensor, batch, length, self.batch_first)
                if layout:
                    convention = replace(self, path=path, layout=layout, drops_last=drops_last)
                    logits = LOGITS_LAYOUTS[layout].to_batch_first(tensor, batch, length)
                    if logits.shape[-1] == vocab_size:
                        return convention
                    located.append(convention)
                    break
        if located:
            return located[0]
        returns_loss = bool(shapes) and set(shapes) == {()}
        if returns_loss and not self.logits_module:
            return self._with_logits_submodule_located(src, tgt_in, recorder)
        if shapes:
            raise NoLogitsError(f"it returns tensors of the shapes {shapes}")
        raise NoLogitsError(f"it returns {type(output).__name__}, no tensor")

    def _with_logits_submodule_located(
        self, src: Tensor, tgt_in: Tensor, recorder: EmbeddingRecorder
    ) -> "CallingConvention":
        """Return the convention for a module that returns a loss.

        Its logits are what the last submodule returned that returned any, and that reads the
        source: a smoothing of targets has their shape as well.
        """
        call_order: list[str] = []

        def record_calls_of(name: str) -> Callable[..., None]:
            return lambda *_: call_order.append(name)

        with hooks_removed_afterwards(
            submodule.register_forward_hook(record_calls_of(name))
            for name, submodule in self.module.named_modules()
        ):
            self._call_module(src, tgt_in)
        unrelated = None
        for name in reversed(call_order):
            if name:
                with contextlib.suppress(NoLogitsError):
                    by_submodule = replace(self, logits_module=name)
                    located = by_submodule.with_logits_located(src, tgt_in, recorder)
                    if self.signature.decoder_only or located._reads_source(src, tgt_in):
                        return located
                    unrelated = unrelated or located
        if unrelated is not None:
            return unrelated
        raise NoLogitsError("it returns a loss, and no submodule returns logits")

    def _reads_source(self, src: Tensor, tgt_in: Tensor) -> bool:
        """Return whether another source gives other logits."""
        return not torch.equal(self(src, tgt_in), self(src + 1, tgt_in))

    @property
    def description(self) -> str:
        """The order and the masks, in a few words for a reader."""
        order = "batch first" if self.batch_first else "length first"
        return f"{order}, masks {self.mask_style}" if self.mask_style else order

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was found by trying, each with the flag that overrides it."""
        return (
            *self._assumptions_about_parameters(),
            *self._assumptions_about_logits(),
            *self._assumptions_about_ids(),
        )

    def _assumptions_about_parameters(self) -> Iterator[str]:
        """Yield what was found about the parameters of `forward`."""
        signature = self.signature
        if signature.decoder_only:
            yield "it is decoder-only: laws about a source are not tried"
        if self.with_targets:
            yield f"all logits come with {signature.targets}=ids alone"
        if signature.order_unknown and signature.tgt:
            names = f"source is {signature.src}, target {signature.tgt}"
            yield f"{names} (tried, since the names do not say)"
        if self.mask_style is not None:
            names = ", ".join(name for name, _ in signature.masks if name) or "by position"
            flag = f"masks=, --masks {self.mask_style}"
            yield f"masks ({names}) are {self.mask_style.description} ({flag})"

    def _assumptions_about_logits(self) -> Iterator[str]:
        """Yield what was found about where the logits are."""
        if self.path:
            yield f"logits are {'.'.join(map(str, self.path))} of what it returns"
        if self.layout != "batch":
            yield f"logits are {LOGITS_LAYOUTS[self.layout].axes}, and are transposed"
        if self.head:
            yield f"logits are its {self.head} of what it returns"
        if self.logits_module:
            yield f"it returns a loss, and its {self.logits_module} returns the logits"

    def _assumptions_about_ids(self) -> Iterator[str]:
        """Yield what was found about the ids, and masks, that it takes."""
        if self.shifts_target:
            yield "it shifts the target itself, and is given one token more"
        if self.drops_last:
            yield "it cuts off the target's last token itself, and is given one more"
        if self.fixed_lengths:
            lengths = " and ".join(map(str, self.fixed_lengths))
            yield (
                f"it takes sentences of {lengths} tokens alone, to which all are padded: what "
                "padding changes cannot be seen"
            )
        if self.uint8_masks:
            yield (
                "it fills with masks of uint8, which this torch refuses: they are taken as boolean"
            )


def _is_not_padding(ids: Tensor, pad: int | None) -> Tensor:
    """Return where ids are no padding, of the same shape."""
    return torch.ones_like(ids, dtype=torch.bool) if pad is None else ids != pad


def _pad_to_length(ids: Tensor, length: int, pad: int | None) -> Tensor:
    """Return ids (batch, at most length) with padding appended up to a length.

    Raises:
        ValueError: there is no padding, or the ids are longer.
    """
    if pad is None or ids.shape[1] > length:
        raise ValueError(f"a sentence of {ids.shape[1]} tokens cannot be padded to {length}")
    return nn.functional.pad(ids, (0, length - ids.shape[1]), value=pad)


def describe_call_failure(error: Exception) -> str:
    """Return in a few words why a way to call a module failed."""
    message = one_line_error_message(error)[:120]
    if isinstance(error, NoLogitsError):
        return message
    return f"{type(error).__name__}: {message} ({user_code_place(error)})"
