"""Everything that may be seen is seen, and in its place (§3.5, §4)."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law
from attention_laws.report import Finding, broken, kept, not_tried

LENGTH = 6
CLOSE, CLOSE_AT_A_PLACE = 2e-5, 1e-6  # of sinusoids: rounding of an angle grows with its place
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
    says="A table of sinusoids is that of §3.5: sin and cos of place / 10000^(2i / d_model).",
    means="an exponent counts i twice, sines stand where cosines should, a base or a place is off",
    look="at the line that computes the angles: write the first two rows by hand",
    needs=("module",),
    compares=False,
)
def sinusoids_of_paper(subject: Subject) -> Finding:
    """Compare each buffer whose first columns are waves with the formula."""
    seen = []
    for name, table in _tables(subject.module):
        width = table.shape[1]
        allowed = CLOSE + CLOSE_AT_A_PLACE * torch.arange(len(table))[:, None]
        gaps = {how: (table - sound).abs() / allowed for how, sound in _sound(table)}
        apart = {how: float((table - sound).abs().max()) for how, sound in _sound(table)}
        how = min(apart, key=apart.__getitem__)
        if float(gaps[how].max()) <= 1:
            seen.append(f"{name} is §3.5's, {how}")
            continue
        return broken(
            f"{name} begins like sinusoids of {width} components, and is {apart[how]:.2g} away "
            f"from §3.5's, most in component {int(gaps[how].amax(dim=0).argmax())}"
        )
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
            table = value.detach().squeeze().float()
            if table.dim() != 2 or len(table) < 8 or table.shape[1] < 4 or table.shape[1] % 2:
                continue
            places = torch.arange(1, 6)
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


LAWS = (source_reaches, target_reaches, order_matters, sinusoids_of_paper)
