"""A decoder-only model is taken as it is, and held to the laws that do not need a source."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import Adapter, CachedDecoder, Report, diagnose
from attention_laws.bare_module import adapter_from_module
from attention_laws.laws import MODEL_LAWS
from experiments.laws import sound_gpt
from experiments.laws.sound_models import run_as_module
from tests.attention_laws.one_law import expect, try_law

SOUND_GPT_FILE = sound_gpt.__file__
CACHE_LAWS = ("cached_decoding_matches_forward", "cache_reorders_with_beams", "cache_starts_empty")


class Relative(nn.Module):
    """One layer of attention with rotated queries and keys, a mask of padding and a cache."""

    def __init__(self, cuts_mask_at_end: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(19, 8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 19)
        self.cuts_mask_at_end = cuts_mask_at_end

    def rotate(self, vectors: Tensor, positions: Tensor) -> Tensor:
        angles = positions[..., None] / 10.0 ** torch.arange(4)
        first, second = vectors.chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)

    def forward(
        self, input_ids: Tensor, attention_mask: Any = None, position_ids: Any = None
    ) -> Tensor:
        length = input_ids.shape[1]
        positions = torch.arange(length) if position_ids is None else position_ids
        may = torch.ones(length, length).tril().bool().repeat(len(input_ids), 1, 1)
        if attention_mask is not None:
            keys = attention_mask.flip(1) if self.cuts_mask_at_end else attention_mask
            may = may & keys.bool()[:, None]
        hidden = self.words(input_ids)
        query, key, value = self.qkv(hidden).chunk(3, dim=-1)
        scores = self.rotate(query, positions) @ self.rotate(key, positions).transpose(1, 2)
        scores = (scores / 8**0.5).masked_fill(~may, -1e9)
        logits: Tensor = self.out(hidden + scores.softmax(dim=-1) @ value)
        return logits


def broken(model: Adapter | nn.Module, *names: str) -> list[str]:
    return diagnose(model, laws=[law for law in MODEL_LAWS if law.name in names]).broken_laws


def report_on_mutant(old: str, new: str) -> Report:
    """Return the report on the sound model with one edit."""
    with open(SOUND_GPT_FILE, encoding="utf-8") as file:
        text = file.read()
    assert old in text
    return diagnose(run_as_module(text.replace(old, new)).make())


def test_a_sound_gpt_breaks_no_law_and_needs_no_source() -> None:
    report = diagnose(sound_gpt.make())
    assert report.exit_status == 0, str(report)
    for law in ("decoder_is_causal", "batch_rows_are_independent", *CACHE_LAWS):
        assert report[law].verdict == "kept", report[law]
    assert report["source_padding_is_ignored"].verdict == "not tried"


# An edit of the sound model, and a law that it breaks.
MUTANTS = {
    "no mask": (".masked_fill(~self.may[:length, :length], -torch.inf)", "", "decoder_is_causal"),
    "the first position": ("self.head(x[:, -1:])", "self.head(x[:, :1])", CACHE_LAWS[0]),
    "the last two positions": ("self.head(x[:, -1:])", "self.head(x[:, -2:])", CACHE_LAWS[0]),
    "one table": (
        "self.positions = nn.Embedding(BLOCK, D_MODEL)",
        "self.positions = self.words",
        "positions_have_a_table_of_their_own",
    ),
    "no positions": (
        " + self.positions(torch.arange(length))",
        "",
        "gradients_reach_all_parameters",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_of_a_gpt_is_found(name: str) -> None:
    old, new, law = MUTANTS[name]
    report = report_on_mutant(old, new)
    assert law in report.broken_laws
    # There is no source that a reader could try.
    assert "src [" not in str(report)


@pytest.mark.parametrize("cuts_mask_at_end", [False, True])
def test_padding_before_a_sequence_is_ignored(cuts_mask_at_end: bool) -> None:
    model = Relative(cuts_mask_at_end)
    expected = ["left_padding_is_ignored"] if cuts_mask_at_end else []
    assert broken(model, "left_padding_is_ignored") == expected
    assert diagnose(model)["left_padding_is_ignored"].verdict != "not tried"


class RotatesInFloat32(Relative):
    """It rotates in float32 whatever the type is, as Llama does, and may detach a part."""

    detached_part = 0.0

    def rotate(self, vectors: Tensor, positions: Tensor) -> Tensor:
        rotated = super().rotate(vectors.to(dtype=torch.float32), positions.float())
        part = self.detached_part * rotated
        return (rotated - part + part.detach()).to(vectors.dtype)


@pytest.mark.parametrize(("part", "verdict"), [(0.0, "kept"), (0.001, "broken")])
def test_a_small_part_that_is_detached_is_found_where_float32_is_hard_coded(
    part: float, verdict: str
) -> None:
    model = RotatesInFloat32()
    model.detached_part = part
    expect(adapter_from_module(model), "autograd_matches_finite_differences", verdict)


@pytest.mark.parametrize("added", ["self.words(torch.tensor([[7]]))", "self.positions(idx * 0)"])
def test_an_id_that_is_always_the_same_is_no_position(added: str) -> None:
    text = Path(SOUND_GPT_FILE).read_text(encoding="utf-8")
    text = text.replace("self.dropout(self.words(idx)", f"self.dropout({added} + self.words(idx)")
    assert added in text
    assert broken(run_as_module(text).make(), "positions_have_a_table_of_their_own") == []


class TakesOtherMasks(Relative):
    """It takes an added mask of four axes alone, and returns what it remembers in a tuple."""

    def forward(  # type: ignore[override]
        self,
        input_ids: Tensor,
        attention_mask: Any = None,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: bool = False,
    ) -> Any:
        if attention_mask is not None and attention_mask.dim() != 4:
            raise ValueError("the mask has four axes")
        logits = super().forward(input_ids, None, position_ids)
        return (logits, ()) if use_cache else logits


def test_what_cannot_be_called_as_is_usual_is_not_tried_and_not_lost() -> None:
    report = diagnose(TakesOtherMasks())
    for law in ("left_padding_is_ignored", *CACHE_LAWS):
        assert (report[law].verdict, report[law].lost) == ("not tried", False), report[law]


def test_an_adapter_says_that_it_is_decoder_only() -> None:
    model = sound_gpt.make()

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits: Tensor = model(tgt_in, tgt_in)[0]
        return logits

    sizes = {"src_vocab_size": sound_gpt.VOCAB, "tgt_vocab_size": sound_gpt.VOCAB}
    adapter = Adapter(forward=forward, module=model, decoder_only=True, **sizes)
    assert diagnose(adapter).exit_status == 0
    # Who forgets to say so is told that the source is not read.
    law = "logits_depend_on_all_source_tokens"
    assert broken(adapter.replace(decoder_only=False), law) == [law]


def test_a_cache_of_somebody_else_is_tried() -> None:
    """Keys and values as `past_key_values` hold them, here the ids themselves."""

    class Output(dict[str, Any]):
        logits: Tensor
        past_key_values: Tensor

    class Cached(Relative):
        drops = 0

        def forward(  # type: ignore[override]
            self, input_ids: Tensor, past_key_values: Any = None, use_cache: bool = False
        ) -> Any:
            ids = input_ids
            if past_key_values is not None:
                ids = torch.cat((past_key_values[0][0][:, self.drops :], input_ids), dim=1)
            output = Output(logits=Relative.forward(self, ids)[:, -input_ids.shape[1] :])
            output.logits, output.past_key_values = output["logits"], ((ids,),)  # type: ignore
            return output

    model = Cached()
    assert isinstance(adapter_from_module(model).cached, CachedDecoder)
    assert broken(model, *CACHE_LAWS) == []
    model.drops = 1
    assert CACHE_LAWS[0] in broken(model, *CACHE_LAWS)


class BothWays(nn.Module):
    """An encoder alone with a language model's head: no mask but that of padding."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(19, 8), nn.Embedding(40, 8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 19)

    def forward(self, input_ids: Tensor) -> Tensor:
        hidden = self.words(input_ids) + self.places(torch.arange(input_ids.shape[1]))
        query, key, value = self.qkv(hidden).chunk(3, dim=-1)
        scores = (query @ key.transpose(1, 2)).masked_fill((input_ids == 0)[:, None], -torch.inf)
        logits: Tensor = self.out(hidden + scores.softmax(dim=-1) @ value)
        return logits


