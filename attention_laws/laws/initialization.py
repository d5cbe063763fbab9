"""How a model begins, before it has learned anything (not in the paper)."""

import math
from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor, nn

from attention_laws.errors import NotObservedError
from attention_laws.law import law
from attention_laws.laws.attention_weights import attention_calls_of_forward
from attention_laws.model_state import hooks_removed_afterwards
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 80
MAX_INITIAL_LOSS_ABOVE_LOG_VOCAB_SIZE = 2.0  # nats above ln V
MAX_INITIAL_SCORE_STD = 2.5
# Bounds of the ratio of what words and what positions change, squared.
WORD_TO_POSITION_EFFECT_BOUNDS = (0.5, 300.0)
# Unequal, so that the shape of attention weights tells which attention they are of.
SRC_LEN, TGT_LEN = 11, 8


def only_if_untrained(check: Callable[[Subject], Finding]) -> Callable[[Subject], Finding]:
    """Try a check only if the model is untrained: one step makes the scales of norms unequal."""

    @wraps(check)
    def checked(subject: Subject) -> Finding:
        module, untrained = subject.adapter.module, subject.adapter.untrained
        if untrained is False:
            return not_tried_finding("the adapter says that it is trained")
        if untrained is None:
            scales = [] if module is None else _norm_scale_and_shift_vectors(module)
            if not scales:
                reason = "it has no norms that tell whether it is trained"
                return not_tried_finding(f"{reason}: say untrained=True if not")
            if not all(bool((scale == scale[0]).all()) for scale in scales):
                return not_tried_finding(
                    "it is about an untrained model, and this one's norms have learned"
                )
        return check(subject)

    return checked


def _norm_scale_and_shift_vectors(module: nn.Module) -> list[Tensor]:
    """Return the vectors that norms scale and shift by, also where no class is called a norm.

    Of other classes a vector of ones is taken for the scale of an untrained norm.
    """
    vectors: list[Tensor] = []
    for part in module.modules():
        is_norm = "norm" in type(part).__name__.lower()
        for weight in part.parameters(recurse=False):
            if weight.dim() == 1 and len(weight) > 1 and (is_norm or bool((weight == 1).all())):
                vectors.append(weight)
    return vectors


def _has_vectors_alone(part: nn.Module) -> bool:
    """Return whether all of a module's own parameters have one axis, as those of a norm."""
    weights = list(part.parameters(recurse=False))
    return bool(weights) and all(weight.dim() == 1 for weight in weights)


@law()
@only_if_untrained
def initial_loss_is_near_log_vocab_size(subject: Subject) -> Finding:
    """A fresh model's loss is near ln V: it prefers no token.

    Means: logits are too large at the start: embeddings that serve as output weights too and
    are initialized too large, a final norm that is missing, or a softmax taken twice
    Look: at how the embeddings and the output layer are initialized
    How: The sentence's own tokens are left out, since a model whose output weights are its
    embeddings begins by repeating what it reads.
    """
    src, tgt_in = subject.draw_src(8, 3), subject.draw_tgt_in(8, 3)
    logits = subject.logits(src, tgt_in)  # (8, 3, vocab_size)
    is_other = torch.ones(8, logits.shape[-1], dtype=torch.bool)
    is_other.scatter_(1, tgt_in, False)
    if subject.adapter.src_vocab_size == subject.adapter.tgt_vocab_size:
        is_other.scatter_(1, src, False)
    hidden = ~is_other[:, None, :]
    log_probs = logits.masked_fill(hidden, -torch.inf).log_softmax(dim=-1)
    count = is_other.sum(dim=-1, keepdim=True)  # (8, 1): tokens left
    losses = -log_probs.masked_fill(hidden, 0).sum(dim=-1) / count
    loss, uniform_loss = float(losses.mean()), float(count.log().mean())
    seen = f"over {int(count.min())} tokens the loss is {loss:.2f}, "
    seen += f"ln of their number {uniform_loss:.2f}"
    return (
        warned_finding(seen)
        if loss > uniform_loss + MAX_INITIAL_LOSS_ABOVE_LOG_VOCAB_SIZE
        else kept_finding(seen)
    )


@law()
@only_if_untrained
def initial_scores_have_unit_scale(subject: Subject) -> Finding:
    """An untrained model's attention scores have a standard deviation of about 1.

    Means: scores are not divided by the square root of d_k, or what attention reads is too
    large: the softmax begins saturated, and passes little gradient
    Look: at the line that divides the scores, and at how embeddings are initialized and scaled
    """
    src, tgt_in = subject.draw_src(4, SRC_LEN), subject.draw_tgt_in(4, TGT_LEN)
    with torch.no_grad():
        if subject.adapter.attention is not None:
            weights_by_name = dict(subject.adapter.attention(src, tgt_in))
        else:
            attentions = attention_calls_of_forward(subject, src, tgt_in)
            weights_by_name = {
                f"attention {number}": attention.weights
                for number, attention in enumerate(attentions, start=1)
            }
    if not weights_by_name:
        return not_tried_finding("the adapter has no attention, and no softmax over keys was seen")
    deviations = {
        name: _median_score_std_over_queries(weights) for name, weights in weights_by_name.items()
    }
    name = max(deviations, key=deviations.__getitem__)
    scores = "scores of one query have a standard deviation of"
    if deviations[name] > MAX_INITIAL_SCORE_STD:
        return warned_finding(f"{name}: {scores} {deviations[name]:.1f}")
    return kept_finding(f"{scores} {min(deviations.values()):.2f} to {deviations[name]:.2f}")


