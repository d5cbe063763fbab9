"""A report says where: the module and the line at fault."""

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import diagnose
from attention_laws.errors import describe_error, is_user_file
from attention_laws.laws import MODEL_LAWS
from attention_laws.report import Report
from experiments.laws.sound_model import EncoderDecoder, MultiHeadAttention
from tests.helpers import ROOT


class WithoutMask(MultiHeadAttention):
    """Attend to everything."""

    def forward(self, hidden: Tensor, keys: Any, mask: Tensor) -> Tensor:
        return super().forward(hidden, keys, mask | True)


def report_of(model: nn.Module, *names: str) -> Report:
    return diagnose(model, laws=[law for law in MODEL_LAWS if law.name in names])


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("decoder.1.attention", ("decoder_is_causal", "target_padding_is_ignored")),
        ("decoder.0.cross", ("source_padding_is_ignored", "batch_rows_are_independent")),
        ("encoder.1.attention", ("source_padding_is_ignored",)),
    ],
)
def test_the_attention_that_has_no_mask_is_named_with_its_line(
    path: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    torch.manual_seed(0)
    model = EncoderDecoder()
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, WithoutMask())
    line = inspect.getsourcelines(WithoutMask.forward)[1]
    place = f"tests/attention_laws/test_module_at_fault.py:{line}"
    report = report_of(model, *names)
    assert report.broken_laws == list(names)
    for name in names:
        assert report[name].where.startswith(f"{path} (WithoutMask")
        assert report[name].where.endswith(place)
        assert f"where    {report[name].where}" in str(report)


class WrongMask(EncoderDecoder):
    """The mask of the source is made for another id."""

    def encode(self, src: Tensor) -> Tensor:
        hidden = self.src(src)
        mask = (src != 1)[:, None, None, :]
        for layer in self.encoder:
            hidden = layer(hidden, mask)
        return hidden


def test_the_line_is_named_at_which_a_mask_was_made() -> None:
    lines, start = inspect.getsourcelines(WrongMask.encode)
    made = start + next(number for number, line in enumerate(lines) if "mask =" in line)
    line = report_of(WrongMask(), "source_padding_is_ignored")["source_padding_is_ignored"]
    assert line.verdict == "broken"
    assert line.where.startswith("encoder.0.attention (MultiHeadAttention; ")
    assert f"test_module_at_fault.py:{made})" in line.where


class WrongScale(MultiHeadAttention):
    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.transpose(-2, -1) / 32**0.5


def test_the_line_is_named_at_which_queries_meet_keys() -> None:
    model = EncoderDecoder()
    model.encoder[1].attention = WrongScale()
    line = report_of(model, "scores_are_scaled_by_sqrt_d_k")["scores_are_scaled_by_sqrt_d_k"]
    assert line.verdict == "broken"
    product = inspect.getsourcelines(WrongScale.scores)[1] + 1
    assert line.where.endswith(f"test_module_at_fault.py:{product}")


class WrongView(MultiHeadAttention):
    def split(self, hidden: Tensor) -> Tensor:
        return hidden.view(hidden.shape[0], 4, hidden.shape[1], -1)


class WrongWayBack(MultiHeadAttention):
    def forward(self, hidden: Tensor, keys: Any, mask: Tensor) -> Tensor:
        key, value = keys
        weights = self.scores(self.split(self.query(hidden)), key).masked_fill(~mask, -1e9)
        mixed = weights.softmax(dim=-1) @ value
        return self.output(torch.reshape(input=mixed, shape=hidden.shape))


@pytest.mark.parametrize(
    ("kind", "code"), [(WrongView, "hidden.view"), (WrongWayBack, "torch.reshape")]
)
def test_the_line_is_named_at_which_a_new_shape_mixes_positions(
    kind: type[MultiHeadAttention], code: str
) -> None:
    """Heads of d_k 8 and sentences of 5 to 8 words; a right view before it is not named."""
    model, law = EncoderDecoder(), "source_padding_is_ignored"
    model.encoder[1].attention = kind()
    line = report_of(model, law)[law]
    lines, start = inspect.getsourcelines(kind)
    made = start + next(number for number, text in enumerate(lines) if code in text)
    assert line.where.startswith(f"encoder.1.attention ({kind.__name__}; a new shape mixes")
    assert line.where.endswith(f"test_module_at_fault.py:{made}")


def test_of_torchs_own_module_the_users_line_is_that_of_the_module_around_it() -> None:
    class Around(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.src, self.tgt = nn.Embedding(23, 8), nn.Embedding(29, 8)
            self.cross = nn.MultiheadAttention(8, 2, batch_first=True)
            self.output = nn.Linear(8, 29)

        def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
            memory = self.src(src)  # no mask for its padding
            return self.output(self.tgt(tgt) + self.cross(self.tgt(tgt), memory, memory)[0])

    line = inspect.getsourcelines(Around.forward)[1]
    where = report_of(Around(), "source_padding_is_ignored")["source_padding_is_ignored"].where
    assert where.startswith("cross (MultiheadAttention), ")
    assert where.endswith(f"test_module_at_fault.py:{line}")


class Unmasked(nn.Module):
    """Read the source's padding, too."""

    def __init__(self, mean: nn.Module) -> None:
        super().__init__()
        self.src, self.tgt = nn.Embedding(23, 8), nn.Embedding(29, 8)
        self.mean = mean

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        hidden = self.tgt(tgt) + self.mean(self.src(src), self.src(src)[:, :0])
        return hidden @ self.tgt.weight.T


class MeanOfSource(nn.Module):
    """Return the mean over positions; the second input is empty, as a new cache is."""

    def forward(self, hidden: Tensor, cache: Tensor) -> Tensor:
        return torch.cat((cache, hidden), dim=1).mean(dim=1, keepdim=True)


class DecoratedMeanOfSource(MeanOfSource):
    @torch.no_grad()
    def forward(self, hidden: Tensor, cache: Tensor) -> Tensor:
        return super().forward(hidden, cache)


def test_forward_may_have_a_decorator_and_an_input_without_numbers() -> None:
    law = "source_padding_is_ignored"
    line = inspect.getsourcelines(DecoratedMeanOfSource.forward)[1]
    found = report_of(Unmasked(DecoratedMeanOfSource()), law)[law]
    assert found.where.startswith("mean (DecoratedMeanOfSource), ")
    assert found.where.endswith(f"test_module_at_fault.py:{line}")


def test_installed_code_is_not_the_users() -> None:
    for folder in ("site-packages", "dist-packages"):
        assert not is_user_file(f"/usr/local/lib/python3.12/{folder}/torch/nn/module.py")
    assert not is_user_file(inspect.__file__)
    assert is_user_file(__file__)


def test_the_place_of_an_error_is_the_users_last_line_and_not_torchs() -> None:
    with pytest.raises(RuntimeError) as raised:
        nn.Linear(3, 3)(torch.zeros(2, 5))
    line = raised.tb.tb_lineno
    assert describe_error(raised.value).endswith(f"test_module_at_fault.py:{line})")
