"""A report says where: the module and the line at fault, the cause that explains several breaks."""

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import diagnose
from attention_laws.adapter_source import adapter_source
from attention_laws.bare_module import adapter_from_module
from attention_laws.causes import group_breaks_by_cause
from attention_laws.command_line import main
from attention_laws.errors import UserError, describe_error, is_user_file
from attention_laws.laws import MODEL_LAWS
from attention_laws.report import LawResult, Report, Verdict
from experiments.laws.sound_model import EncoderDecoder, MultiHeadAttention, make_adapter
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
    where = f"{path} (WithoutMask), tests/attention_laws/test_module_at_fault.py:{line}"
    report = report_of(model, *names)
    assert report.broken_laws == list(names)
    assert [report[name].where for name in names] == [where] * len(names)
    assert f"where    {where}" in str(report)


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


MIXED = (
    "decoder_is_causal",
    "source_padding_is_ignored",
    "target_padding_is_ignored",
    "batch_rows_are_independent",
)


def test_breaks_that_one_cause_explains_stand_together_the_likeliest_first() -> None:
    groups = group_breaks_by_cause(["logits_are_finite_in_bfloat16", *MIXED, "cache_starts_empty"])
    assert [group.laws for group in groups] == [(*MIXED, "cache_starts_empty")]
    assert "reshape" in groups[0].cause
    groups = group_breaks_by_cause([*MIXED[1:2], *MIXED[3:], "token_order_matters"])
    assert [group.laws for group in groups] == [(MIXED[1], MIXED[3])]
    (group,) = group_breaks_by_cause(MIXED[1:])
    assert group.laws == MIXED[1:]
    assert "reshape" in group.cause
    assert group_breaks_by_cause(MIXED[:1]) == []
    assert group_breaks_by_cause([]) == []
    where = {"a_law": "the decoder", "another": "the decoder", "a_third": ""}
    (group,) = group_breaks_by_cause(where, where)
    assert group.laws == ("a_law", "another")


def test_laws_that_one_missing_attribute_keeps_shut_share_a_line() -> None:
    laws = {"a_law": "no cached", "another": "no beam", "a_third": "no cached"}
    results = (
        LawResult(law, "It holds.", Verdict.NOT_TRIED, seen, "a slip", "there", 0.1)
        for law, seen in laws.items()
    )
    text = str(Report(tuple(results)))
    assert "NOT TRIED\n  a_law, a_third: no cached\n  another: no beam" in text


def test_an_adapter_is_written_that_has_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Theirs(EncoderDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.src_pad_idx, self.trg_pad_idx = 0, 4

    theirs = ModuleType("their_model")
    theirs.build = Theirs  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "their_model", theirs)
    found = adapter_from_module(Theirs(), eos_id=5)
    text = adapter_source(found, "their_model", "build", "mine")
    names: dict[str, Any] = {}
    exec(compile(text, "mine.py", "exec"), names)
    written = names["make"]()
    for name in ("pad_id", "tgt_pad_id", "bos_id", "eos_id", "src_vocab_size", "tgt_vocab_size"):
        assert getattr(written, name) == getattr(found, name), name
    # Each commented line is one that an Adapter takes.
    text = text.replace("# untrained=", "untrained=")
    exec(compile(text, "mine.py", "exec"), names)
    assert names["make"]().untrained
    with pytest.raises(UserError, match="its own Adapter"):
        adapter_source(make_adapter(), "their_model", "build", "mine")


@pytest.mark.weekly
def test_the_command_writes_the_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = ROOT / "experiments" / "laws" / "sound_model.py"
    (tmp_path / "sound.py").write_text(sound.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "sound:make_model", "--out", "mine.py"]) == 0
    assert main(["mine.py:make", "--only", "decoder_is_causal"]) == 0
    assert main(["init", "sound:make_model", "--out", "mine.py"]) == 2
    assert main(["init", "sound:make_adapter", "--out", "other.py"]) == 2
