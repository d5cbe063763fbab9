"""Other parts are passed in: each of these works at every place, and in cached decoding."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engines.folder import export_model
from tests.helpers import TINY
from tests.helpers.scripted import padded_sources
from transformer.attention import MultiHeadAttention, make_attention
from transformer.config import ModelConfig
from transformer.decoding import beam_search
from transformer.evaluation.evaluate import evaluate_saved_model
from transformer.feed_forward import FeedForward
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.folder import ModelDescription, read_description
from transformer.models.translator import Translator
from transformer.modern import (
    PARTS_BY_NAME,
    GatedFeedForward,
    GroupedQueryAttention,
    RMSNorm,
    RotaryAttention,
    RotaryGroupedQueryAttention,
    make_no_positions,
    make_rotary_attention,
)
from transformer.parts import PAPER_PARTS, Parts
from transformer.positions import SinusoidalPositions
from transformer.recipes import find_recipe
from transformer.support.errors import UserError
from transformer.training.recipe import train_recipe

VOCAB = 31


class ALiBiAttention(MultiHeadAttention):
    """Self-attention whose scores are the lower, the farther a key is (Press et al. 2022)."""

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        k_len = keys.shape[2]
        places = torch.arange(k_len, device=keys.device)
        distances = (places[k_len - queries.shape[2] :, None] - places).abs()
        slopes = 2.0 ** -torch.arange(1, self.num_heads + 1, device=keys.device)
        bias = -slopes[:, None, None] * distances
        if mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        weights = (queries @ keys.mT / keys.shape[-1] ** 0.5 + bias).softmax(-1)
        return self.dropout(weights) @ values, weights if return_weights else None


def make_alibi_attention(config: ModelConfig) -> ALiBiAttention:
    sizes = config.d_model, config.num_heads, config.key_size, config.value_size
    return ALiBiAttention(*sizes, config.attention_dropout, config.attention_bias)


class OtherAttention(MultiHeadAttention):
    """The paper's attention under another name."""


def make_other_attention(config: ModelConfig) -> OtherAttention:
    sizes = config.d_model, config.num_heads, config.key_size, config.value_size
    return OtherAttention(*sizes, config.attention_dropout, config.attention_bias)


ROTARY = Parts(self_attention=make_rotary_attention, positions=make_no_positions)
ALIBI = Parts(self_attention=make_alibi_attention, positions=make_no_positions)
RMS_NORM = Parts(norm=lambda config: nn.RMSNorm(config.d_model))
OTHERS = {name: parts for name, parts in PARTS_BY_NAME.items() if parts != PAPER_PARTS}
OTHERS |= {"ALiBi": ALIBI, "PyTorch's RMSNorm": RMS_NORM}


def make(parts: Parts, **changes: Any) -> Transformer:
    torch.manual_seed(3)
    sizes: dict[str, Any] = {"d_model": 24, "d_ff": 37, "num_heads": 6, "num_layers": 3}
    config = ModelConfig(**sizes | {"pre_norm": True, "max_len": 41} | changes)
    return Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB, parts=parts).eval()


