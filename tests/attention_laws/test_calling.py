"""How public code is called that asks for more than two tensors of ids, or for less."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import diagnose
from attention_laws.bare_module import adapter_from_module
from attention_laws.command_line import main
from attention_laws.laws import MODEL_LAWS
from attention_laws.report import LAWS_NEEDED_TO_JUDGE_MODEL
from experiments.laws.sound_model import PAD, EncoderDecoder

FIXED_SRC_LEN, FIXED_TGT_LEN = 13, 17
forward = EncoderDecoder.forward


def behind(theirs: Callable[..., Any]) -> EncoderDecoder:
    """The sound model behind a forward of somebody's."""
    torch.manual_seed(0)
    return type("Theirs", (EncoderDecoder,), {"forward": theirs})()


def flags_follow(self: Any, first: Tensor, second: Tensor, output_attentions: bool = False) -> Any:
    assert output_attentions is False
    return forward(self, first, second)


def a_flag_between(self: Any, x: Tensor, training: bool = True, y: Any = None) -> Any:
    assert training is True
    return forward(self, x, y)


def two_losses(self: Any, src: Tensor, tgt: Tensor) -> Any:
    logits = self.scores(src, tgt[:, :-1]).transpose(1, 2)
    losses = nn.functional.cross_entropy(logits, tgt[:, 1:], reduction="none")
    targets = nn.functional.one_hot(tgt[:, 1:], logits.shape[1])
    self.smoothing(targets.float().flatten(end_dim=1))
    return losses.mean(), losses.sum()


def draws_words_below_a_rate(
    self: Any, src: Tensor, tgt: Tensor, teacher_forcing_ratio: float = 0.5
) -> Tensor:
    return forward(self, src, torch.where(torch.rand(tgt.shape) < teacher_forcing_ratio, tgt, 5))


def looks_up_one_id(self: Any, src: Tensor, tgt: Tensor) -> Tensor:
    return forward(self, src, tgt) + self.tgt.words(torch.tensor(7)).sum()


def hides_what_lengths_say(
    self: Any, src: Tensor, tgt: Tensor, src_lengths: Tensor | None = None
) -> Tensor:
    lengths = torch.full((len(src),), src.shape[1]) if src_lengths is None else src_lengths
    is_padding = torch.arange(src.shape[1]) >= lengths[:, None]
    src = src.masked_fill(src == PAD, 5).masked_fill(is_padding, PAD)
    return forward(self, src, tgt)


def target_first(self: Any, y: Tensor, x: Tensor) -> Tensor:
    return forward(self, x, y)


def target_first_without_names(self: Any, first: Tensor, second: Tensor) -> Tensor:
    return forward(self, second, first)


def of_fixed_lengths(self: Any, src: Tensor, tgt: Tensor) -> Tensor:
    places = torch.zeros(FIXED_SRC_LEN), torch.zeros(FIXED_TGT_LEN)
    return forward(self, (src + places[0]).long(), (tgt + places[1]).long())


class TwoLosses(EncoderDecoder):
    """It returns a loss in two units, and a part of it the logits."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = EncoderDecoder()
        self.smoothing = nn.Dropout(0.0)
        for name in ("src", "tgt", "encoder", "decoder", "output"):
            delattr(self, name)

    forward = two_losses


FORWARDS: dict[str, Callable[..., Any]] = {
    "flags follow": flags_follow,
    "a flag between": a_flag_between,
    "teacher forcing": draws_words_below_a_rate,
    "one id": looks_up_one_id,
    "optional lengths": hides_what_lengths_say,
    "target first": target_first,
    "target first, no names": target_first_without_names,
    "fixed lengths": of_fixed_lengths,
}


def assert_judged_sound(model: nn.Module) -> None:
    core = [law for law in MODEL_LAWS if law.name in LAWS_NEEDED_TO_JUDGE_MODEL]
    report = diagnose(model, laws=core)
    assert report.exit_status == 0, str(report)


@pytest.mark.parametrize("name", FORWARDS)
def test_the_ids_go_where_they_belong(name: str) -> None:
    assert_judged_sound(behind(FORWARDS[name]))


def test_of_several_losses_none_is_the_logits() -> None:
    torch.manual_seed(0)
    model = TwoLosses()
    assert_judged_sound(model)
    convention: Any = adapter_from_module(model).forward
    assert convention.logits_module == "scores"


def test_sentences_are_padded_to_a_fixed_length_and_the_report_says_so() -> None:
    adapter = adapter_from_module(behind(of_fixed_lengths))
    assert any(str(FIXED_SRC_LEN) in text for text in adapter.assumptions), adapter.assumptions
    adapter.module.eval()  # type: ignore[union-attr]
    src, tgt_in = torch.tensor([[5, 6, 7]]), torch.tensor([[2, 5]])
    expected = adapter.module.decode(tgt_in, adapter.module.encode(src), src)  # type: ignore[union-attr]
    torch.testing.assert_close(adapter.forward(src, tgt_in), expected)


def test_a_future_that_is_seen_is_found_behind_a_fixed_length() -> None:
    def sees_all(self: Any, src: Tensor, tgt: Tensor) -> Tensor:
        return of_fixed_lengths(self, src, tgt) + self.tgt(tgt).sum()

    report = diagnose(behind(sees_all), laws=[x for x in MODEL_LAWS if "causal" in x.name])
    assert report.broken_laws == ["decoder_is_causal"]


CODE_FOR_A_GPU = """
import torch
from torch import nn
from experiments.laws.sound_model import EncoderDecoder

class Theirs(EncoderDecoder):
    def forward(self, src, tgt):
        src, tgt = src.cuda(), tgt.to("cuda")
        padding = (src == 0).byte().cuda()
        kept = src.masked_fill(padding, 0) + torch.zeros(1, device="cuda").long()
        return super().forward(kept, tgt)

def make():
    torch.cuda.set_device(0)
    return Theirs().cuda()
"""


def test_code_for_a_gpu_and_an_older_torch_is_tried_on_the_cpu(
    write_theirs: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    write_theirs(CODE_FOR_A_GPU)
    command = ["theirs:make", "--only", ",".join(LAWS_NEEDED_TO_JUDGE_MODEL)]
    assert main([*command, "--cuda-as-cpu"]) == 0, capfd.readouterr()
    assert "cuda-as-cpu" in capfd.readouterr().out
    if not torch.cuda.is_available():
        assert main(command) == 2
        assert "--cuda-as-cpu" in capfd.readouterr().err
