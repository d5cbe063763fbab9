"""Everything that may be seen is seen, and in its place (§3.5, §4)."""

from collections import defaultdict
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law, needed
from attention_laws.laws.parameters import batch
from attention_laws.report import Finding, broken, kept, not_tried
from attention_laws.untouched import hooked
from attention_laws.watch import WHOLE

LENGTH = 6
SRC_LEN, TGT_LEN = 7, 5
CLOSE, CLOSE_AT_A_PLACE = 2e-5, 1e-6  # rounding of an angle grows with its place
SILENT = 1e-4  # share of the typical effect below which a place is said to have none


@law()
def logits_depend_on_all_source_tokens(subject: Subject) -> Finding:
    """Each source token changes the logits at every target position.

    Means: cross-attention hides places that it should not (a mask inverted or of the wrong
    shape), reads another layer's or no memory, or its result is thrown away
    Look: at what cross-attention is given as memory and mask, and what is done with its result
    """
    src, tgt_in = subject.src(1, LENGTH), subject.tgt_in(1, LENGTH - 1)
    effects = _effects(subject, src, tgt_in, src, range(LENGTH - 1))
    return _judged(effects, torch.ones_like(effects, dtype=torch.bool), src, "source")


@law()
def logits_depend_on_all_previous_tokens(subject: Subject) -> Finding:
    """Each target token changes the logits at its own position and at all after it.

    Means: the causal mask hides too much, or self-attention is thrown away or gives its input back
    Look: at the decoder's mask, and at what each residual connection adds
    """
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
        return broken("no token of it changes any logits", **{side: ids[0]})
    if silent.any():
        place, at = silent.nonzero()[0].tolist()
        what = f"another token in place of {int(ids[0, place])} does not change the logits"
        return broken(f"{what} at target position {at}", **{side: ids[0]})
    by = f"{float(effects[wanted].min()):.2g} to {float(effects.max()):.2g}"
    return kept(f"each {side} token changes the logits wherever it may, by {by}")


@law()
def token_order_matters(subject: Subject) -> Finding:
    """Tokens in another order give other logits.

    Means: positions are missing, or the same for all: never added, or indexed by the batch
    Look: where positions are added to the embeddings, on both sides
    """
    with subject.in_float64():  # fresh positions may be faint
        src, tgt_in = subject.src(1, LENGTH), subject.tgt_in(1, LENGTH)
        logits = subject.logits(src, tgt_in)
        exchanged = src[:, [1, 0, *range(2, LENGTH)]]
        if not subject.differ(subject.logits(exchanged, tgt_in), logits):
            return broken(f"src {src[0].tolist()} and {exchanged[0].tolist()} give equal logits")
        exchanged = tgt_in[:, [0, 2, 1, *range(3, LENGTH)]]
        if not subject.differ(subject.logits(src, exchanged)[:, 3:], logits[:, 3:]):
            said = f"{exchanged[0].tolist()} gives equal logits after what was exchanged"
            return broken(said, tgt_in=tgt_in[0])
        return kept("two tokens exchanged, of the source and of the target: the logits move")


@law()
def encoder_is_contextual(subject: Subject) -> Finding:
    """What is read of a source token depends on the tokens around it (§3.1).

    Means: the encoder's layers never run: they are kept in a generator, which is empty after
    the first pass, or skipped; or its self-attention gives each place its own value back
    Look: at how the encoder's layers are kept, and at the loop over them
    """
    src, tgt_in, place = subject.src(1, SRC_LEN), subject.tgt_in(1, TGT_LEN), 2
    read = [_of_the_source(subject, each, tgt_in) for each in (src, subject.changed(src, place))]
    if not read[0] or [each.shape for each in read[0]] != [each.shape for each in read[1]]:
        return not_tried("no map of the source's places was seen")
    for one, other in zip(*read, strict=True):
        there = (one.shape.index(SRC_LEN), torch.tensor(place), 0)
        if not torch.equal(one.index_fill(*there), other.index_fill(*there)):
            return kept(f"another token at place {place} changes what maps read at others")
    said = f"another token at place {place} changes what {len(read[0])} maps read there alone"
    return broken(said, src=src[0])


