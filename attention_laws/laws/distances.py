"""Where positions enter the scores, these depend on distances alone (not in the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_laws.attention_calls import AttentionCall
from attention_laws.law import law
from attention_laws.laws.attention_weights import attention_calls_of_forward
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject
from attention_laws.torch_calls import (
    FUSED_ATTENTION_CALL_NAME,
    MULTI_HEAD_ATTENTION_CALL_NAME,
    PRODUCT_CALL_NAMES,
    TorchCall,
)

LAW_MODULE_SORT_KEY = 65
# Unequal, so that the shape of scores tells which attention they are of.
SRC_LEN, TGT_LEN = 9, 6
LENGTH_BY_SIDE = {"source": SRC_LEN, "target": TGT_LEN}
# Share of the largest score by which scores of one distance may differ.
MAX_RELATIVE_SPREAD = 1e-3


class _DistanceScores(NamedTuple):
    """What one self-attention's scores are at each distance, (distances, heads)."""

    lowest: Tensor
    highest: Tensor
    size: float  # the largest score

    @property
    def spread(self) -> float:
        """How far scores of one distance are apart, as a share of the largest score."""
        return float((self.highest - self.lowest).max()) / self.size

    @property
    def knows_distance(self) -> bool:
        """Whether scores of unequal distances differ."""
        means = (self.highest + self.lowest) / 2
        return float((means - means[:1]).abs().max()) > MAX_RELATIVE_SPREAD * self.size

    @property
    def is_mirrored(self) -> bool:
        """Whether keys before and after a query have the same scores."""
        return float((self.highest - self.highest.flip(0)).abs().max()) <= (
            MAX_RELATIVE_SPREAD * self.size
        )


@law()
def scores_depend_on_distance_alone(subject: Subject) -> Finding:
    """Where no positions are added to words, scores depend on how far apart two words are.

    Means: queries are turned and keys are not, or one of them the wrong way; the angles of sines
    and cosines differ; or one side has no positions. A bias of absolute positions, as in TUPE, may
    be meant: accept it in a baseline
    Look: at what is done to queries and to keys before their product, on both sides
    How: In a sentence that repeats one word, scores of equal distances must be equal.
    """
    word = subject.draw_ids(
        min(subject.adapter.src_vocab_size, subject.adapter.tgt_vocab_size), 1, 1
    )
    src, tgt_in = word.expand(1, SRC_LEN), word.expand(1, TGT_LEN)
    calls = subject.torch_calls_of_forward(src, tgt_in)
    lengths = {"target": TGT_LEN} if subject.adapter.decoder_only else LENGTH_BY_SIDE
    if not all(_reads_equal_words_alike(calls, length) for length in lengths.values()):
        return not_tried_finding("positions are added to words, or no map that reads them was seen")
    attentions = attention_calls_of_forward(subject, src, tgt_in)
    scores = {
        side: [found for a in attentions if (found := _scores_by_distance(a, length)) is not None]
        for side, length in lengths.items()
    }
    if not all(scores.values()):
        return not_tried_finding(f"no scores of self-attention were seen: {', '.join(lengths)}")
    for side, layers in scores.items():
        for number, layer in enumerate(layers, start=1):
            if layer.spread > MAX_RELATIVE_SPREAD:
                seen = f"self-attention {number} of the {side}: scores of two words as far apart"
                seen += f" differ by {layer.spread:.1%} of the largest"
                return broken_finding(f"{seen}, in a sentence that repeats one word")
    return _judge_both_sides(scores)


def _judge_both_sides(scores: dict[str, list[_DistanceScores]]) -> Finding:
    """Return whether both sides know distances, and the source's before from after."""
    knowing = [side for side, layers in scores.items() if any(x.knows_distance for x in layers)]
    if len(knowing) == 1 < len(scores):
        return broken_finding(f"only the {knowing[0]}'s scores depend on distance")
    if not knowing:
        return not_tried_finding("scores do not depend on positions: see `token_order_matters`")
    if "source" in scores and all(layer.is_mirrored for layer in scores["source"]):
        return warned_finding("the source's scores do not tell the words before from those after")
    count = sum(len(layers) for layers in scores.values())
    return kept_finding(f"in {count} self-attentions scores of one distance are equal")


def _reads_equal_words_alike(calls: list[TorchCall], length: int) -> bool:
    """Return whether each map before the first attention of a side reads the same at each place.

    The side is that of sentences of this length. False, too, if there is no such map.
    """
    is_seen = False
    for call in calls:
        for hidden in _hidden_states_read_by_map(call, length):
            is_seen = True
            axis = hidden.shape.index(length)
            first = hidden.narrow(axis, 0, 1)
            if bool((hidden - first).abs().max() > 1e-5 * first.abs().max()):
                return False
        if is_seen and _is_self_attention(call, length):
            break
    return is_seen


def _hidden_states_read_by_map(call: TorchCall, length: int) -> list[Tensor]:
    """Return what a map with weights reads, (batch, length, width) or length first."""
    tensors = [arg for arg in call.args if isinstance(arg, Tensor) and arg.is_floating_point()]
    is_map = call.name in ("linear", MULTI_HEAD_ATTENTION_CALL_NAME) or (
        call.name in PRODUCT_CALL_NAMES and any(isinstance(x, nn.Parameter) for x in tensors)
    )
    hidden = [x for x in tensors if not isinstance(x, nn.Parameter) and x.dim() == 3]
    return [x for x in hidden if is_map and length in x.shape[:2]]


def _is_self_attention(call: TorchCall, length: int) -> bool:
    """Return whether a call ends the scores of a self-attention of this length."""
    if call.name == "softmax":
        return call.args[0].shape[-2:] == (length, length)
    if call.name == FUSED_ATTENTION_CALL_NAME:
        return bool(call.args) and call.args[0].shape[-2] == length
    return call.name == MULTI_HEAD_ATTENTION_CALL_NAME


def _scores_by_distance(attention: AttentionCall, length: int) -> _DistanceScores | None:
    """Return the scores of a self-attention at each distance; None if it is none of this length."""
    if attention.scores is None or attention.scores.shape[-2:] != (length, length):
        return None
    scores = attention.scores.detach().double().reshape(-1, length, length)
    scores = scores.masked_fill(attention.weights.reshape(scores.shape) == 0, torch.nan)
    diagonals = [scores.diagonal(k, dim1=-2, dim2=-1) for k in range(1 - length, length)]
    seen = [diagonal for diagonal in diagonals if not bool(diagonal.isnan().any())]
    if len(seen) < 2:
        return None
    return _DistanceScores(
        lowest=torch.stack([diagonal.amin(dim=-1) for diagonal in seen]),
        highest=torch.stack([diagonal.amax(dim=-1) for diagonal in seen]),
        size=max(float(scores.nan_to_num(0).abs().max()), 1e-12),
    )
