"""Encoder-decoders that nobody here wrote: no law breaks on them, and docs/foreign_models.md is so.

transformers and x-transformers are in the extra [foreign]; without it their tests are skipped.
"""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_laws import Adapter, Report, Verdict, diagnose
from attention_laws.bare_module import adapter_from_module
from tests.attention_laws.foreign_adapters import from_hugging_face, from_x_transformers
from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "foreign_models.md").read_text(encoding="utf-8")


def held_by_the_page(name: str, report: Report) -> None:
    """Nothing is broken, and the page's row names what is warned of."""
    assert not report.broken_laws, str(report)
    assert len(report.results_with_verdict(Verdict.KEPT)) >= 15
    warned = [f"`{line.law}`" for line in report.results_with_verdict("warned")]
    row = f"| {name} | 0 | {', '.join(warned) or 'none'} |"
    assert row in PAGE, f"{row}\n{report}"


def marian(**changes: Any) -> Adapter:
    transformers = pytest.importorskip("transformers")
    sizes = {"d_model": 32, "vocab_size": 61, "max_position_embeddings": 64}
    for stack in ("encoder", "decoder"):
        sizes |= {f"{stack}_layers": 2, f"{stack}_attention_heads": 4, f"{stack}_ffn_dim": 64}
    ids = {"pad_token_id": 60, "decoder_start_token_id": 60, "eos_token_id": 0}
    torch.manual_seed(0)
    options = sizes | ids | {"attn_implementation": "eager"} | changes
    model = transformers.MarianMTModel(transformers.MarianConfig(**options))
    return from_hugging_face(model).replace(untrained=True)


@pytest.mark.slow
def test_marian_of_hugging_face_is_sound() -> None:
    held_by_the_page("`MarianMTModel`, `from_hugging_face`", diagnose(marian()))
    report = diagnose(marian(attn_implementation="sdpa"))
    assert not report.broken_laws, str(report)
    assert report["attention_weights_sum_to_one"].verdict == Verdict.KEPT


@pytest.mark.slow
def test_x_transformers_is_sound() -> None:
    x_transformers = pytest.importorskip("x_transformers")
    sizes = {"dim": 32}
    for stack, types in (("enc", 53), ("dec", 61)):
        sizes |= {f"{stack}_num_tokens": types, f"{stack}_depth": 2, f"{stack}_heads": 4}
        sizes |= {f"{stack}_max_seq_len": 64}
    torch.manual_seed(0)
    adapter = from_x_transformers(x_transformers.XTransformer(**sizes)).replace(untrained=True)
    held_by_the_page("`XTransformer`, `from_x_transformers`", diagnose(adapter))


class AroundTorch(nn.Module):
    """`torch.nn.Transformer` as most people use it."""

    def __init__(self) -> None:
        super().__init__()
        self.src_embedding = Embedded(53)
        self.tgt_embedding = Embedded(61)
        self.transformer = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
        self.output = nn.Linear(32, 61)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        hidden = self.transformer(
            self.src_embedding(src),
            self.tgt_embedding(tgt_in),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(tgt_in.shape[1]).isinf(),
            src_key_padding_mask=src == 0,
            memory_key_padding_mask=src == 0,
            tgt_key_padding_mask=tgt_in == 0,
        )
        return self.output(hidden)


class Embedded(nn.Module):
    def __init__(self, types: int) -> None:
        super().__init__()
        self.token = nn.Embedding(types, 32)
        self.position = nn.Embedding(64, 32)

    def forward(self, ids: Tensor) -> Tensor:
        return self.token(ids) + self.position(torch.arange(ids.shape[1]))


def test_torchs_own_transformer_is_sound() -> None:
    torch.manual_seed(0)
    report = diagnose(adapter_from_module(AroundTorch()).replace(untrained=True))
    held_by_the_page("a module around `torch.nn.Transformer`, bare", report)


class Notebook(nn.Module):
    """As in many notebooks: length first, one layer a side, masks of -1e9, functions for all."""

    def __init__(self) -> None:
        super().__init__()
        self.src, self.tgt = nn.Embedding(53, 32), nn.Embedding(61, 32)
        names = [f"{part}_{each}" for part in ("read", "write", "cross") for each in "qkvo"]
        self.maps = nn.ModuleDict({name: nn.Linear(32, 32) for name in names})
        self.out = nn.Linear(32, 61)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        hide_src = (src.T == 0)[:, None, :]  # True = hidden
        hide_future = torch.ones(len(tgt_in), len(tgt_in)).triu(1).bool()
        memory = embed(self.src, src)
        memory = memory + attend(self.maps, "read", memory, memory, hide_src)
        hidden = embed(self.tgt, tgt_in)
        hidden = hidden + attend(self.maps, "write", hidden, hidden, hide_future)
        hidden = hidden + attend(self.maps, "cross", hidden, memory, hide_src)
        return self.out(F.relu(hidden)).transpose(0, 1)


def embed(table: nn.Embedding, ids: Tensor) -> Tensor:
    """(length, batch) -> (batch, length, 32)"""
    angles = torch.arange(len(ids))[:, None] / 10000 ** (torch.arange(0, 32, 2) / 32)
    waves = torch.cat((angles.sin(), angles.cos()), dim=1)
    return table(ids).transpose(0, 1) + waves


def attend(maps: nn.ModuleDict, part: str, query: Tensor, memory: Tensor, hide: Tensor) -> Tensor:
    q, k, v = maps[f"{part}_q"](query), maps[f"{part}_k"](memory), maps[f"{part}_v"](memory)
    scores = (q @ k.transpose(1, 2) / math.sqrt(32)).masked_fill(hide, -1e9)
    return maps[f"{part}_o"](scores.softmax(dim=-1) @ v)


def test_a_notebooks_functions_are_sound_but_for_float16() -> None:
    torch.manual_seed(0)
    report = diagnose(adapter_from_module(Notebook()).replace(untrained=True))
    held_by_the_page("a notebook's functions, bare", report)
    assert "ids are length first" in report.assumptions[0]
    assert "-1e9" in report["logits_are_finite_in_float16"].seen


def test_the_page_names_the_versions_that_are_pinned() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    for name in ("torch", "transformers", "x-transformers"):
        (pin,) = (pin for pin in pins if pin.startswith(f"{name}=="))
        assert f"{name} {pin.partition('==')[2]}" in PAGE
