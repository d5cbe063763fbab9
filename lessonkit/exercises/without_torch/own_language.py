"""Exercises of lesson 20 that need no PyTorch: a filter, a split, placeholders kept, and masked."""

import itertools
import re
from collections import Counter, defaultdict, deque

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

SentencePair = tuple[str, str]
lesson_wording = read_lesson_wording("20")


def my_should_keep_pair(src: str, tgt: str, max_length: int, max_ratio: float) -> bool:
    """Return whether a pair is worth learning from."""
    src, tgt = src.strip(), tgt.strip()
    shorter, longer = sorted((len(src), len(tgt)))
    fits = longer <= max_length and longer <= max_ratio * shorter
    return fits and src != tgt


def _pair_has_no_fault(src: str, tgt: str, max_length: int, max_ratio: float) -> bool:
    """Look for one fault after another."""
    lengths = [len(" ".join(side.split(" ")).strip()) for side in (src, tgt)]
    faults = [
        0 in lengths,
        src.strip() == tgt.strip(),
        any(length > max_length for length in lengths),
        any(a > max_ratio * b for a, b in itertools.permutations(lengths)),
    ]
    return not any(faults)


should_keep_pair = Exercise(
    my_should_keep_pair,
    lesson_wording,
    worked=[
        (("ja", "oui", 3, 2), True),
        (("", "oui", 3, 2), False),
        (("OK", "OK", 3, 2), False),
        (("ja", "merci", 4, 3), False),
        (("a", "oui", 3, 2), False),
    ],
    cases=[
        ("", "", 3, 2),
        (" ", "a", 3, 2),
        ("a", " ", 3, 2),
        (" ", "  ", 3, 2),
        ("OK", "OK ", 3, 2),
        ("OK", "ok", 3, 2),
        ("aaa", "b", 3, 2),
        ("aaa", "b", 3, 3),
        ("b", "aaa", 3, 3),
        ("aaaa", "bb", 3, 2),
        ("bb", "aaaa", 3, 2),
        ("bb", "aaaa", 4, 2),
        ("aaaa", "bbbb", 3, 2),
        ("  ja", "oui", 3, 2),
        ("a        ", "ou", 4, 2),
        ("un chien dort", "ein Hund schläft", 16, 1.5),
        ("un chien dort", "ein Hund schläft", 15, 1.5),
        ("Rindfleisch", "bœuf", 40, 2.5),
    ],
    expected=_pair_has_no_fault,
)


def my_unseen_pairs(train: list[SentencePair], held_out: list[SentencePair]) -> list[SentencePair]:
    """Return the training pairs that share no side with what is held out."""
    sources = {src for src, _ in held_out}
    targets = {tgt for _, tgt in held_out}
    left = []
    for src, tgt in train:
        if src not in sources and tgt not in targets:
            left.append((src, tgt))
    return left


def _unseen_pairs_one_by_one(
    train: list[SentencePair], held_out: list[SentencePair]
) -> list[SentencePair]:
    """Compare each training pair with each that is held out."""
    left = list(train)
    for src, tgt in held_out:
        left = [pair for pair in left if pair[0] != src and pair[1] != tgt]
    return left


def _unseen_pairs_cases() -> list[tuple[list[SentencePair], list[SentencePair]]]:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z")]
    trains = [list(each) for n in (1, 2, 3) for each in itertools.combinations(pairs, n)]
    held_out = [list(each) for n in (1, 2) for each in itertools.combinations(pairs, n)]
    more = [([("x", "a"), ("d", "v"), ("d", "v"), ("c", "w")], [("a", "x"), ("b", "z")])]
    some = list(itertools.product(trains, held_out))[::4]
    return [*some, *more, ([("a", "x")], []), ([], [("a", "x")])]


unseen_pairs = Exercise(
    my_unseen_pairs,
    lesson_wording,
    worked=[
        (([("a", "x"), ("b", "y")], [("a", "z")]), [("b", "y")]),
        (([("a", "x"), ("b", "y")], [("c", "y")]), [("a", "x")]),
    ],
    cases=_unseen_pairs_cases(),
    expected=_unseen_pairs_one_by_one,
)


