"""Frequencies of rotary positions: angles that grow with positions, slower from pair to pair.

Not in the paper: RoFormer (Su et al., 2021), https://arxiv.org/abs/2104.09864.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_laws.law import assert_not_none, law
from attention_laws.laws.distances import number_of_product_of_words, self_attentions_by_side
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.rotary_turns import MIN_TURN, turns_by_pair
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 56
NUM_POSITIONS = 8  # that are looked at
MAX_GAP = 1e-3  # of a sine, a cosine, or a ratio of frequencies
MAX_BASE = 1e10  # models for the longest contexts have some 1e7
MAX_RELATIVE_BASE_ERROR = 0.02
MIN_FREQUENCY_OF_BASE = 1e-4  # radians a position; below it a measured one is not exact
NOT_SEEN_REASON = "no rotary table was found, and no queries that positions turn"


class _Frequencies(NamedTuple):
    """Angles by which pairs turn a position, (pairs,), and where they were seen."""

    name: str
    by_pair: Tensor | None  # None if angles do not grow evenly with positions
    # Of a head; the slowest, and those that are not turned, are not among the frequencies.
    num_pairs: int = 0


@law("module")
def rotary_frequencies_fall_from_one(subject: Subject) -> Finding:
    """Rotary positions turn the first pair fastest, and each later one more slowly.

    Means: the exponent of the frequencies is wrong: it does not begin at 0, is not divided by the
    width, is the same for all pairs, or is no exponent
    Look: at the line that computes the frequencies: print the first four
    How: In tables of cosines and sines; without a table, in queries of one word at each position.
    """
    seen = []
    for name, frequencies, _ in _rotary_frequencies(subject):
        if frequencies is None:
            return broken_finding(f"{name}: the angles do not grow evenly with positions")
        shown = ", ".join(f"{frequency:.3g}" for frequency in frequencies[:4].tolist())
        fault = _describe_fault_of_frequencies(frequencies)
        if fault:
            return broken_finding(f"{name} turns pairs by {shown} a position: {fault}")
        seen.append(f"{name}: {len(frequencies)} frequencies from {float(frequencies[0]):.3g} down")
    return kept_finding("; ".join(seen)) if seen else not_tried_finding(NOT_SEEN_REASON)


@law("module", "rotary_base")
def rotary_base_is_as_told(subject: Subject) -> Finding:
    """The frequencies of rotary positions are powers of the base that was told.

    Means: the base is another, or is a number written out where a setting was meant
    Look: at the base in the line that computes the frequencies
    How: Of queries it is not seen how many pairs are turned too slowly: any number may be. The
    slower pairs may be slowed further for long contexts, as in Llama 3: the first two tell as well.
    """
    told = float(assert_not_none(subject.adapter.rotary_base))
    bases = []
    for name, frequencies, num_pairs in _rotary_frequencies(subject):
        if frequencies is None:
            continue
        turning = frequencies[frequencies > MIN_FREQUENCY_OF_BASE]
        if len(turning) < 2:
            continue
        counts = range(len(frequencies), max(num_pairs, len(frequencies)) + 1)
        possible = [
            float(turning[0] / turning[pair]) ** (count / pair)
            for pair in (len(turning) - 1, 1)
            for count in counts
        ]
        base = min(possible, key=lambda base: abs(math.log(base / told)))
        bases.append(base)
        if abs(base / told - 1) > MAX_RELATIVE_BASE_ERROR:
            return broken_finding(f"{name} has a base of {base:.6g}, and {told:.6g} is told")
    return (
        kept_finding(f"a base of {bases[0]:.6g}") if bases else not_tried_finding(NOT_SEEN_REASON)
    )


def _rotary_frequencies(subject: Subject) -> list[_Frequencies]:
    """Return the frequencies of each table, or if there is none, of the queries of each side."""
    in_tables = [
        _Frequencies(name, _frequencies_by_pair(cos, sin))
        for name, cos, sin in _find_rotary_tables(subject.module)
    ]
    if in_tables:
        return in_tables
    found = []
    with subject.computing_in_float64():
        for side, attentions in self_attentions_by_side(subject).items():
            for attention in attentions:
                number = number_of_product_of_words(attention)
                if number is None:
                    continue
                turns = turns_by_pair(attention.first.multiplied[number][0])
                if turns is not None:
                    # The others belong to no rotation where a part of a head is turned.
                    name, turning = f"the first rotation of the {side}", turns[turns > MIN_TURN]
                    found.append(_Frequencies(name, turning, num_pairs=len(turns)))
                    break
    return found


def _describe_fault_of_frequencies(frequencies: Tensor) -> str:
    """Return what is wrong with frequencies, (pairs,), in words; an empty string if nothing is.

    Some pairs that never turn are sound, as in p-RoPE (Barbero et al., 2024).
    """
    idle = int((frequencies == 0).sum())
    turning = frequencies[frequencies > 0]
    if len(turning) == 1 and idle > 1:
        return f"{idle} of {len(frequencies)} never turn"
    if len(turning) > 1 and float(turning.max()) <= (1 + MAX_GAP) * float(turning.min()):
        return "all of them turn alike"
    # Slow turns are not measured as exactly as they are computed.
    fast = turning.clamp(min=MIN_FREQUENCY_OF_BASE)
    if bool((fast[1:] > fast[:-1] * (1 + MAX_GAP)).any()) or bool(
        (frequencies[1:] > 0).logical_and(frequencies[:-1] == 0).any()
    ):
        return "a later pair turns faster than one before it"
    if _exponents_begin_late(frequencies[frequencies > MIN_FREQUENCY_OF_BASE]):
        return "the exponents do not begin at 0"
    if len(turning) > 1:
        base = (float(turning[0]) / float(turning[1])) ** len(frequencies)
        if base > MAX_BASE:
            return f"as with a base of {base:.2g}"
    return ""


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
