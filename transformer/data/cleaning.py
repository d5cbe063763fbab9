"""Which pairs of a user's own text are dropped before training, counted by reason.

Not in the paper. Lengths are in bytes of UTF-8, which compare between scripts better than letters:
a Chinese character has three, and says about as much as an English syllable or two.
"""

from collections import Counter
from collections.abc import Sequence

from transformer.data.grouping import Pair, grouping_key
from transformer.data.normalizers import normalize_plain
from transformer.data.scripts import expected_scripts, may_be_in_scripts
from transformer.support.progress import with_progress

MAX_SIDE_BYTES = 1000
MAX_LENGTH_RATIO = 6  # of the longer side to the shorter
# A side of fewer bytes counts as one of so many: "OK" may have a long translation.
SHORTER_SIDE_FLOOR_BYTES = 10

EMPTY_SIDE = "an empty side"
TOO_LONG = f"a side over {MAX_SIDE_BYTES:,} bytes"
UNEQUAL_LENGTHS = f"one side over {MAX_LENGTH_RATIO} times as long as the other"
EQUAL_SIDES = "both sides equal"
OTHER_SCRIPT_REASON = "a side in another script"
DUPLICATE = "there already"
HELD_OUT_SIDE_REASON = "a side in validation or test"


def drop_reason(pair: Pair, scripts: Sequence[Sequence[str]]) -> str | None:
    """Return why a pair is not to be learned from, by its text alone; None where it is.

    `scripts` are those that each side may have, of an unknown language none.
    """
    if not all(pair):
        return EMPTY_SIDE
    shorter, longer = sorted(len(side.encode()) for side in pair)
    if longer > MAX_SIDE_BYTES:
        return TOO_LONG
    if longer > MAX_LENGTH_RATIO * max(shorter, SHORTER_SIDE_FLOOR_BYTES):
        return UNEQUAL_LENGTHS
    if pair[0] == pair[1]:
        return EQUAL_SIDES
    in_script = [
        not expected or may_be_in_scripts(side, expected)
        for side, expected in zip(pair, scripts, strict=True)
    ]
    return None if all(in_script) else OTHER_SCRIPT_REASON


def clean_pairs(
    pairs: Sequence[Pair], languages: tuple[str, str]
) -> tuple[list[Pair], Counter[str]]:
    """Return the pairs to learn from, normalized, and how many were dropped by reason.

    They keep their order; of equal pairs the first stays.
    """
    scripts = [expected_scripts(lang) for lang in languages]
    kept: dict[Pair, None] = {}
    dropped: Counter[str] = Counter()
    for first, second in with_progress(pairs, "cleaning", "pairs"):
        pair = normalize_plain(first), normalize_plain(second)
        reason = drop_reason(pair, scripts) or (DUPLICATE if pair in kept else None)
        if reason:
            dropped[reason] += 1
        else:
            kept[pair] = None
    return list(kept), dropped


def nonempty_pairs(pairs: Sequence[Pair]) -> tuple[list[Pair], Counter[str]]:
    """Return the pairs of a user's own test file without empty sides, and how many were dropped.

    The text is normalized. A test set is otherwise measured as it was given.
    """
    normalized = [(normalize_plain(first), normalize_plain(second)) for first, second in pairs]
    kept = [pair for pair in normalized if all(pair)]
    return kept, Counter({EMPTY_SIDE: len(pairs) - len(kept)})


def without_shared_sides(pairs: Sequence[Pair], held_out: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that share no side with one that is held out, up to case and punctuation."""
    if not held_out:
        return list(pairs)
    sides = [{grouping_key(pair[side]) for pair in held_out} for side in (0, 1)]
    return [
        pair
        for pair in with_progress(pairs, "comparing with what is held out", "pairs")
        if grouping_key(pair[0]) not in sides[0] and grouping_key(pair[1]) not in sides[1]
    ]
