"""Where positions enter the scores, these depend on distances alone (not in the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_laws.attention_calls import AttentionCall, find_attention_calls
from attention_laws.law import law
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.scores_by_distance import (
    MARGIN,
    ScoresByDistance,
    added_to_product,
    by_distance,
    depend_on_sum_of_positions,
    positions_are_added,
    product_by_distance,
    relative_to_query_itself,
    visible_scores,
)
from attention_laws.subject import Subject
from attention_laws.torch_calls import (
    MULTI_HEAD_ATTENTION_CALL_NAME,
    PRODUCT_CALL_NAMES,
    TorchCall,
)

LAW_MODULE_SORT_KEY = 65
# Unequal, so that the shape of scores tells which attention they are of.
SRC_LEN, TGT_LEN = 11, 10
LENGTH_BY_SIDE = {"source": SRC_LEN, "target": TGT_LEN}


class SelfAttention(NamedTuple):
    """One self-attention in two sentences, each of which repeats a word."""

    first: AttentionCall
    second: AttentionCall


class _Judged(NamedTuple):
    """What was found about the scores of one self-attention."""

    fault: str = ""  # in words; empty if there is none
    # In words: what knows absolute positions, as right code may let it.
    absolute: str = ""
    knows_distance: bool = False  # whether scores of unequal distances differ
    is_mirrored: bool = False  # whether keys before and after a query have the same scores


@law()
def scores_depend_on_distance_alone(subject: Subject) -> Finding:
    """Where no positions are added to words, scores depend on how far apart two words are.

    Means: queries are turned and keys are not, or one of them the wrong way; the angles of sines
    and cosines differ; positions are added where one is to be subtracted; or one side has no
    positions. A decoder alone without any, or a bias of absolute positions, as in TUPE and FIRE, is
    warned of: it may be meant
    Look: at what is done to queries and to keys before their product, on both sides
    How: In a sentence that repeats one word, scores of equal distances must be equal.
    """
    attentions = self_attentions_by_side(subject)
    if not any(attentions.values()):
        return not_tried_finding(
            "positions are added to words, or no map that reads them or no scores were seen"
        )
    judged = {side: [_judge(x) for x in layers] for side, layers in attentions.items()}
    for side, layers in judged.items():
        for number, layer in enumerate(layers, start=1):
            if layer.fault:
                seen = f"self-attention {number} of the {side}: {layer.fault}"
                return broken_finding(f"{seen}, in a sentence that repeats one word")
    if not all(judged.values()):
        sides = ", ".join(side for side, layers in judged.items() if not layers)
        return not_tried_finding(f"no scores that read words alone were seen: {sides}")
    adapter = subject.adapter
    is_told = adapter.relative_max_distance is not None or adapter.rotary_base is not None
    return _judge_both_sides(judged, is_told)


def _judge_both_sides(judged: dict[str, list[_Judged]], is_told: bool) -> Finding:
    """Return whether both sides know distances, and the source's before from after.

    `is_told` is whether an adapter tells that scores are meant to depend on distances.
    """
    knowing = [side for side, layers in judged.items() if any(x.knows_distance for x in layers)]
    if len(knowing) == 1 < len(judged):
        seen = f"only the {knowing[0]}'s scores depend on distance"
        # A decoder without positions knows order by its mask ("NoPE", Kazemnejad et al. 2023).
        is_no_fault = knowing == ["source"] and not is_told
        return warned_finding(seen) if is_no_fault else broken_finding(seen)
    if not knowing:
        return not_tried_finding("scores do not depend on positions: see `token_order_matters`")
    for side, layers in judged.items():
        for number, layer in enumerate(layers, start=1):
            if layer.absolute:
                return warned_finding(f"self-attention {number} of the {side}: {layer.absolute}")
    if "source" in judged and all(layer.is_mirrored for layer in judged["source"]):
        return warned_finding("the source's scores do not tell the words before from those after")
    count = sum(len(layers) for layers in judged.values())
    return kept_finding(f"in {count} self-attentions scores of one distance are equal")


def _judge(attention: SelfAttention) -> _Judged:
    """Return what is found about the scores of one self-attention.

    What turns queries and keys is told from what is added to their product, and from factors.
    """
    scores = by_distance(visible_scores(attention.first))
    if scores is None:
        return _Judged()
    if scores.depend_on_distance_alone:
        return _Judged(knows_distance=scores.know_distance, is_mirrored=scores.are_mirrored)
    number = number_of_product_of_words(attention)
    product = None if number is None else product_by_distance(attention.first.multiplied[number])
    if number is None or product is None:
        return _judge_added(visible_scores(attention.first), None, scores.size)
    if not product.depend_on_distance_alone:
        if positions_are_added(*(x.multiplied[number] for x in attention)):
            return _judged_as_absolute("queries and keys")
        return _Judged(
            fault="queries times keys of two words as far apart differ by "
            f"{product.spread:.1%} of the largest"
        )
    added = added_to_product(*attention, number)
    if added is None:
        return _judged_as_absolute("scores")
    return _judge_added(added, product, scores.size)


def _judge_added(added: Tensor, product: ScoresByDistance | None, size: float) -> _Judged:
    """Return what is found about a bias beside a product that depends on distance alone.

    None stands for a product that was not seen, and is in the bias.
    """
    bias = by_distance(relative_to_query_itself(added), size)
    if bias is not None and bias.depend_on_distance_alone:
        return _Judged(
            knows_distance=bias.know_distance or (product is not None and product.know_distance),
            is_mirrored=bias.are_mirrored and (product is None or product.are_mirrored),
        )
    if depend_on_sum_of_positions(added, size):
        return _Judged(fault="a bias depends on the sum of two positions, not on their difference")
    return _judged_as_absolute("what is added to queries times keys" if product else "scores")


def _judged_as_absolute(what: str) -> _Judged:
    seen = f"{what} know absolute positions, not distances alone"
    return _Judged(absolute=seen, knows_distance=True)


def number_of_product_of_words(attention: SelfAttention) -> int | None:
    """Return the place of the product that another word changes; None if there is none.

    A product of vectors of positions, as TUPE adds one, is equal for all words.
    """
    pairs = list(zip(attention.first.multiplied, attention.second.multiplied, strict=False))
    for number, ((query, key), (other_query, other_key)) in enumerate(pairs):
        if not (torch.equal(query, other_query) and torch.equal(key, other_key)):
            return number
    return None


def self_attentions_by_side(subject: Subject) -> dict[str, list[SelfAttention]]:
    """Return the self-attentions of each side that read equal words alike at each place."""
    vocab_size = min(subject.adapter.src_vocab_size, subject.adapter.tgt_vocab_size)
    words = subject.draw_ids(vocab_size, 1, 2)[0]
    calls_of_words = [
        subject.torch_calls_of_forward(word.expand(1, SRC_LEN), word.expand(1, TGT_LEN))
        for word in words
    ]
    lengths = {"target": TGT_LEN} if subject.adapter.decoder_only else LENGTH_BY_SIDE
    both = [find_attention_calls(calls, {SRC_LEN, TGT_LEN}) for calls in calls_of_words]
    found: dict[str, list[SelfAttention]] = {side: [] for side in lengths}
    for side, length in lengths.items():
        start = 0
        for first, second in zip(*both, strict=False):
            if first.weights.shape[-2:] != (length, length):
                continue
            before = calls_of_words[0][start : first.number + 1]
            start = first.number + 1
            if first.scores is not None and _read_equal_words_alike(before, length):
                found[side].append(SelfAttention(first, second))
    return found


def _read_equal_words_alike(calls: list[TorchCall], length: int) -> bool:
    """Return whether each map among calls reads the same at each place of a sentence.

    False, too, if there is no such map. The ends of the sentence are left out.
    """
    is_seen = False
    for call in calls:
        for hidden in _hidden_states_read_by_map(call, length):
            is_seen = True
            axis = hidden.shape.index(length)
            inner = hidden.narrow(axis, MARGIN, length - 2 * MARGIN)
            first = inner.narrow(axis, 0, 1)
            if bool((inner - first).abs().max() > 1e-5 * first.abs().max()):
                return False
    return is_seen


def _hidden_states_read_by_map(call: TorchCall, length: int) -> list[Tensor]:
    """Return what a map with weights reads, (1, length, width) or (length, 1, width)."""
    tensors = [arg for arg in call.args if isinstance(arg, Tensor) and arg.is_floating_point()]
    is_map = call.name in ("linear", MULTI_HEAD_ATTENTION_CALL_NAME) or (
        call.name in PRODUCT_CALL_NAMES and any(isinstance(x, nn.Parameter) for x in tensors)
    )
    hidden = [x for x in tensors if not isinstance(x, nn.Parameter) and x.dim() == 3]
    return [x for x in hidden if is_map and sorted(x.shape[:2]) == [1, length]]
