"""Tables of rotary positions: angles that grow with positions, slower from pair to pair.

Not in the paper: RoFormer (Su et al., 2021), https://arxiv.org/abs/2104.09864.
"""

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from attention_laws.law import law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 56
NUM_POSITIONS = 8  # that are looked at
MAX_GAP = 1e-3  # of a sine, a cosine, or a ratio of frequencies
MAX_IDLE_SHARE = 0.5  # of pairs that never turn, as some models have on purpose


@law("module", compares=False)
def rotary_frequencies_fall_from_one(subject: Subject) -> Finding:
    """Rotary positions turn the first pair fastest, and each later one more slowly.

    Means: the exponent of the frequencies is wrong: it does not begin at 0, is not divided by the
    width, or is no exponent. Some pairs that never turn may be meant: accept it in a baseline
    Look: at the line that computes the frequencies: print the first four
    """
    seen = []
    for name, cos, sin in _find_rotary_tables(subject.module):
        frequencies = _frequencies_by_pair(cos, sin)
        if frequencies is None:
            return broken_finding(f"{name}: the angles do not grow evenly with positions")
        shown = ", ".join(f"{frequency:.3g}" for frequency in frequencies[:4].tolist())
        where = f"{name} turns pairs by {shown} a position"
        idle = int((frequencies == 0).sum())
        if idle > MAX_IDLE_SHARE * len(frequencies):
            return broken_finding(f"{where}: {idle} of {len(frequencies)} never turn")
        turning = frequencies[frequencies > 0]
        if bool((turning[1:] > turning[:-1] * (1 + MAX_GAP)).any()) or bool(
            (frequencies[1:] > 0).logical_and(frequencies[:-1] == 0).any()
        ):
            return broken_finding(f"{where}: a later pair turns faster than one before it")
        if _exponents_begin_late(turning):
            return broken_finding(f"{where}: the exponents do not begin at 0")
        seen.append(f"{name}: {len(frequencies)} frequencies from {float(frequencies[0]):.3g} down")
    return kept_finding("; ".join(seen)) if seen else not_tried_finding("no rotary table was found")


def _find_rotary_tables(module: nn.Module) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield tables of cosines and of sines of the same angles, (positions, pairs), with a name."""
    for prefix, part in module.named_modules():
        own = {**dict(part.named_buffers(recurse=False)), **vars(part)}
        tables = {
            name: value.detach().squeeze()
            for name, value in own.items()
            if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())
        }
        for name, table in tables.items():
            if table.is_complex() and _are_rotary(table.real.double(), table.imag.double()):
                yield f"{prefix}.{name}".strip("."), table.real.double(), table.imag.double()
        real = {name: table.double() for name, table in tables.items() if not table.is_complex()}
        for (one, cos), (other, sin) in itertools.permutations(real.items(), 2):
            if cos.shape == sin.shape and _are_rotary(cos, sin):
                yield f"{prefix}.{one} and {other}".strip("."), cos, sin


def _are_rotary(cos: Tensor, sin: Tensor) -> bool:
    """Return whether tables hold cosines and sines, and position 0 is not turned."""
    if cos.dim() != 2 or len(cos) < NUM_POSITIONS or cos.shape[1] < 2:
        return False
    on_circle = float((cos.square() + sin.square() - 1).abs().max()) < MAX_GAP
    return on_circle and bool((cos[0] == 1).all()) and bool((sin[0] == 0).all())


def _frequencies_by_pair(cos: Tensor, sin: Tensor) -> Tensor | None:
    """Return the angle of each pair at position 1; None if later angles are no multiples of it."""
    angles = torch.atan2(sin[1], cos[1])
    multiples = torch.arange(NUM_POSITIONS)[:, None] * angles
    gaps = (multiples.cos() - cos[:NUM_POSITIONS]).abs() + (
        multiples.sin() - sin[:NUM_POSITIONS]
    ).abs()
    if float(gaps.max()) > MAX_GAP:
        return None
    half = len(angles) // 2
    # Each angle may stand twice, for both components of a pair, in halves or side by side.
    if len(angles) == 2 * half and torch.equal(angles[:half], angles[half:]):
        angles = angles[:half]
    elif len(angles) == 2 * half and torch.equal(angles[0::2], angles[1::2]):
        angles = angles[0::2]
    return angles.abs()


def _exponents_begin_late(frequencies: Tensor) -> bool:
    """Return whether frequencies are a power law from its second, or odd, exponent on."""
    if len(frequencies) < 3:
        return False
    ratios = frequencies[1:] / frequencies[:-1]
    ratio = float(ratios[0])
    is_even = float((ratios / ratio - 1).abs().max()) <= MAX_GAP
    first = float(frequencies[0])
    return is_even and any(abs(first / ratio**power - 1) <= MAX_GAP for power in (0.5, 1.0))
