"""A bare module is taken as it is: how it is called is found out, and said."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import diagnose
from attention_laws.adapters import from_module
from attention_laws.errors import UserError
from experiments.laws.sound_model import Model


class Masked(Model):
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

    adapter = from_module(Theirs())
    assert any(f"--masks {name}" in each for each in adapter.assumptions), adapter.assumptions
    assert not diagnose(adapter).broken
    if name == "may-bool-4":
        with pytest.raises(UserError, match=r"batch first, masks may-bool-3: AssertionError"):
            from_module(Theirs(), masks="may-bool-3")


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
        self.net = Model()

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


class OtherPadding(Model):
    """Padding is 1 for sources, and 2 for targets; inside it is the sound model's."""

    def __init__(self, said: bool) -> None:
        super().__init__()
        if said:
            self.src_pad_idx, self.trg_pad_idx = 1, 2

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src = torch.where(src == 1, 0, torch.where(src == 0, 1, src))
        return super().forward(src, tgt)


def behind(forward: Callable[..., Any], kind: type[Model] = Model) -> Callable[[], Model]:
    """The sound model behind a forward of somebody's."""
    return type("Theirs", (kind,), {"forward": forward})


def given_lengths(self: Model, src_tokens: Any, src_lengths: Any, prev_output_tokens: Any) -> Any:
    assert src_lengths.tolist() == (src_tokens != 0).sum(dim=1).tolist()
    return Model.forward(self, src_tokens, prev_output_tokens), None


def shifts_itself(self: Model, src: Tensor, tgt: Tensor) -> Tensor:
    bos = torch.full((len(tgt), 1), 2)
    return Model.forward(self, src, torch.cat((bos, tgt[:, :-1]), dim=1))


of, run = Model.forward, Masked.run
FORMS = (
    (AsTorch, "ids are length first"),
    (behind(lambda self, src, tgt: (of(self, src, tgt), [torch.zeros(2, 4, 5, 5)])), "are 0 of"),
    (
        behind(
            lambda self, input_ids, mask=None, decoder_ids=None: {
                "memory": self.encode(input_ids),
                "logits": of(self, input_ids, decoder_ids),
            }
        ),
        "logits are logits of what it gives",
    ),
    (
        behind(lambda self, src_seq, trg_seq: of(self, src_seq, trg_seq).view(-1, 29)),
        "logits lie as (batch * tgt_len, vocab)",
    ),
    (behind(lambda self, x, tgt: of(self, x, tgt).transpose(1, 2)), "as (batch, vocab, tgt_len)"),
    (behind(lambda self, src, tgt: of(self, src, tgt[:, :-1])), "cuts the target's last token off"),
    (behind(shifts_itself), "it shifts the target itself, and is given one token more"),
    (Loss, "it gives a loss, and logits are what its net gives"),
    (WithoutForward, "logits are its module.head of what it gives"),
    (behind(given_lengths), "logits are 0 of"),
    (behind(lambda self, both: of(self, *both)), "ids are batch first"),
    (Annotated, "logits are its generator of what it gives"),
    (
        behind(lambda m, x, y, e_mask, d_mask: run(m, x, y, three(e_mask), three(d_mask)), Masked),
        "masks (e_mask, d_mask) are bool, 1 = may attend, (batch, 1 or",
    ),
    (
        behind(
            lambda self, inp, tar, enc_padding_mask, look_ahead_mask: run(
                self, inp, tar, four(enc_padding_mask), four(look_ahead_mask)
            ),
            Masked,
        ),
        "masks (enc_padding_mask, look_ahead_mask) are bool, 1 = may",
    ),
    (behind(lambda self, *given: run(self, *given), Masked), "masks (by position) are bool, 1"),
    (lambda: OtherPadding(False), "pad is 1, which alone changes nothing"),
    (lambda: OtherPadding(True), "pad is 1, of targets 2, as its src_pad_idx and its trg_pad"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "said"), FORMS, ids=[said for _, said in FORMS])
def test_a_module_is_taken_as_it_is(make: Callable[[], nn.Module], said: str) -> None:
    torch.manual_seed(0)
    adapter = from_module(make())
    assert any(said in each for each in adapter.assumptions), adapter.assumptions
    report = diagnose(adapter)
    assert report.exit_status == 0, str(report)


def test_a_fault_stays_one_however_it_is_called() -> None:
    class Leaks(Masked):
        def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
            four(src_mask)
            return self.run(src, tgt, src_mask, tgt_mask.transpose(-1, -2) & True)

    assert "decoder_is_causal" in diagnose(Leaks()).broken
    blind = behind(lambda self, src, tgt: of(self, torch.full_like(src, 5), tgt))
    assert "logits_depend_on_all_source_tokens" in diagnose(blind()).broken


def test_what_cannot_be_called_says_what_was_tried() -> None:
    report = diagnose(behind(lambda self, src, tgt: of(self, src, tgt).mean(dim=0))())
    assert report.exit_status == 2
    assert "Tried: batch first: it gives tensors of the shapes [(4, 29)]" in report.stopped