def _of_the_source(subject: Subject, src: Tensor, tgt_in: Tensor) -> list[Tensor]:
    """Give what linear maps and attentions of torch read at the source's places."""
    calls = subject.calls(src, tgt_in)
    given = [arg for call in calls if call.name in ("linear", WHOLE) for arg in call.args[:2]]
    return [each for each in given if isinstance(each, Tensor) and SRC_LEN in each.shape[:-1]]


@law("module", "train_step", compares=False)
def decoder_reads_tgt_in(subject: Subject) -> Finding:
    """In a step the decoder reads tgt_in, not what it is to say.

    Means: the decoder is fed its own target: it learns to copy, and cannot translate
    Look: at what `train_step` gives to the model: [:-1], or [1:]?
    """
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


@law("module", compares=False)
def sinusoids_match_paper(subject: Subject) -> Finding:
    """A table of sinusoids is that of §3.5: sin and cos of place / 10000^(2i / d_model).

    Means: an exponent counts i twice, sines stand for cosines, a base or a place is off
    Look: at the line that computes the angles: write the first two rows by hand
    """
    seen = []
    for name, table in _tables(subject.module):
        width = table.shape[1]
        allowed = CLOSE + CLOSE_AT_A_PLACE * torch.arange(len(table))[:, None]
        allowed[table.abs().sum(dim=1) == 0] = torch.inf  # that of padding, as fairseq has it
        gaps = {how: (table - sound).abs() / allowed for how, sound in _sound(table)}
        apart = {how: float((table - sound).abs().max()) for how, sound in _sound(table)}
        how = min(apart, key=apart.__getitem__)
        if float(gaps[how].max()) > 1:
            most = f"most in component {int(gaps[how].amax(dim=0).argmax())}"
            said = f"begins like sinusoids of {width} components, and is {apart[how]:.2g} away"
            return broken(f"{name} {said} from §3.5's, {most}")
        seen.append(f"{name} is §3.5's, {how}")
    return kept("; ".join(seen)) if seen else not_tried("no table looks like sinusoids")


def _tables(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Give tables (places, width) that begin with sin or cos(place), or with a row 0, 1, 0, 1."""
    known: set[int] = set()
    for prefix, each in module.named_modules():
        held = {**dict(each.named_buffers(recurse=False)), **vars(each)}
        held |= {n: p for n, p in each.named_parameters(recurse=False) if not p.requires_grad}
        for name, value in held.items():
            if not isinstance(value, Tensor) or not value.is_floating_point() or id(value) in known:
                continue
            known.add(id(value))
            table, places = value.detach().squeeze().float(), torch.arange(1, 6)
            if table.dim() != 2 or len(table) < 8 or table.shape[1] < 4 or table.shape[1] % 2:
                continue
            waves = torch.stack((places.sin(), places.cos()))
            apart = (table[1:6, :2].T[:, None] - waves).abs().amax(dim=-1)
            zeros, ones = (int((table[0] == each).sum()) for each in (0, 1))
            begins = zeros == ones == table.shape[1] // 2 and bool((table.abs() <= 1).all())
            if begins or float(apart.min()) < 1e-3:
                yield f"{prefix}.{name}".strip("."), table


def _sound(table: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Give the tables that are right: §3.5's, and the order of components of tensor2tensor."""
    places, width = torch.arange(len(table), dtype=torch.float64)[:, None], table.shape[1]
    for divisor in (width, width - 2):
        exponents = torch.arange(0, width, 2, dtype=torch.float64) / divisor
        waves = places / 10000**exponents
        both = torch.stack((waves.sin(), waves.cos()), dim=2)
        suffix = "" if divisor == width else ", as tensor2tensor divides"
        yield f"sin and cos alternating{suffix}", both.flatten(1).float()
        yield f"sines, then cosines{suffix}", torch.cat((waves.sin(), waves.cos()), dim=1).float()
