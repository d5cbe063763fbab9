"""Lesson 04: wrong answers that have passed, right ones that must, and advice."""

import pytest
import torch

from tests.helpers.exercise_walk import ALL, status


def rms_norm(hidden, gain, bias):
    return torch.nn.functional.rms_norm(hidden, hidden.shape[-1:], gain, eps=1e-5) + bias


def test_rms_norm_is_recognised():
    assert "This is RMSNorm" in repr(ALL["layer_norm"].check(rms_norm))


def tied_by_modules(ids, decoded, table, positions):
    embedding = torch.nn.Embedding.from_pretrained(table)
    words = embedding(ids).mul(table.shape[1] ** 0.5)
    return [words + positions[None, : ids.shape[1]], torch.einsum("btd,vd->btv", decoded, table)]


def tied_and_shared_out(ids, decoded, table, positions):
    embedded, logits = tied_by_modules(ids, decoded, table, positions)
    return embedded, logits.log_softmax(dim=-1)


def test_embedding_and_logits():
    assert status("tied", tied_by_modules) == "passed"
    assert status("tied", tied_and_shared_out) == "wrong"


def layer_written_out(hidden, memory, tgt_mask, src_mask, layer, pre_norm, last_norm=False):
    first, second, third = layer.norms
    drop = layer.dropout
    if pre_norm:
        x = first(hidden)
        hidden = hidden + drop(layer.self_attention(x, x, tgt_mask))
        hidden = hidden + drop(layer.cross_attention(second(hidden), memory, src_mask))
        hidden = hidden + drop(layer.feed_forward(third(hidden)))
        return third(hidden) if last_norm else hidden
    hidden = first(hidden + drop(layer.self_attention(hidden, hidden, tgt_mask)))
    hidden = second(hidden + drop(layer.cross_attention(hidden, memory, src_mask)))
    return third(hidden + drop(layer.feed_forward(hidden)))


def keys_not_normed(hidden, memory, tgt_mask, src_mask, layer, pre_norm):
    def own(query, _, mask):
        return attend(query, hidden, mask) if pre_norm else attend(query, query, mask)

    attend, layer.self_attention = layer.self_attention, own
    return layer_written_out(hidden, memory, tgt_mask, src_mask, layer, pre_norm)


def one_norm_for_all(*case):
    case[4].norms[1:] = [case[4].norms[0]] * 2
    return layer_written_out(*case)


LAYERS = {
    "a norm at the end": lambda *case: layer_written_out(*case, last_norm=True),
    "keys not normalised": keys_not_normed,
    "one norm": one_norm_for_all,
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_decoder_layer_is_refused(name):
    assert status("decoder_layer", LAYERS[name]) == "wrong"


def test_a_decoder_layer_may_be_written_out():
    assert status("decoder_layer", layer_written_out) == "passed"
