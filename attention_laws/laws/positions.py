"""A table that looks like sinusoids is the paper's (§3.5)."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law
from attention_laws.report import Finding, broken, kept, not_tried

CLOSE, CLOSE_AT_A_PLACE = 2e-5, 1e-6  # rounding of an angle grows with its place


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
        allowed[table.abs().sum(dim=1) == 0] = torch.inf  # that of padding, as fairseq has it
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


LAWS = (sinusoids_of_paper,)
