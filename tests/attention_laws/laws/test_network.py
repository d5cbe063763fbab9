"""What looks like a fault of the network and is none, what is one although it is small."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import Adapter, Verdict
from lessonkit.museum import SPECIMENS
from lessonkit.museum.edits import Edit
from lessonkit.museum.specimen import alter
from tests.attention_laws.trying import small, tried
from transformer.model import Transformer

NAMED = {each.name: each for each in SPECIMENS}


def model_of(adapter: Adapter) -> Transformer:
    assert isinstance(adapter.module, Transformer)
    return adapter.module


def test_logits_that_are_no_numbers_do_not_repeat() -> None:
    adapter = small()
    with torch.no_grad():
        next(model_of(adapter).parameters()).fill_(float("nan"))
    line = tried(adapter, "repeats")
    assert line.verdict == Verdict.BROKEN
    assert "NaN" in line.seen


def test_without_dropout_there_is_none_to_look_for() -> None:
    for name in ("dropout_in_training", "trains_in_training_mode"):
        assert tried(small(dropout=0.0), name).verdict == Verdict.NOT_TRIED


def test_the_gradient_needs_an_embedding_to_look_at() -> None:
    line = tried(small().replace(module=nn.Linear(2, 2)), "no_gradient_from_the_future")
    assert (line.verdict, line.seen) == (
        Verdict.NOT_TRIED,
        "no nn.Embedding reads tgt_in as it is",
    )


def test_padding_before_a_source_is_tried_where_the_model_is_fed_so() -> None:
    adapter = small()
    assert tried(adapter, "left_padding").verdict == Verdict.NOT_TRIED
    assert tried(adapter.replace(left_padding=True), "left_padding").verdict == Verdict.BROKEN
    forward = adapter.forward

    def counting_words(src: Tensor, tgt_in: Tensor) -> Tensor:
        """Move padding to the end first."""
        order = (src == 0).long().argsort(dim=1, stable=True)
        return forward(src.gather(1, order), tgt_in)

    right = adapter.replace(left_padding=True, forward=counting_words)
    assert tried(right, "left_padding").verdict == Verdict.KEPT


def test_a_small_difference_is_no_rounding() -> None:
    """A hundred-thousandth of the logits, which rounding does not move by so much."""
    adapter = small()
    forward = adapter.forward

    def noisy(src: Tensor, tgt_in: Tensor) -> Tensor:
        return forward(src, tgt_in) * (1 + 1e-4 * src.shape[1])

    assert tried(adapter.replace(forward=noisy), "source_padding").verdict == Verdict.BROKEN
    rounded = adapter.replace(forward=lambda *ids: forward(*ids) + 1e-7 * torch.rand(()))
    assert tried(rounded, "source_padding").verdict == Verdict.KEPT


def coarse() -> Adapter:
    """A sound model that is rounded much in 32 bits where sentences have company.

    Whether layers enlarge rounding so far is up to the processor.
    """
    adapter = small()
    forward = adapter.forward

    def rounded(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits = forward(src, tgt_in)
        return logits + 0.1 if len(src) > 1 and logits.dtype == torch.float32 else logits

    return adapter.replace(forward=rounded)


def test_what_is_rounded_otherwise_is_no_fault_where_64_bits_can_be_had() -> None:
    adapter = small()
    cached = adapter.cached
    assert cached is not None
    step = cached.step

    def rounded(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        logits, cache = step(tokens, cache)
        return (logits + 0.1 if logits.dtype == torch.float32 else logits), cache

    steps = adapter.replace(cached=replace(cached, step=rounded))
    for line in (tried(steps, "cache"), tried(coarse(), "company")):
        assert line.verdict == Verdict.KEPT
        assert line.seen.startswith("kept in 64 bits, where less is rounded; in 32: ")
    assert tried(coarse().replace(module=None), "company").verdict == Verdict.BROKEN


def test_a_faint_leak_is_a_leak_in_64_bits_too() -> None:
    """Hidden with -10 where it should be with minus infinity, e^-10 of a weight is left."""
    edits = (
        Edit("attention", "if return_weights:", "if True:"),
        Edit("attention", "masked_fill(~mask, -torch.inf)", "masked_fill(~mask, -10.0)"),
        Edit("attention", "weights.masked_fill(~mask, 0.0)", "weights"),
    )
    adapter = small()
    alter(model_of(adapter), "faint", edits)
    for name in ("source_padding", "company"):
        line = tried(adapter, name)
        assert line.verdict == Verdict.BROKEN
        assert "64 bits" not in line.seen


@pytest.mark.parametrize("spoilt", [torch.nan, torch.inf])
def test_what_is_no_number_in_32_bits_is_not_excused_by_64(spoilt: float) -> None:
    adapter = small()
    forward = adapter.forward

    def overflowing(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits = forward(src, tgt_in)
        return logits + spoilt if 0 in src and logits.dtype == torch.float32 else logits

    assert tried(adapter.replace(forward=overflowing), "source_padding").verdict == Verdict.BROKEN


def test_what_is_seen_says_where() -> None:
    for name, law, seen in (
        ("softmax_over_queries", "rows_sum_to_one", "the softmax is over the queries"),
        ("mask_multiplied", "nothing_on_what_is_hidden", "on padding"),
        ("no_causal_mask", "nothing_on_what_is_hidden", "on a later position"),
        ("norm_over_time", "no_future", "tgt_in [2, "),
        ("dropout_never_called", "dropout_in_training", "of 8 passes are equal"),
        ("clones_alike", "layers_start_apart", "layers 0 and 1"),
        ("softmax_tied_by_copy", "tied_as_declared", "a copy, equal only now"),
        ("one_projection", "own_projections", "encoder.layers.0.self_attention.query_projection"),
        (
            "cross_attention_causal",
            "weight_on_all_that_may_be_seen",
            "cross 0, head 0: position 0 has no weight on 1",
        ),
    ):
        made = NAMED[name].make()
        assert isinstance(made, Adapter)
        line = tried(made, law)
        assert line.verdict in (Verdict.BROKEN, Verdict.WARNED), name
        assert seen in line.seen


def test_nothing_of_the_beginning_is_said_of_a_trained_model() -> None:
    trained = small().replace(fresh=None)
    assert trained.train_step is not None
    assert trained.make_batch is not None
    assert tried(trained, "starts_unsure").verdict == Verdict.KEPT
    trained.train_step(*trained.make_batch([[5, 6]], [[7, 8]]))
    bare = small().replace(fresh=None)
    for part in model_of(bare).modules():
        if isinstance(part, nn.LayerNorm):
            part.elementwise_affine = False
            part.weight = part.bias = None
    for adapter, seen in (
        (small().replace(fresh=False), "the adapter says that it is trained"),
        (trained, "norms have learned"),
        (bare, "say fresh=True"),
    ):
        line = tried(adapter, "starts_unsure")
        assert line.verdict == Verdict.NOT_TRIED
        assert seen in line.seen


def test_a_model_without_added_positions_is_not_compared_with_them() -> None:
    adapter = small()
    model_of(adapter).src_embedding.sinusoids.zero_()
    line = tried(adapter, "words_and_positions")
    assert line.verdict == Verdict.NOT_TRIED
    assert "no positions are added" in line.seen


def test_a_layer_that_is_used_twice_is_no_copy_and_shares_no_projection() -> None:
    adapter = small(num_layers=2)
    layers = model_of(adapter).encoder.layers
    layers[1] = copy.deepcopy(layers[0])
    assert tried(adapter, "layers_start_apart").verdict == Verdict.BROKEN
    layers[1] = layers[0]
    for name in ("layers_start_apart", "own_projections"):
        assert tried(adapter, name).verdict in (Verdict.KEPT, Verdict.NOT_TRIED)


def test_torchs_own_layers_start_apart() -> None:
    """Its biases are copies of each other; its matrices are drawn again."""
    torch.manual_seed(0)
    stacks = nn.Transformer(16, 2, 2, 2, 32, batch_first=True)
    table = nn.Embedding(11, 16)
    adapter = Adapter(
        forward=lambda src, tgt_in: stacks(table(src), table(tgt_in)) @ table.weight.T,
        src_vocab_size=11,
        tgt_vocab_size=11,
        module=stacks,
        fresh=True,
    )
    assert tried(adapter, "layers_start_apart").verdict == Verdict.KEPT


def test_what_is_tied_and_not_declared_is_told() -> None:
    line = tried(small(tie_softmax=True).replace(declared_tied=()), "tied_as_declared")
    assert line.verdict == Verdict.NOT_TRIED
    assert "tgt_embedding.token.weight=output.weight" in line.seen
