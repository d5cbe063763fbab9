"""Exercises of lesson 10 that need no PyTorch: minimal pairs kept."""

from typing import Any

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

PhenomenonResultRows = list[dict[str, Any]]
lesson_wording = read_lesson_wording("10")


def my_minimal_pairs_kept(sentences: PhenomenonResultRows, phenomenon: str) -> int:
    """Count the pairs of a phenomenon of which both sides are kept."""
    own = [row for row in sentences if row["phenomenon"] == phenomenon]
    kept = [row["kept"] for row in own]
    pairs = zip(kept[::2], kept[1::2], strict=True)
    return sum(one and other for one, other in pairs)


def _minimal_pairs_kept_cases() -> list[tuple[PhenomenonResultRows, str]]:

    def rows(phenomenon: str, kept: list[bool]) -> PhenomenonResultRows:
        return [{"phenomenon": phenomenon, "kept": each} for each in kept]

    cases: list[tuple[PhenomenonResultRows, str]] = [([], "gender")]
    for pairs in (1, 2, 3):
        for number in range(4**pairs):
            kept = [bool(number >> place & 1) for place in range(2 * pairs)]
            cases.append((rows("gender", kept), "gender"))
    two = rows("negation", [True, False]) + rows("gender", [True, True])
    return [*cases, (two, "gender"), (two, "negation"), (two, "number")]


def _expected_kept_pair_count(sentences: PhenomenonResultRows, phenomenon: str) -> int:
    """Add up the smaller of the two sides of each pair, as numbers."""
    sides = [int(row["kept"]) for row in sentences if row["phenomenon"] == phenomenon]
    return sum(min(sides[place : place + 2]) for place in range(0, len(sides), 2))


_BOTH_TRANSLATIONS_KEEP_PHENOMENON = [{"phenomenon": "gender", "kept": True}] * 2
_MINIMAL_PAIR_ONE_RIGHT = [
    {"phenomenon": "gender", "kept": True},
    {"phenomenon": "gender", "kept": False},
]
minimal_pairs_kept = Exercise(
    my_minimal_pairs_kept,
    lesson_wording,
    worked=[
        ((_BOTH_TRANSLATIONS_KEEP_PHENOMENON, "gender"), 1),
        ((_MINIMAL_PAIR_ONE_RIGHT, "gender"), 0),
        ((_BOTH_TRANSLATIONS_KEEP_PHENOMENON + _MINIMAL_PAIR_ONE_RIGHT, "gender"), 1),
    ],
    cases=_minimal_pairs_kept_cases(),
    expected=_expected_kept_pair_count,
)
