"""A bare module is taken as it is: how it is called is found by trying, and reported."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import diagnose
from attention_laws.bare_module import adapter_from_module
from attention_laws.errors import UserError
from attention_laws.mask_style import MaskStyle
from experiments.laws.sound_model import EncoderDecoder


class Masked(EncoderDecoder):
    """The sound model, with masks from outside: each as `may`, of four axes, for scores."""

    def run(
        self, src: Tensor, tgt: Tensor, src_may: Tensor, tgt_may: Tensor, cross: Any = None
    ) -> Tensor:
        memory = self.src(src)
        for layer in self.encoder:
            memory = layer(memory, src_may)
        hidden = self.tgt(tgt)
        for layer in self.decoder:
            hidden = layer(hidden, memory, tgt_may, src_may if cross is None else cross)
        return self.output(hidden)


def four(mask: Tensor) -> Tensor:
    assert mask.dim() == 4
    return mask


def three(mask: Tensor) -> Tensor:
    assert mask.dim() == 3
    return mask[:, None]


STYLES: dict[str, Callable[[Tensor], Tensor]] = {
    "may-bool-4": lambda mask: four(mask) & True,
    "may-bool-3": lambda mask: three(mask) & True,
    "hidden-bool-4": lambda mask: ~four(mask),
    "hidden-bool-3": lambda mask: ~three(mask),
    "may-byte-3": lambda mask: (three(mask) == 1) if mask.dtype == torch.uint8 else mask / 0,
    "hidden-float-4": lambda mask: four(mask) * (-1e9 / mask.dtype.itemsize) > -1,
    "add-float-4": lambda mask: four(mask) > -1,
}
WRONG = {"hidden-float-4": torch.float32, "add-float-4": torch.float32}


@pytest.mark.slow
@pytest.mark.parametrize("name", STYLES)
def test_masks_of_every_style_are_found(name: str) -> None:
    class Theirs(Masked):
        def forward(self, src: Tensor, trg: Tensor, src_mask: Tensor, trg_mask: Tensor) -> Tensor:
            if name in WRONG and src_mask.dtype != WRONG[name]:
                raise TypeError("these masks are floats")
            read = STYLES[name]
            return self.run(src, trg, read(src_mask), read(trg_mask))

    adapter = adapter_from_module(Theirs())
    assert any(f"--masks {name}" in text for text in adapter.assumptions), adapter.assumptions
    assert not diagnose(adapter).broken_laws
    if name == "may-bool-4":
        with pytest.raises(UserError, match="may-bool-3"):
            adapter_from_module(Theirs(), masks="may-bool-3")


class AsTorch(Masked):
    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor,
        tgt_mask: Tensor,
        src_padding_mask: Tensor,
        tgt_padding_mask: Tensor,
        memory_key_padding_mask: Tensor,
    ) -> Tensor:
        """Length first, as in torch's own tutorial: True = hidden."""
        src, tgt = src.T, tgt.T
        assert src_mask.shape == (src.shape[1],) * 2
        may = ~src_padding_mask[:, None, None] & ~src_mask
        mine = ~tgt_padding_mask[:, None, None] & ~tgt_mask
        cross = ~memory_key_padding_mask[:, None, None]
        return self.run(src, tgt, may, mine, cross).transpose(0, 1)


class Loss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = EncoderDecoder()

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        logits = self.net(src, tgt[:, :-1]).transpose(1, 2)
        return nn.functional.cross_entropy(logits, tgt[:, 1:])


class WithoutForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = Masked()
        self.parts.output, self.head = nn.Identity(), self.parts.output

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        memory = self.parts.src(src)
        for layer in self.parts.encoder:
            memory = layer(memory, four(src_mask))
        return memory

    def decode(self, memory: Tensor, src_mask: Tensor, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
        hidden = self.parts.tgt(tgt)
        for layer in self.parts.decoder:
            hidden = layer(hidden, memory, tgt_mask, src_mask)
        return hidden


class Annotated(Masked):
    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(self.output, nn.LogSoftmax(dim=-1))
        self.output = nn.Identity()

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        return self.run(src, tgt, three(src_mask), three(tgt_mask))


class OtherPadding(EncoderDecoder):
    """Padding is 1 for sources, and 2 for targets; inside it is the sound model's."""

    def __init__(self, said: bool) -> None:
        super().__init__()
        if said:
            self.src_pad_idx, self.trg_pad_idx = 1, 2

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src = torch.where(src == 1, 0, torch.where(src == 0, 1, src))
        return super().forward(src, tgt)


def behind(
    forward: Callable[..., Any], kind: type[EncoderDecoder] = EncoderDecoder
) -> Callable[[], EncoderDecoder]:
    """The sound model behind a forward of somebody's."""
    return type("Theirs", (kind,), {"forward": forward})


def given_lengths(
    self: EncoderDecoder, src_tokens: Any, src_lengths: Any, prev_output_tokens: Any
) -> Any:
    assert src_lengths.tolist() == (src_tokens != 0).sum(dim=1).tolist()
    return EncoderDecoder.forward(self, src_tokens, prev_output_tokens), None


def shifts_itself(self: EncoderDecoder, src: Tensor, tgt: Tensor) -> Tensor:
    bos = torch.full((len(tgt), 1), 2)
    return EncoderDecoder.forward(self, src, torch.cat((bos, tgt[:, :-1]), dim=1))


def encode_and_masks(self: Masked, x: Tensor, y: Tensor, e_mask: Tensor, d_mask: Tensor) -> Tensor:
    return self.run(x, y, three(e_mask), three(d_mask))


def as_tensorflow(
    self: Masked, inp: Tensor, tar: Tensor, enc_padding_mask: Tensor, look_ahead_mask: Tensor
) -> Tensor:
    return self.run(inp, tar, four(enc_padding_mask), four(look_ahead_mask))


def in_a_dictionary(
    self: EncoderDecoder, input_ids: Any, mask: Any = None, decoder_ids: Any = None
) -> Any:
    logits = EncoderDecoder.forward(self, input_ids, decoder_ids)
    return {"memory": self.encode(input_ids), "logits": logits}


def in_a_tuple(self: EncoderDecoder, src: Tensor, tgt: Tensor) -> Any:
    return EncoderDecoder.forward(self, src, tgt), [torch.zeros(2, 4, 5, 5)]


forward = EncoderDecoder.forward
MAY_BOOL_3, MAY_BOOL_4 = MaskStyle("may", "bool", 3), MaskStyle("may", "bool", 4)
# Modules, and how each is to be called: attributes of a `CallingConvention`.
CONVENTIONS: dict[str, tuple[Callable[[], nn.Module], dict[str, Any]]] = {
    "length first": (AsTorch, {"batch_first": False, "layout": "length"}),
    "tuple": (behind(in_a_tuple), {"path": (0,)}),
    "dictionary": (behind(in_a_dictionary), {"path": ("logits",)}),
    "flat": (
        behind(lambda self, src_seq, trg_seq: forward(self, src_seq, trg_seq).view(-1, 29)),
        {"layout": "flat"},
    ),
    "classes": (
        behind(lambda self, x, tgt: forward(self, x, tgt).transpose(1, 2)),
        {"layout": "classes"},
    ),
    "drops last": (
        behind(lambda self, src, tgt: forward(self, src, tgt[:, :-1])),
        {"drops_last": True},
    ),
    "shifts target": (behind(shifts_itself), {"shifts_target": True}),
    "loss": (Loss, {"logits_module": "net"}),
    "encode and decode": (WithoutForward, {"head": "module.head"}),
    "lengths": (behind(given_lengths), {"path": (0,)}),
    "pair": (behind(lambda self, both: forward(self, *both)), {"batch_first": True}),
    "generator": (Annotated, {"head": "generator", "mask_style": MAY_BOOL_3}),
    "masks by order": (behind(encode_and_masks, Masked), {"mask_style": MAY_BOOL_3}),
    "TensorFlow": (behind(as_tensorflow, Masked), {"mask_style": MAY_BOOL_4}),
    "positional masks": (
        behind(lambda self, *arguments: Masked.run(self, *arguments), Masked),
        {"mask_style": MAY_BOOL_4},
    ),
    "other padding": (lambda: OtherPadding(False), {"src_pad": 1}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_module_is_taken_as_it_is(name: str) -> None:
    make, expected = CONVENTIONS[name]
    torch.manual_seed(0)
    adapter = adapter_from_module(make())
    convention: Any = adapter.forward
    assert {field: getattr(convention, field) for field in expected} == expected
    report = diagnose(adapter)
    assert report.exit_status == 0, str(report)


@pytest.mark.slow
def test_a_target_may_have_padding_of_its_own() -> None:
    adapter = adapter_from_module(OtherPadding(True))
    assert adapter.pad_id == 1
    assert any("1, of targets 2" in assumption for assumption in adapter.assumptions)
    report = diagnose(adapter)
    assert report.exit_status == 0, str(report)


def test_a_fault_is_found_however_the_model_is_called() -> None:
    class Leaks(Masked):
        def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
            four(src_mask)
            return self.run(src, tgt, src_mask, tgt_mask.transpose(-1, -2) & True)

    assert "decoder_is_causal" in diagnose(Leaks()).broken_laws
    blind = behind(lambda self, src, tgt: forward(self, torch.full_like(src, 5), tgt))
    assert "logits_depend_on_all_source_tokens" in diagnose(blind()).broken_laws


def test_a_module_that_cannot_be_called_is_refused_with_the_shapes_it_returns() -> None:
    report = diagnose(behind(lambda self, src, tgt: forward(self, src, tgt).mean(dim=0))())
    assert report.exit_status == 2
    assert "[(4, 29)]" in report.stopped


def test_a_module_in_16_bits_is_refused_with_the_remedy() -> None:
    report = diagnose(EncoderDecoder().bfloat16())
    assert report.exit_status == 2
    assert "module.float()" in report.stopped