def _median_score_std_over_queries(weights: Tensor) -> float:
    """Return the typical standard deviation of the scores behind weights (..., q_len, k_len)."""
    scores = weights.float().clamp(min=1e-30).log().flatten(end_dim=-3)
    q_len, k_len = scores.shape[-2:]
    is_causal = q_len == k_len == TGT_LEN
    rows = [
        scores[:, query, : query + 1 if is_causal else k_len].std(dim=-1)
        for query in range(2, q_len)
    ]
    return float(torch.stack(rows).median())


@law("module")
@only_if_untrained
def embedding_and_position_scales_match(subject: Subject) -> Finding:
    """In an untrained model word embeddings and positions are of similar size.

    Means: embeddings are not multiplied by the square root of d_model, or initialized so small
    that the positions drown them; or so large that they drown the positions
    Look: at how embeddings are initialized, and at what is added to them
    """
    # Four sentences, each of which repeats one word.
    src = subject.draw_src(1, 5)[0, :4, None].expand(4, SRC_LEN)
    tgt_in = subject.draw_tgt_in(len(src), TGT_LEN)
    by_word, by_position = _squared_word_and_position_effects(subject, src, tgt_in, src)
    if by_position == 0 or by_word == 0:
        return not_tried_finding(
            "the first layer reads words alone: no positions are added to them"
        )
    seen = f"what the first layer reads moves by {math.sqrt(by_word):.2g} a component with another "
    seen += f"word, by {math.sqrt(by_position):.2g} in another position"
    few, many = WORD_TO_POSITION_EFFECT_BOUNDS
    return kept_finding(seen) if few <= by_word / by_position <= many else warned_finding(seen)


@law("module", reads_source=True)
def positions_are_added_to_both_sides_or_neither(subject: Subject) -> Finding:
    """Positions are added on both sides, or on neither (§3.5).

    Means: positions are added on one side alone; a causal mask tells a decoder of order,
    faintly, so that it learns all the same, and worse
    Look: where positions are added to the embeddings, on both sides
    """
    vocab_size = min(subject.adapter.src_vocab_size, subject.adapter.tgt_vocab_size)
    words = subject.draw_ids(vocab_size, 1, 4)
    src, tgt_in = (words[0, :, None].expand(4, length) for length in (SRC_LEN, TGT_LEN))
    moves = [_squared_word_and_position_effects(subject, src, tgt_in, ids) for ids in (src, tgt_in)]
    if not all(by_word for by_word, _ in moves):
        return not_tried_finding("words make no difference to what the first layer reads")
    source, target = (by_position > 1e-9 * by_word for by_word, by_position in moves)
    if source != target:
        side = "source" if source else "target"
        return broken_finding(f"only the {side} has positions in what the first layer reads")
    sides = "both sides have" if source else "neither side has"
    return kept_finding(f"{sides} positions in what the first layer reads")


def _squared_word_and_position_effects(
    subject: Subject, src: Tensor, tgt_in: Tensor, ids: Tensor
) -> tuple[float, float]:
    """Return how far another word, and another position, move a first layer's input, squared."""
    hidden = _record_first_layer_input(subject, src, tgt_in, ids)
    return 2 * float(hidden.var(dim=0).mean()), 2 * float(hidden.var(dim=1).mean())


def _record_first_layer_input(subject: Subject, src: Tensor, tgt_in: Tensor, ids: Tensor) -> Tensor:
    """Return the input of the first layer after the embeddings of `ids`, (batch, length, width)."""
    inputs_seen: list[Tensor] = []

    def record(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        hidden = inputs[0].detach() if inputs and isinstance(inputs[0], Tensor) else ids
        if hidden.dim() == 3 and hidden.is_floating_point():
            for batch_first in (hidden, hidden.transpose(0, 1)):
                if batch_first.shape[:2] == ids.shape:
                    inputs_seen.append(batch_first)

    kinds = (nn.Linear, nn.MultiheadAttention)
    layers = [
        part
        for part in subject.module.modules()
        if isinstance(part, kinds)
        or "norm" in type(part).__name__.lower()
        or _has_vectors_alone(part)
    ]
    with hooks_removed_afterwards(layer.register_forward_pre_hook(record) for layer in layers):
        # With gradients, since without them torch's own layers run without calling their parts.
        subject.adapter.forward(src, tgt_in)
    if not inputs_seen:
        raise NotObservedError("no nn.Linear, norm or attention of torch reads the words")
    return inputs_seen[0]
