"""Reaching into a model: what is cut has no influence, what is put in arrives, the rest stays."""

from typing import Any

import pytest
import torch
from torch import Tensor

from lessonkit.analysis.activations import (
    mean_head_outputs,
    next_token_probabilities,
    record_activations,
)
from lessonkit.analysis.heads import STACK_NAMES, Head, all_heads, attention_module
from lessonkit.analysis.interventions import (
    SourceMaskedModel,
    ablate_edges,
    ablate_heads,
    patch_heads,
    patch_memory,
)
from transformer.config import BOS_ID
from transformer.decoding import beam_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.errors import UserError

SRC = torch.tensor([[5, 6, 7, 8, 9, 3]])
TGT_IN = torch.tensor([[BOS_ID, 11, 12, 13]])
SALESMAN = "The clever salesman is reading an interesting novel."


def logits(model: Any, src: Tensor = SRC) -> Tensor:
    mask = padding_mask(src)
    with torch.no_grad():
        return model.decode(TGT_IN, model.encode(src, mask), mask)  # type: ignore[no-any-return]


def exchanged(place: int) -> Tensor:
    src = SRC.clone()
    src[0, place] = 20
    return src


def of(model: Transformer, stack: str) -> list[Head]:
    return [head for head in all_heads(model) if head.stack == stack]


# --- places hidden -------------------------------------------------------------------------------


def test_a_place_hidden_before_the_encoder_has_no_influence(model: Transformer) -> None:
    torch.testing.assert_close(logits(SourceMaskedModel(model)), logits(model))
    hiding = SourceMaskedModel(model, before=[2])
    for place in range(5):
        same = torch.allclose(logits(hiding, exchanged(place)), logits(hiding))
        assert same == (place == 2)
    # The oracle of the one is the other: all edges to a place cut.
    to_place = [(query, 2) for query in range(6)]
    cut = dict.fromkeys(of(model, "encoder"), to_place) | dict.fromkeys(
        of(model, "cross"), to_place[:4]
    )
    with ablate_edges(model, cut):
        torch.testing.assert_close(logits(model), logits(hiding))


def test_a_place_hidden_after_the_encoder_acts_through_its_neighbours(model: Transformer) -> None:
    hiding, mask = SourceMaskedModel(model, after=[2]), padding_mask(SRC)
    assert not torch.allclose(logits(hiding, exchanged(2)), logits(hiding))
    memory = model.encode(SRC, mask)
    spoilt = memory.clone()
    spoilt[0, 2] = 100.0
    with torch.no_grad():
        before, after = (hiding.decode(TGT_IN, m, mask) for m in (memory, spoilt))
    torch.testing.assert_close(after, before)


# --- heads replaced and removed ------------------------------------------------------------------


@pytest.mark.parametrize("head", [Head("encoder", 1, 2), Head("decoder", 3, 1)])
def test_a_replaced_head_adds_its_vector_s_projection(model: Transformer, head: Head) -> None:
    attention, vector = attention_module(model, head), torch.tensor([0.5, -2.0, 7.0]).double()
    hidden = torch.randn(1, 4, 14, dtype=torch.float64)
    with torch.no_grad(), ablate_heads(model, [head]):
        others = attention(hidden)[0]
    with torch.no_grad(), patch_heads(model, {head: vector}):
        together = attention(hidden)[0]
    columns = attention.output_projection.weight[:, 3 * (head.head - 1) : 3 * head.head]
    torch.testing.assert_close(together, others + columns @ vector)


def test_a_mean_is_over_all_tokens_of_all_sentences(shipped: Translator) -> None:
    sentences = ["The dog is sleeping.", "David sees the old cat of the woman."]
    one, other = (mean_head_outputs(shipped, [sentence]) for sentence in sentences)
    both = mean_head_outputs(shipped, sentences)
    lengths = [len(shipped.src_tokenizer.encode(sentence)) + 1 for sentence in sentences]
    head = Head("encoder", 2, 3)
    wanted = (lengths[0] * one[head] + lengths[1] * other[head]) / sum(lengths)
    torch.testing.assert_close(both[head], wanted)


# --- vectors of another run ----------------------------------------------------------------------


def test_a_head_s_outputs_are_its_values_weighted(shipped: Translator) -> None:
    """By hand for the first layer of the encoder: Eq. 1."""
    model: Any = shipped.model
    run, head = record_activations(shipped, SALESMAN, []), Head("encoder", 1, 3)
    ids = torch.tensor([[*shipped.src_tokenizer.encode(SALESMAN), 3]])
    with torch.no_grad():
        layer = model.encoder.layers[0]
        hidden = layer.self_attention_residual.norm(model.src_embedding(ids))  # pre-norm
        values = attention_module(model, head).value_projection(hidden)[0, :, 64:96]
        weights = model.attention_maps(ids, torch.tensor([[2]])).encoder[0, 0, 2]
    torch.testing.assert_close(run.heads[head], weights @ values, atol=1e-5, rtol=1e-5)
    assert run.memory.shape == (ids.shape[1], 128)
    assert run.heads[Head("cross", 2, 4)].shape == (1, 32)  # a row for "<bos>"


