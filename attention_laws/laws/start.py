"""How a model begins, before it has learned anything (not in the paper)."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor, nn

from attention_laws.errors import NothingSeenError
from attention_laws.law import Subject, law
from attention_laws.laws.weights import seen
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.untouched import hooked

SURE = 2.0  # nats above ln V
LARGE_SCORES = 2.5
WORDS_TO_POSITIONS = (0.5, 300.0)  # of squares
SRC_LEN, TGT_LEN = 11, 8  # unequal, so that a map's shape says what it is


def of_a_beginning(check: Callable[[Subject], Finding]) -> Callable[[Subject], Finding]:
    """Try a check where the model is fresh: the first step makes scales of norms unequal."""

    @wraps(check)
    def tried(subject: Subject) -> Finding:
        module, fresh = subject.adapter.module, subject.adapter.fresh
        parts = [] if module is None else module.modules()
        norms = [each for each in parts if "norm" in type(each).__name__.lower()]
        own = [p for each in norms for p in each.parameters(recurse=False)]
        scales = [each for each in own if each.dim() == 1 and len(each) > 1]
        if fresh is False:
            return not_tried("the adapter says that it is trained")
        if fresh is None and not scales:
            return not_tried("it has no norms to tell whether it is trained: say fresh=True if not")
        if fresh is None and not all(bool((each == each[0]).all()) for each in scales):
            return not_tried("it is about a fresh model, and this one's norms have learned")
        return check(subject)

    return tried


@law()
@of_a_beginning
def initial_loss_is_near_log_vocab_size(subject: Subject) -> Finding:
    """A fresh model's loss is near ln V: it prefers no token.

    Means: logits are too large at the start: embeddings that serve as output weights too and
    are drawn too large, a final norm that is missing, or a softmax taken twice
    Look: at how the embeddings and the output layer are drawn
    How: The sentence's own tokens are left out, since a model whose output weights are its
    embeddings begins by repeating what it reads.
    """
    src, tgt_in = subject.src(8, 3), subject.tgt_in(8, 3)
    logits = subject.logits(src, tgt_in)  # (8, 3, vocab_size)
    others = torch.ones(8, logits.shape[-1], dtype=torch.bool)
    others.scatter_(1, tgt_in, False)
    if subject.adapter.src_vocab_size == subject.adapter.tgt_vocab_size:
        others.scatter_(1, src, False)
    hidden = ~others[:, None, :]
    log_probs = logits.masked_fill(hidden, -torch.inf).log_softmax(dim=-1)
    even = others.sum(dim=-1, keepdim=True)  # (8, 1): tokens left
    losses = -log_probs.masked_fill(hidden, 0).sum(dim=-1) / even
    loss, target = float(losses.mean()), float(even.log().mean())
    seen = f"over {int(even.min())} tokens the loss is {loss:.2f}, ln of their number {target:.2f}"
    return warned(seen) if loss > target + SURE else kept(seen)


@law()
@of_a_beginning
def initial_scores_have_unit_scale(subject: Subject) -> Finding:
    """A fresh model's attention scores spread by about 1.

    Means: scores are not divided by the square root of d_k, or what attention reads is too
    large: the softmax begins saturated, and passes little gradient
    Look: at the line that divides the scores, and at how embeddings are drawn and scaled
    """
    src, tgt_in = subject.src(4, SRC_LEN), subject.tgt_in(4, TGT_LEN)
    with torch.no_grad():
        if subject.adapter.attention is not None:
            maps = dict(subject.adapter.attention(src, tgt_in))
        else:
            found = seen(subject, src, tgt_in)
            maps = {f"attention {i + 1}": each.weights for i, each in enumerate(found)}
    if not maps:
        return not_tried("the adapter has no attention, and no softmax over keys was seen")
    spreads = {name: _spread(weights) for name, weights in maps.items()}
    name = max(spreads, key=spreads.__getitem__)
    if spreads[name] > LARGE_SCORES:
        how = f"scores of one query have a standard deviation of {spreads[name]:.1f}"
        return warned(f"{name}: {how}")
    least, most = min(spreads.values()), spreads[name]
    return kept(f"scores of one query have a standard deviation of {least:.2f} to {most:.2f}")


def _spread(weights: Tensor) -> float:
    """Give the typical standard deviation of the scores behind weights (..., q_len, k_len)."""
    scores = weights.float().clamp(min=1e-30).log().flatten(end_dim=-3)
    queries, keys = scores.shape[-2:]
    causal = queries == keys == TGT_LEN
    rows = [scores[:, q, : q + 1 if causal else keys].std(dim=-1) for q in range(2, queries)]
    return float(torch.stack(rows).median())


@law("module")
@of_a_beginning
def embedding_and_position_scales_match(subject: Subject) -> Finding:
    """At the start words and positions are of like size.

    Means: embeddings are not multiplied by the square root of d_model, or drawn so small that
    the positions drown them; or so large that they drown the positions
    Look: at how embeddings are drawn, and at what is added to them
    """
    src = subject.src(1, 5)[0, :4, None].expand(4, SRC_LEN)  # four words, each again and again
    words, positions = _spreads(subject, src, subject.tgt_in(len(src), TGT_LEN), src)
    if positions == 0 or words == 0:
        return not_tried("the first layer reads words alone: no positions are added to them")
    said = f"what the first layer reads moves by {math.sqrt(words):.2g} a component with another "
    said += f"word, by {math.sqrt(positions):.2g} in another position"
    few, many = WORDS_TO_POSITIONS
    return kept(said) if few <= words / positions <= many else warned(said)


@law("module")
def positions_are_added_to_both_sides_or_neither(subject: Subject) -> Finding:
    """Both sides' words are told their places, or neither's (§3.5).

    Means: positions are added on one side alone; a causal mask tells a decoder of order,
    faintly, so that it learns all the same, and worse
    Look: where positions are added to the embeddings, on both sides
    """
    words = subject.ids(min(subject.adapter.src_vocab_size, subject.adapter.tgt_vocab_size), 1, 4)
    src, tgt_in = (words[0, :, None].expand(4, each) for each in (SRC_LEN, TGT_LEN))
    moves = [_spreads(subject, src, tgt_in, each) for each in (src, tgt_in)]
    if not all(of_words for of_words, _ in moves):
        return not_tried("words do not tell in what the first layer reads")
    told = [of_places > 1e-9 * of_words for of_words, of_places in moves]
    if told[0] != told[1]:
        return broken(f"the {'source' if told[0] else 'target'} alone has places in what is read")
    return kept(f"{'both sides' if told[0] else 'neither side'}: places are in what is read")


def _spreads(subject: Subject, src: Tensor, tgt_in: Tensor, ids: Tensor) -> tuple[float, float]:
    """Give how far another word, and another place, move what a first layer reads, squared."""
    hidden = _first_read(subject, src, tgt_in, ids)
    return 2 * float(hidden.var(dim=0).mean()), 2 * float(hidden.var(dim=1).mean())


def _first_read(subject: Subject, src: Tensor, tgt_in: Tensor, ids: Tensor) -> Tensor:
    """Give what the first layer after the embeddings of `ids` is given, (batch, length, width)."""
    seen: list[Tensor] = []

    def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        hidden = inputs[0].detach() if inputs else ids
        if hidden.dim() == 3 and hidden.is_floating_point():
            for each in (hidden, hidden.transpose(0, 1)):
                seen.extend([each] if each.shape[:2] == ids.shape else [])

    kinds = (nn.Linear, nn.MultiheadAttention)
    parts = subject.module.modules()
    layers = [x for x in parts if isinstance(x, kinds) or "norm" in type(x).__name__.lower()]
    with hooked(each.register_forward_pre_hook(note) for each in layers):
        # With gradients, since torch's own layers else run without calling their parts.
        subject.adapter.forward(src, tgt_in)
    if not seen:
        raise NothingSeenError("no nn.Linear, norm or attention of torch reads the words")
    return seen[0]


@law("module", compares=False)
@of_a_beginning
def layers_are_initialized_independently(subject: Subject) -> Finding:
    """Layers of one kind begin with weights of their own.

    Means: a layer was copied after its weights were drawn, and they were not drawn again
    Look: at copy.deepcopy, and at what initialises the whole model
    """
    stacks = 0
    for prefix, stack in subject.module.named_modules():
        if not isinstance(stack, nn.ModuleList | nn.Sequential):
            continue
        alike: dict[tuple[str, torch.Size], dict[str, Tensor]] = defaultdict(dict)
        for index, layer in stack.named_children():
            for name, weight in layer.named_parameters():
                if weight.dim() > 1 and not bool((weight == weight.flatten()[0]).all()):
                    alike[name, weight.shape][index] = weight
        stacks += any(len(each) > 1 for each in alike.values())
        for (name, _), weights in alike.items():
            for (one, first), (other, second) in itertools.combinations(weights.items(), 2):
                if first is not second and torch.equal(first, second):
                    layers = f"layers {one} and {other}"
                    return broken(f"{prefix}: {name} is number for number the same in {layers}")
    if not stacks:
        return not_tried("no nn.ModuleList or nn.Sequential holds two layers with equal shapes")
    return kept(f"in {stacks} stacks no two layers begin with the same matrix")