class TinyBertForMaskedLM(BothWays):
    """The same under a name that says what it is."""


def test_an_encoder_alone_is_not_judged_as_a_decoder_without_a_word() -> None:
    refused = diagnose(TinyBertForMaskedLM())
    assert refused.exit_status == 2
    assert "encoder alone" in refused.stopped
    said = diagnose(BothWays(), laws=[x for x in MODEL_LAWS if x.name == "decoder_is_causal"])
    assert said.broken_laws
    assert any("encoder alone" in text for text in said.assumptions)
    # A decoder that is called so is one.
    causal = type("BertDecoder", (Relative,), {})
    assert not any("encoder alone" in x for x in adapter_from_module(causal()).assumptions)


class CachedWithPositions(Relative):
    """With keys and values of earlier tokens it needs the positions of the newest."""

    def forward(  # type: ignore[override]
        self,
        input_ids: Tensor,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: bool = False,
    ) -> Any:
        ids = input_ids
        if past_key_values is not None:
            if position_ids is None:
                raise ValueError("position_ids are needed")
            ids = torch.cat((past_key_values, input_ids), dim=1)
        start = 0 if position_ids is None else int(position_ids[0, -1]) + 1 - ids.shape[1]
        positions = torch.arange(start, start + ids.shape[1])
        logits = super().forward(ids, None, positions)[:, -input_ids.shape[1] :]
        # Positions of its own show whether the right ones were given.
        logits = logits + positions[-input_ids.shape[1] :, None]
        return SimpleNamespace(logits=logits, past_key_values=ids) if use_cache else logits


def test_positions_are_given_to_a_cache_that_needs_them() -> None:
    line = try_law(adapter_from_module(CachedWithPositions()), CACHE_LAWS[0])
    assert line.verdict == "kept", line


def length_first(self: nn.Module, src: Tensor, src_mask: Tensor) -> Tensor:
    """As torch's tutorial of a language model has it: length first, with an added mask."""
    assert src_mask.shape == (len(src), len(src))
    assert src_mask.dtype == torch.float32
    may = src_mask == 0
    hidden = self.words(src.T)  # type: ignore[operator]
    query, key, value = self.qkv(hidden + self.place(hidden)).chunk(3, dim=-1)  # type: ignore
    scores = (query @ key.transpose(1, 2) / 8**0.5).masked_fill(~may, -1e9)
    return self.out(hidden + scores.softmax(dim=-1) @ value).transpose(0, 1)  # type: ignore


def place(hidden: Tensor) -> Tensor:
    return torch.arange(hidden.shape[1])[:, None] / 7


def test_a_mask_is_given_to_a_model_that_needs_one() -> None:
    kind: Callable[[], nn.Module] = type("Theirs", (Relative,), {"forward": length_first})
    model = kind()
    model.place = place  # type: ignore[assignment]
    adapter = adapter_from_module(model)
    assert any("float-2" in text for text in adapter.assumptions), adapter.assumptions
    assert broken(adapter, "decoder_is_causal", "target_padding_is_ignored") == []