def test_its_own_vectors_change_nothing_and_a_vector_reaches_its_place_alone(
    shipped: Translator,
) -> None:
    model: Any = shipped.model
    run, whole = record_activations(shipped, SALESMAN), next_token_probabilities(shipped, SALESMAN)
    heads = {head: dict(enumerate(outputs)) for head, outputs in run.heads.items()}
    with patch_memory(model, dict(enumerate(run.memory))), patch_heads(model, heads):
        torch.testing.assert_close(
            next_token_probabilities(shipped, SALESMAN), whole, atol=1e-6, rtol=1e-4
        )
        assert shipped.translate([SALESMAN], 1) == [shipped.tgt_tokenizer.decode(run.tgt_ids)]
    with patch_heads(model, {Head("encoder", 2, 4): {2: torch.ones(32)}}):
        changed = record_activations(shipped, SALESMAN, run.tgt_ids)
    apart = (changed.memory - run.memory).abs().amax(-1)
    assert apart[2] > 0.1
    assert float(apart[torch.arange(len(apart)) != 2].max()) < 1e-5


# --- edges cut -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", STACK_NAMES)
def test_one_edge_of_one_head_is_zero_and_its_row_still_sums_to_one(
    model: Transformer, stack: str
) -> None:
    head, (query, key) = Head(stack, 2, 2), (3, 1)
    whole = getattr(model.attention_maps(SRC, TGT_IN), stack)
    with ablate_edges(model, {head: [(query, key)]}):
        maps = getattr(model.attention_maps(SRC, TGT_IN), stack)
    row, before = maps[1, 0, 1, query], whole[1, 0, 1, query]
    assert row[key] == 0
    kept = torch.arange(len(row)) != key
    torch.testing.assert_close(row[kept], before[kept] / before[kept].sum())
    untouched = torch.ones(maps.shape[2:4], dtype=torch.bool)
    untouched[1, query] = False  # the layer's other head, the head's other rows
    torch.testing.assert_close(maps[1, 0][untouched], whole[1, 0][untouched])
    torch.testing.assert_close(getattr(model.attention_maps(SRC, TGT_IN), stack), whole)


@pytest.mark.parametrize("stack", STACK_NAMES)
def test_a_search_with_a_cache_is_cut_at_the_same_place(model: Transformer, stack: str) -> None:
    """Whether the cache is given by its place or by keyword."""

    def found(**options: bool) -> tuple[list[list[int]], Tensor]:
        (best,) = beam_search(model, SRC, max_len=7, **options)
        return [each.ids for each in best], torch.tensor([each.score for each in best])

    def named(_: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return args[:4], kwargs | dict(zip(["cache"], args[4:], strict=False))

    whole, cut = found(), {head: [(2, 0), (3, 1), (4, 2)] for head in of(model, stack)}
    with ablate_edges(model, cut):
        slow, cached = found(use_cache=False), found()
    with model.decoder.register_forward_pre_hook(named, with_kwargs=True), ablate_edges(model, cut):
        by_keyword = found()
    assert slow[0] == cached[0] == by_keyword[0]
    torch.testing.assert_close(cached[1], slow[1])
    torch.testing.assert_close(by_keyword[1], slow[1])
    assert not torch.allclose(whole[1], slow[1], atol=1e-6)


def test_what_cannot_be_hidden_or_cut(model: Transformer) -> None:
    for hidden, message in (
        ({6}, "no place 6: the source has 6 tokens"),
        ({-1}, "no place -1"),
        (set(range(6)), "every place is hidden: leave one"),
    ):
        for hiding in (
            SourceMaskedModel(model, before=hidden),
            SourceMaskedModel(model, after=hidden),
        ):
            with pytest.raises(UserError, match=message):
                logits(hiding)
    cut = ablate_edges(model, {Head("decoder", 1, 1): [(0, 0)]})
    with pytest.raises(UserError, match="a query has no key left"), cut:
        logits(model)
    whole = logits(model)  # a place that the target has not reached is no mistake
    with ablate_edges(model, {Head("decoder", 1, 1): [(40, 3)], Head("cross", 1, 1): [(40, 3)]}):
        torch.testing.assert_close(logits(model), whole)


def test_errors(model: Transformer, shipped: Translator) -> None:
    one, far, whole = Head("encoder", 1, 1), Head("cross", 9, 1), logits(model)
    good = torch.zeros(3, dtype=torch.float64)
    for reach, message in (
        (patch_heads(model, {one: good, far: good}), r"no head cross 9\.1.*3 layers and 2"),
        (patch_heads(model, {one: {50: good}}), "no place 50: the source has 6"),
        (ablate_edges(model, {far: []}), r"no head cross 9\.1"),
    ):
        with pytest.raises(UserError, match=message), reach:
            logits(model)
        torch.testing.assert_close(logits(model), whole, rtol=0, atol=0)  # nothing is left behind
    with pytest.raises(UserError, match="nothing to take away"):
        record_activations(shipped, "  ")
    with pytest.raises(UserError, match="a Recurrent"):
        record_activations(Translator.load("demo-lstm"), SALESMAN)
