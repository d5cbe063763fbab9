"""Everything that may be seen is seen, and in its place (§3.5, §4)."""

from collections import defaultdict

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law, needed
from attention_laws.laws.parameters import batch
from attention_laws.report import Finding, broken, kept, not_tried
from attention_laws.untouched import hooked
from attention_laws.watch import WHOLE, watching

LENGTH = 6
SRC_LEN, TGT_LEN = 7, 5
SILENT = 1e-4  # share of the typical effect below which a place is said to have none


@law(
    says="Each source token changes the logits at every target position.",
    means="cross-attention hides places that it should not (a mask inverted or of the wrong "
    "shape), reads another layer's or no memory, or its result is thrown away",
    look="at what cross-attention is given as memory and mask, and what is done with its result",
)
def source_reaches(subject: Subject) -> Finding:
    """Change each source token in turn; the logits at every position must move."""
    src, tgt_in = subject.src(1, LENGTH), subject.tgt_in(1, LENGTH - 1)
    effects = _effects(subject, src, tgt_in, src, range(LENGTH - 1))
    return _judged(effects, torch.ones_like(effects, dtype=torch.bool), src, "source")


@law(
    says="Each target token changes the logits at its own position and at all after it.",
    means="the causal mask hides too much, or the decoder's self-attention is thrown away or "
    "gives its own input back",
    look="at the decoder's mask, and at what each residual connection adds",
)
def target_reaches(subject: Subject) -> Finding:
    """Change each target token in turn; the logits at it and after it must move."""
    src, tgt_in = subject.src(1, LENGTH), subject.tgt_in(1, LENGTH)
    effects = _effects(subject, src, tgt_in, tgt_in, range(1, LENGTH))
    places = torch.arange(1, LENGTH)[:, None]
    return _judged(effects, torch.arange(LENGTH) >= places, tgt_in[:, 1:], "target")


def _effects(subject: Subject, src: Tensor, tgt_in: Tensor, ids: Tensor, places: range) -> Tensor:
    """Give how far the logits at each position move, (changed places, tgt_len)."""
    logits = subject.logits(src, tgt_in)
    effects = []
    for place in places:
        other = subject.changed(ids, place)
        given = (other, tgt_in) if ids is src else (src, other)
        effects.append((subject.logits(*given) - logits)[0].abs().amax(dim=-1))
    return torch.stack(effects)


def _judged(effects: Tensor, wanted: Tensor, ids: Tensor, side: str) -> Finding:
    """Find a place that does not reach a position it should."""
    silent = wanted & (effects <= SILENT * effects[wanted].median())
    if not effects[wanted].any():
        return broken(f"{side} {ids[0].tolist()}: no token of it changes any logits")
    if silent.any():
        place, at = silent.nonzero()[0].tolist()
        return broken(
            f"{side} {ids[0].tolist()}: another token in place of {int(ids[0, place])} does not "
            f"change the logits at target position {at}"
        )
    return kept(
        f"each {side} token changes the logits wherever it may, by "
        f"{float(effects[wanted].min()):.2g} to {float(effects.max()):.2g}"
    )


@law(
    says="Tokens in another order give other logits.",
    means="positions are missing, or the same for all: never added, or indexed by the batch",
    look="where positions are added to the embeddings, on both sides",
)
def order_matters(subject: Subject) -> Finding:
    """Exchange two source tokens, and two target tokens."""
    with subject.in_float64():  # fresh positions may be faint
        src, tgt_in = subject.src(1, LENGTH), subject.tgt_in(1, LENGTH)
        logits = subject.logits(src, tgt_in)
        exchanged = src[:, [1, 0, *range(2, LENGTH)]]
        if not subject.differ(subject.logits(exchanged, tgt_in), logits):
            return broken(f"src {src[0].tolist()} and {exchanged[0].tolist()} give equal logits")
        exchanged = tgt_in[:, [0, 2, 1, *range(3, LENGTH)]]
        if not subject.differ(subject.logits(src, exchanged)[:, 3:], logits[:, 3:]):
            return broken(
                f"tgt_in {tgt_in[0].tolist()} and {exchanged[0].tolist()} give equal logits after "
                "what was exchanged"
            )
        return kept("two tokens exchanged, of the source and of the target: the logits move")


