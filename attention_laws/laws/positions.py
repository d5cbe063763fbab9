"""The table of sinusoids is the paper's (§3.5)."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from attention_laws.law import law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 55
# The allowed difference, and how much it grows with each position, as an angle's rounding does.
TOLERANCE, TOLERANCE_PER_POSITION = 2e-5, 1e-6
MAX_UNIT_CIRCLE_GAP = 1e-3  # in 16 bits too; of a sine and a cosine, squared and added


@law("module", compares=False)
def sinusoids_match_paper(subject: Subject) -> Finding:
    """A table of sinusoids is that of §3.5: sin and cos of position / 10000^(2i / d_model).

    Means: an exponent counts i twice, sines replace cosines, a base or a position is off
    Look: at the line that computes the angles: write the first two rows by hand
    """
    seen = []
    for name, table, rounding in _find_sinusoid_like_tables(subject.module):
        width = table.shape[1]
        allowed = rounding + TOLERANCE + TOLERANCE_PER_POSITION * torch.arange(len(table))[:, None]
        # A row of zeros is that of padding, as fairseq has it.
        allowed[table.abs().sum(dim=1) == 0] = torch.inf
        gaps = {
            order: (table - right).abs() for order, right in _yield_correct_sinusoid_tables(table)
        }
        nearest = min(gaps, key=lambda order: float(gaps[order].max()))
        excess = gaps[nearest] / allowed
        if float(excess.max()) > 1:
            gap, component = float(gaps[nearest].max()), int(excess.amax(dim=0).argmax())
            begins = f"{name} begins like sinusoids of {width} components"
            where = f"most in component {component}"
            return broken_finding(f"{begins}, and is {gap:.2g} away from §3.5's, {where}")
        seen.append(f"{name} is §3.5's, {nearest}")
    return (
        kept_finding("; ".join(seen))
        if seen
        else not_tried_finding("no table looks like sinusoids")
    )


def _find_sinusoid_like_tables(module: nn.Module) -> Iterator[tuple[str, Tensor, float]]:
    """Yield tables (positions, width) that begin like sinusoids, each with name and rounding.

    Those of rotary positions are left out: one of cosines and one of sines, of the same angles.
    """
    known: set[int] = set()
    for prefix, part in module.named_modules():
        tensors = {**dict(part.named_buffers(recurse=False)), **vars(part)}
        for name, weight in part.named_parameters(recurse=False):
            if not weight.requires_grad:
                tensors[name] = weight
        tables = {
            name: value.detach().squeeze().float()
            for name, value in tensors.items()
            if isinstance(value, Tensor) and value.is_floating_point() and id(value) not in known
        }
        known |= {id(value) for value in tensors.values()}
        for name, table in tables.items():
            if _begins_like_sinusoids(table) and not _has_counterpart(table, tables.values()):
                rounding = torch.finfo(tensors[name].dtype).eps
                yield f"{prefix}.{name}".strip("."), table, rounding


def _has_counterpart(table: Tensor, tables: Iterable[Tensor]) -> bool:
    """Return whether one of the tables holds the sines of a table's cosines, or the reverse."""
    return any(
        table.shape == other.shape
        and bool((table.square() + other.square() - 1).abs().max() < MAX_UNIT_CIRCLE_GAP)
        for other in tables
    )


def _begins_like_sinusoids(table: Tensor) -> bool:
    """Return whether a table begins with sin or cos of position, or with a row of 0s and 1s."""
    if table.dim() != 2 or len(table) < 8 or table.shape[1] < 4 or table.shape[1] % 2:
        return False
    zeros, ones = int((table[0] == 0).sum()), int((table[0] == 1).sum())
    half_zeros_half_ones = zeros == ones == table.shape[1] // 2
    if half_zeros_half_ones and bool((table.abs() <= 1).all()):
        return True
    positions = torch.arange(1, 6)
    waves = torch.stack((positions.sin(), positions.cos()))
    gaps = (table[1:6, :2].T[:, None] - waves).abs().amax(dim=-1)
    return float(gaps.min()) < 1e-3


def _yield_correct_sinusoid_tables(table: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield the right tables of this size: §3.5's, and in tensor2tensor's order of components."""
    positions, width = torch.arange(len(table), dtype=torch.float64)[:, None], table.shape[1]
    for divisor in (width, width - 2):
        exponents = torch.arange(0, width, 2, dtype=torch.float64) / divisor
        waves = positions / 10000**exponents
        interleaved = torch.stack((waves.sin(), waves.cos()), dim=2)
        suffix = "" if divisor == width else ", as tensor2tensor divides"
        yield f"sin and cos alternating{suffix}", interleaved.flatten(1).float()
        concatenated = torch.cat((waves.sin(), waves.cos()), dim=1)
        yield f"sines, then cosines{suffix}", concatenated.float()