def my_placeholder_accuracy(asked: list[list[str]], found: list[list[str]]) -> float | None:
    """Return the per cent of sentences that keep just their placeholders."""
    both = zip(asked, found, strict=True)
    pairs = [(sorted(a), sorted(f)) for a, f in both if a]
    if not pairs:
        return None
    return 100 * sum(a == f for a, f in pairs) / len(pairs)


def _expected_placeholder_accuracy(asked: list[list[str]], found: list[list[str]]) -> float | None:
    """Compare how often each placeholder stands in source and translation."""
    wanted = [place for place, names in enumerate(asked) if len(names) > 0]
    if len(wanted) == 0:
        return None
    whole = [place for place in wanted if Counter(asked[place]) == Counter(found[place])]
    return len(whole) / len(wanted) * 100


placeholder_accuracy = Exercise(
    my_placeholder_accuracy,
    lesson_wording,
    worked=[
        (([["%s"]], [["%s"]]), 100.0),
        (([["%s"], ["%d"]], [["%s"], []]), 50.0),
        (([[]], [[]]), None),
    ],
    cases=[
        ([], []),
        ([["%s"]], [[]]),
        ([["%s"]], [["%d"]]),
        ([["%s"]], [["%s", "%d"]]),
        ([["%s"]], [["%s", "%s"]]),
        ([["%s", "%s"]], [["%s"]]),
        ([["%s", "%d"]], [["%d", "%s"]]),
        ([["%s"], []], [["%s"], []]),
        ([["%s"], []], [["%s"], ["%s"]]),
        ([["%s"], ["%s"], []], [["%s"], [], []]),
        ([[], []], [[], ["%s"]]),
        ([["{a}"], ["{b}"], ["{c}"], []], [["{a}"], ["{c}"], ["{b}"], []]),
        ([["%10", "%2"]], [["%20", "%1"]]),
        ([["%1", "%2"], ["%1", "%1"], [], ["%d"]], [["%2", "%1"], ["%1"], [], ["%d"]]),
    ],
    expected=_expected_placeholder_accuracy,
)


def my_mask_placeholders(source: str, translation: str, placeholders: list[str]) -> tuple[str, str]:
    """Put numbered marks in place of placeholders, on both sides."""
    numbered = list(enumerate(placeholders, start=1))
    # "%1" is part of "%10": the longest come first, equal ones in order.
    ordered = sorted(numbered, key=lambda each: -len(each[1]))
    for number, placeholder in ordered:
        source = source.replace(placeholder, f"<{number}>", 1)
        translation = translation.replace(placeholder, f"<{number}>", 1)
    return source, translation


def _mask_placeholders_by_scanning(
    source: str, translation: str, placeholders: list[str]
) -> tuple[str, str]:
    """Read each side once from left to right, the longest placeholder first where two fit."""
    longest_first = sorted(set(placeholders), key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def masked(text: str) -> str:
        numbers = defaultdict[str, deque[int]](deque)
        for number, placeholder in enumerate(placeholders, start=1):
            numbers[placeholder].append(number)
        return pattern.sub(
            lambda found: f"<{numbers[found[0]].popleft()}>" if numbers[found[0]] else found[0],
            text,
        )

    return masked(source), masked(translation)


mask_placeholders = Exercise(
    my_mask_placeholders,
    lesson_wording,
    worked=[
        (("%s: no", "%s : non", ["%s"]), ("<1>: no", "<1> : non")),
        (("%d of %s", "%s: %d", ["%d", "%s"]), ("<1> of <2>", "<2>: <1>")),
        (("%1 %10", "%10 %1", ["%1", "%10"]), ("<1> <2>", "<2> <1>")),
    ],
    cases=[
        ("yes", "oui", []),
        ("%s", "", ["%s"]),
        ("%s", "oui", ["%s"]),
        ("%s %s", "%s %s", ["%s", "%s"]),
        ("%s %s", "%s", ["%s", "%s"]),
        ("%s", "%s %s", ["%s"]),
        ("%2 %1", "%1 %2", ["%2", "%1"]),
        ("%10 %1", "%1 %10", ["%10", "%1"]),
        ("%l %ld", "%ld, %l", ["%l", "%ld"]),
        ("{a} {b} {a}", "{b} {a} {a}", ["{a}", "{b}", "{a}"]),
        ("copy %s to %s", "%s nach %s kopieren", ["%s", "%s"]),
    ],
    expected=_mask_placeholders_by_scanning,
)