@pytest.mark.parametrize("parts", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("pre_norm", [False, True])
def test_cached_decoding_equals_decoding_the_whole(parts: Parts, pre_norm: bool) -> None:
    model = make(parts, pre_norm=pre_norm)
    src, tgt_in = torch.randint(4, VOCAB, (2, 7)), torch.randint(4, VOCAB, (2, 11))
    src_mask = padding_mask(src)
    memory, cache = model.encode(src, src_mask), model.new_cache()
    steps = [model.decode(token, memory, src_mask, cache) for token in tgt_in.split(1, dim=1)]
    torch.testing.assert_close(torch.cat(steps, dim=1), model(src, tgt_in), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("parts", OTHERS.values(), ids=OTHERS)
def test_another_part_is_searched_and_trained_like_the_papers(parts: Parts) -> None:
    model = make(parts)
    src = padded_sources(VOCAB)
    options: dict[str, Any] = {"beam_size": 3, "extra_length": 5}
    cached = beam_search(model, src, **options)
    for ours, again in zip(
        cached, beam_search(model, src, use_cache=False, **options), strict=True
    ):
        assert [h.ids for h in ours] == [h.ids for h in again]
    model.train()(src, src).square().mean().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_each_part_is_where_it_belongs() -> None:
    model = make(PARTS_BY_NAME["modern"])
    kinds = [type(module) for module in model.modules()]
    assert kinds.count(RotaryGroupedQueryAttention) == 6  # three layers in each of two stacks
    assert kinds.count(GroupedQueryAttention) == 3
    assert kinds.count(GatedFeedForward) == 6
    assert kinds.count(RMSNorm) == 3 * 2 + 3 * 3 + 2
    assert not {FeedForward, nn.LayerNorm, SinusoidalPositions, MultiHeadAttention} & set(kinds)


def test_a_bias_is_added_to_the_scores() -> None:
    attention = make_alibi_attention(ModelConfig(d_model=24, num_heads=6))
    nn.init.zeros_(attention.query_projection.weight)  # all scores are 0 before the bias
    _, weights = attention(torch.randn(1, 3, 24), return_weights=True)
    # The first head halves: e^0, e^-0.5, e^-1 over their sum, for the first query.
    torch.testing.assert_close(
        weights[0, 0, 0], torch.tensor([0.506480, 0.307196, 0.186324]), atol=1e-5, rtol=0
    )
    # The second head's slope is 1/4: e^-0.25, e^0, e^-0.25, for the middle query.
    torch.testing.assert_close(
        weights[0, 1, 1], torch.tensor([0.304504, 0.390991, 0.304504]), atol=1e-5, rtol=0
    )


def test_a_description_builds_with_other_parts(tiny_folder: Path) -> None:
    description = read_description(tiny_folder)
    build = partial(ModelDescription.build, parts=RMS_NORM)
    assert any(isinstance(module, nn.RMSNorm) for module in build(description).modules())
    assert Parts(self_attention=make_attention) == PAPER_PARTS
    assert make(PAPER_PARTS).parts == PAPER_PARTS


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("demo-modern", "self_attention=RotaryGroupedQueryAttention"),
        ("demo-decoder-only", "a decoder-only Transformer"),
    ],
)
def test_a_folder_remembers_the_parts_that_its_recipe_names(
    name: str, refusal: str, tmp_path: Path, few_sentences: None
) -> None:
    folder, recipe = tmp_path / "model", find_recipe(name).override(TINY | {"steps": "2"})
    train_recipe(recipe, folder, on_report=lambda report: None)
    longer = recipe.override({"steps": "3"})
    train_recipe(longer, folder, resume=True, on_report=lambda report: None)
    translator = Translator.load(folder)
    assert translator.recipe == longer
    assert any(isinstance(x, RotaryGroupedQueryAttention) for x in translator.model.modules())
    [translation] = translator.translate(["A man is reading."])
    assert translation == translator.translate(["A man is reading.", "A dog runs."])[0]
    other = {"parts": "paper"}
    cases: dict[str, Any] = {
        "begun with parts=modern": partial(train_recipe, longer.override(other), resume=True),
        "it has the parts 'modern'": lambda start: train_recipe(
            recipe.override(other), tmp_path / "other", start_from=start
        ),
        "names its parts": partial(
            Translator.load, build=partial(ModelDescription.build, parts=RMS_NORM)
        ),
        refusal: partial(export_model, engine="onnx", out=tmp_path / "onnx"),
    }
    for message, call in cases.items():
        with pytest.raises(UserError, match=message):
            call(folder)
    with pytest.raises(UserError, match="did you mean 'modern'"):
        train_recipe(recipe.override({"parts": "modrn"}), tmp_path / "other")
    assert sorted(tmp_path.iterdir()) == [folder]


def test_trained_with_other_parts_it_is_loaded_with_the_same_alone(
    tmp_path: Path, few_sentences: None
) -> None:
    folder, recipe = tmp_path / "model", find_recipe("demo").override(TINY | {"steps": "2"})
    build = partial(ModelDescription.build, parts=ROTARY)
    train_recipe(recipe, folder, build=build, on_report=lambda report: None)
    model = Translator.load(folder, build=build).model
    assert any(isinstance(module, RotaryAttention) for module in model.modules())
    # Weights of the same names and shapes, and other parts in the same places.
    other = Parts(self_attention=make_other_attention, positions=make_no_positions)
    other_build = partial(ModelDescription.build, parts=other)
    longer = recipe.override({"steps": "3"})
    for call in (
        Translator.load,
        partial(Translator.load, build=other_build),
        partial(export_model, engine="onnx", out=tmp_path / "onnx"),
        partial(train_recipe, longer, resume=True),
    ):
        with pytest.raises(UserError, match=r"self_attention=RotaryAttention, .* `build`"):
            call(folder)
    train_recipe(longer, folder, resume=True, build=build, on_report=lambda report: None)
    assert evaluate_saved_model(folder, "validation", beam_size=1, build=build)["sentences"] == 50