@law(
    says="What is read of a source token depends on the tokens around it (§3.1).",
    means="the encoder's layers never run: they are kept in a generator, which is empty after the "
    "first pass, or skipped; or its self-attention gives each place its own value back",
    look="at how the encoder's layers are kept, and at the loop over them",
)
def source_reads_itself(subject: Subject) -> Finding:
    """Change a source token; look whether a map reads something else at another of its places."""
    src, tgt_in, place = subject.src(1, SRC_LEN), subject.tgt_in(1, TGT_LEN), 2
    read = [_of_the_source(subject, each, tgt_in) for each in (src, subject.changed(src, place))]
    if not read[0] or [each.shape for each in read[0]] != [each.shape for each in read[1]]:
        return not_tried("no map of the source's places was seen")
    others = [each for each in range(SRC_LEN) if each != place]
    for one, other in zip(*read, strict=True):
        axis = one.shape.index(SRC_LEN)
        if not torch.equal(
            *(each.index_select(axis, torch.tensor(others)) for each in (one, other))
        ):
            return kept(f"another token at place {place} changes what maps read at others")
    where = f"src {src[0].tolist()}: another token at place {place}"
    return broken(f"{where} changes what {len(read[0])} maps read there alone")


def _of_the_source(subject: Subject, src: Tensor, tgt_in: Tensor) -> list[Tensor]:
    """Give what linear maps and attentions of torch read at the source's places."""
    with watching() as calls:
        subject.logits(src, tgt_in)
    given = [arg for call in calls if call.name in ("linear", WHOLE) for arg in call.args[:2]]
    return [each for each in given if isinstance(each, Tensor) and SRC_LEN in each.shape[:-1]]


@law(
    says="In a step the decoder reads tgt_in, not what it is to say.",
    means="the decoder is fed its own target: it learns to copy, and knows nothing in translation",
    look="at what `train_step` gives to the model: [:-1], or [1:]?",
    needs=("module", "train_step"),
    compares=False,
)
def reads_what_came_before(subject: Subject) -> Finding:
    """Note what the target's embedding reads in a pass, and in a step."""
    src, tgt_in, tgt_out = batch(subject)
    read: dict[nn.Module, list[Tensor]] = defaultdict(list)

    def note(table: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        read[table].extend(each for each in inputs[:1] if isinstance(each, Tensor))

    def reads(table: nn.Module, ids: Tensor) -> bool:
        return any(torch.equal(each, ids) or torch.equal(each, ids.T) for each in read[table])

    tables = [each for each in subject.module.modules() if isinstance(each, nn.Embedding)]
    with hooked(each.register_forward_pre_hook(note) for each in tables):
        subject.logits(src, tgt_in)
        own = [each for each in tables if reads(each, tgt_in)]
        read.clear()
        try:
            needed(subject.adapter.train_step)(src, tgt_in, tgt_out)
        except IndexError as error:
            return broken(f"a step raises {error}, where forward reads the same batch")
    if not own or not read[own[0]]:
        return not_tried("no nn.Embedding reads tgt_in as it is")
    if reads(own[0], tgt_in):
        return kept(f"the decoder reads tgt_in, {tgt_in[0].tolist()}")
    for name, ids in (("tgt_out, its own target", tgt_out), ("the source", src)):
        if reads(own[0], ids):
            return broken(f"the decoder reads {name}, {ids[0].tolist()}")
    return not_tried("in a step the target's nn.Embedding reads other ids than in a pass")


LAWS = (source_reaches, target_reaches, order_matters, source_reads_itself, reads_what_came_before)
